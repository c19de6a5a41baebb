// SPDX-License-Identifier: Apache-2.0
// Blocks that the kernel knows to be bad. Here whoever touches one dies of it, as there.
#include <gtest/gtest.h>

#include "cache/media/preparer.h"
#include "tests/support/faulty_medium.h"
#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

using test::FaultyMedium;
using test::Key;
using test::Payload;

constexpr uint64_t kSegment = kSegmentBytesMin, kSegments = 16;
constexpr size_t kBytes = 4000;

class BadBlocksTest : public testing::Test {
 protected:
  Status TryOpen(std::vector<BadRange> bad) {
    tier_.reset();
    options_.on_trouble = [this](std::string_view what) { told_ += what; };
    told_.clear();
    const Status status = ScmTier::Open(options_, &tier_, /*judge=*/nullptr, FaultyMedium::Wrap({}, 0, std::move(bad)));
    if (status.ok()) tier_->WaitUntilRecovered();
    return status;
  }
  void Open(std::vector<BadRange> bad = {}) { ASSERT_EQ(TryOpen(std::move(bad)).message(), ""); }
  void PutAll(uint64_t begin, uint64_t end) {
    for (uint64_t n = begin; n < end; ++n)
      ASSERT_EQ(tier_->Put(Key(1 + n), BlockRole::kData, Payload(n, 0, kBytes)), PutResult::kStored);
  }
  uint64_t Served(uint64_t end) {
    uint64_t served = 0;
    for (uint64_t n = 0; n < end; ++n) {
      const PinnedBlock block = tier_->Find(Key(1 + n));
      if (!block) continue;
      ++served;
      EXPECT_TRUE(test::Same(block.payload(), Payload(n, 0, kBytes))) << n;
    }
    return served;
  }
  std::string Copy(uint64_t at) { return test::Contents(file_.path()).substr(at, sizeof(layout::Superblock)); }

  const test::ScratchFile file_;
  ScmOptions options_ = test::WarmOptions(file_.path(), kSegments* kSegment);
  std::string told_;
  std::unique_ptr<ScmTier> tier_;
};

const std::vector<BadRange> kTwo = {{3 * kSegment + 4096, 3 * kSegment + 8192}, {7 * kSegment - 4096, 7 * kSegment}};

TEST_F(BadBlocksTest, AreNeverTouchedAndTheirSegmentsNeverUsed) {
  Open(kTwo);
  EXPECT_NE(told_.find("2 of its 16 segments"), std::string::npos) << told_;
  EXPECT_EQ(tier_->figures().capacity_bytes(), 14 * kSegment);
  PutAll(0, 3000);
  EXPECT_GT(Served(3000), 11 * 60u);
  EXPECT_LE(tier_->figures().usage_bytes(), 14 * kSegment);
  EXPECT_EQ(tier_->figures().quarantined_bytes(), 2 * kSegment);
  EXPECT_FALSE(tier_->figures().is_closed());
  test::ExpectSound(*tier_);
}

TEST_F(BadBlocksTest, AreNotReadWhenAnEarlierLifeIsFoundAgain) {
  for (const bool clean : {true, false}) {
    SCOPED_TRACE(clean);
    Open();
    EXPECT_EQ(told_, "");
    PutAll(0, 600);  // ten segments
    if (!clean) test::Kill(file_, &tier_);
    Open(kTwo);
    const uint64_t served = Served(600);
    EXPECT_GT(served, 400u);
    EXPECT_LT(served, 550u);
    PutAll(600, 2000);
    test::ExpectSound(*tier_);
    Open(kTwo);
    EXPECT_GT(Served(2000), 400u);
  }
}

TEST_F(BadBlocksTest, AreNotScrubbed) {
  options_.scrub_on_close = true;
  Open();
  PutAll(0, 600);
  test::Kill(file_, &tier_);
  Open(kTwo);
  tier_.reset();
  Open(kTwo);
  EXPECT_EQ(Served(600), 0u);
}

TEST_F(BadBlocksTest, UnderOneCopyOfTheSuperblockTheOtherServes) {
  for (const uint64_t at : {uint64_t{0}, layout::kSuperblockCopyAt}) {
    SCOPED_TRACE(at);
    Open();
    PutAll(0, 100);
    tier_.reset();
    const std::string before = Copy(at), other = Copy(layout::kSuperblockCopyAt - at);
    Open({{at, at + 512}});
    EXPECT_EQ(told_, "") << "no segment lies there";
    EXPECT_EQ(Served(100), 100u);
    PutAll(100, 200);
    tier_.reset();
    EXPECT_EQ(Copy(at), before) << "it was not written";
    EXPECT_NE(Copy(layout::kSuperblockCopyAt - at), other);
    Open({{at, at + 512}});
    EXPECT_EQ(Served(200), 200u);
    tier_->EraseAll();
  }
}

TEST_F(BadBlocksTest, UnderBothCopiesOfTheSuperblockAreRefused) {
  Open();
  PutAll(0, 100);
  const Status status = TryOpen({{512, 1024}, {3072, 3584}});
  EXPECT_EQ(status.code(), Status::Code::kIoError);
  EXPECT_NE(status.message().find("both copies"), std::string::npos) << status.message();
  Open();
  EXPECT_EQ(Served(100), 100u) << "nothing was changed";
}

TEST_F(BadBlocksTest, ThatLeaveTooFewSegmentsAreRefused) {
  const Status status = TryOpen({{4 * kSegment, 13 * kSegment}});
  EXPECT_EQ(status.code(), Status::Code::kIoError);
  EXPECT_NE(status.message().find("9 of its 16 segments, and 8 are needed"), std::string::npos) << status.message();
  Open({{4 * kSegment, 12 * kSegment}});
}

TEST(PreparerOfABadMedium, LeavesWhatIsBadAlone) {
  constexpr uint64_t kBytesMapped = 4 << 20, kPage = 4096, kBad = 17 * kPage;
  void* const memory = mmap(nullptr, kBytesMapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* const base = static_cast<std::byte*>(memory);
  ASSERT_EQ(mprotect(base + kBad, kPage, PROT_NONE), 0);
  PreparePlan plan;
  plan.base = base;
  plan.bytes = plan.first_bytes = kBytesMapped;
  plan.bad = {{kBad, kBad + kPage}};
  Preparer preparer(std::move(plan));
  EXPECT_TRUE(preparer.PrepareFirst().ok()) << preparer.status().message();
  EXPECT_EQ(preparer.ready_bytes(), kBytesMapped);
  munmap(memory, kBytesMapped);
}

}  // namespace
}  // namespace mezz
