// SPDX-License-Identifier: Apache-2.0
// Many threads on one small tier, every byte checked. Keys are immutable while resident, as RocksDB's are: a payload
// follows from its key, so a wrong byte shows whoever wrote it.
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <thread>

#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

using test::Key;
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
      tier_.Put(Key(key), BlockRole::kData, Payload(key, 0, BytesOf(key)));
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
        tier_.ForEach([&](const BlockKey& key, size_t bytes, BlockRole) { wrong_ += bytes != BytesOf(key.words[1]); });
        break;
      default:
        tier_.Contains(Key(random_() % kKeys));
        break;
    }
  }

  void Check(uint64_t key, const PinnedBlock& block) {
    wrong_ += !test::Same(block.payload(), Payload(key, 0, BytesOf(key)));
  }

  ScmTier& tier_;
  std::mt19937_64 random_;
  std::deque<std::pair<uint64_t, PinnedBlock>> held_;
  uint64_t wrong_ = 0;
};

void Race(const ScmOptions& options, int steps) {
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
  test::ExpectSound(*tier);
}

TEST(ScmTierStress, ThreadsOnATinyTier) { Race(test::AnonymousOptions(12 * kSegmentBytesMin), 40'000); }

TEST(ScmTierStress, ThreadsOnAFileWithVerifiedHits) {
  const test::ScratchFile file;
  ScmOptions options = test::AnonymousOptions(150 * kSegmentBytesMin);  // several writer lanes
  options.medium = MediumKind::kFile;
  options.path = file.path();
  options.verify = VerifyMode::kAlways;
  Race(options, 40'000);
}

// All threads put and erase the same few keys: duplicates, lost words and displaced words show in the audit.
TEST(ScmTierStress, ThreadsOnTheSameKeys) {
  auto tier = test::OpenOrDie(test::AnonymousOptions(12 * kSegmentBytesMin));
  std::atomic<uint64_t> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(test::Seed() + t);
      for (int i = 0; i < 60'000; ++i) {
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
