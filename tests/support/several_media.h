// SPDX-License-Identifier: Apache-2.0
// A tier over two files.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/support/faulty_medium.h"
#include "tests/support/seed.h"
#include "tests/support/tier_fixture.h"

namespace mezz::test {

constexpr uint64_t kMiB = 1 << 20;

class SeveralMediaTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kSegment = kSegmentBytesMin;
  static constexpr size_t kBlock = 6000;

  SeveralMediaTest() { UseFiles(4 * kMiB, 8 * kMiB); }

  void UseFiles(uint64_t first, uint64_t second) {
    options_ = AnonymousOptions(first + second);
    options_.medium = MediumKind::kFile;
    options_.path.clear();
    options_.numa_node = -1;
    options_.recovery = Recovery::kWarm;
    options_.members = {{.path = files_[0].path(), .capacity_bytes = first},
                        {.path = files_[1].path(), .capacity_bytes = second}};
    options_.on_trouble = [this](std::string_view what) { trouble_ += std::string(what) + "\n"; };
  }
  Status TryOpen(bool faulty = false) {
    tier_.reset();
    const WrapMedium wrap = faulty ? FaultyMedium::Wrap({}, 0) : WrapMedium();
    const Status status = ScmTier::Open(options_, &tier_, /*judge=*/nullptr, wrap);
    if (status.ok()) tier_->WaitUntilRecovered();
    return status;
  }
  void Open(bool faulty = false) { ASSERT_EQ(TryOpen(faulty).message(), ""); }
  PutResult Put(uint64_t n, uint64_t version = 0) {
    return tier_->Put(Key(1 + n), BlockRole::kData, Payload(n, version, kBlock), Generation::kYoung);
  }
  void PutAll(uint64_t begin, uint64_t end) {
    for (uint64_t n = begin; n < end; ++n) ASSERT_EQ(Put(n), PutResult::kStored) << n;
  }
  // How many are found; each that is must be right.
  uint64_t Found(uint64_t begin, uint64_t end, uint64_t version = 0) {
    uint64_t found = 0;
    for (uint64_t n = begin; n < end; ++n) {
      const PinnedBlock block = tier_->Find(Key(1 + n));
      if (!block) continue;
      const auto bytes = block.SteadyBytes();
      if (!bytes) continue;
      ++found;
      EXPECT_TRUE(Same(*bytes, Payload(n, version, kBlock))) << n;
    }
    return found;
  }
  // Puts, finds and erases keys that no other thread has, and whose versions are known. `may_refuse`: a put may find no
  // room; what it was to replace is erased then.
  void UseOwnKeys(uint64_t thread, uint64_t keys, int steps, bool may_refuse) {
    std::mt19937_64 random(Seed() + thread);
    std::vector<uint64_t> version(keys, 0);
    std::vector<bool> erased(keys, true);
    for (int step = 0; step < steps; ++step) {
      const uint64_t n = random() % keys, key = thread * keys + n;
      const PinnedBlock block = tier_->Find(Key(1 + key));
      if (block) {
        const auto bytes = block.SteadyBytes();
        ASSERT_TRUE(bytes && !erased[n] && Same(*bytes, Payload(key, version[n], kBlock))) << key;
      }
      if (random() % 8 == 0) tier_->NoteDramEviction(Key(1 + key));
      const bool changes = random() % 4 == 0;
      if (!changes && random() % 16 == 0) {
        tier_->Erase(Key(1 + key));
        erased[n] = true;
      } else if (changes || (!block && !erased[n])) {
        const bool stored = Put(key, version[n] += changes ? 1 : 0) == PutResult::kStored;
        ASSERT_TRUE(stored || may_refuse) << key;
        if (!stored) tier_->Erase(Key(1 + key));
        erased[n] = !stored;
      }
    }
  }
  uint64_t UsedOf(size_t member) const { return tier_->figures().MembersNow()[member].usage_bytes; }
  const ScratchFile files_[2];
  ScmOptions options_;
  std::string trouble_;
  std::unique_ptr<ScmTier> tier_;
};

}  // namespace mezz::test
