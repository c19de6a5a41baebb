// SPDX-License-Identifier: Apache-2.0
// Threads that use a tier from the moment it is open, while it recovers what an earlier life left. Each owns its keys,
// so it knows with which versions they may be found.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

using test::Key;

constexpr unsigned kThreads = 3;
constexpr uint64_t kKeysEach = 600;
constexpr uint64_t kSegments = 48;
constexpr size_t kBytesMax = 3000;

size_t BytesOf(uint64_t n, uint64_t version) { return 16 + (n * 37 + version * 101) % kBytesMax; }

// The first 16 bytes say what it is; cheap, so that threads meet.
std::vector<std::byte> Made(uint64_t n, uint64_t version) {
  std::vector<std::byte> block(BytesOf(n, version), std::byte{0x77});
  std::memcpy(block.data(), &n, sizeof(n));
  std::memcpy(block.data() + sizeof(n), &version, sizeof(version));
  return block;
}

class Owner {
 public:
  Owner(unsigned number, uint64_t seed) : number_(number), random_(seed + number) {}

  // Before the threads start, in an earlier life; then what is there is of that life.
  void Fill(ScmTier& tier) {
    for (uint64_t i = 0; i < 3 * kKeysEach; ++i) Put(tier, random_() % kKeysEach);
    for (Known& known : known_) known.least = 1;
  }
  void Work(ScmTier& tier, uint64_t steps) {
    for (uint64_t step = 0; step < steps; ++step) {
      const uint64_t i = random_() % kKeysEach;
      if (random_() % 4 == 0) {
        Put(tier, i);
      } else if (random_() % 4 == 0) {
        tier.Erase(Key(KeyOf(i)));
        known_[i].least = UINT64_MAX;
        Find(tier, i);
      } else {
        Find(tier, i);
      }
    }
  }
  void FindAll(ScmTier& tier) {
    for (uint64_t i = 0; i < kKeysEach; ++i) Find(tier, i);
  }
  void ForgetAll() {
    for (Known& known : known_) known = {};
  }
  uint64_t found() const { return found_; }

 private:
  struct Known {
    uint64_t least = UINT64_MAX;  // versions below are gone
    uint64_t most = 0;
  };
  uint64_t KeyOf(uint64_t i) const { return i * kThreads + number_ + 1; }
  void Put(ScmTier& tier, uint64_t i) {
    ++version_;
    const auto generation = random_() % 4 == 0 ? Generation::kProven : Generation::kYoung;
    const auto stored = tier.Put(Key(KeyOf(i)), BlockRole::kData, Made(KeyOf(i), version_), generation,
                                 i % 2 == 0 ? Form::kPacked : Form::kRaw);
    if (stored == PutResult::kStored) known_[i].least = version_;
    known_[i].most = version_;
  }
  void Find(ScmTier& tier, uint64_t i) {
    const PinnedBlock block = tier.Find(Key(KeyOf(i)));
    if (!block) return;
    ++found_;
    const auto bytes = test::BytesOf(block);
    uint64_t words[2] = {};
    ASSERT_GE(bytes.size(), sizeof(words));
    std::memcpy(words, bytes.data(), sizeof(words));
    ASSERT_EQ(words[0], KeyOf(i));
    ASSERT_EQ(bytes.size(), BytesOf(words[0], words[1]));
    ASSERT_GE(words[1], known_[i].least) << "key " << words[0] << " was put or erased since";
    ASSERT_LE(words[1], known_[i].most);
    known_[i].least = words[1];
  }

  const unsigned number_;
  std::mt19937_64 random_;
  std::vector<Known> known_{kKeysEach};
  uint64_t version_ = 0;
  uint64_t found_ = 0;
};

TEST(ServingRecoveryStress, NoThreadFindsWhatItPutOverOrErased) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  const test::ScratchFile file;
  ScmOptions options = test::AnonymousOptions(kSegments * kSegmentBytesMin);
  test::UseFile(file.path(), &options);
  options.recovery = Recovery::kWarm;
  options.pack = PackMode::kZstd;
  options.dictionaries = test::kTrainedSoon;
  options.pack_stage_bytes = kPackStageBytesMin;
  options.expected_block_bytes = 256;  // so that the snapshot is of several chunks
  std::vector<Owner> owners;
  for (unsigned t = 0; t < kThreads; ++t) owners.emplace_back(t, seed);
  for (int life = 0; life < 6 && !::testing::Test::HasFailure(); ++life) {
    auto tier = test::OpenOrDie(options);
    ASSERT_NE(tier, nullptr);
    std::vector<std::thread> threads;
    for (Owner& owner : owners) threads.emplace_back([&] { owner.Work(*tier, 1500); });
    if (life % 4 == 1) {
      EXPECT_TRUE(tier->SetCapacity(kSegments / 2 * kSegmentBytesMin).ok());
    }
    if (life % 4 == 3) tier->EraseAll();
    for (std::thread& thread : threads) thread.join();
    for (Owner& owner : owners) owner.FindAll(*tier);
    test::ExpectSound(*tier);
    tier->EraseAll();  // so that what the next life may find is known: all of this one
    for (Owner& owner : owners) owner.ForgetAll();
    for (Owner& owner : owners) owner.Fill(*tier);
    tier->Drain();
    if (life % 2 == 0) test::Kill(file, &tier);
    tier.reset();  // closed, it has a snapshot
  }
  uint64_t found = 0;
  for (const Owner& owner : owners) found += owner.found();
  EXPECT_GT(found, 1000u);
}

}  // namespace
}  // namespace mezz
