// SPDX-License-Identifier: Apache-2.0
// What each operation writes to the medium, and how often it waits for that: this much, under either granularity, and
// no more. A cache flushes nothing for a block.
#include <gtest/gtest.h>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <ostream>
#include <utility>
#include <vector>

#include "cache/log_reader.h"
#include "cache/media/medium.h"
#include "cache/snapshot.h"
#include "cache/superblock.h"
#include "cache/tombstones.h"
#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

using test::Key;

// A medium in memory that counts what would cost time on a real one. One thread, and one such medium at a time: streams
// and drains name none.
class CountingMedium final : public Medium {
 public:
  struct Counts {
    uint64_t lines = 0;     // streamed
    uint64_t drains = 0;    // store fences
    uint64_t persists = 0;  // calls of msync; none where a drain does it
    bool operator==(const Counts&) const = default;
    friend void PrintTo(const Counts& counts, std::ostream* out) {
      *out << counts.lines << " lines, " << counts.drains << " drains, " << counts.persists << " persists";
    }
  };

  CountingMedium(uint64_t bytes, StoreGranularity granularity) : memory_(bytes + kLineBytes) {
    assert(active_ == nullptr);
    active_ = this;
    const auto address = reinterpret_cast<uintptr_t>(memory_.data());
    base_ = memory_.data() + (RoundUp(address, kLineBytes) - address);
    bytes_ = bytes;
    info_.granularity = granularity;
    stream_ = [](void* to, const void* from, size_t count) {
      assert(reinterpret_cast<uintptr_t>(to) % kLineBytes == 0 && count % kLineBytes == 0);
      std::memcpy(to, from, count);
      active_->counts_.lines += count / kLineBytes;
    };
    drain_ = [] { ++active_->counts_.drains; };
    if (granularity == StoreGranularity::kPage) {
      persist_ = [](const void*, size_t) {
        ++active_->counts_.persists;
        return true;
      };
    }
  }
  ~CountingMedium() override { active_ = nullptr; }

  // Since it was asked last.
  Counts Take() { return std::exchange(counts_, {}); }

 private:
  static inline CountingMedium* active_ = nullptr;
  std::vector<std::byte> memory_;
  Counts counts_;
};

using Counts = CountingMedium::Counts;

constexpr uint64_t kSegmentBytes = 64 << 10;
constexpr uint32_t kSegments = 8;
constexpr uint64_t kSuperblockLines = sizeof(layout::Superblock) / kLineBytes;

class Persistence : public ::testing::TestWithParam<StoreGranularity> {
 protected:
  Persistence() {
    EXPECT_TRUE(
        log_.sequences().TakeFrom([this] { return keeper_.ReserveSequences(); }, SuperblockKeeper::kSequencesAtOnce));
    EXPECT_EQ(medium_.Take(), OfSuperblock()) << "once for each 4096 segments";
    log_.Provide(kSegments);
  }

  // Each persist drains, and is an msync where pages are the granularity.
  Counts Persisted(uint64_t lines, uint64_t persists) const {
    return {lines, persists, GetParam() == StoreGranularity::kPage ? persists : 0};
  }
  Counts OfSuperblock() const { return Persisted(2 * kSuperblockLines, 2); }

  void Put(uint64_t key, size_t bytes) {
    const std::vector<std::byte> payload(bytes, std::byte{1});
    const auto where = log_.Reserve(0, layout::RecordBytes(bytes));
    ASSERT_TRUE(where);
    record::Write(medium_, where->place, Key(key), BlockRole::kData, bytes, SpanSource{payload});
    const BlockKey name = Key(key);
    const KeyHash hash = index_.Hash(name);
    KeyReader reader(reader_, name);
    index_.Publish(hash, IndexWord::Make(hash.tag, where->place.offset / kLineBytes, false, 0), reader,
                   [](IndexWord) { return 0; });
    log_.Leave(*where);
  }

  CountingMedium medium_{kSegments * kSegmentBytes, GetParam()};
  Counters counters_;
  ForkGuard guard_;
  SuperblockKeeper keeper_{medium_, {}};
  Index index_{100, 1};
  SegmentLog log_{medium_, kSegments* kSegmentBytes, kSegmentBytes, 1, &counters_, guard_};
  LogReader reader_{medium_, &log_, &counters_};
};

TEST_P(Persistence, OfAPutIsOneDrain) {
  ASSERT_TRUE(log_.Advance(0, 64, SegmentLog::For::kWriter));
  EXPECT_EQ(medium_.Take(), (Counts{1, 1, 0})) << "a segment is opened with its header";
  uint64_t key = 0;
  for (const size_t bytes : {1, 32, 33, 4096, 20'000}) {
    Put(++key, bytes);
    EXPECT_EQ(medium_.Take(), (Counts{layout::RecordBytes(bytes) / kLineBytes, 1, 0})) << bytes;
  }
}

TEST_P(Persistence, OfAHitAnEraseAndARemovalIsNothing) {
  ASSERT_TRUE(log_.Advance(0, 64, SegmentLog::For::kWriter));
  Put(1, 4096);
  Put(2, 4096);
  medium_.Take();
  const BlockKey name = Key(1);
  KeyReader reader(reader_, name);
  const Index::Entry found = index_.Find(index_.Hash(name), reader);
  ASSERT_TRUE(found);
  EXPECT_TRUE(record::PayloadIsWhole(reader.HeaderOf(found.word)));
  index_.Touch(found, 1);
  reader.Unpin(found.word);
  EXPECT_TRUE(index_.Erase(index_.Hash(name), reader, [](IndexWord) {}));
  index_.Clear();
  EXPECT_EQ(medium_.Take(), Counts{});
}

// With erase=durable. The first one opens a segment for tombstones, which the superblock counts.
TEST_P(Persistence, OfADurableEraseIsALineAndADrain) {
  ASSERT_TRUE(log_.Advance(0, 64, SegmentLog::For::kWriter));
  Put(1, 4096);
  medium_.Take();
  Tombstones tombstones(medium_, &log_, &keeper_, &counters_, nullptr);
  ASSERT_EQ(tombstones.Add(Key(1), log_.Position()), Tombstones::Added::kDone);
  Counts first = OfSuperblock();
  first.lines += 2, first.drains += 2;
  EXPECT_EQ(medium_.Take(), first);
  for (uint64_t key = 1; key < 100; ++key) {
    ASSERT_EQ(tombstones.Add(Key(key), log_.Position()), Tombstones::Added::kDone);
    EXPECT_EQ(medium_.Take(), (Counts{1, 1, 0})) << key;
  }
  EXPECT_EQ(tombstones.EraseBelow(log_.SealAll()), SuperblockKeeper::Stored::kLasts);
  EXPECT_EQ(medium_.Take(), OfSuperblock()) << "EraseAll";
  ASSERT_EQ(tombstones.Add(Key(1), log_.Position()), Tombstones::Added::kDone);
  EXPECT_EQ(medium_.Take(), Counts{}) << "nothing was put since";
}

TEST_P(Persistence, OfASealIsTheNextSegmentsHeader) {
  ASSERT_TRUE(log_.Advance(0, 64, SegmentLog::For::kWriter));
  medium_.Take();
  ASSERT_TRUE(log_.Advance(0, kSegmentBytes, SegmentLog::For::kWriter));
  EXPECT_EQ(medium_.Take(), (Counts{1, 1, 0}));
  log_.SealAll();
  const auto victim = log_.TakeVictim();
  ASSERT_TRUE(victim.segment);
  log_.StartDraining(*victim.segment);
  EXPECT_EQ(medium_.Take(), Counts{}) << "what is reclaimed is written over, not erased";
}

TEST_P(Persistence, OfAMoveIsOneDrain) {
  ASSERT_TRUE(log_.Advance(0, 64, SegmentLog::For::kWriter));
  Put(1, 4096);
  const auto to = log_.Reserve(0, layout::RecordBytes(4096));
  ASSERT_TRUE(to);
  medium_.Take();
  const uint64_t from = log_.FirstRecord(to->segment);
  ASSERT_TRUE(record::Copy(medium_, from, record::HeaderAt(medium_, from), to->place));
  EXPECT_EQ(medium_.Take(), (Counts{layout::RecordBytes(4096) / kLineBytes, 1, 0}));
  log_.Leave(*to);
}

// The only flushes of a life: its superblock, and two for each segment of the snapshot.
TEST_P(Persistence, OfAClosingIsTheSnapshotAndTheSuperblock) {
  ASSERT_TRUE(log_.Advance(0, 64, SegmentLog::For::kWriter));
  for (uint64_t key = 1; key < 10; ++key) Put(key, 4096);
  medium_.Take();
  const auto place = WriteSnapshot({medium_, &log_, &index_, nullptr, PackMode::kOff}, keeper_.Now());
  ASSERT_TRUE(place);
  ASSERT_EQ(place->chunks, 1u);
  const uint64_t contents = sizeof(layout::SnapshotHead) + sizeof(layout::SnapshotFill) + 8 * index_.slots();
  EXPECT_EQ(medium_.Take(), Persisted(2 + RoundUp(contents, kLineBytes) / kLineBytes, 2));
  (void)keeper_.Change([](layout::Superblock*) {});
  EXPECT_EQ(medium_.Take(), OfSuperblock());
}

INSTANTIATE_TEST_SUITE_P(Granularities, Persistence,
                         ::testing::Values(StoreGranularity::kCacheLine, StoreGranularity::kPage));

}  // namespace
}  // namespace mezz
