// SPDX-License-Identifier: Apache-2.0
// Memory that does not answer any more while the tier uses it: whoever touches it gets SIGBUS, and the tier contains
// it.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <new>
#include <string_view>

#include "cache/record.h"
#include "tests/support/faulty_medium.h"
#include "tests/support/tier_fixture.h"

namespace {
std::atomic<bool> cannot_populate{false};
}  // namespace

// The tier's calls come here.
extern "C" int madvise(void* at, size_t bytes, int advice) noexcept {
  constexpr int kPopulateWrite = 23;
  if (advice != kPopulateWrite || !cannot_populate.load(std::memory_order_relaxed))
    return static_cast<int>(syscall(SYS_madvise, at, bytes, advice));
  errno = EINVAL;
  return -1;
}

namespace mezz {
namespace {

using test::FaultyMedium;
using test::Key;
using test::kPageBytes;

constexpr uint64_t kSegment = kSegmentBytesMin, kSegments = 16;
constexpr size_t kBytes = 6000;  // over more than one page

class LostMemoryTest : public testing::Test {
 protected:
  LostMemoryTest() {
    options_.bus_errors = BusErrorMode::kContain;
    options_.faults_max = 1000;
  }
  // Without the pages at these offsets from the first look on.
  Status TryOpen(const std::vector<uint64_t>& lost = {}) {
    tier_.reset();
    const Status status = ScmTier::Open(options_, &tier_, /*judge=*/nullptr, [&](std::unique_ptr<Medium> medium) {
      auto wrapped = FaultyMedium::Wrap({}, 0)(std::move(medium));
      for (const uint64_t at : lost) FaultyMedium::Active().LosePage(at);
      return wrapped;
    });
    if (status.ok()) tier_->WaitUntilRecovered();
    return status;
  }
  void Open(const std::vector<uint64_t>& lost = {}) { ASSERT_EQ(TryOpen(lost).message(), ""); }
  PutResult Put(uint64_t n) {
    return tier_->Put(Key(1 + n), BlockRole::kData, test::PackablePayload(n, 0, kBytes), Generation::kYoung,
                      Form::kPacked);
  }
  void PutAll(uint64_t begin, uint64_t end) {
    for (uint64_t n = begin; n < end; ++n) ASSERT_EQ(Put(n), PutResult::kStored) << n;
  }
  // By a copy, as whoever must not die of it.
  uint64_t Served(uint64_t end) {
    uint64_t served = 0;
    for (uint64_t n = 0; n < end; ++n) {
      const PinnedBlock block = tier_->Find(Key(1 + n));
      if (!block) continue;
      const auto bytes = test::BytesOf(block);
      if (bytes.empty()) continue;
      ++served;
      EXPECT_TRUE(test::Same(bytes, test::PackablePayload(n, 0, kBytes))) << n;
    }
    return served;
  }
  // Of the record's header from the medium's start.
  uint64_t OffsetOf(uint64_t n) {
    const PinnedBlock block = tier_->Find(Key(1 + n));
    return static_cast<uint64_t>(block.stored().data() - FaultyMedium::Active().base()) - sizeof(layout::RecordHeader);
  }
  void LosePage(uint64_t offset) { FaultyMedium::Active().LosePage(offset); }
  void ExpectQuarantinedByTheNextPut(uint64_t segments) {
    ASSERT_NE(Put(100'000), PutResult::kTooLarge);
    EXPECT_EQ(tier_->figures().quarantined_bytes(), segments * kSegment);
  }

  const test::ScratchFile file_;
  ScmOptions options_ = test::WarmOptions(file_.path(), kSegments* kSegment);
  std::unique_ptr<ScmTier> tier_;
};

TEST_F(LostMemoryTest, AHeaderIsAMissAndItsSegmentIsQuarantined) {
  Open();
  PutAll(0, 100);
  LosePage(OffsetOf(5));
  EXPECT_FALSE(tier_->Find(Key(6)));
  EXPECT_EQ(tier_->figures().faults(), 1u);
  EXPECT_EQ(tier_->figures().bus_errors(), 1u);
  EXPECT_EQ(tier_->counters().Snapshot()[Event::kScmDamagedHeader], 1u);
  ExpectQuarantinedByTheNextPut(1);
  EXPECT_GT(Served(100), 40u);
  EXPECT_EQ(tier_->figures().faults(), 1u) << "nobody went there again";
  test::ExpectSound(*tier_);
}

// Should its flag flip, and what could not be stored be there after all, it is still no block.
TEST_F(LostMemoryTest, ARecordThatCannotBeStoredIsVoidAndItsChecksumIsNotThatOfItsBytes) {
  Open();
  const auto put = [&](uint64_t n) {
    return tier_->Put(Key(1 + n), BlockRole::kData, test::Payload(n, 0, kBytes), Generation::kYoung, Form::kRaw);
  };
  ASSERT_EQ(put(0), PutResult::kStored);
  const uint64_t next = OffsetOf(0) + layout::RecordBytes(kBytes);
  LosePage(next + layout::RecordBytes(kBytes) - 1);
  ASSERT_NE(put(1), PutResult::kStored);
  const record::Header& header = record::HeaderAt(FaultyMedium::Active(), next);
  ASSERT_EQ(header.key, Key(2));
  EXPECT_EQ(header.flags, layout::kRecordVoid);
  EXPECT_NE(record::StoredChecksum(header), record::PayloadChecksum(test::Payload(1, 0, kBytes)));
}

TEST_F(LostMemoryTest, APayloadIsAMissWhereItIsRead) {
  for (const VerifyMode verify : {VerifyMode::kAlways, VerifyMode::kOff}) {
    SCOPED_TRACE(ToString(verify));
    options_.verify = verify;
    options_.recovery = Recovery::kDiscard;
    Open();
    PutAll(0, 100);
    LosePage(OffsetOf(5) + kBytes);
    PinnedBlock block = tier_->Find(Key(6));
    EXPECT_EQ(static_cast<bool>(block), verify == VerifyMode::kOff) << "nobody reads it";
    if (block) {
      EXPECT_FALSE(block.SteadyBytes());
      EXPECT_TRUE(test::BytesOf(block).empty());
    }
    block.Release();
    EXPECT_FALSE(tier_->Find(Key(6)));
    EXPECT_GE(tier_->figures().bus_errors(), 1u);
    EXPECT_EQ(tier_->figures().faults(), tier_->figures().bus_errors()) << "each counts once";
    ExpectQuarantinedByTheNextPut(1);
    test::ExpectSound(*tier_);
  }
}

// Between the hit and its use.
TEST_F(LostMemoryTest, APackedRecordIsAMissWhereItIsUnpacked) {
  for (const PackMode pack : {PackMode::kLz4, PackMode::kZstd}) {
    SCOPED_TRACE(ToString(pack));
    options_.pack = pack;
    options_.recovery = Recovery::kDiscard;
    Open();
    PutAll(0, 100);
    PinnedBlock block = tier_->Find(Key(6));
    ASSERT_EQ(block.form(), Form::kPacked);
    LosePage(OffsetOf(5));
    EXPECT_TRUE(test::BytesOf(block).empty());
    EXPECT_EQ(tier_->figures().bus_errors(), 2u) << "the payload, and then its header";
    block.Release();
    ExpectQuarantinedByTheNextPut(1);
    EXPECT_FALSE(tier_->Find(Key(6)));
    test::ExpectSound(*tier_);
  }
}

#ifdef MEZZ_TEST_HOOKS
TEST_F(LostMemoryTest, NoMemoryForACopyIsAMissThatKeepsTheRecord) {
  for (const PackMode pack : {PackMode::kOff, PackMode::kLz4}) {
    SCOPED_TRACE(ToString(pack));
    options_.pack = pack;
    options_.recovery = Recovery::kDiscard;
    Open();
    PutAll(0, 10);
    PinnedBlock block = tier_->Find(Key(6));
    ASSERT_EQ(block.form(), pack == PackMode::kOff ? Form::kRaw : Form::kPacked);
    const auto no_memory = [](const char* at) {
      if (std::string_view(at) == "record.steady_bytes") throw std::bad_alloc();
    };
    g_test_point_hook.store(no_memory, std::memory_order_release);
    EXPECT_TRUE(test::BytesOf(block).empty());
    g_test_point_hook.store(nullptr, std::memory_order_release);
    block.Release();
    const CounterSnapshot counters = tier_->counters().Snapshot();
    EXPECT_EQ(counters[Event::kAllocationFailed], 1u);
    EXPECT_EQ(counters[Event::kScmChecksumMismatch] + counters[Event::kScmUnpackFailed], 0u);
    EXPECT_EQ(tier_->figures().faults(), 0u);
    EXPECT_EQ(Served(10), 10u);
  }
}
#endif

TEST_F(LostMemoryTest, APutThatIsNotTakenIsRefusedAndTheNextOnesGoElsewhere) {
  Open();
  PutAll(0, 10);
  const uint64_t next = OffsetOf(9) + 3 * kPageBytes;
  LosePage(next);
  uint64_t refused = 0;
  for (uint64_t n = 10; n < 60; ++n) refused += Put(n) != PutResult::kStored ? 1 : 0;
  EXPECT_GE(refused, 1u);
  EXPECT_LE(refused, 2u) << "a segment that failed is left at once";
  EXPECT_EQ(tier_->figures().quarantined_bytes(), kSegment);
  EXPECT_GT(Served(60), 40u);
  test::ExpectSound(*tier_);
}

TEST_F(LostMemoryTest, ReclaimGoesOnOverIt) {
  for (const PackMode pack : {PackMode::kOff, PackMode::kLz4}) {
    SCOPED_TRACE(ToString(pack));
    options_.pack = pack;
    options_.recovery = Recovery::kDiscard;
    Open();
    uint64_t stored = 0;
    for (uint64_t n = 0; n < 3000; ++n) {
      stored += Put(n) == PutResult::kStored ? 1 : 0;
      (void)tier_->Find(Key(1 + n - n % 16));  // some are spared
      if (n % 500 == 250) LosePage((2 + n / 500) * kSegment + n * 64 % kSegment);
    }
    EXPECT_GT(stored, 2950u);
    EXPECT_GE(tier_->figures().bus_errors(), 5u) << "the last may be to come";
    EXPECT_GE(tier_->figures().quarantined_bytes(), 5 * kSegment);
    EXPECT_GT(Served(3000), 300u);
    EXPECT_FALSE(tier_->figures().is_closed());
    test::ExpectSound(*tier_);
  }
}

// It was hit, so reclaim copies it; nobody looked at its end since that was lost.
TEST_F(LostMemoryTest, WhatReclaimCannotCopyIsGone) {
  Open();
  PutAll(0, 40);
  LosePage(OffsetOf(5) + kBytes);
  for (uint64_t n = 100; n < 1500; ++n) (void)Put(n);
  EXPECT_EQ(tier_->figures().bus_errors(), 1u);
  EXPECT_FALSE(tier_->Find(Key(6)));
  EXPECT_EQ(tier_->figures().quarantined_bytes(), kSegment);
  test::ExpectSound(*tier_);
}

TEST_F(LostMemoryTest, ARestartFindsWhatIsNotThere) {
  for (const bool clean : {true, false}) {
    SCOPED_TRACE(clean);
    Open();
    PutAll(0, 400);  // ten segments
    const uint64_t header = OffsetOf(100), payload = OffsetOf(200) + kBytes;
    if (!clean) test::Kill(file_, &tier_);
    Open({header, payload});
    const uint64_t served = Served(400);
    EXPECT_GT(served, 320u);
    EXPECT_LT(served, 400u);
    EXPECT_GE(tier_->figures().bus_errors(), 1u);
    ExpectQuarantinedByTheNextPut(2);
    test::ExpectSound(*tier_);
    tier_.reset();
    std::filesystem::remove(file_.path());
  }
}

TEST_F(LostMemoryTest, ASnapshotThatIsNotThereCostsOnlyTime) {
  Open();
  PutAll(0, 100);
  tier_.reset();
  layout::Superblock superblock;
  const std::string contents = test::Contents(file_.path());
  std::memcpy(&superblock, contents.data(), sizeof(superblock));
  ASSERT_NE(superblock.snapshot_segment, 0u);
  for (const uint64_t page : {uint64_t{0}, kPageBytes}) {
    SCOPED_TRACE(page);
    tier_.reset();
    std::ofstream(file_.path(), std::ios::binary) << contents;
    Open({superblock.snapshot_segment * kSegment + page});
    EXPECT_FALSE(tier_->recovery().from_snapshot);
    EXPECT_NE(tier_->recovery().no_snapshot.find("cannot be read"), std::string::npos);
    EXPECT_EQ(Served(100), 100u);
  }
}

TEST_F(LostMemoryTest, ASuperblockThatIsNotThereIsRefused) {
  Open();
  PutAll(0, 100);
  tier_.reset();
  const Status status = TryOpen({0});
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("use another medium"), std::string::npos) << status.message();
}

// While the first pages are made present, by a kernel that cannot populate them.
TEST_F(LostMemoryTest, AFileThatIsCutOffWhileItIsOpenedIsRefused) {
  options_.capacity_bytes = 24 << 20;
  options_.prepare = Prepare::kBeforeOpen;
  options_.prefault_threads = 1;
  options_.on_prefault = [&](const PrefaultProgress& progress) {
    ASSERT_LT(progress.bytes_done, progress.bytes_total);
    ASSERT_EQ(truncate(file_.path().c_str(), 0), 0);
    cannot_populate.store(true, std::memory_order_relaxed);
  };
  const Status status = TryOpen();
  cannot_populate.store(false, std::memory_order_relaxed);
  EXPECT_EQ(status.code(), Status::Code::kIoError);
  EXPECT_NE(status.message().find("could not be prefaulted"), std::string::npos) << status.message();
}

// Somebody cuts the file off under the tier, all of it or its end.
TEST_F(LostMemoryTest, AFileThatIsCutOffClosesTheTier) {
  for (const uint64_t left : {uint64_t{0}, 5 * kSegment + 100}) {
    SCOPED_TRACE(left);
    options_.faults_max = 16;
    std::string why;
    options_.on_trouble = [&](std::string_view what) { why += what; };
    Open();
    PutAll(0, 600);
    ASSERT_EQ(truncate(file_.path().c_str(), static_cast<off_t>(left)), 0);
    const uint64_t served = Served(600);
    EXPECT_LT(served, 300u);
    for (uint64_t n = 600; n < 2000; ++n) (void)Put(n);
    EXPECT_TRUE(tier_->figures().is_closed());
    EXPECT_EQ(Served(2000), 0u);
    EXPECT_NE(why.find("is closed"), std::string::npos) << why;
    tier_.reset();
    Open();
    EXPECT_FALSE(tier_->figures().is_closed());
    (void)Served(2000);
    PutAll(2000, 2010);
    test::ExpectSound(*tier_);
    tier_.reset();
    std::filesystem::remove(file_.path());
  }
}

TEST_F(LostMemoryTest, AllOfItsUsesSurviveIt) {
  options_.erase = EraseMode::kDurable;
  options_.verify = VerifyMode::kKeyed;
  options_.verify_key.emplace();
  options_.scrub_on_close = true;
  options_.pack = PackMode::kZstd;
  options_.dictionaries = test::kTrainedSoon;
  Open();
  for (uint64_t n = 0; n < 500; ++n) (void)Put(n);
  for (uint64_t segment = 1; segment < kSegments; segment += 2)
    for (uint64_t page = segment % 5; page < kSegment / kPageBytes; page += 7)
      LosePage(segment * kSegment + page * kPageBytes);
  for (uint64_t n = 0; n < 500; ++n) tier_->Erase(Key(1 + 3 * n));
  tier_->Scrub(1 << 20);
  (void)tier_->SetCapacity(10 * kSegment);
  (void)tier_->SetCapacity(kSegments * kSegment);
  for (uint64_t n = 500; n < 1500; ++n) (void)Put(n);
  tier_->EraseAll();
  EXPECT_EQ(Served(1500), 0u);
  EXPECT_GT(tier_->figures().bus_errors(), 0u);
}

}  // namespace
}  // namespace mezz
