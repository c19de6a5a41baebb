// SPDX-License-Identifier: Apache-2.0
// Companions of real databases: what they set, what they refuse, and that they let go of a database that is closed.
#include "integration/companions/companions.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "integration/companions/watched_families.h"
#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/statistics.h"
#include "rocksdb/utilities/object_registry.h"
#include "tests/support/no_threads.h"
#include "tests/support/open_db.h"

namespace mezz::test {
namespace {

using ::testing::HasSubstr;

// Keeps compactions from going on.
class Gate final : public rocksdb::EventListener {
 public:
  void OnCompactionBegin(rocksdb::DB*, const rocksdb::CompactionJobInfo&) override {
    std::unique_lock lock(mutex_);
    opened_.wait(lock, [&] { return open_; });
  }
  void Open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    opened_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
};

// Counts flushes that were reported to every listener before it. DB::Flush may return before they are: whatever else
// ends in the background wakes it.
class CountedFlushes final : public rocksdb::EventListener {
 public:
  void OnFlushCompleted(rocksdb::DB*, const rocksdb::FlushJobInfo&) override {
    const std::lock_guard lock(mutex_);
    ++reported_;
    came_.notify_all();
  }
  uint64_t Reported() const {
    const std::lock_guard lock(mutex_);
    return reported_;
  }
  void WaitFor(uint64_t reported) {
    std::unique_lock lock(mutex_);
    came_.wait(lock, [&] { return reported_ >= reported; });
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable came_;
  uint64_t reported_ = 0;
};

class CompanionsTest : public ::testing::Test, protected ScratchDb {
 protected:
  static constexpr uint64_t kRate = 1 << 20;

  CompanionsTest() {
    options_.level0_file_num_compaction_trigger = 2;
    options_.level0_slowdown_writes_trigger = 4;
    options_.level0_stop_writes_trigger = 16;  // half way: 10
    options_.max_background_jobs = 4;
    options_.delayed_write_rate = kRate;
  }
  ~CompanionsTest() override { Close(); }

  void Open() { OpenWith({{"default", options_}}); }
  void OpenWith(const Families& families) {
    rocksdb::Options options = options_;
    options.create_missing_column_families = true;
    options.listeners.push_back(flushes_);
    ASSERT_EQ(OpenDb(options, path_, families, &handles_, &db_).ToString(), "OK");
  }
  void Close() {
    if (db_ == nullptr) return;
    StopCompanions(options_);
    ScratchDb::Close();
  }

  // Another file in Level 0.
  void AddFile(size_t family = 0) {
    ASSERT_TRUE(db_->Put({}, handles_[family], "first", "a").ok());
    ASSERT_TRUE(db_->Put({}, handles_[family], "last", "z").ok());
    rocksdb::FlushOptions flush;
    flush.allow_write_stall = true;
    const uint64_t before = flushes_->Reported();
    ASSERT_EQ(db_->Flush(flush, handles_[family]).ToString(), "OK");
    flushes_->WaitFor(before + 1);
    if (Companions* companions = GetCompanions(options_)) companions->DrainForTest();
  }
  int Files(size_t family = 0) const {
    std::string files;
    EXPECT_TRUE(db_->GetProperty(handles_[family], "rocksdb.num-files-at-level0", &files));
    return std::stoi(files);
  }
  uint64_t Rate() const {
    uint64_t rate = 0;
    EXPECT_TRUE(db_->GetIntProperty(rocksdb::DB::Properties::kActualDelayedWriteRate, &rate));
    return rate;
  }

  const std::shared_ptr<CountedFlushes> flushes_ = std::make_shared<CountedFlushes>();
};

TEST_F(CompanionsTest, RocksDbAloneLetsTheRateSink) {
  const auto gate = std::make_shared<Gate>();
  options_.listeners.push_back(gate);
  Open();
  while (Files() < 9) AddFile();
  EXPECT_LT(Rate(), kRate * 7 / 10) << "or the next test shows nothing";
  gate->Open();
}

TEST_F(CompanionsTest, TheThrottleHoldsTheRateToHalfWayAndGivesItBackThere) {
  const auto gate = std::make_shared<Gate>();
  options_.listeners.push_back(gate);
  ASSERT_EQ(AddCompanions("write_throttle=true", &options_).message(), "");
  Open();
  const Companions& companions = *GetCompanions(options_);
  while (Files() < 9) {
    AddFile();
    if (Files() < 4) continue;
    EXPECT_GE(Rate(), kRate - 1) << Files();
  }
  EXPECT_EQ(companions.Stats().stage, WriteThrottle::Stage::kHeld);
  EXPECT_GE(companions.Stats().rates_set, 3u);
  uint64_t last = Rate();
  while (Files() < 14) {
    AddFile();
    EXPECT_LT(Rate(), last) << Files();
    last = Rate();
  }
  EXPECT_EQ(companions.Stats().stage, WriteThrottle::Stage::kGivenBack);
  EXPECT_EQ(Rate(), 16u << 10) << "two files before a stop";
  EXPECT_EQ(companions.Stats().failed, 0u);
  gate->Open();
  StopCompanions(options_);
  EXPECT_EQ(db_->GetDBOptions().delayed_write_rate, kRate) << "what was set is set back";
  EXPECT_EQ(db_->GetOptions().max_write_buffer_number, 2);
}

TEST_F(CompanionsTest, WithoutAThreadTheNextReportAsksForOneAgain) {
  Open();
  rocksdb::Options with = options_;
  ASSERT_EQ(AddCompanions("write_throttle=true", &with).message(), "");
  Companions& companions = *GetCompanions(with);
  {
    const NoThreads none;
    companions.OnFlushCompleted(db_.get(), {});
  }
  companions.DrainForTest();
  EXPECT_EQ(companions.Stats().failed, 1u);
  EXPECT_EQ(companions.Stats().looks, 0u);
  companions.OnFlushCompleted(db_.get(), {});
  companions.DrainForTest();
  EXPECT_EQ(companions.Stats().looks, 1u);
  StopCompanions(with);
}

// Its triggers are others than the default family's.
TEST_F(CompanionsTest, TheThrottleLooksAtEveryColumnFamily) {
  const auto gate = std::make_shared<Gate>();
  options_.listeners.push_back(gate);
  ASSERT_EQ(AddCompanions("write_throttle=true", &options_).message(), "");
  rocksdb::Options other = options_;
  other.level0_slowdown_writes_trigger = 6;
  other.level0_stop_writes_trigger = 14;  // half way: 10
  OpenWith({{"default", options_}, {"other", other}});
  const Companions& companions = *GetCompanions(options_);
  while (Files(1) < 9) {
    AddFile(1);
    if (Files(1) >= 6) {
      EXPECT_GE(Rate(), kRate - 1) << Files(1);
    }
  }
  EXPECT_EQ(companions.Stats().stage, WriteThrottle::Stage::kHeld);
  while (Files(1) < 12) AddFile(1);
  EXPECT_EQ(companions.Stats().stage, WriteThrottle::Stage::kGivenBack);
  EXPECT_EQ(Rate(), 16u << 10) << "two files before a stop";
  EXPECT_EQ(companions.Stats().failed, 0u);
  gate->Open();
}

TEST(WatchedFamilies, FindTheTriggersInAnOptionsFile) {
  constexpr std::string_view kFile =
      "# made by RocksDB\n[DBOptions]\n  level0_stop_writes_trigger=1\n"
      "[CFOptions \"default\"]\n  level0_slowdown_writes_trigger=20\n  level0_stop_writes_trigger=36\n"
      "  compaction_style=kCompactionStyleLevel\n  disable_auto_compactions=false\n"
      "[TableOptions/BlockBasedTable \"default\"]\n  level0_stop_writes_trigger=2\n"
      "[CFOptions \"close\"]\n  level0_slowdown_writes_trigger=20\n  level0_stop_writes_trigger=23\n"
      "[CFOptions \"fifo\"]\n  level0_stop_writes_trigger=36\n  compaction_style=kCompactionStyleFIFO\n"
      "[CFOptions \"still\"]\n  level0_stop_writes_trigger=36\n  disable_auto_compactions=true";
  const auto triggers = TriggersIn(kFile);
  ASSERT_EQ(triggers.size(), 1u);
  EXPECT_EQ(triggers.at("default").slowdown, 20);
  EXPECT_EQ(triggers.at("default").stop, 36);
  EXPECT_TRUE(TriggersIn("").empty());
}

TEST_F(CompanionsTest, TheThrottleTakesARateOfItsOwn) {
  const auto gate = std::make_shared<Gate>();
  options_.listeners.push_back(gate);
  ASSERT_EQ(AddCompanions("write_throttle=true;write_throttle_rate=4M", &options_).message(), "");
  Open();
  while (Files() < 6) AddFile();
  EXPECT_GE(Rate(), (4u << 20) - 1);
  gate->Open();
}

TEST_F(CompanionsTest, LevelZeroIsCutByTheShareOfWrites) {
  options_.write_buffer_size = 16 << 20;
  CompanionOptions companions;
  companions.dynamic_level0 = true;
  companions.level0.few = 6;
  companions.level0.many = 24;
  const auto clock = std::make_shared<std::atomic<uint64_t>>(1);
  companions.now_ns = [clock] { return clock->fetch_add(1'000'000'000, std::memory_order_relaxed); };
  ASSERT_EQ(AddCompanions(companions, &options_).message(), "");
  ASSERT_NE(options_.statistics, nullptr) << "it counts by them";
  Open();
  std::string value;
  for (int i = 0; i < 5000; ++i) db_->Get({}, "first", &value);
  AddFile();
  EXPECT_EQ(GetCompanions(options_)->Stats().cut, DynamicLevel0::Cut::kFew);
  EXPECT_EQ(db_->GetOptions().level0_file_num_compaction_trigger, 6);
  EXPECT_EQ(db_->GetOptions().level0_slowdown_writes_trigger, 8);
  EXPECT_EQ(db_->GetOptions().write_buffer_size, (32u << 20) / 6);
  for (int i = 0; i < 20'000; ++i) ASSERT_TRUE(db_->Put({}, "key", "value").ok());
  AddFile();
  EXPECT_EQ(db_->GetOptions().level0_file_num_compaction_trigger, 24);
  EXPECT_EQ(db_->GetOptions().max_write_buffer_number, 24) << "two of 16 MiB are twenty-four of 32 MiB / 24";
  EXPECT_EQ(db_->GetOptions().arena_block_size, 176128u) << "an eighth of a write buffer, in whole pages";
  EXPECT_EQ(GetCompanions(options_)->Stats().shapes_set, 2u);
  StopCompanions(options_);
  EXPECT_EQ(db_->GetOptions().level0_file_num_compaction_trigger, 2) << "what was set is set back";
}

TEST_F(CompanionsTest, AdocGivesThreadsToAFullLevelZero) {
  const auto gate = std::make_shared<Gate>();
  options_.listeners.push_back(gate);
  CompanionOptions companions;
  companions.adoc = true;
  companions.adoc_bounds.jobs_max = 7;
  const auto clock = std::make_shared<std::atomic<uint64_t>>(1);
  companions.now_ns = [clock] { return clock->fetch_add(1'000'000'000, std::memory_order_relaxed); };
  ASSERT_EQ(AddCompanions(companions, &options_).message(), "");
  Open();
  while (Files() < 3) AddFile();
  EXPECT_EQ(GetCompanions(options_)->Stats().flows_set, 0u) << "nothing overflows";
  AddFile();
  EXPECT_EQ(db_->GetDBOptions().max_background_jobs, 6);
  AddFile();
  EXPECT_EQ(db_->GetDBOptions().max_background_jobs, 7);
  EXPECT_EQ(GetCompanions(options_)->Stats().flows_set, 2u);
  EXPECT_EQ(GetCompanions(options_)->Stats().failed, 0u);
  gate->Open();
  StopCompanions(options_);
  EXPECT_EQ(db_->GetDBOptions().max_background_jobs, 4) << "what was set is set back";
}

TEST_F(CompanionsTest, LetGoOfADatabaseThatIsClosed) {
  for (int i = 0; i < 15; ++i) {
    options_.listeners.clear();
    options_.write_buffer_size = 16 << 20;
    ASSERT_EQ(AddCompanions((i % 2 == 0 ? "write_throttle=true;dynamic_level0=true" : "write_throttle=true;adoc=true"),
                            &options_)
                  .message(),
              "");
    Open();
    rocksdb::FlushOptions flush;
    flush.wait = false;
    flush.allow_write_stall = true;
    for (int file = 0; file < 4; ++file) {
      ASSERT_TRUE(db_->Put({}, "key", "value").ok());
      ASSERT_TRUE(db_->Flush(flush).ok());
    }
    if (!kDatabaseTellsItsEnd) StopCompanions(options_);
    ScratchDb::Close();  // flushes and looks may be under way
    EXPECT_EQ(GetCompanions(options_)->Stats().databases, 0u);
  }
}

TEST_F(CompanionsTest, OneListenerServesADatabaseThatIsOpenedAgain) {
  if (!kDatabaseTellsItsEnd) GTEST_SKIP() << "this RocksDB does not tell of a database's end";
  ASSERT_EQ(AddCompanions("write_throttle=true", &options_).message(), "");
  for (int i = 0; i < 3; ++i) {
    Open();
    AddFile();
    EXPECT_EQ(GetCompanions(options_)->Stats().databases, 1u);
    ScratchDb::Close();
    EXPECT_EQ(GetCompanions(options_)->Stats().databases, 0u);
  }
}

TEST_F(CompanionsTest, TwoForOneOptionAreRefusedByName) {
  ASSERT_TRUE(AddCompanions("write_throttle=true", &options_).ok());
  EXPECT_TRUE(AddCompanions("dynamic_level0=true;level0_many=8", &options_).ok()) << "another option";
  EXPECT_THAT(AddCompanions("write_throttle=true;write_throttle_rate=2M", &options_).message(),
              HasSubstr("write_throttle sets delayed_write_rate, which another companion of this database, "
                        "write_throttle, sets already"));
  EXPECT_THAT(AddCompanions("dynamic_level0=true;level0_many=8", &options_).message(),
              HasSubstr("dynamic_level0 sets write_buffer_size"));
  EXPECT_EQ(options_.listeners.size(), 2u);
}

TEST_F(CompanionsTest, TwoListenersThatKnowNothingOfEachOtherDoNotFight) {
  rocksdb::Options other = options_;
  ASSERT_TRUE(AddCompanions("write_throttle=true", &options_).ok());
  ASSERT_TRUE(AddCompanions("write_throttle=true;write_throttle_rate=2M", &other).ok());
  options_.listeners.push_back(other.listeners.front());
  Open();
  AddFile();
  GetCompanions(other)->DrainForTest();
  const CompanionStats first = GetCompanions(options_)->Stats(), second = GetCompanions(other)->Stats();
  EXPECT_EQ(first.refused + second.refused, 1u);
  EXPECT_EQ(first.databases + second.databases, 1u);
}

TEST_F(CompanionsTest, AreNamedInAnOptionsString) {
  rocksdb::ObjectLibrary::Default()->AddFactory<rocksdb::EventListener>(
      Companions::kName, [](const std::string&, std::unique_ptr<rocksdb::EventListener>* owner, std::string*) {
        *owner = NewUnconfiguredCompanions();
        return owner->get();
      });
  rocksdb::DBOptions made;
  const auto read = [&](const std::string& with) {
    const std::string text = fmt::format("listeners={{{{id=mezzanine_companions;with={}}}}}", with);
    return rocksdb::GetDBOptionsFromString({}, {}, text, &made);
  };
  if (!kDatabaseTellsItsEnd) {
    EXPECT_FALSE(read("write_throttle=true").ok());
    return;
  }
  ASSERT_EQ(read("write_throttle=true,write_throttle_rate=8M").ToString(), "OK");
  ASSERT_NE(GetCompanions(made), nullptr);
  EXPECT_EQ(GetCompanions(made)->options().write_throttle_rate, 8u << 20);
  static_cast<rocksdb::DBOptions&>(options_).listeners = made.listeners;
  Open();  // which writes OPTIONS and reads them back
  AddFile();
  EXPECT_EQ(GetCompanions(made)->Stats().databases, 1u);
  EXPECT_THAT(read("write_throttel=true").ToString(), HasSubstr("\"write_throttel=true\" is not known"));
}

TEST_F(CompanionsTest, RefuseDatabasesTheyCannotWorkWith) {
  const auto refusal = [&](std::string_view text, auto change) {
    rocksdb::Options options = options_;
    change(options);
    const std::string message = AddCompanions(text, &options).message();
    EXPECT_TRUE(options.listeners.empty());
    return message;
  };
  EXPECT_THAT(refusal("write_throttle=true", [](auto& o) { o.compaction_style = rocksdb::kCompactionStyleUniversal; }),
              HasSubstr("compaction_style"));
  EXPECT_THAT(refusal("write_throttle=true", [](auto& o) { o.disable_auto_compactions = true; }),
              HasSubstr("disable_auto_compactions=true"));
  EXPECT_THAT(refusal("write_throttle=true", [](auto& o) { o.level0_stop_writes_trigger = 6; }),
              HasSubstr("level0_stop_writes_trigger=6"));
  EXPECT_THAT(refusal("dynamic_level0=true;level0_many=24", [](auto& o) { o.write_buffer_size = 100'000; }),
              HasSubstr("level0_many=24"));
  EXPECT_THAT(refusal("adoc=true", [](auto& o) { o.max_background_flushes = 1; }),
              HasSubstr("max_background_flushes=1"));
  EXPECT_THAT(refusal("adoc=true;adoc_jobs_max=3", [](auto&) {}), HasSubstr("max_background_jobs=4"));
  EXPECT_THAT(refusal("adoc=true;adoc_write_buffer_max=1M", [](auto&) {}), HasSubstr("write_buffer_size=67108864"));
}

TEST(CompanionOptions, AreJudgedByName) {
  CompanionOptions options;
  const auto refusal = [&](std::string_view text) { return ParseCompanions(text, &options).message(); };
  EXPECT_THAT(refusal(""), HasSubstr("no companion is asked for"));
  EXPECT_THAT(refusal("throttle=1"), HasSubstr("\"throttle=1\" is not known; the keys are write_throttle, "));
  EXPECT_THAT(refusal("write_throttle"), HasSubstr("\"write_throttle\" is not known"));
  EXPECT_THAT(refusal("write_throttle=yes"), HasSubstr("write_throttle=yes: accepted are true, false, 1 and 0"));
  EXPECT_THAT(refusal("write_throttle=true;write_throttle=true"), HasSubstr("write_throttle is given twice"));
  EXPECT_THAT(refusal("write_throttle=true;write_throttle_rate=-3"), HasSubstr("write_throttle_rate"));
  EXPECT_THAT(refusal("write_throttle=true;write_throttle_rate=16K"), HasSubstr("write_throttle_rate=16384"));
  EXPECT_THAT(refusal("dynamic_level0=true;write_throttle_rate=1M"),
              HasSubstr("write_throttle_rate is given, but not write_throttle=true"));
  EXPECT_THAT(refusal("dynamic_level0=true;level0_few=6x"), HasSubstr("level0_few=6x: accepted are whole numbers"));
  EXPECT_THAT(refusal("dynamic_level0=true;level0_few=30;level0_many=24"),
              HasSubstr("level0_few=30 and level0_many=24"));
  EXPECT_THAT(refusal("write_throttle=true;adoc_jobs_max=4"), HasSubstr("adoc_jobs_max is given, but not adoc=true"));
  EXPECT_THAT(refusal("adoc=true;dynamic_level0=true"),
              HasSubstr("adoc sets write_buffer_size, which another companion of this database, dynamic_level0, sets"));
  EXPECT_FALSE(options.write_throttle || options.dynamic_level0 || options.adoc) << "what is refused changes nothing";
}

TEST(CompanionOptions, ReadBackWhatTheyPrint) {
  for (const std::string_view text :
       {"adoc=true", "write_throttle=true;adoc=true;adoc_jobs_max=9;adoc_write_buffer_max=1G", "write_throttle=true",
        "write_throttle=true;write_throttle_rate=3M", "dynamic_level0=true;level0_few=2",
        "mezzanine_companions://write_throttle=true;dynamic_level0=true;level0_many=30;level0_write_percent=40;"
        "level0_band_percent=7;level0_half_life_ms=500"}) {
    CompanionOptions first, second;
    ASSERT_EQ(ParseCompanions(text, &first).message(), "");
    ASSERT_EQ(ParseCompanions(first.ToText(), &second).message(), "");
    EXPECT_EQ(second.write_throttle, first.write_throttle);
    EXPECT_EQ(second.write_throttle_rate, first.write_throttle_rate);
    EXPECT_EQ(second.dynamic_level0, first.dynamic_level0);
    EXPECT_EQ(second.level0, first.level0);
    EXPECT_EQ(second.adoc, first.adoc);
    EXPECT_EQ(second.adoc_bounds, first.adoc_bounds);
  }
}

}  // namespace
}  // namespace mezz::test
