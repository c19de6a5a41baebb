// SPDX-License-Identifier: Apache-2.0
// A process that is killed in the middle of its work, or closes its medium, again and again over one medium. It has one
// database that erases durably, or four that share the tier. MEZZ_CRASHES sets how often it is killed; how much of the
// blocks came back is printed.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <new>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/ended_child.h"
#include "tests/support/sanitizer.h"
#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

constexpr uint64_t kKeys = 3000;     // of a database
constexpr uint64_t kKeptKeys = 900;  // some 2.4 MB, of 6.4 MB that are reserved
// The index of a tier that comes back, or one that grows, has no room for some: fewer than a segment holds.
constexpr uint64_t kLostMax = kKeptKeys / 12;
constexpr uint64_t kPutsATick = 64;

struct Database {
  const char* name;
  ShareLimits limits;
};
constexpr Database kDatabases[] = {{"kept", {.reserved_percent = 40}},
                                   {"few", {.max_percent = 20}},
                                   {"low", {.priority = SharePriority::kLow}},
                                   {"usual", {}}};
constexpr size_t kKept = 0, kFew = 1;
constexpr size_t kCount = std::size(kDatabases);
constexpr size_t kAlone = kCount;  // the database of a process that has one
using ShareIds = std::array<ShareId, kCount>;

// What the parent knows of its children: they write it, and it outlives them.
struct Seen {
  std::atomic<uint32_t> versions[kCount + 1][kKeys + 1];  // of each key: put, or about to be
  std::atomic<uint32_t> erased[kKeys + 1];                // of kAlone: those up to this one are gone
  std::atomic<uint64_t> resident;    // keys of kAlone with a block; of a killed child as of its last tick
  std::atomic<bool> kept_is_filled;  // once
  std::atomic<bool> stop;            // it shall close the medium and end
};

BlockKey KeyOf(size_t database, uint64_t key) {
  return database == kAlone ? test::Key(key) : BlockKey{.words = {database + 1, key}};
}

std::vector<std::byte> Made(size_t database, uint64_t key, uint64_t version) {
  const size_t bytes = 200 + (key * 131 + version * 977) % 5000;
  const uint64_t id = database * (kKeys + 1) + key;
  return key % 2 == 0 ? test::PackablePayload(id, version, bytes) : test::Payload(id, version, bytes);
}

Form FormOf(uint64_t key) { return key % 4 == 0 ? Form::kPacked : Form::kRaw; }

// What a thread does with the keys of a database that are its own, every `step`th from `first` on. So it alone counts
// their versions, and knows what it erased.
struct Writer {
  size_t database;
  ShareId share = kNoShare;
  uint64_t first = 1, step = 1;

  template <typename AtTick>
  void Run(ScmTier& tier, Seen& seen, uint64_t seed, int ticks, AtTick&& at_tick) const {
    std::mt19937_64 random(seed + database + first);
    for (uint64_t i = 1; !seen.stop.load(std::memory_order_relaxed); ++i) {
      const uint64_t key = first + random() % (kKeys / step) * step;
      const BlockKey name = KeyOf(database, key);
      if (random() % 16 == 0) tier.Find(name);
      const uint32_t version = seen.versions[database][key].load(std::memory_order_relaxed) + 1;
      seen.versions[database][key].store(version, std::memory_order_relaxed);
      tier.Put(name, BlockRole::kData, Made(database, key, version),
               random() % 4 == 0 ? Generation::kProven : Generation::kYoung, FormOf(key), PackedBy::kStage, share);
      if (random() % 16 == 0) {
        tier.Erase(name);
        if (database == kAlone) seen.erased[key].store(version, std::memory_order_relaxed);
      }
      if (i % kPutsATick != 0) continue;
      at_tick(random);
      const char tick = '.';
      if (write(ticks, &tick, 1) != 1) _exit(3);
    }
  }
};

std::unique_ptr<ScmTier> OpenInChild(const ScmOptions& options) {
  std::unique_ptr<ScmTier> tier;
  if (!ScmTier::Open(options, &tier).ok()) _exit(2);
  return tier;
}

class CrashTest : public ::testing::Test {
 protected:
  CrashTest() {
    options_.pack = PackMode::kZstd;
    void* const shared = mmap(nullptr, sizeof(Seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    seen_ = new (shared) Seen();
  }
  ~CrashTest() override { munmap(static_cast<void*>(seen_), sizeof(Seen)); }

  // Runs child(seed, ticks) until as many as that were killed, and has check(end) look at what each left.
  template <typename Child, typename Check>
  void Crash(uint64_t kills, std::mt19937_64& random, Child&& child, Check&& check) {
    for (uint64_t killed = 0; killed < kills && !HasFailure();) {
      const test::End end = random() % 4 == 0 ? test::End::kClosed : test::End::kKilled;
      killed += end == test::End::kKilled ? 1 : 0;
      options_.pack_stage_bytes = random() % 2 == 0 ? kUsualPackStageBytes : 0;
      const uint64_t seed = random();
      ASSERT_TRUE(test::RunAndEnd(end, &seen_->stop, 1 + random() % 60, [&](int ticks) { child(seed, ticks); }))
          << "kill " << killed;
      check(end);
    }
  }

  uint64_t CountGood(ScmTier& tier, size_t database) const {
    uint64_t found = 0;
    for (uint64_t key = 1; key <= kKeys; ++key) {
      const PinnedBlock block = tier.Find(KeyOf(database, key), BlockRole::kData, Heat::kKeep);
      if (!block) continue;
      ++found;
      const auto bytes = test::BytesOf(block);
      uint32_t version = seen_->versions[database][key].load(std::memory_order_relaxed);
      while (version > 0 && !test::Same(bytes, Made(database, key, version))) --version;
      EXPECT_NE(version, 0u) << "key " << key << " has bytes that its database never put under it";
      if (database != kAlone) continue;
      EXPECT_GT(version, seen_->erased[key].load(std::memory_order_relaxed)) << "key " << key << " was erased";
    }
    return found;
  }

  const test::ScratchFile file_;
  ScmOptions options_ = test::WarmOptions(file_.path(), 64 * kSegmentBytesMin);
  Seen* seen_;
};

constexpr unsigned kThreads = 3;

void RunAlone(const ScmOptions& options, Seen& seen, uint64_t seed, int ticks) {
  const std::unique_ptr<ScmTier> tier = OpenInChild(options);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const Writer writer{.database = kAlone, .first = t + 1, .step = kThreads};
      writer.Run(*tier, seen, seed, ticks, [&](std::mt19937_64& random) {
        if (t == 0) seen.resident.store(tier->figures().resident_blocks(), std::memory_order_relaxed);
        if (t != 0 || random() % 8 != 0) return;
        uint32_t until[kKeys + 1];  // what the others put meanwhile may go or stay
        for (uint64_t k = 1; k <= kKeys; ++k) until[k] = seen.versions[kAlone][k].load(std::memory_order_relaxed);
        seen.resident.store(0, std::memory_order_relaxed);
        tier->EraseAll();
        for (uint64_t k = 1; k <= kKeys; k += kThreads) seen.erased[k].store(until[k], std::memory_order_relaxed);
      });
    });
  }
  for (std::thread& thread : threads) thread.join();
  tier->Drain();
  seen.resident.store(tier->figures().resident_blocks(), std::memory_order_relaxed);
}

struct Kept {
  uint64_t rounds = 0, held = 0, found = 0;
  void Print(const char* how) const {
    std::printf("%s: %llu times, %llu blocks before, %llu after: %.1f %%\n", how,
                static_cast<unsigned long long>(rounds), static_cast<unsigned long long>(held),
                static_cast<unsigned long long>(found), 100.0 * static_cast<double>(found) / static_cast<double>(held));
  }
};

TEST_F(CrashTest, AKilledProcessLeavesWhatItStored) {
  std::mt19937_64 random(test::Seed());
  options_.erase = EraseMode::kDurable;
  Kept killed, closed;
  const auto check = [&](test::End end) {
    const auto tier = test::OpenOrDie(options_);
    ASSERT_NE(tier, nullptr);
    tier->WaitUntilRecovered();
    EXPECT_EQ(tier->recovery().outcome, RecoveryReport::Outcome::kRecovered);
    EXPECT_EQ(tier->recovery().clean, end == test::End::kClosed);
    Kept& kept = end == test::End::kClosed ? closed : killed;
    ++kept.rounds;
    const uint64_t held = seen_->resident.load(std::memory_order_relaxed);
    kept.held += held;
    kept.found += std::min(held, CountGood(*tier, kAlone));  // what was put after the last tick makes up for nothing
    test::ExpectSound(*tier);
  };
  Crash(
      test::KillsOr(60 / test::kStressShare), random,
      [&](uint64_t seed, int ticks) { RunAlone(options_, *seen_, seed, ticks); }, check);
  killed.Print("killed");
  closed.Print("closed");
  // 64 segments, of which some are given up so that there is room to write, and two end at a torn record.
  EXPECT_GE(killed.found * 100, killed.held * 90);
  EXPECT_GE(closed.found * 100, closed.held * 95);
}

// Each life names them in another order.
ShareIds AddShares(ScmTier& tier, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::array<size_t, kCount> order{0, 1, 2, 3};
  std::ranges::shuffle(order, random);
  ShareIds ids{};
  for (const size_t database : order) {
    const Status added = tier.shares().Add(kDatabases[database].name, kDatabases[database].limits, &ids[database]);
    EXPECT_TRUE(added.ok()) << added.message();
  }
  return ids;
}

[[noreturn]] void Fail(const char* why, uint64_t number) {
  std::fprintf(stderr, "%s: %llu\n", why, static_cast<unsigned long long>(number));
  _exit(7);
}

// Four databases. One has all its blocks within its reserve, and keeps them over all lives, whatever the others write.
class SharingChild {
 public:
  SharingChild(const ScmOptions& options, Seen& seen, uint64_t seed)
      : seen_(seen), seed_(seed), tier_(OpenInChild(options)), shares_(AddShares(*tier_, seed)) {
    if (::testing::Test::HasFailure()) _exit(2);
  }

  void Run(int ticks) {
    std::vector<std::thread> threads;
    for (size_t database = 1; database < kCount; ++database) {
      const Writer writer{.database = database, .share = shares_[database]};
      threads.emplace_back([this, writer, ticks] { writer.Run(*tier_, seen_, seed_, ticks, [](std::mt19937_64&) {}); });
    }
    Keep();
    for (std::thread& thread : threads) thread.join();
    tier_->Drain();
  }

 private:
  // Puts what is missing once the tier is back, while the others write. From then on next to nothing may go.
  void Keep() {
    tier_->WaitUntilRecovered();
    uint64_t missing = 0;
    for (uint64_t key = 1; key <= kKeptKeys; ++key) missing += FindOrPut(key) ? 0 : 1;
    if (seen_.kept_is_filled.exchange(true, std::memory_order_relaxed) && missing > kLostMax)
      Fail("too many were lost by a restart", missing);
    std::mt19937_64 random(seed_);
    for (uint64_t lost = 0; !seen_.stop.load(std::memory_order_relaxed);) {
      const uint64_t key = 1 + random() % kKeptKeys;
      lost += FindOrPut(key) ? 0 : 1;
      if (lost > kLostMax) Fail("too many are lost within their reserve", lost);
    }
  }

  // Whether it was there.
  bool FindOrPut(uint64_t key) {
    const PinnedBlock block = tier_->Find(KeyOf(kKept, key), BlockRole::kData, Heat::kKeep);
    const std::vector<std::byte> made = Made(kKept, key, 1);
    if (block && !test::Same(test::BytesOf(block), made)) Fail("wrong bytes of key", key);
    if (!block && tier_->Put(KeyOf(kKept, key), BlockRole::kData, made, Generation::kYoung, FormOf(key),
                             PackedBy::kCaller, shares_[kKept]) != PutResult::kStored)
      Fail("not stored: key", key);
    return static_cast<bool>(block);
  }

  Seen& seen_;
  const uint64_t seed_;
  const std::unique_ptr<ScmTier> tier_;
  const ShareIds shares_;
};

class SharesCrashTest : public CrashTest {
 protected:
  SharesCrashTest() {
    for (auto& version : seen_->versions[kKept]) version.store(1, std::memory_order_relaxed);
  }

  // Every block is as it was put, and its database's.
  void Check(uint64_t seed) {
    const auto tier = test::OpenOrDie(options_);
    ASSERT_NE(tier, nullptr);
    const ShareIds shares = AddShares(*tier, seed);
    tier->WaitUntilRecovered();
    EXPECT_EQ(tier->recovery().outcome, RecoveryReport::Outcome::kRecovered);
    for (size_t database = 0; database < kCount; ++database) {
      SCOPED_TRACE(kDatabases[database].name);
      const uint64_t found = CountGood(*tier, database);
      EXPECT_GE(found, database == kKept ? kKeptKeys - kLostMax : 1);
      found_[database] += found;
      const uint64_t bytes =
          tier->figures().RecordBytesOf([&](FileId file) { return file == KeyOf(database, 0).file(); });
      EXPECT_LE(bytes, tier->shares().UseOf(shares[database]).bytes);
    }
    const ShareUse few = tier->shares().UseOf(shares[kFew]);
    EXPECT_LE(few.bytes, few.max_bytes);
    EXPECT_EQ(tier->shares().UseOf(kNoShare).bytes, 0u) << "all blocks are somebody's";
    test::ExpectSound(*tier);
    ++checks_;
  }
  void Print() const {
    for (size_t database = 0; database < kCount; ++database) {
      std::printf("%s: %.0f blocks on average\n", kDatabases[database].name,
                  static_cast<double>(found_[database]) / static_cast<double>(checks_));
    }
  }

  uint64_t checks_ = 0;
  std::array<uint64_t, kCount> found_{};
};

TEST_F(SharesCrashTest, EachDatabaseGetsItsBlocksBackAndAReserveIsKept) {
  std::mt19937_64 random(test::Seed());
  const auto child = [&](uint64_t seed, int ticks) { SharingChild(options_, *seen_, seed).Run(ticks); };
  ASSERT_TRUE(test::RunAndEnd(test::End::kClosed, &seen_->stop, 30, [&](int ticks) { child(test::Seed(), ticks); }));
  Crash(test::KillsOr(32 / test::kStressShare), random, child, [&](test::End) {
    // Else the next child is the first that opens what this one left.
    if (random() % 2 == 0) Check(random());
  });
  Print();
}

}  // namespace
}  // namespace mezz
