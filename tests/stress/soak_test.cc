// SPDX-License-Identifier: Apache-2.0
// One medium through many lives: mixed load of some threads, resizes, everything erased, reopenings warm and cold, and
// bits that flip in between. Every block that is found is one that was put, and memory does not grow. MEZZ_SOAK_SECONDS
// sets how long; without it a few lives.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/tier_fixture.h"

// Freed memory that the sanitizer keeps would look like growth.
extern "C" const char* __asan_default_options() { return "quarantine_size_mb=8"; }

namespace mezz {
namespace {

constexpr uint64_t kKeys = 4000, kSegments = 64, kBytes = kSegments * kSegmentBytesMin;
constexpr unsigned kThreads = 3;
constexpr int kStepsOfALife = 1500;  // of each thread
constexpr int kLivesAtFirst = 10;    // until every buffer has been as large as it gets
constexpr uint64_t kGrowthMax = 48 << 20;

uint64_t ResidentBytes() {
  uint64_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

std::vector<std::byte> Made(uint64_t key, uint64_t version) {
  return test::MixedPayload(key, version, 200 + (key * 131 + version * 977) % 5000);
}

class SoakTest : public ::testing::Test {
 protected:
  SoakTest() {
    options_ = test::AnonymousOptions(kBytes);
    test::UseFile(file_.path(), &options_);
    options_.verify = VerifyMode::kAlways;  // bits flip
    options_.pack = PackMode::kZstd;
    options_.dictionaries = test::kTrainedSoon;
  }

  // One thread has its own keys; of those only it knows more than that a block was put once.
  void Work(ScmTier& tier, unsigned thread, uint64_t seed) {
    std::mt19937_64 random(seed + thread);
    for (int step = 0; step < kStepsOfALife; ++step) {
      const uint64_t own = random() % (kKeys / kThreads) * kThreads + thread;
      switch (random() % 8) {
        case 0:
          tier.Erase(test::Key(own + 1));
          break;
        case 1:
        case 2:
        case 3: {
          const uint32_t version = versions_[own].fetch_add(1, std::memory_order_relaxed) + 1;
          tier.Put(test::Key(own + 1), BlockRole::kData, Made(own + 1, version),
                   random() % 4 == 0 ? Generation::kProven : Generation::kYoung,
                   own % 2 == 0 ? Form::kPacked : Form::kRaw);
          break;
        }
        default:
          Check(tier, random() % kKeys);
      }
    }
  }
  void Check(ScmTier& tier, uint64_t index) {
    const PinnedBlock block = tier.Find(test::Key(index + 1));
    if (!block) return;
    const auto bytes = test::BytesOf(block);
    if (block.form() == Form::kPacked && bytes.empty()) return;  // it does not unpack, which is a miss
    uint32_t version = versions_[index].load(std::memory_order_relaxed);
    while (version > 0 && !test::Same(bytes, Made(index + 1, version))) --version;
    EXPECT_NE(version, 0u) << "key " << index + 1 << " has bytes that nobody put under it";
    found_.fetch_add(1, std::memory_order_relaxed);
  }

  void Live(std::mt19937_64& random) {
    options_.recovery = random() % 8 == 0 ? Recovery::kDiscard : Recovery::kWarm;
    options_.pack_stage_bytes = random() % 2 == 0 ? kUsualPackStageBytes : 0;
    const auto tier = test::OpenOrDie(options_);
    ASSERT_NE(tier, nullptr);
    std::vector<std::thread> threads;
    const uint64_t seed = random();
    for (unsigned t = 0; t < kThreads; ++t) threads.emplace_back([&, t] { Work(*tier, t, seed); });
    for (int i = 0; i < 6; ++i) {
      const uint64_t sizes[] = {0, kBytes / 4, kBytes / 2, kBytes};
      EXPECT_TRUE(tier->SetCapacity(sizes[random() % 4]).ok());
      if (random() % 8 == 0) tier->EraseAll();
      std::this_thread::yield();
    }
    EXPECT_TRUE(tier->SetCapacity(kBytes).ok());
    for (std::thread& thread : threads) thread.join();
  }

  // Anywhere but in the superblocks.
  void FlipBits(std::mt19937_64& random) {
    std::string all = test::Contents(file_.path());
    for (auto flips = random() % 40; flips > 0; --flips) {
      const uint64_t at = layout::kSuperblockSpace + random() % (kBytes - layout::kSuperblockSpace);
      all[at] = static_cast<char>(all[at] ^ 1 << random() % 8);
    }
    test::Overwrite(file_.path(), 0, all);
  }

  const test::ScratchFile file_;
  ScmOptions options_;
  std::vector<std::atomic<uint32_t>> versions_ = std::vector<std::atomic<uint32_t>>(kKeys);
  std::atomic<uint64_t> found_{0};
};

TEST_F(SoakTest, ManyLivesOfOneMediumNeitherLieNorGrow) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const char* const wanted = std::getenv("MEZZ_SOAK_SECONDS");
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(wanted != nullptr ? std::atoi(wanted) : 0);
  uint64_t lives = 0, first_bytes = 0, most_bytes = 0;
  while ((lives < 2 * kLivesAtFirst || std::chrono::steady_clock::now() < end) && !HasFailure()) {
    Live(random);
    FlipBits(random);
    ++lives;
    most_bytes = std::max(most_bytes, ResidentBytes());
    if (lives == kLivesAtFirst) first_bytes = most_bytes;
  }
  std::printf("%llu lives, %llu blocks found, %llu MiB resident after %d lives and %llu at most\n",
              static_cast<unsigned long long>(lives), static_cast<unsigned long long>(found_.load()),
              static_cast<unsigned long long>(first_bytes >> 20), kLivesAtFirst,
              static_cast<unsigned long long>(most_bytes >> 20));
  EXPECT_GT(found_.load(std::memory_order_relaxed), 1000u);
  EXPECT_LE(most_bytes, first_bytes + kGrowthMax);
}

}  // namespace
}  // namespace mezz
