// SPDX-License-Identifier: Apache-2.0
// Four databases share a tier in a process that is killed in the middle of its work, or closed, again and again over
// one medium. Each life names them in another order. One has all its blocks within its reserve, and keeps them over all
// lives, whatever the others write. MEZZ_CRASHES sets how often the process is killed.
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
using ShareIds = std::array<ShareId, kCount>;

// What the parent knows of its children: they write it, and it outlives them.
struct Seen {
  std::atomic<uint32_t> versions[kCount][kKeys + 1];  // of each key: put, or about to be
  std::atomic<bool> kept_is_filled;                   // once
  std::atomic<bool> stop;                             // it shall close the medium and end
};

BlockKey KeyOf(size_t database, uint64_t key) { return {.words = {database + 1, key}}; }

std::vector<std::byte> Made(size_t database, uint64_t key, uint64_t version) {
  const size_t bytes = 200 + (key * 131 + version * 977) % 5000;
  const uint64_t id = database * (kKeys + 1) + key;
  return key % 2 == 0 ? test::PackablePayload(id, version, bytes) : test::Payload(id, version, bytes);
}

ShareIds AddSharesInSomeOrder(ScmTier& tier, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::array<size_t, kCount> order{0, 1, 2, 3};
  std::ranges::shuffle(order, random);
  ShareIds ids{};
  for (const size_t database : order) {
    const Status added = tier.AddShare(kDatabases[database].name, kDatabases[database].limits, &ids[database]);
    EXPECT_TRUE(added.ok()) << added.message();
  }
  return ids;
}

[[noreturn]] void Fail(const char* why, uint64_t number) {
  std::fprintf(stderr, "%s: %llu\n", why, static_cast<unsigned long long>(number));
  _exit(7);
}

class Child {
 public:
  Child(const ScmOptions& options, Seen& seen, uint64_t seed, int ticks) : seen_(seen), seed_(seed), ticks_(ticks) {
    if (!ScmTier::Open(options, &tier_).ok()) _exit(2);
    shares_ = AddSharesInSomeOrder(*tier_, seed);
    if (::testing::Test::HasFailure()) _exit(2);
  }

  void Run() {
    std::vector<std::thread> threads;
    for (size_t database = 1; database < kCount; ++database) threads.emplace_back([&, database] { Work(database); });
    Keep();
    for (std::thread& thread : threads) thread.join();
    tier_->Drain();
    tier_.reset();
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
    if (!block &&
        tier_->Put(KeyOf(kKept, key), BlockRole::kData, made, Generation::kYoung,
                   key % 4 == 0 ? Form::kPacked : Form::kRaw, PackedBy::kCaller, shares_[kKept]) != PutResult::kStored)
      Fail("not stored: key", key);
    return static_cast<bool>(block);
  }

  // One thread has its own keys, so that it alone counts their versions.
  void Work(size_t database) {
    std::mt19937_64 random(seed_ + database);
    for (uint64_t i = 1; !seen_.stop.load(std::memory_order_relaxed); ++i) {
      const uint64_t key = 1 + random() % kKeys;
      const BlockKey name = KeyOf(database, key);
      if (random() % 16 == 0) tier_->Find(name);
      const uint32_t version = seen_.versions[database][key].load(std::memory_order_relaxed) + 1;
      seen_.versions[database][key].store(version, std::memory_order_relaxed);
      tier_->Put(name, BlockRole::kData, Made(database, key, version),
                 random() % 4 == 0 ? Generation::kProven : Generation::kYoung,
                 key % 4 == 0 ? Form::kPacked : Form::kRaw, PackedBy::kStage, shares_[database]);
      if (random() % 16 == 0) tier_->Erase(name);
      const char tick = '.';
      if (i % kPutsATick == 0 && write(ticks_, &tick, 1) != 1) _exit(3);
    }
  }

  Seen& seen_;
  const uint64_t seed_;
  const int ticks_;
  std::unique_ptr<ScmTier> tier_;
  ShareIds shares_;
};

class SharesCrashTest : public ::testing::Test {
 protected:
  SharesCrashTest() {
    options_ = test::WarmOptions(file_.path(), 64 * kSegmentBytesMin);
    options_.pack = PackMode::kZstd;
    void* const shared = mmap(nullptr, sizeof(Seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    seen_ = new (shared) Seen();
    for (auto& version : seen_->versions[kKept]) version.store(1, std::memory_order_relaxed);
  }
  ~SharesCrashTest() override { munmap(static_cast<void*>(seen_), sizeof(Seen)); }

  bool RunAndEnd(test::End end, uint64_t seed, uint64_t ticks) {
    options_.pack_stage_bytes = seed % 2 == 0 ? kUsualPackStageBytes : 0;
    return test::RunAndEnd(end, &seen_->stop, ticks,
                           [&](int tick_pipe) { Child(options_, *seen_, seed, tick_pipe).Run(); });
  }

  uint64_t CountGood(ScmTier& tier, size_t database) {
    uint64_t found = 0;
    for (uint64_t key = 1; key <= kKeys; ++key) {
      const PinnedBlock block = tier.Find(KeyOf(database, key), BlockRole::kData, Heat::kKeep);
      if (!block) continue;
      ++found;
      const auto bytes = test::BytesOf(block);
      uint32_t version = seen_->versions[database][key].load(std::memory_order_relaxed);
      while (version > 0 && !test::Same(bytes, Made(database, key, version))) --version;
      EXPECT_NE(version, 0u) << "key " << key << " has bytes that its database never put under it";
    }
    return found;
  }

  // Every block is as it was put, and its database's.
  void Check(uint64_t seed) {
    const auto tier = test::OpenOrDie(options_);
    ASSERT_NE(tier, nullptr);
    const ShareIds shares = AddSharesInSomeOrder(*tier, seed);
    tier->WaitUntilRecovered();
    EXPECT_EQ(tier->recovery().outcome, RecoveryReport::Outcome::kRecovered);
    for (size_t database = 0; database < kCount; ++database) {
      SCOPED_TRACE(kDatabases[database].name);
      const uint64_t found = CountGood(*tier, database);
      EXPECT_GE(found, database == kKept ? kKeptKeys - kLostMax : 1);
      found_[database] += found;
      const uint64_t bytes = tier->RecordBytesOf([&](FileId file) { return file == KeyOf(database, 0).file(); });
      EXPECT_LE(bytes, tier->UseOf(shares[database]).bytes);
    }
    const ScmTier::ShareUse few = tier->UseOf(shares[kFew]);
    EXPECT_LE(few.bytes, few.max_bytes);
    EXPECT_EQ(tier->UseOf(kNoShare).bytes, 0u) << "all blocks are somebody's";
    test::ExpectSound(*tier);
    ++checks_;
  }
  void Print() const {
    for (size_t database = 0; database < kCount; ++database) {
      std::printf("%s: %.0f blocks on average\n", kDatabases[database].name,
                  static_cast<double>(found_[database]) / static_cast<double>(checks_));
    }
  }

  const test::ScratchFile file_;
  ScmOptions options_;
  Seen* seen_;
  uint64_t checks_ = 0;
  std::array<uint64_t, kCount> found_{};
};

TEST_F(SharesCrashTest, EachDatabaseGetsItsBlocksBackAndAReserveIsKept) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const uint64_t kills = test::KillsOr(32 / test::kStressShare);
  ASSERT_TRUE(RunAndEnd(test::End::kClosed, random(), 30));
  for (uint64_t killed = 0; killed < kills && !HasFailure();) {
    const test::End end = random() % 4 == 0 ? test::End::kClosed : test::End::kKilled;
    killed += end == test::End::kKilled ? 1 : 0;
    ASSERT_TRUE(RunAndEnd(end, random(), 1 + random() % 60)) << "kill " << killed;
    // Else the next child is the first that opens what this one left.
    if (random() % 2 == 0) Check(random());
  }
  Print();
}

}  // namespace
}  // namespace mezz
