// SPDX-License-Identifier: Apache-2.0
// What a cut of power leaves while a log is closed with a snapshot of its index, and while the next life begins: any
// subset of what was stored and not yet durable. A superblock names a snapshot only where all of it is there and
// nothing was changed since; and whatever is left, a scan finds no torn record of what was whole before.
#include <gtest/gtest.h>

#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "cache/log_reader.h"
#include "cache/log_scan.h"
#include "cache/snapshot.h"
#include "cache/superblock.h"
#include "tests/support/crash_medium.h"
#include "tests/support/recover.h"
#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

using test::CrashMedium;
using test::Key;
using test::Payload;
using Image = CrashMedium::Image;
using Model = std::map<uint64_t, std::vector<std::byte>>;  // of each key what is found

constexpr uint64_t kSegmentBytes = 8 << 10;
constexpr uint32_t kSegments = 12;
constexpr uint64_t kKeys = 60;

ScmOptions Options() {
  ScmOptions options;
  options.capacity_bytes = kSegments * kSegmentBytes;
  options.segment_bytes = kSegmentBytes;
  options.pack = PackMode::kOff;
  return options;
}

// What a tier is to its medium, without threads.
class Life {
 public:
  Life(Image image, uint64_t index_blocks, bool paged)
      : paged_(paged),
        medium_(std::move(image), paged),
        scope_(&medium_),
        found_(SuperblockOn()),
        keeper_(medium_, found_),
        index_(index_blocks, found_.hash_seed),
        log_(medium_, medium_.bytes(), kSegmentBytes, found_.format_id, &counters_, guard_),
        reader_(medium_, &log_, &counters_) {}

  // Before anything is read or written. Returns why there is no snapshot to go on with.
  std::string Begin(const std::function<void()>& on_step) {
    medium_.on_step = on_step;
    EXPECT_TRUE(
        log_.sequences().TakeFrom([this] { return keeper_.ReserveSequences(); }, SuperblockKeeper::kSequencesAtOnce));
    const std::string why = Load();
    log_.Provide(kSegments);
    return why;
  }
  std::string Load() {
    const RecoveryReport report =
        test::Recover({medium_, found_, options_, &log_, &index_, &counters_, nullptr, guard_});
    EXPECT_EQ(report.from_snapshot, found_.snapshot_segment != 0 && report.no_snapshot.empty());
    return found_.snapshot_segment == 0 ? "is not there" : report.no_snapshot;
  }
  void Put(uint64_t key, const std::vector<std::byte>& payload) {
    const uint64_t record_bytes = layout::RecordBytes(payload.size());
    std::optional<SegmentLog::Reservation> where;
    while (!(where = log_.Reserve(0, record_bytes))) {
      if (log_.Advance(0, record_bytes, SegmentLog::For::kReclaim)) continue;
      const auto victim = log_.TakeVictim();
      ASSERT_TRUE(victim.segment);
      index_.RemoveIf([&](IndexWord word) { return reader_.SegmentOf(word) == *victim.segment; });
      log_.StartDraining(*victim.segment);
    }
    record::Write(medium_, where->place, Key(key), BlockRole::kData, payload.size(), SpanSource{payload});
    const BlockKey name = Key(key);
    const KeyHash hash = index_.Hash(name);
    KeyReader of_key(reader_, name);
    index_.Publish(hash, IndexWord::Make(hash.tag, where->place.offset / kLineBytes, false, 1), of_key,
                   [&](IndexWord word) { return log_.Sequence(reader_.SegmentOf(word)); });
    log_.Leave(*where);
  }
  void Erase(uint64_t key) {
    const BlockKey name = Key(key);
    KeyReader of_key(reader_, name);
    index_.Erase(index_.Hash(name), of_key, [](IndexWord) {});
  }
  // False: there is no room for a snapshot.
  bool Close() {
    layout::Superblock next = keeper_.Now();
    ++next.generation;
    const auto place = WriteSnapshot({medium_, &log_, &index_, nullptr, PackMode::kOff}, next);
    if (place) names_snapshot = true;  // from the next store on it may
    (void)keeper_.Change([&](layout::Superblock* superblock) {
      superblock->flags |= layout::kClosedCleanly;
      superblock->snapshot_segment = place ? place->segment : 0;
      superblock->snapshot_chunks = place ? place->chunks : 0;
    });
    return place.has_value();
  }
  // As first hits find it. A page cache may have lost any of it, which they notice.
  Model Found() {
    Model found;
    for (uint64_t key = 1; key <= kKeys; ++key) {
      const BlockKey name = Key(key);
      KeyReader of_key(reader_, name);
      const Index::Entry entry = index_.Find(index_.Hash(name), of_key);
      if (!entry) continue;
      const record::Header& header = reader_.HeaderOf(entry.word);
      const bool whole = record::PayloadIsWhole(header);
      EXPECT_TRUE(whole || paged_) << key;
      const auto payload = record::PayloadOf(header);
      if (whole) found[key] = {payload.begin(), payload.end()};
      reader_.Unpin(entry.word);
    }
    EXPECT_TRUE(paged_ || found.size() == index_.blocks());
    return found;
  }

  CrashMedium& medium() { return medium_; }
  bool names_snapshot = false;  // a superblock on the medium may name one

 private:
  layout::Superblock SuperblockOn() const {
    const FoundSuperblock found = FindSuperblock({medium_.base(), layout::kSuperblockSpace});
    if (found.what == FoundSuperblock::What::kWhole) return found.superblock;
    layout::Superblock superblock = SuperblockOf(options_);
    superblock.format_id = 9;
    superblock.hash_seed = 5;
    superblock.sequence_end = 1;
    return superblock;
  }

  const bool paged_;
  const ScmOptions options_ = Options();
  CrashMedium medium_;
  CrashMedium::Scope scope_;
  Counters counters_;
  ForkGuard guard_;
  const layout::Superblock found_;
  SuperblockKeeper keeper_;
  Index index_;
  SegmentLog log_;
  LogReader reader_;
};

class Judge {
 public:
  Judge(uint64_t index_blocks, bool paged) : index_blocks_(index_blocks), paged_(paged) {}

  // `at_close`: what a life that loads the snapshot finds, at most: segments are given up.
  void operator()(const Image& image, bool may_name_snapshot, bool puts_go_on, const Model& at_close) {
    ++cases;
    const FoundSuperblock found = FindSuperblock({image.data(), layout::kSuperblockSpace});
    if (found.what != FoundSuperblock::What::kWhole) return;
    if (!puts_go_on) ExpectNoTornRecord(image, found.superblock);
    if (found.superblock.snapshot_segment == 0) return;
    ++named;
    ASSERT_TRUE(may_name_snapshot) << "what it tells of may have changed";
    Life next(image, index_blocks_, paged_);
    ASSERT_EQ(SnapshotReader({image.data(), image.size()}, found.superblock).Check(), "");
    const std::string why = next.Load();
    if (paged_ && why == "contradicts the medium") return;  // a segment's header was never written back
    ASSERT_EQ(why, "");
    const Model loaded = next.Found();
    for (const auto& [key, payload] : loaded) {
      const auto was = at_close.find(key);
      ASSERT_TRUE(was != at_close.end() && was->second == payload) << key;
    }
    ASSERT_TRUE(paged_ || loaded.size() * 2 >= at_close.size());
  }

  uint64_t cases = 0, named = 0;

 private:
  static void ExpectNoTornRecord(const Image& image, const layout::Superblock& superblock) {
    const LogScan scan({image.data(), image.size()}, superblock);
    for (uint32_t id = 0; id < scan.end(); ++id) {
      if (const auto fill = scan.Open(SegmentId{id}))
        scan.Walk(*fill, [&](uint64_t at, const record::Header&) {
          ASSERT_TRUE(record::PayloadIsWhole(scan.HeaderAt(at))) << "at " << at;
        });
    }
  }

  const uint64_t index_blocks_;
  const bool paged_;
};

// Blocks of the index, whose snapshot is of one chunk or of two; and whether a page cache lies before the medium. Each
// gets its share of MEZZ_REORDERINGS.
constexpr std::pair<uint64_t, bool> kVariants[] = {{60, false}, {1500, false}, {60, true}, {1500, true}};

class SnapshotReordering : public ::testing::TestWithParam<std::pair<uint64_t, bool>> {};

TEST_P(SnapshotReordering, ASnapshotThatIsNamedIsWholeAndTrue) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto [index_blocks, paged] = GetParam();
  const char* const thorough = std::getenv("MEZZ_REORDERINGS");
  const uint64_t wanted = thorough != nullptr ? std::strtoull(thorough, nullptr, 10) / std::size(kVariants) : 2'000;
  Judge judge(index_blocks, paged);
  Image left(kSegments * kSegmentBytes);
  uint64_t closes = 0, loads = 0, version = 0;
  Model at_close;
  // A page cache loses segments' headers, so that few are loaded.
  const auto enough = [&] { return judge.cases >= wanted && closes > 5 && loads > 3 && judge.named > 20; };
  while (!enough() && judge.cases < 20 * wanted && !::testing::Test::HasFailure()) {
    Life life(left, index_blocks, paged);
    life.names_snapshot = true;  // until the first store to the superblock is durable
    bool puts_go_on = true;
    const auto judge_now = [&] {
      const uint64_t of = random() % 9;
      for (int i = 0; i < 3 && !::testing::Test::HasFailure(); ++i)
        judge(life.medium().After([&](size_t) { return random() % 8 < of; }), life.names_snapshot, puts_go_on,
              at_close);
    };
    loads += life.Begin(judge_now).empty() ? 1 : 0;
    life.names_snapshot = false;
    for (uint64_t i = random() % 150; i > 0; --i) {
      const uint64_t key = random() % kKeys + 1;
      if (random() % 4 == 0) life.Erase(random() % kKeys + 1);
      life.medium().on_step = random() % 16 == 0 ? judge_now : std::function<void()>();
      life.Put(key, Payload(key, ++version, 1 + random() % 900));
    }
    life.medium().on_step = judge_now;
    at_close = life.Found();
    puts_go_on = paged;  // of a page cache what was put may be torn for ever
    if (random() % 4 != 0) closes += life.Close() ? 1 : 0;
    life.medium().on_step = nullptr;
    const uint64_t of = random() % 9;
    left =
        random() % 2 == 0 ? life.medium().AfterKill() : life.medium().After([&](size_t) { return random() % 8 < of; });
  }
  EXPECT_TRUE(enough()) << closes << " closes, " << loads << " loads, " << judge.named << " images named one";
}

INSTANTIATE_TEST_SUITE_P(IndexBlocksAndPaged, SnapshotReordering, ::testing::ValuesIn(kVariants));

}  // namespace
}  // namespace mezz
