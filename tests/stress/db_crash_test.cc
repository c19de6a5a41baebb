// SPDX-License-Identifier: Apache-2.0
// A process with a database, or four that share it, and a hybrid cache on a medium that persists: killed in the middle
// of reads, writes and compactions, or closed, and opened again over the same medium, again and again. Every value that
// is read is known. MEZZ_CRASHES sets how often it is killed; what became of the hit ratio is printed.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "rocksdb/db.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/table.h"
#include "tests/support/ended_child.h"
#include "tests/support/hybrid_fixture.h"
#include "tests/support/open_db.h"
#include "tests/support/random.h"
#include "tests/support/seed.h"

namespace mezz::test {
namespace {

constexpr uint32_t kKeys = 8000;            // 7 MB
constexpr uint64_t kDramBytes = 256 << 10;  // what is only there is lost with the process
constexpr uint64_t kScmBytes = 32 << 20;
constexpr uint64_t kSharedScmBytes = 20 << 20;  // for 28 MB of four databases
constexpr int kReaders = 2;
constexpr int kGetsATick = 250;
constexpr int kGetsAWrite = 125;

struct Share {
  const char* name;
  DatabaseLimits limits;
};
// All of the first one's blocks are within its reserve.
constexpr Share kShares[] = {{"kept", {.scm = {.reserved_percent = 50}, .dram = {}}},
                             {"few", {.scm = {.max_percent = 20}, .dram = {}}},
                             {"low", {.scm = {.priority = SharePriority::kLow}, .dram = {}}},
                             {"usual", {}}};
constexpr size_t kDatabases = std::size(kShares);

// What the parent knows of its children: they write it, and it outlives them.
struct Seen {
  struct OfDatabase {
    std::atomic<uint32_t> started[kKeys], done[kKeys];  // versions; 0: never written
    std::atomic<uint64_t> scm_bytes;                    // the last tick's
  };
  OfDatabase of[kDatabases];
  // Of the first database:
  std::atomic<uint64_t> lookups_before, hits_before;  // the last ticks' of the last child
  std::atomic<uint64_t> lookups_after, hits_after;    // the first ones' of this child
  std::atomic<bool> stop;
};

std::string KeyName(uint32_t id) {
  char text[16];
  return {text, static_cast<size_t>(std::snprintf(text, sizeof(text), "key%07u", id))};
}
std::string ValueOf(size_t database, uint32_t id, uint32_t version) {
  std::string value(500 + Mix(id) % 700, '\0');
  std::memcpy(value.data(), &id, sizeof(id));
  std::memcpy(value.data() + 4, &version, sizeof(version));
  const uint64_t seed = uint64_t{database} << 40 | (id + version);
  for (size_t at = 8; at < value.size(); ++at) value[at] = static_cast<char>(Mix(seed + at / 8) >> at % 8 * 8);
  return value;
}

[[noreturn]] void Fail(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  _exit(7);
}

// Look-ups of data blocks, and those of them that were misses. Filters and indexes are found anyhow. 7.8 tells no
// roles.
struct Lookups {
  uint64_t all = 0, missed = 0;
  friend bool operator==(const Lookups&, const Lookups&) = default;
};

class Database {
 public:
  Database(const std::string& folder, size_t number, std::shared_ptr<rocksdb::Cache> cache, Seen::OfDatabase& seen)
      : number_(number), cache_(std::move(cache)), seen_(seen) {
    rocksdb::BlockBasedTableOptions table;
    table.block_cache = cache_;
    table.cache_index_and_filter_blocks = true;
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
    rocksdb::Options all;
    all.create_if_missing = true;
    all.write_buffer_size = 256 << 10;
    all.compression = rocksdb::kNoCompression;
    all.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    const rocksdb::Status opened =
        OpenDb(rocksdb::DBOptions(all), folder + "/" + std::to_string(number),
               {{rocksdb::kDefaultColumnFamilyName, rocksdb::ColumnFamilyOptions(all)}}, &handles_, &db_);
    if (!opened.ok()) Fail(opened.ToString());
  }

  bool IsFilled() const { return seen_.done[kKeys - 1].load(std::memory_order_relaxed) != 0; }
  void Fill() {
    for (uint32_t id = 0; id < kKeys; ++id) Write(id);
    if (!db_->CompactRange({}, nullptr, nullptr).ok()) Fail("no compaction");
    for (int round = 0; round < 2; ++round) {
      for (uint32_t id = 0; id < kKeys; ++id) Get(id);
    }
  }

  // One thread a key.
  void Write(uint32_t id) {
    const uint32_t version = seen_.started[id].load(std::memory_order_relaxed) + 1;
    seen_.started[id].store(version, std::memory_order_release);
    const rocksdb::Status s = db_->Put({}, KeyName(id), ValueOf(number_, id, version));
    if (!s.ok()) Fail(s.ToString());
    seen_.done[id].store(version, std::memory_order_release);
  }

  void Get(uint32_t id) {
    const uint32_t least = seen_.done[id].load(std::memory_order_acquire);
    std::string value;
    const rocksdb::Status s = db_->Get({}, KeyName(id), &value);
    if (!s.ok()) Fail(KeyName(id) + ": " + s.ToString());
    uint32_t version = 0;
    if (value.size() >= 8) std::memcpy(&version, value.data() + 4, sizeof(version));
    if (version < least || version > seen_.started[id].load(std::memory_order_acquire) ||
        value != ValueOf(number_, id, version))
      Fail("a wrong value of " + KeyName(id) + " in database " + std::to_string(number_));
  }

  // While compactions rest nobody but Get looks anything up.
  void LetCompactionsRest(bool rest) {
    if (!(rest ? db_->PauseBackgroundWork() : db_->ContinueBackgroundWork()).ok()) Fail("compactions do not rest");
  }

  Lookups lookups() const {
    const CounterSnapshot counters = GetHybridStats(cache_.get())->Counters();
    const auto of = [&](Event event) {
      return counters.of(event, BlockRole::kData) + counters.of(event, BlockRole::kOther);
    };
    return {of(Event::kDramHit) + of(Event::kScmHit) + of(Event::kMiss), of(Event::kMiss)};
  }

  void Close() {
    if (!CloseDb(&handles_, &db_).ok()) Fail("not closed");
    cache_.reset();
  }

 private:
  const size_t number_;
  std::shared_ptr<rocksdb::Cache> cache_;
  Seen::OfDatabase& seen_;
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> handles_;
};

class Child {
 public:
  // One database with the cache for itself, or kDatabases that share it.
  Child(const std::string& folder, const ScratchFile& medium, size_t databases, Seen& seen, uint64_t seed, int ticks)
      : seen_(seen), random_(seed), seed_(seed), ticks_(ticks) {
    HybridCacheOptions options =
        SmallOptions(MediumKind::kFile, medium, kDramBytes, databases == 1 ? kScmBytes : kSharedScmBytes);
    options.policy = "dram_first";  // everything comes to lie in SCM
    options.scm.recovery = Recovery::kWarm;
    options.scm.verify = VerifyMode::kOff;  // what a first hit checks is checked whatever this says
    std::array<std::shared_ptr<rocksdb::Cache>, kDatabases> caches;
    if (databases == 1) {
      caches[0] = Open(options);
    } else {
      OpenShared(options, &caches);
    }
    stats_ = GetHybridStats(caches[0].get());
    stats_->scm().WaitUntilRecovered();
    if (databases != 1) ExpectEachHasItsBlocks();
    for (size_t number = 0; number < databases; ++number)
      databases_.push_back(std::make_unique<Database>(folder, number, std::move(caches[number]), seen.of[number]));
  }

  void Run() {
    for (const auto& it : databases_) {
      if (!it->IsFilled()) it->Fill();
    }
    const auto [all, missed] = ReadEachAlone();
    seen_.lookups_after.store(all, std::memory_order_relaxed);
    seen_.hits_after.store(all - missed, std::memory_order_relaxed);
    std::vector<std::thread> readers;
    for (int r = 1; r < kReaders; ++r) readers.emplace_back([this, r] { Read(r); });
    Read(0);
    for (std::thread& reader : readers) reader.join();
    // As databases close one by one, what reclaim spares of the closed ones for those that still compact is the rest's.
    for (const auto& it : databases_) it->LetCompactionsRest(true);
    NoteBytes();
    for (const auto& it : databases_) it->Close();
  }

 private:
  static std::shared_ptr<rocksdb::Cache> Open(const HybridCacheOptions& options) {
    std::shared_ptr<rocksdb::Cache> cache;
    const mezz::Status made = NewHybridCache(options, &cache);
    if (!made.ok()) Fail(std::string(made.message()));
    return cache;
  }

  // In a random order, by either way.
  void OpenShared(const HybridCacheOptions& options, std::array<std::shared_ptr<rocksdb::Cache>, kDatabases>* caches) {
    const std::shared_ptr<rocksdb::Cache> whole = random_.OneIn(2) ? Open(options) : nullptr;
    std::array<size_t, kDatabases> order{0, 1, 2, 3};
    for (size_t left = kDatabases; left > 1; --left) std::swap(order[left - 1], order[random_.Below(left)]);
    for (const size_t number : order) {
      HybridCacheOptions shared = options;
      shared.share = kShares[number].name;
      shared.share_limits = kShares[number].limits;
      if (whole == nullptr) {
        (*caches)[number] = Open(shared);
      } else if (!ForDatabase(whole, shared.share, shared.share_limits, &(*caches)[number]).ok()) {
        Fail("no share for " + shared.share);
      }
    }
  }

  // What the last tick told, but for what was moved since, and what a restart gives up.
  void ExpectEachHasItsBlocks() const {
    constexpr uint64_t kMoved = 8 * kSegmentBytesMin;
    for (const DatabaseFigures& it : stats_->SharedBy()) {
      const auto* const share = std::ranges::find(kShares, it.name, &Share::name);
      // The rest has what reclaim spared of databases that had closed before others.
      const uint64_t before =
          share == std::end(kShares) ? 0 : seen_.of[share - kShares].scm_bytes.load(std::memory_order_relaxed);
      if (it.scm_bytes + kMoved < before || it.scm_bytes > before + kMoved)
        Fail(it.name + " had " + std::to_string(before) + " bytes, and has " + std::to_string(it.scm_bytes));
    }
  }

  void NoteBytes() {
    for (const DatabaseFigures& it : stats_->SharedBy()) {
      const auto* const share = std::ranges::find(kShares, it.name, &Share::name);
      if (share != std::end(kShares))
        seen_.of[share - kShares].scm_bytes.store(it.scm_bytes, std::memory_order_relaxed);
    }
  }

  // Of each database in turn, which alone counts it. Returns the first one's look-ups.
  Lookups ReadEachAlone() {
    constexpr int kGets = 4 * kGetsATick;
    for (const auto& it : databases_) it->LetCompactionsRest(true);
    std::vector<Lookups> found;
    for (const auto& reads : databases_) {
      std::vector<Lookups> before;
      for (const auto& it : databases_) before.push_back(it->lookups());
      for (int i = 0; i < kGets; ++i) reads->Get(static_cast<uint32_t>(random_.Below(kKeys)));
      for (size_t i = 0; i < databases_.size(); ++i) {
        const Lookups now = databases_[i]->lookups();
        const bool counted = now.all >= before[i].all + kGets, none = now == before[i];
        if (databases_[i] == reads ? !counted : !none) Fail("not counted for its database alone");
        if (databases_[i] == reads) found.push_back({now.all - before[i].all, now.missed - before[i].missed});
      }
    }
    for (const auto& it : databases_) it->LetCompactionsRest(false);
    return found[0];
  }

  // The first one also writes, and tells how it goes.
  void Read(int reader) {
    Random random(Mix(seed_) + static_cast<uint64_t>(reader));
    while (!seen_.stop.load(std::memory_order_relaxed)) {
      const Lookups before = databases_[0]->lookups();
      for (int i = 1; i <= kGetsATick; ++i) {
        Database& database = *databases_[random.Below(databases_.size())];
        database.Get(static_cast<uint32_t>(random.Below(kKeys)));
        if (reader == 0 && i % kGetsAWrite == 0) database.Write(static_cast<uint32_t>(random.Below(kKeys)));
      }
      if (reader != 0) continue;
      const Lookups now = databases_[0]->lookups();
      seen_.lookups_before.store(now.all - before.all, std::memory_order_relaxed);
      seen_.hits_before.store(now.all - before.all - (now.missed - before.missed), std::memory_order_relaxed);
      NoteBytes();
      const char tick = '.';
      if (write(ticks_, &tick, 1) != 1) _exit(3);
    }
  }

  Seen& seen_;
  Random random_;
  const uint64_t seed_;
  const int ticks_;
  HybridStats* stats_ = nullptr;
  std::vector<std::unique_ptr<Database>> databases_;
};

struct Ratios {
  uint64_t rounds = 0;
  double before = 0, after = 0;
  void Print(const char* how) const {
    std::printf("%s: %llu times, hit ratio %.4f before, %.4f after: %.1f %%\n", how,
                static_cast<unsigned long long>(rounds), before / static_cast<double>(rounds),
                after / static_cast<double>(rounds), 100 * after / before);
  }
};

class DbCrashTest : public ::testing::Test {
 protected:
  DbCrashTest() {
    void* const shared = mmap(nullptr, sizeof(Seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    seen_ = new (shared) Seen();
  }
  ~DbCrashTest() override { munmap(static_cast<void*>(seen_), sizeof(Seen)); }

  static double Ratio(const std::atomic<uint64_t>& hits, const std::atomic<uint64_t>& lookups) {
    const auto all = static_cast<double>(lookups.load(std::memory_order_relaxed));
    return all == 0 ? 0 : static_cast<double>(hits.load(std::memory_order_relaxed)) / all;
  }

  // Over so many rounds together a restart keeps these parts of the hit ratio.
  struct Bounds {
    double killed, closed;
  };
  void EndManyTimes(size_t databases, Bounds of_many) {
    const uint64_t seed = Seed();
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const auto run_and_end = [&](End end, uint64_t ticks) {
      const uint64_t seed_of_child = random.Next();
      return RunAndEnd(end, &seen_->stop, ticks, [&](int tick_pipe) {
        Child(folder_.path(), medium_, databases, *seen_, seed_of_child, tick_pipe).Run();
      });
    };
    const uint64_t kills = test::KillsOr(8);
    Ratios killed, closed;
    ASSERT_TRUE(run_and_end(End::kClosed, 4));
    for (End before = End::kClosed; killed.rounds < kills;) {
      const double ratio_before = Ratio(seen_->hits_before, seen_->lookups_before);
      seen_->lookups_after.store(0, std::memory_order_relaxed);
      const End end = random.OneIn(4) ? End::kClosed : End::kKilled;
      ASSERT_TRUE(run_and_end(end, random.Below(12))) << "kill " << killed.rounds;
      if (seen_->lookups_after.load(std::memory_order_relaxed) == 0) {
        before = End::kKilled;  // before it could tell: the next one does
        continue;
      }
      Ratios& ratios = before == End::kClosed ? closed : killed;
      ++ratios.rounds;
      ratios.before += ratio_before;
      ratios.after += Ratio(seen_->hits_after, seen_->lookups_after);
      before = end;
    }
    killed.Print("killed");
    closed.Print("closed");
    // Of a few rounds one that meets a compaction may be bad by itself; a cold start has less than half.
    const bool many = kills >= 100;
    EXPECT_GE(killed.after, (many ? of_many.killed : 0.70) * killed.before);
    EXPECT_GE(closed.after, (many ? of_many.closed : 0.70) * closed.before);
  }

  const TemporaryFolder folder_{"/dev/shm"};
  const ScratchFile medium_;
  Seen* seen_;
};

TEST_F(DbCrashTest, AKilledDatabaseComesBackWarmAndRight) { EndManyTimes(1, {.killed = 0.90, .closed = 0.95}); }

// Its hit ratio is that of the database with a reserve.
TEST_F(DbCrashTest, KilledDatabasesThatShareACacheComeBackEachWithItsOwn) {
  EndManyTimes(kDatabases, {.killed = 0.95, .closed = 0.95});
}

}  // namespace
}  // namespace mezz::test
