// SPDX-License-Identifier: Apache-2.0
// Many threads on one small tier, every byte checked: a payload follows from its key and version, so a wrong byte shows
// whoever wrote it, and a stale one when.
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <thread>

#include "tests/support/sanitizer.h"
#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

using test::Key;
using test::MixedPayload;
using test::Payload;

constexpr int kThreads = 4;
constexpr uint64_t kKeys = 3000;

size_t BytesOf(uint64_t key) { return key % 7 == 0 ? 30'000 + key % 1000 : key * 37 % 6000; }

class Worker {
 public:
  Worker(ScmTier& tier, uint64_t seed) : tier_(tier), random_(seed) {}

  void Run(int steps) {
    for (int i = 0; i < steps && wrong_ == 0; ++i) Step();
    for (auto& [key, block] : held_) Check(key, block);
    held_.clear();
  }
  uint64_t wrong() const { return wrong_; }

 private:
  void Step() {
    const uint64_t key = random_() % kKeys;
    const uint64_t kind = random_() % 100;
    if (kind < 25) {
      tier_.Put(Key(key), BlockRole::kData, MixedPayload(key, 0, BytesOf(key)), Generation::kYoung, Form::kPacked);
    } else if (kind < 85) {
      PinnedBlock block = tier_.Find(Key(key));
      if (!block) return;
      Check(key, block);
      if (kind < 30) held_.emplace_back(key, std::move(block));
    } else if (kind < 90) {
      tier_.Erase(Key(key));
    } else if (kind < 95) {
      tier_.NotePromoted(Key(key));
    } else if (kind < 99) {
      tier_.NoteDramEviction(Key(key));
    } else {
      Rare();
    }
    if (held_.size() > 10) {
      Check(held_.front().first, held_.front().second);
      held_.pop_front();
    }
  }

  void Rare() {
    const uint64_t segment = tier_.options().segment_bytes;
    switch (random_() % 20) {
      case 0:
        tier_.EraseAll();
        break;
      case 1:
        (void)tier_.SetCapacity(segment * (kSegmentsMin + random_() % 4));
        break;
      case 2:
        (void)tier_.SetCapacity(tier_.options().capacity_bytes);
        break;
      case 3:
        tier_.figures().ForEach(
            [&](const BlockKey& key, size_t bytes, BlockRole) { wrong_ += bytes != BytesOf(key.words[1]); });
        break;
      case 4:
      case 5:
      case 6:
        for (int i = 0; i < 100; ++i) tier_.ForgetFile(Key(random_() % kKeys).file());
        break;
      default:
        tier_.Contains(Key(random_() % kKeys));
        break;
    }
  }

  void Check(uint64_t key, const PinnedBlock& block) {
    wrong_ += test::BytesOf(block) != MixedPayload(key, 0, BytesOf(key));
  }

  ScmTier& tier_;
  std::mt19937_64 random_;
  std::deque<std::pair<uint64_t, PinnedBlock>> held_;
  uint64_t wrong_ = 0;
};

void Race(const ScmOptions& options, int steps, bool grows = false) {
  auto tier = test::OpenOrDie(options);
  ASSERT_NE(tier, nullptr);
  std::atomic<uint64_t> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      Worker worker(*tier, test::Seed() + t);
      worker.Run(steps);
      wrong.fetch_add(worker.wrong(), std::memory_order_relaxed);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(std::memory_order_relaxed), 0u) << "MEZZ_SEED=" << test::Seed();
  EXPECT_EQ(tier->figures().dram().index > ScmTier::DramNeeded(tier->options()).index, grows);
  test::ExpectSound(*tier);
}

TEST(ScmTierStress, ThreadsOnATinyTier) {
  Race(test::AnonymousOptions(12 * kSegmentBytesMin), 40'000 / test::kStressShare);
}

TEST(ScmTierStress, ThreadsOnAFileWithVerifiedHits) {
  const test::ScratchFile file;
  ScmOptions options = test::AnonymousOptions(150 * kSegmentBytesMin);  // several writer lanes
  test::UseFile(file.path(), &options);
  options.verify = VerifyMode::kAlways;
  Race(options, 40'000 / test::kStressShare);
}

TEST(ScmTierStress, ThreadsOnPackedRecords) {
  for (const PackMode mode : {PackMode::kLz4, PackMode::kZstd}) {
    ScmOptions options = test::AnonymousOptions(12 * kSegmentBytesMin);
    options.pack = mode;
    options.pack_stage_bytes = mode == PackMode::kLz4 ? 0 : kUsualPackStageBytes;
    options.dictionaries = test::kTrainedSoon;
    Race(options, 20'000 / test::kStressShare);
  }
}

// A group is split in microseconds, and a tier's index soon has all of its growth behind it: so many of them.
TEST(ScmTierStress, ThreadsOnAnIndexThatGrows) {
  ScmOptions options = test::AnonymousOptions(12 * kSegmentBytesMin);
  options.pack = PackMode::kLz4;
  options.expected_block_bytes = 32 << 10;
  for (int round = 0; round < 24 / test::kStressShare; ++round) Race(options, 1500, /*grows=*/true);
}

// The versions of a few keys, each put and erased by one thread only. Others may hit them meanwhile.
class Ledger {
 public:
  static constexpr uint64_t kKeysPerOwner = 24;

  // The owner's turn: after Put(v) a find gives v or a miss, after Erase a miss.
  void OwnersStep(ScmTier& tier, int owner, std::mt19937_64& random) {
    const uint64_t key = owner * kKeysPerOwner + random() % kKeysPerOwner;
    Entry& entry = entries_[key];
    if (random() % 4 == 0) {
      tier.Erase(Key(key));
      entry.least.store(entry.begun.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    } else if (random() % 8 != 0) {
      // Told before it is put: a reader may find it as soon as the put has begun.
      const uint64_t version = entry.begun.load(std::memory_order_relaxed) + 1;
      entry.begun.store(version, std::memory_order_release);
      const auto generation = random() % 2 == 0 ? Generation::kProven : Generation::kYoung;
      if (tier.Put(Key(key), BlockRole::kData, Versioned(key, version), generation, Form::kPacked) !=
          PutResult::kStored)
        tier.Erase(Key(key));  // a refused put leaves what was there, as HybridCache knows
      entry.least.store(version, std::memory_order_release);
    }
    Check(tier, key);
  }
  // Anybody's.
  void Check(ScmTier& tier, uint64_t key) {
    Entry& entry = entries_[key];
    const uint64_t least = entry.least.load(std::memory_order_acquire);
    const PinnedBlock block = tier.Find(Key(key));
    if (!block) return;
    const std::vector<std::byte> bytes = test::BytesOf(block);
    uint64_t version = 0;
    if (bytes.size() >= sizeof(version)) std::memcpy(&version, bytes.data(), sizeof(version));
    const bool known = version >= least && version <= entry.begun.load(std::memory_order_acquire);
    const bool whole = bytes == Versioned(key, version);
    if (!known || !whole) wrong_.fetch_add(1, std::memory_order_relaxed);
  }
  uint64_t wrong() const { return wrong_.load(std::memory_order_relaxed); }

 private:
  struct Entry {
    std::atomic<uint64_t> begun{0};  // the last version whose put has begun
    std::atomic<uint64_t> least{
        1};  // that a look-up may find if it begins now: the last put's, one more after an erase
  };
  static std::vector<std::byte> Versioned(uint64_t key, uint64_t version) {
    std::vector<std::byte> payload = MixedPayload(key, version, 2000 + key * 331 % 20'000);
    std::memcpy(payload.data(), &version, sizeof(version));
    return payload;
  }

  Entry entries_[kThreads * kKeysPerOwner];
  std::atomic<uint64_t> wrong_{0};
};

constexpr int kStepsToReclaim = 3'000;

// Owners put and erase; a toucher hits their keys, so that reclaim moves them; a churner of proven blocks makes it
// reclaim; a resizer takes segments away and gives them back.
void RaceVersions(PackMode mode, int steps, uint32_t expected_block_bytes = 4096, uint64_t stage_bytes = 0) {
  ScmOptions options = test::AnonymousOptions(12 * kSegmentBytesMin);
  options.pack = mode;
  options.pack_stage_bytes = stage_bytes;
  options.expected_block_bytes = expected_block_bytes;
  options.dictionaries = test::kTrainedSoon;
  auto tier = test::OpenOrDie(options);
  ASSERT_NE(tier, nullptr);
  tier->SetRequeuePercent(30);
  Ledger ledger;
  std::atomic<bool> stop{false};
  std::vector<std::thread> owners, others;
  for (int owner = 0; owner < kThreads; ++owner) {
    owners.emplace_back([&, owner] {
      std::mt19937_64 random(test::Seed() + owner);
      for (int i = 0; i < steps && ledger.wrong() == 0; ++i) ledger.OwnersStep(*tier, owner, random);
    });
  }
  const auto until_stopped = [&](auto step) {
    others.emplace_back([&, step, random = std::mt19937_64(test::Seed() + 100 + others.size())]() mutable {
      while (!stop.load(std::memory_order_relaxed)) step(random);
    });
  };
  until_stopped([&](auto& random) { ledger.Check(*tier, random() % (kThreads * Ledger::kKeysPerOwner)); });
  until_stopped([&](auto& random) {
    const uint64_t key = kKeys + random() % 1000;
    tier->Put(Key(key), BlockRole::kData, MixedPayload(key, 0, 8000), Generation::kProven, Form::kPacked);
  });
  until_stopped([&](auto& random) {
    (void)tier->SetCapacity(kSegmentBytesMin * (kSegmentsMin + random() % 5));
    for (uint64_t key = 0; key < 100; ++key) tier->Contains(Key(key));
  });
  until_stopped([&](auto& random) {
    for (int i = 0; i < 20; ++i) tier->ForgetFile(Key(random() % (kThreads * Ledger::kKeysPerOwner)).file());
    for (uint64_t key = 0; key < 1000; ++key) tier->Contains(Key(key));
  });
  for (std::thread& thread : owners) thread.join();
  stop.store(true, std::memory_order_relaxed);
  for (std::thread& thread : others) thread.join();
  EXPECT_EQ(ledger.wrong(), 0u) << "stale or foreign bytes; MEZZ_SEED=" << test::Seed();
  if (steps >= kStepsToReclaim) {
    const CounterSnapshot counters = tier->counters().Snapshot();
    EXPECT_GT(counters[Event::kScmSecondChance], 0u) << "nothing moved: the test sees nothing";
    EXPECT_GT(counters[Event::kScmDeadDropped], 0u) << "nothing was forgotten: the test sees nothing";
    EXPECT_GT(counters[Event::kScmFileRevived], 0u);
  }
  EXPECT_EQ(tier->SetCapacity(tier->options().capacity_bytes).message(), "");
  test::ExpectSound(*tier);
}

TEST(ScmTierStress, AFindNeverGivesAnOlderVersionThanTheLastFinishedPut) {
  RaceVersions(PackMode::kOff, 30'000 / test::kStressShare);
}
TEST(ScmTierStress, NorOneOfPackedRecords) { RaceVersions(PackMode::kLz4, 20'000 / test::kStressShare); }
TEST(ScmTierStress, NorOneThatWasStaged) {
  for (const uint64_t stage_bytes : {kUsualPackStageBytes, uint64_t{4} << 20})  // often full, and hardly ever
    RaceVersions(PackMode::kLz4, 10'000, 4096, stage_bytes);
}
TEST(ScmTierStress, NorOneOfRecordsWithADictionary) { RaceVersions(PackMode::kZstd, 3'000); }
TEST(ScmTierStress, NorWhileTheIndexGrows) {
  for (int round = 0; round < 8 / test::kStressShare; ++round)
    RaceVersions(PackMode::kLz4, 500, /*expected_block_bytes=*/64 << 10);
}

// All threads put and erase the same few keys: duplicates, lost words and displaced words show in the audit.
TEST(ScmTierStress, ThreadsOnTheSameKeys) {
  auto tier = test::OpenOrDie(test::AnonymousOptions(12 * kSegmentBytesMin));
  std::atomic<uint64_t> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(test::Seed() + t);
      for (int i = 0; i < 60'000 / test::kStressShare; ++i) {
        const uint64_t key = random() % 8;
        if (random() % 3 == 0) tier->Erase(Key(key));
        tier->Put(Key(key), BlockRole::kData, Payload(key, 0, 500 + key));
        if (const PinnedBlock block = tier->Find(Key(key)))
          wrong.fetch_add(!test::Same(block.payload(), Payload(key, 0, 500 + key)), std::memory_order_relaxed);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(std::memory_order_relaxed), 0u);
  for (uint64_t key = 0; key < 8; ++key) {
    tier->Erase(Key(key));
    EXPECT_FALSE(tier->Find(Key(key))) << "a second record of an erased key came back";
  }
  test::ExpectSound(*tier);
}

}  // namespace
}  // namespace mezz
