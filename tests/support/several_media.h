// SPDX-License-Identifier: Apache-2.0
// A tier over two files.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/support/faulty_medium.h"
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
    const ScmTier::WrapMedium wrap = faulty ? FaultyMedium::Wrap({}, 0) : ScmTier::WrapMedium();
    const Status status = ScmTier::Open(options_, &tier_, /*judge=*/nullptr, wrap);
    if (status.ok()) tier_->WaitUntilRecovered();
    return status;
  }
  void Open(bool faulty = false) {
    const Status status = TryOpen(faulty);
    ASSERT_TRUE(status.ok()) << status.message();
  }
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
  uint64_t UsedOf(size_t member) const { return tier_->MembersNow()[member].usage_bytes; }
  const ScratchFile files_[2];
  ScmOptions options_;
  std::string trouble_;
  std::unique_ptr<ScmTier> tier_;
};

}  // namespace mezz::test
