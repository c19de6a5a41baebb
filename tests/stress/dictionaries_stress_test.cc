// SPDX-License-Identifier: Apache-2.0
// Many threads pack, find, hold and unpack while the language of the data changes: dictionaries come, are retired and
// go, and every block unpacks to its bytes with the one of its time.
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <thread>

#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

using test::Key;
using test::TextPayload;

constexpr uint64_t kLanguages = 4;
constexpr uint64_t kKeysOfLanguage = 2000;

uint64_t LanguageOf(uint64_t key) { return key / kKeysOfLanguage; }
std::vector<std::byte> BlockOf(uint64_t key) { return TextPayload(key, 0, 600 + key * 37 % 5000, LanguageOf(key)); }

class Languages {
 public:
  explicit Languages(ScmTier& tier) : tier_(tier) {}

  // Puts in the language of the day, finds in all, and holds some for a while.
  void Run(uint64_t seed) {
    std::mt19937_64 random(seed);
    std::deque<std::pair<uint64_t, PinnedBlock>> held;
    while (!done_.load(std::memory_order_relaxed)) {
      const uint64_t today = today_.load(std::memory_order_relaxed);
      const uint64_t key =
          (random() % 2 == 0 ? today : random() % kLanguages) * kKeysOfLanguage + random() % kKeysOfLanguage;
      if (LanguageOf(key) == today && random() % 2 == 0) {
        const auto generation = random() % 3 == 0 ? Generation::kProven : Generation::kYoung;
        tier_.Put(Key(key), BlockRole::kData, BlockOf(key), generation, Form::kPacked);
      } else if (PinnedBlock found = tier_.Find(Key(key))) {
        Check(key, found);
        if (random() % 8 == 0) held.emplace_back(key, std::move(found));
      }
      if (held.size() > 20) {
        Check(held.front().first, held.front().second);
        held.pop_front();
      }
    }
  }

  // Each language until it has its own dictionary.
  void Govern(uint64_t days) {
    for (uint64_t day = 0; day < days; ++day) {
      const uint64_t before = Count(Event::kDictionaryTrained);
      today_.store(day % kLanguages, std::memory_order_relaxed);
      while (Count(Event::kDictionaryTrained) == before) std::this_thread::yield();
    }
    while (Count(Event::kDictionaryCollected) == 0) std::this_thread::yield();
    done_.store(true, std::memory_order_relaxed);
  }

  uint64_t Count(Event event) const { return tier_.counters().Snapshot()[event]; }
  uint64_t wrong() const { return wrong_.load(std::memory_order_relaxed); }

 private:
  void Check(uint64_t key, const PinnedBlock& block) {
    if (test::BytesOf(block) != BlockOf(key)) wrong_.fetch_add(1, std::memory_order_relaxed);
  }

  ScmTier& tier_;
  std::atomic<uint64_t> today_{0}, wrong_{0};
  std::atomic<bool> done_{false};
};

TEST(DictionariesStress, EveryBlockUnpacksWithTheOneOfItsTime) {
  ScmOptions options = test::AnonymousOptions(10 * kSegmentBytesMin);
  options.pack = PackMode::kZstd;
  options.dictionaries = test::kTrainedSoon;
  auto tier = test::OpenOrDie(options);
  ASSERT_NE(tier, nullptr);
  Languages languages(*tier);
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) threads.emplace_back(&Languages::Run, &languages, test::Seed() + t);
  languages.Govern(/*days=*/8);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(languages.wrong(), 0u) << "MEZZ_SEED=" << test::Seed();
  EXPECT_GT(languages.Count(Event::kPackedWithDictionary), 1000u);
  EXPECT_EQ(languages.Count(Event::kScmNoDictionary) + languages.Count(Event::kScmUnpackFailed), 0u);
  test::ExpectSound(*tier);
}

}  // namespace
}  // namespace mezz
