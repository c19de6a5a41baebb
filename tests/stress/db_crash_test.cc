// SPDX-License-Identifier: Apache-2.0
// A process with a database and a hybrid cache on a medium that persists: killed in the middle of reads, writes and
// compactions, or closed, and opened again over the same medium, again and again. Every value that is read is known.
// MEZZ_CRASHES sets how often it is killed; what became of the hit ratio is printed.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
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
constexpr int kReaders = 2;
constexpr int kGetsATick = 250;
constexpr int kGetsAWrite = 125;

// What the parent knows of its children: they write it, and it outlives them.
struct Seen {
  std::atomic<uint32_t> started[kKeys], done[kKeys];  // versions; 0: never written
  std::atomic<uint64_t> lookups_before, hits_before;  // the last ticks' of the last child
  std::atomic<uint64_t> lookups_after, hits_after;    // the first ones' of this child
  std::atomic<bool> stop;
};

std::string KeyName(uint32_t id) {
  char text[16];
  return {text, static_cast<size_t>(std::snprintf(text, sizeof(text), "key%07u", id))};
}
std::string ValueOf(uint32_t id, uint32_t version) {
  std::string value(500 + Mix(id) % 700, '\0');
  std::memcpy(value.data(), &id, sizeof(id));
  std::memcpy(value.data() + 4, &version, sizeof(version));
  for (size_t at = 8; at < value.size(); ++at) value[at] = static_cast<char>(Mix(id + version + at / 8) >> at % 8 * 8);
  return value;
}

[[noreturn]] void Fail(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  _exit(7);
}

class Child {
 public:
  Child(const std::string& folder, const ScratchFile& medium, Seen& seen, uint64_t seed, int ticks)
      : seen_(seen), seed_(seed), ticks_(ticks) {
    HybridCacheOptions options = SmallOptions(MediumKind::kFile, medium, kDramBytes, kScmBytes);
    options.policy = "dram_first";  // everything comes to lie in SCM
    options.scm.recovery = Recovery::kWarm;
    options.scm.verify = VerifyMode::kOff;  // what a first hit checks is checked whatever this says
    const mezz::Status made = NewHybridCache(options, &cache_);
    if (!made.ok()) Fail(std::string(made.message()));
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
        OpenDb(rocksdb::DBOptions(all), folder,
               {{rocksdb::kDefaultColumnFamilyName, rocksdb::ColumnFamilyOptions(all)}}, &handles_, &db_);
    if (!opened.ok()) Fail(opened.ToString());
  }

  void Run() {
    if (seen_.done[kKeys - 1].load(std::memory_order_relaxed) == 0) Fill();
    Random random(seed_);
    Window window(*this);
    for (int i = 0; i < 4 * kGetsATick; ++i) Get(static_cast<uint32_t>(random.Below(kKeys)));
    window.Tell(&seen_.lookups_after, &seen_.hits_after);
    std::vector<std::thread> readers;
    for (int r = 1; r < kReaders; ++r) readers.emplace_back([this, r] { Read(r); });
    Read(0);
    for (std::thread& reader : readers) reader.join();
    if (!CloseDb(&handles_, &db_).ok()) Fail("not closed");
    cache_.reset();
  }

 private:
  // Look-ups of the cache since it was made.
  class Window {
   public:
    explicit Window(const Child& child) : child_(child), before_(child.Lookups()) {}
    void Tell(std::atomic<uint64_t>* lookups, std::atomic<uint64_t>* hits) const {
      const auto [all, missed] = child_.Lookups();
      lookups->store(all - before_.first, std::memory_order_relaxed);
      hits->store(all - before_.first - (missed - before_.second), std::memory_order_relaxed);
    }

   private:
    const Child& child_;
    const std::pair<uint64_t, uint64_t> before_;
  };

  std::pair<uint64_t, uint64_t> Lookups() const {
    const CounterSnapshot counters = GetHybridStats(cache_.get())->Counters();
    // Of data blocks; filters and indexes are found anyhow. 7.8 tells no roles.
    const auto of = [&](Event event) {
      return counters.of(event, BlockRole::kData) + counters.of(event, BlockRole::kOther);
    };
    return {of(Event::kDramHit) + of(Event::kServedInPlace) + of(Event::kServedCopied) + of(Event::kPromotion) +
                of(Event::kMiss),
            of(Event::kMiss)};
  }

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
    const rocksdb::Status s = db_->Put({}, KeyName(id), ValueOf(id, version));
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
    if (version < least || version > seen_.started[id].load(std::memory_order_acquire) || value != ValueOf(id, version))
      Fail("a wrong value of " + KeyName(id));
  }

  // The first one also writes, and tells how it goes.
  void Read(int reader) {
    Random random(Mix(seed_) + static_cast<uint64_t>(reader));
    while (!seen_.stop.load(std::memory_order_relaxed)) {
      const Window window(*this);
      for (int i = 1; i <= kGetsATick; ++i) {
        Get(static_cast<uint32_t>(random.Below(kKeys)));
        if (reader == 0 && i % kGetsAWrite == 0) Write(static_cast<uint32_t>(random.Below(kKeys)));
      }
      if (reader != 0) continue;
      window.Tell(&seen_.lookups_before, &seen_.hits_before);
      const char tick = '.';
      if (write(ticks_, &tick, 1) != 1) _exit(3);
    }
  }

  Seen& seen_;
  const uint64_t seed_;
  const int ticks_;
  std::shared_ptr<rocksdb::Cache> cache_;
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> handles_;
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
  DbCrashTest() : folder_("/dev/shm/mezz_db_crash_" + std::to_string(getpid())) {
    void* const shared = mmap(nullptr, sizeof(Seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    seen_ = new (shared) Seen();
  }
  ~DbCrashTest() override {
    munmap(static_cast<void*>(seen_), sizeof(Seen));
    std::filesystem::remove_all(folder_);
  }

  // False: a child ended otherwise.
  bool RunAndEnd(End end, uint64_t seed, uint64_t ticks) {
    return test::RunAndEnd(end, &seen_->stop, ticks,
                           [&](int tick_pipe) { Child(folder_, medium_, *seen_, seed, tick_pipe).Run(); });
  }
  static double Ratio(const std::atomic<uint64_t>& hits, const std::atomic<uint64_t>& lookups) {
    const auto all = static_cast<double>(lookups.load(std::memory_order_relaxed));
    return all == 0 ? 0 : static_cast<double>(hits.load(std::memory_order_relaxed)) / all;
  }

  const std::string folder_;
  const ScratchFile medium_;
  Seen* seen_;
};

TEST_F(DbCrashTest, AKilledDatabaseComesBackWarmAndRight) {
  const uint64_t seed = Seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  const char* const thorough = std::getenv("MEZZ_CRASHES");
  const uint64_t kills = thorough != nullptr ? std::strtoull(thorough, nullptr, 10) : 8;
  Ratios killed, closed;
  ASSERT_TRUE(RunAndEnd(End::kClosed, random.Next(), 4));
  for (End before = End::kClosed; killed.rounds < kills;) {
    const double ratio_before = Ratio(seen_->hits_before, seen_->lookups_before);
    seen_->lookups_after.store(0, std::memory_order_relaxed);
    const End end = random.OneIn(4) ? End::kClosed : End::kKilled;
    ASSERT_TRUE(RunAndEnd(end, random.Next(), random.Below(12))) << "kill " << killed.rounds;
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
  EXPECT_GE(killed.after, (many ? 0.90 : 0.70) * killed.before);
  EXPECT_GE(closed.after, (many ? 0.95 : 0.70) * closed.before);
}

}  // namespace
}  // namespace mezz::test
