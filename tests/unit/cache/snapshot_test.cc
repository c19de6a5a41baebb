// SPDX-License-Identifier: Apache-2.0
// A tier that was closed is reopened from what it wrote of its index: it holds what it held, and whatever is wrong with
// that snapshot only costs time.
#include "cache/snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <map>

#include "cache/inspection.h"
#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

using test::BytesOf;
using test::Key;
using test::Payload;
using test::Same;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint32_t kSegments = 16;

class SnapshotTest : public ::testing::Test {
 protected:
  void Open() {
    tier_.reset();
    tier_ = test::OpenOrDie(options_);
    ASSERT_NE(tier_, nullptr);
    tier_->WaitUntilRecovered();
  }
  void Kill() { test::Kill(file_, &tier_); }
  void PutAll(uint64_t first, uint64_t last, size_t bytes = 4000) {
    for (uint64_t n = first; n < last; ++n) tier_->Put(Key(n), BlockRole::kData, Payload(n, 0, bytes));
  }
  uint64_t ServedOf(uint64_t first, uint64_t last, size_t bytes = 4000) {
    uint64_t served = 0;
    for (uint64_t n = first; n < last; ++n) {
      const PinnedBlock block = tier_->Find(Key(n));
      if (!block) continue;
      EXPECT_TRUE(Same(BytesOf(block), Payload(n, 0, bytes))) << n;
      ++served;
    }
    return served;
  }
  std::string Contents() const { return test::Contents(file_.path()); }
  void Write(const std::string& all) const {
    if (test::IsDevice(file_.path())) return test::Overwrite(file_.path(), 0, all);
    std::ofstream(file_.path(), std::ios::binary).write(all.data(), static_cast<std::streamsize>(all.size()));
  }
  static std::span<const std::byte> BytesIn(const std::string& all) { return std::as_bytes(std::span(all)); }
  static layout::Superblock SuperblockIn(const std::string& all) {
    return FindSuperblock(BytesIn(all).first(layout::kSuperblockSpace)).superblock;
  }
  static std::string With(std::string all, const std::function<void(layout::Superblock*)>& change) {
    layout::Superblock superblock = SuperblockIn(all);
    change(&superblock);
    superblock = Sealed(superblock);
    for (const uint64_t at : {uint64_t{0}, layout::kSuperblockCopyAt})
      std::memcpy(all.data() + at, &superblock, sizeof(superblock));
    return all;
  }
  static std::string WithoutSnapshot(const std::string& all) {
    return With(all, [](layout::Superblock* superblock) { superblock->snapshot_segment = 0; });
  }
  // A medium of 299 blocks that was closed, and where its snapshot lies, which fits into one segment.
  struct Closed {
    std::string all;
    uint64_t start, end;
  };
  Closed ClosedWithOneChunk() {
    Open();
    PutAll(1, 300);
    tier_.reset();
    std::string all = Contents();
    const layout::Superblock superblock = SuperblockIn(all);
    const uint64_t start = superblock.snapshot_segment * superblock.segment_bytes;
    layout::SnapshotChunk chunk;
    std::memcpy(&chunk, all.data() + start, sizeof(chunk));
    return {std::move(all), start, start + sizeof(chunk) + chunk.content_bytes};
  }
  static std::string Judged(const std::string& all) { return SnapshotReader(BytesIn(all), SuperblockIn(all)).Check(); }

  const test::ScratchFile file_;
  ScmOptions options_ = test::WarmOptions(file_.path(), uint64_t{kSegments} * kSegmentBytesMin);
  std::unique_ptr<ScmTier> tier_;
};

// What DRAM held is known for one life, as that of what nobody asked for in it.
TEST_F(SnapshotTest, TellsWhatDramHeldAndNotWhatItHeldBefore) {
  Open();
  PutAll(1, 11);
  for (uint64_t n = 1; n < 6; ++n) ASSERT_TRUE(tier_->NotePromoted(Key(n)));
  Open();
  EXPECT_EQ(tier_->recovery().in_dram, 5u);
  const auto carried = [&](uint64_t n, Heat heat = Heat::kRaise) {
    return tier_->Find(Key(n), BlockRole::kData, heat).carried();
  };
  EXPECT_EQ(carried(1, Heat::kKeep), Carried::kFromDram);
  EXPECT_EQ(carried(1), Carried::kFromDram);
  EXPECT_EQ(carried(1), Carried::kNo) << "it was hit before";
  EXPECT_EQ(carried(6), Carried::kFromScm);
  PutAll(2, 3);
  EXPECT_EQ(carried(2), Carried::kNo) << "it is of this life";
  tier_->NotePromoted(Key(6));
  Open();
  EXPECT_EQ(tier_->recovery().in_dram, 1u);
  EXPECT_EQ(carried(3), Carried::kFromScm) << "the life between did not have it in DRAM";
  EXPECT_EQ(carried(6), Carried::kFromDram);
}

// This life's DRAM tier is empty, whatever an earlier one's held.
class SparesAll final : public SurvivorJudge {
 public:
  Fate Judge(const RecordFacts& record) override {
    in_dram += record.in_dram ? 1 : 0;
    ++asked;
    return Fate::kSpare;
  }
  uint64_t asked = 0, in_dram = 0;
};

TEST_F(SnapshotTest, WhatDramHeldIsNotInDram) {
  Open();
  PutAll(1, 51);
  for (uint64_t n = 1; n < 51; ++n) ASSERT_TRUE(tier_->NotePromoted(Key(n)));
  tier_.reset();
  SparesAll judge;
  tier_ = test::OpenOrDie(options_, &judge);
  tier_->WaitUntilRecovered();
  ASSERT_EQ(tier_->recovery().in_dram, 50u);
  const uint64_t per_tier = options_.capacity_bytes / layout::RecordBytes(4000);
  for (uint64_t n = 51; judge.asked < 2 * per_tier; ++n) PutAll(n, n + 1);
  EXPECT_EQ(judge.in_dram, 0u) << "also of their copies, which are of this life";
  tier_.reset();  // before its judge
}

// What the tier serves, key by key.
std::map<uint64_t, std::vector<std::byte>> All(ScmTier& tier, uint64_t keys) {
  std::map<uint64_t, std::vector<std::byte>> all;
  for (uint64_t n = 1; n <= keys; ++n) {
    if (const PinnedBlock block = tier.Find(Key(n))) all[n] = BytesOf(block);
  }
  return all;
}

struct Shape {
  PackMode pack;
  bool dictionaries;
  uint64_t segment_bytes;
  uint32_t expected_block_bytes = 4096;  // much more than they take: the index grows
};

class SnapshotOfAnyTier : public SnapshotTest, public ::testing::WithParamInterface<Shape> {};

// A scan also finds what was erased, replaced or dropped and lies there still, and gives up segments for that.
TEST_P(SnapshotOfAnyTier, HoldsWhatWasHeldAndAScanFindsNothingElse) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  options_.pack = GetParam().pack;
  if (GetParam().dictionaries) options_.dictionaries = test::kTrainedSoon;
  options_.segment_bytes = GetParam().segment_bytes;
  options_.capacity_bytes = kSegments * GetParam().segment_bytes;
  options_.expected_block_bytes = GetParam().expected_block_bytes;
  constexpr uint64_t kKeys = 1500;
  uint64_t version = 0;
  std::map<uint64_t, std::vector<std::vector<std::byte>>> put;
  Open();
  for (int life = 0; life < 4; ++life) {
    tier_->SetRequeuePercent(random() % 2 == 0 ? 0 : 50);
    for (int step = 0; step < 1500; ++step) {
      const uint64_t n = random() % kKeys + 1;
      if (random() % 16 == 0) tier_->Erase(Key(n));
      if (random() % 2 == 0) tier_->Find(Key(random() % kKeys + 1));
      if (random() % 200 == 0) tier_->ForgetFile(Key(n).file());
      // With all, dictionaries are erased that records may need again.
      if (!GetParam().dictionaries && random() % 4000 == 0) tier_->EraseAll(), put.clear();
      if (GetParam().dictionaries && random() % 300 == 0) tier_->SettleDictionaries();
      const auto block = test::MixedPayload(n, ++version, 200 + random() % 6000);
      put[n].push_back(block);
      tier_->Put(Key(n), BlockRole::kData, block, random() % 3 == 0 ? Generation::kProven : Generation::kYoung,
                 random() % 2 == 0 ? Form::kPacked : Form::kRaw);
    }
    tier_->SettleDictionaries();
    const auto before = All(*tier_, kKeys);
    tier_.reset();
    const std::string closed = Contents();
    ASSERT_NE(SuperblockIn(closed).snapshot_segment, 0u);
    SnapshotReader reader(BytesIn(closed), SuperblockIn(closed));
    ASSERT_THAT(reader.Check(), IsEmpty());
    ASSERT_EQ(reader.head().growth != 0, GetParam().expected_block_bytes > 4096);

    Write(WithoutSnapshot(closed));
    Open();
    EXPECT_FALSE(tier_->recovery().from_snapshot);
    test::ExpectSound(*tier_);
    const auto scanned = All(*tier_, kKeys);
    for (const auto& [n, bytes] : scanned) ASSERT_NE(std::ranges::find(put[n], bytes), put[n].end()) << n;
    tier_.reset();

    Write(closed);
    Open();
    ASSERT_TRUE(tier_->recovery().from_snapshot) << tier_->recovery().no_snapshot;
    EXPECT_EQ(tier_->recovery().records, tier_->figures().resident_blocks());
    ASSERT_NO_FATAL_FAILURE(test::ExpectSound(*tier_));
    const auto loaded = All(*tier_, kKeys);
    size_t both = 0;
    for (const auto& [n, bytes] : loaded) {
      const auto was = before.find(n);
      ASSERT_TRUE(was != before.end() && was->second == bytes) << n;
      both += scanned.count(n);
    }
    EXPECT_GE(both * 10, loaded.size() * 7);
    EXPECT_GE(loaded.size() * 10, before.size() * 7) << "all but a few segments";
    EXPECT_EQ(tier_->counters().Snapshot()[Event::kScmDamagedHeader], 0u);
    EXPECT_EQ(tier_->counters().Snapshot()[Event::kScmNoDictionary], 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Tiers, SnapshotOfAnyTier,
                         ::testing::Values(Shape{PackMode::kOff, false, kSegmentBytesMin},
                                           Shape{PackMode::kLz4, false, kSegmentBytesMin, 32 << 10},
                                           Shape{PackMode::kZstd, true, 2 * kSegmentBytesMin}));

TEST_F(SnapshotTest, OfAFullMediumCostsAFewSegmentsOnce) {
  Open();
  uint64_t puts = 3 * kSegments * 62;
  PutAll(1, puts);
  const auto unused = [&] { return kSegments - tier_->figures().usage_bytes() / kSegmentBytesMin; };
  for (; unused() > 2 && puts < 4 * kSegments * 62; ++puts) PutAll(puts, puts + 1);
  ASSERT_LE(unused(), 2u) << "so that one has to be given up";
  uint64_t before = tier_->figures().resident_blocks();
  for (int life = 0; life < 4; ++life) {
    Open();
    ASSERT_TRUE(tier_->recovery().from_snapshot) << tier_->recovery().no_snapshot;
    EXPECT_THAT(tier_->recovery().ToString(), HasSubstr("snapshot of its index"));
    EXPECT_EQ(tier_->recovery().dropped, 0u) << "it names nothing that was given up";
    const uint64_t now = tier_->figures().resident_blocks();
    EXPECT_GE(now + (life == 0 ? 3 * 63 : 0), before);
    EXPECT_TRUE(life != 0 || now < before);
    EXPECT_EQ(ServedOf(1, puts), now);
    test::ExpectSound(*tier_);
    before = now;
  }
  PutAll(10'000, 10'100);
  EXPECT_EQ(ServedOf(10'000, 10'100), 100u);
}

TEST_F(SnapshotTest, WhatWasHotIsCheckedAtItsFirstUseToo) {
  Open();
  PutAll(1, 300);
  for (int hits = 0; hits < 4; ++hits) ServedOf(1, 300);
  tier_.reset();
  std::string all = Contents();
  const BlockKey key = Key(7);
  all[all.find(std::string(key.bytes())) + sizeof(layout::RecordHeader) + 1000] ^= 1;
  Write(all);
  Open();
  ASSERT_TRUE(tier_->recovery().from_snapshot);
  EXPECT_EQ(ServedOf(1, 300), 298u);
  EXPECT_EQ(tier_->counters().Snapshot()[Event::kScmChecksumMismatch], 1u);
}

// Nobody will open the file again.
TEST_F(SnapshotTest, OfAFileWithoutANameIsNotWritten) {
  if (test::IsDevice(file_.path())) GTEST_SKIP() << "a device has no name to lose";
  std::promise<std::string> told;
  options_.on_trouble = [&](std::string_view what) { told.set_value(std::string(what)); };
  for (const bool removed : {false, true}) {
    Open();
    PutAll(1, 300);
    std::ifstream file(file_.path(), std::ios::binary);
    if (removed) {
      std::filesystem::remove(file_.path());
      EXPECT_TRUE(tier_->medium().IsNameless());
      EXPECT_THAT(told.get_future().get(), HasSubstr("removed or replaced"));
    }
    tier_.reset();
    const std::string all(std::istreambuf_iterator<char>(file), {});
    EXPECT_EQ(SuperblockIn(all).snapshot_segment == 0, removed);
    EXPECT_NE(SuperblockIn(all).flags & layout::kClosedCleanly, 0u);
  }
}

TEST_F(SnapshotTest, IsNeverBelievedAfterACrash) {
  Open();
  PutAll(1, 300);
  Open();
  ASSERT_TRUE(tier_->recovery().from_snapshot);
  Kill();  // at once
  const std::string killed = Contents();
  EXPECT_EQ(SuperblockIn(killed).snapshot_segment, 0u) << "before anything else was written";
  Open();
  EXPECT_FALSE(tier_->recovery().from_snapshot);
  EXPECT_THAT(tier_->recovery().no_snapshot, IsEmpty());
  EXPECT_EQ(ServedOf(1, 300), 299u);
}

// Though nothing but its number would tell.
TEST_F(SnapshotTest, OfAnotherGenerationOrLifeIsNotBelieved) {
  Open();
  PutAll(1, 300);
  tier_.reset();
  const std::string closed = Contents();
  ASSERT_THAT(Judged(closed), IsEmpty());
  const std::function<void(layout::Superblock*)> changes[] = {
      [](layout::Superblock* s) { ++s->generation; },
      [](layout::Superblock* s) { --s->generation; },
      [](layout::Superblock* s) { s->format_id ^= 2; },
      [](layout::Superblock* s) { ++s->snapshot_chunks; },
      [](layout::Superblock* s) { --s->snapshot_chunks; },
      [](layout::Superblock* s) { ++s->snapshot_segment; },
      [](layout::Superblock* s) { s->snapshot_segment = UINT32_MAX; },
  };
  for (const auto& change : changes) EXPECT_THAT(Judged(With(closed, change)), Not(IsEmpty()));
}

TEST_F(SnapshotTest, OfOtherOptionsIsPassedOverAndTheBlocksAreFound) {
  const std::function<void(ScmOptions*)> changes[] = {
      [](ScmOptions* o) { o->expected_block_bytes *= 2; },
      [](ScmOptions* o) { o->pack = PackMode::kLz4; },
      [](ScmOptions* o) { o->capacity_bytes += kSegmentBytesMin; },
      [](ScmOptions* o) { o->capacity_bytes -= kSegmentBytesMin; },
  };
  for (const auto& change : changes) {
    options_ = test::AnonymousOptions(kSegments * kSegmentBytesMin);
    test::UseFile(file_.path(), &options_);
    Open();
    options_.recovery = Recovery::kWarm;
    Open();
    PutAll(1, 300);
    tier_.reset();
    change(&options_);
    Open();
    EXPECT_FALSE(tier_->recovery().from_snapshot);
    EXPECT_THAT(tier_->recovery().ToString(), HasSubstr(tier_->recovery().no_snapshot));
    EXPECT_THAT(tier_->recovery().no_snapshot, Not(IsEmpty()));
    EXPECT_EQ(ServedOf(1, 300), 299u);
    test::ExpectSound(*tier_);
  }
}

TEST_F(SnapshotTest, ThatWouldTakeTooMuchIsNotWritten) {
  options_.expected_block_bytes = kLineBytes;  // a word for each 128 bytes
  options_.capacity_bytes = 128 * kSegmentBytesMin;
  Open();
  PutAll(1, 300);
  Open();
  EXPECT_FALSE(tier_->recovery().from_snapshot);
  EXPECT_EQ(ServedOf(1, 300), 299u);
}

// Each bit of what is written; and as many again at random, through all of a restart.
TEST_F(SnapshotTest, AFlippedBitIsFoundAndCostsOnlyTime) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  auto [closed, start, end] = ClosedWithOneChunk();
  const uint64_t bits = 8 * (end - start);
  const auto flip = [&closed = closed, start = start](uint64_t bit) {
    closed[start + bit / 8] ^= static_cast<char>(1u << bit % 8);
  };
  const auto sampled = [&](uint64_t i) { return i < 8 * 512 ? i : random() % bits; };
  for (uint64_t i = 0; i < 3 * 8 * 512; ++i) {
    const uint64_t bit = sampled(i);
    flip(bit);
    ASSERT_THAT(Judged(closed), Not(IsEmpty())) << bit;
    flip(bit);
  }
  for (int i = 0; i < 30; ++i) {
    const uint64_t bit = random() % bits;
    flip(bit);
    Write(closed);
    flip(bit);
    Open();
    EXPECT_FALSE(tier_->recovery().from_snapshot) << bit;
    EXPECT_THAT(tier_->recovery().ToString(), HasSubstr("the snapshot of its index"));
    EXPECT_EQ(ServedOf(1, 300), 299u);
    test::ExpectSound(*tier_);
    tier_.reset();
  }
}

TEST_F(SnapshotTest, CutOffAnywhereIsNotBelieved) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  auto [closed, start, end] = ClosedWithOneChunk();
  while (closed[end - 1] == 0) --end;  // which a longer file would have there too
  for (int i = 0; i < 20; ++i) {
    std::string cut = closed.substr(0, layout::kSuperblockSpace + random() % (end - layout::kSuperblockSpace));
    EXPECT_THAT(Judged(cut), Not(IsEmpty()));
    Write(cut);
    Open();
    EXPECT_FALSE(tier_->recovery().from_snapshot);
    ServedOf(1, 300);
    test::ExpectSound(*tier_);
    tier_.reset();
  }
}

TEST_F(SnapshotTest, IsShownByAnInspection) {
  Open();
  PutAll(1, 300);
  tier_.reset();
  std::string all = Contents();
  const Inspection whole = Inspect(BytesIn(all), /*verify=*/false);
  EXPECT_EQ(whole.snapshot.segments, 1u);
  EXPECT_EQ(whole.snapshot.records, 299u);
  EXPECT_GT(whole.snapshot.bytes, 8 * 299u);
  EXPECT_THAT(whole.snapshot.wrong, IsEmpty());
  EXPECT_EQ(whole.young + whole.proven + whole.empty + whole.snapshot.segments, kSegments);
  all[SuperblockIn(all).snapshot_segment * kSegmentBytesMin + 100] ^= 1;
  EXPECT_THAT(Inspect(BytesIn(all), /*verify=*/false).snapshot.wrong, HasSubstr("damaged"));
  EXPECT_EQ(Inspect(BytesIn(WithoutSnapshot(all)), /*verify=*/false).snapshot.segments, 0u);
}

// Whatever the superblock tells, each segment of the medium is counted once, and none that is not there.
TEST_F(SnapshotTest, OnlyWhatIsThereOfItIsInspected) {
  const std::string all = ClosedWithOneChunk().all;
  const uint64_t empty = Inspect(BytesIn(all), /*verify=*/false).empty;
  const auto inspect = [&](const std::function<void(layout::Superblock*)>& change, uint64_t there) {
    const Inspection found = Inspect(BytesIn(With(all, change)), /*verify=*/false);
    EXPECT_THAT(found.snapshot.wrong, Not(IsEmpty()));
    EXPECT_EQ(found.snapshot.segments, there);
    EXPECT_EQ(found.empty, empty + 1 - there);
    EXPECT_EQ(found.young + found.proven + found.empty + found.snapshot.segments, found.segments);
  };
  inspect([](layout::Superblock* s) { s->snapshot_chunks = UINT32_MAX; }, 1);
  inspect([](layout::Superblock* s) { s->snapshot_chunks = 0; }, 0);
  inspect([](layout::Superblock* s) { s->snapshot_segment = kSegments; }, 0);
}

}  // namespace
}  // namespace mezz
