// SPDX-License-Identifier: Apache-2.0
// What a cut of power leaves: any subset of what was stored and not yet drained. Whatever that is, a block that is
// found again is one that was put under its key, and was not erased durably since; and what was drained is found.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "cache/log_scan.h"
#include "cache/superblock.h"
#include "cache/tombstones.h"
#include "tests/support/crash_medium.h"
#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

using test::CrashMedium;
using test::Key;
using test::Payload;

constexpr uint64_t kSegmentBytes = 8 << 10;  // the log's own limit is a power of two
constexpr uint32_t kSegments = 8;
constexpr uint64_t kKeys = 5;

// A log that is written to in one thread, and what it was told.
class Log {
 public:
  using Versions = std::map<uint64_t, std::set<std::string>>;  // what was put under each key

  explicit Log(CrashMedium::Image image) : medium_(std::move(image)), scope_(&medium_) {
    const FoundSuperblock found = FindSuperblock({medium_.base(), layout::kSuperblockSpace});
    superblock_ = found.what == FoundSuperblock::What::kWhole ? found.superblock : Fresh();
    keeper_ = std::make_unique<SuperblockKeeper>(medium_, superblock_);
    log_ = std::make_unique<SegmentLog>(medium_, medium_.bytes(), kSegmentBytes, superblock_.format_id, &counters_,
                                        guard_);
    EXPECT_TRUE(
        log_->sequences().TakeFrom([this] { return keeper_->ReserveSequences(); }, SuperblockKeeper::kSequencesAtOnce));
    tombstones_ = std::make_unique<Tombstones>(medium_, log_.get(), keeper_.get(), &counters_, nullptr);
    const auto erased = ErasedKeys::Read({medium_.base(), medium_.bytes()}, superblock_);
    EXPECT_TRUE(erased) << "no crash loses a tombstone";
    if (erased) {
      EXPECT_EQ(tombstones_->Adopt(*erased), SuperblockKeeper::Stored::kLasts);
    }
    log_->Provide(kSegments);
  }

  void Put(uint64_t key, uint64_t version, size_t bytes, bool fails = false, unsigned lane = 0) {
    const uint64_t record_bytes = layout::RecordBytes(bytes);
    std::optional<SegmentLog::Reservation> where;
    while (!(where = log_->Reserve(lane, record_bytes))) {
      if (!log_->Advance(lane, record_bytes, SegmentLog::For::kReclaim)) Reclaim();
    }
    const auto payload = Payload(key, version, bytes);
    const std::string text(reinterpret_cast<const char*>(payload.data()), payload.size());
    if (!fails) versions[key].insert(text);
    record::Write(medium_, where->place, Key(key), BlockRole::kData, bytes, [&](size_t at, size_t n, std::byte* to) {
      std::memcpy(to, payload.data() + at, n);
      return !fails;
    });
    if (!fails) drained = {key, text};
    log_->Leave(*where);
  }
  // Tombstones may make way for others, and take with them what is as old.
  void Erase(uint64_t key) {
    drained = {};
    const LogPosition position = log_->Position();
    while (tombstones_->Add(Key(key), position) != Tombstones::Added::kDone) Reclaim();
    versions.erase(key);
  }
  void EraseAll() {
    drained = {};
    EXPECT_EQ(tombstones_->EraseBelow(log_->SealAll()), SuperblockKeeper::Stored::kLasts);
    versions.clear();
  }

  CrashMedium& medium() { return medium_; }
  Versions versions;                         // all that a restart may bring back
  std::pair<uint64_t, std::string> drained;  // the last one that it must

 private:
  void Reclaim() {
    const auto victim = log_->TakeVictim();
    if (!victim.segment) log_->SealAll();
    if (victim.segment) log_->StartDraining(*victim.segment);
  }
  static layout::Superblock Fresh() {
    ScmOptions options;
    options.capacity_bytes = kSegments * kSegmentBytes;
    options.segment_bytes = kSegmentBytes;
    layout::Superblock superblock = SuperblockOf(options);
    superblock.format_id = 9;
    superblock.sequence_end = 1;
    return superblock;
  }

  CrashMedium medium_;
  CrashMedium::Scope scope_;
  Counters counters_;
  ForkGuard guard_;
  layout::Superblock superblock_;
  std::unique_ptr<SuperblockKeeper> keeper_;
  std::unique_ptr<SegmentLog> log_;
  std::unique_ptr<Tombstones> tombstones_;
};

// Judges what lies there as a restart does, and then each payload as a first hit does. Returns the blocks that are
// good.
Log::Versions Recovered(const CrashMedium::Image& image, const Log::Versions& versions) {
  Log::Versions good;
  const FoundSuperblock found = FindSuperblock({image.data(), layout::kSuperblockSpace});
  if (found.what != FoundSuperblock::What::kWhole) return good;
  const LogScan scan({image.data(), image.size()}, found.superblock);
  const auto erased = ErasedKeys::Read({image.data(), image.size()}, found.superblock);
  EXPECT_TRUE(erased) << "no crash loses a tombstone";
  if (!erased) return good;
  for (uint32_t id = 0; id < scan.end(); ++id) {
    const auto fill = scan.Open(SegmentId{id});
    if (!fill) continue;
    scan.Walk(*fill, [&](uint64_t offset, const record::Header&) {
      const record::Header& header = scan.HeaderAt(offset);
      if (header.flags != 0 || !record::PayloadIsWhole(header)) return;
      if (erased->Cover(header.key, fill->sequence, offset)) return;
      uint64_t key = 0;
      while (key < kKeys && header.key != Key(key + 1)) ++key;
      ASSERT_LT(key++, kKeys) << "a key that was never put";
      const auto of_key = versions.find(key);
      ASSERT_NE(of_key, versions.end()) << key << " was erased";
      const auto payload = record::PayloadOf(header);
      const std::string text(reinterpret_cast<const char*>(payload.data()), payload.size());
      ASSERT_TRUE(of_key->second.contains(text)) << "key " << key << " has bytes that nobody put under it";
      good[key].insert(text);
    });
  }
  return good;
}

// Crashes at each step of what `work` does, with `images(medium)` of what may be left.
template <typename Images, typename Work>
uint64_t CrashEverywhere(Log& log, Images images, Work work) {
  uint64_t cases = 0;
  log.medium().on_step = [&] {
    images(log.medium(), [&](const CrashMedium::Image& image) {
      const Log::Versions good = Recovered(image, log.versions);
      ++cases;
      if (log.drained.first == 0) return;
      const auto found = good.find(log.drained.first);
      ASSERT_TRUE(found != good.end() && found->second.contains(log.drained.second)) << "drained, and lost";
    });
  };
  work();
  log.medium().on_step = nullptr;
  return cases;
}

// Every subset of whole lines; a record of four lines, over what an earlier fill left there.
TEST(RecoveryReordering, NoSubsetOfLinesOfSmallRecordsIsAnotherBlock) {
  Log log(CrashMedium::Image(kSegments * kSegmentBytes));
  for (uint64_t n = 0; n < 200; ++n) log.Put(n % kKeys + 1, n, 200 + n % 3 * 64);  // all segments are older fills
  uint64_t version = 1000;
  const auto subsets = [](CrashMedium& medium, const auto& check) {
    std::vector<size_t> line_of(medium.pending());
    const CrashMedium::Image none = medium.After([](size_t) { return false; });
    std::vector<size_t> lines;
    for (size_t i = 0; i < line_of.size(); ++i) {
      const size_t line = medium.pending_at(i) / kLineBytes;
      if (lines.empty() || lines.back() != line) lines.push_back(line);
      line_of[i] = lines.size() - 1;
    }
    ASSERT_LE(lines.size(), 10u);
    for (uint64_t kept = 0; kept < uint64_t{1} << lines.size(); ++kept)
      check(medium.After([&](size_t i) { return (kept >> line_of[i] & 1) != 0; }));
  };
  const uint64_t cases = CrashEverywhere(log, subsets, [&] {
    for (int i = 0; i < 60; ++i) {
      const uint64_t key = static_cast<uint64_t>(i) % kKeys + 1;
      if (i % 3 == 1) log.Erase(key);
      log.Put(key, ++version, 100 + static_cast<size_t>(i) % 4 * 64, i % 7 == 0, static_cast<unsigned>(i) % 2);
    }
    log.EraseAll();
    log.Put(1, ++version, 300);
  });
  EXPECT_GT(cases, 500u);
}

// Any subset of words of 8 bytes, so that headers are torn too, over lives that begin with what the last one left.
TEST(RecoveryReordering, NoSubsetOfWordsIsAnotherBlock) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  CrashMedium::Image left(kSegments * kSegmentBytes);
  Log::Versions versions;
  uint64_t version = 0, cases = 0;
  const char* const thorough = std::getenv("MEZZ_REORDERINGS");
  const uint64_t wanted = thorough != nullptr ? std::strtoull(thorough, nullptr, 10) : 40'000;
  while (cases < wanted && !::testing::Test::HasFailure()) {
    Log log(left);
    log.versions = versions;
    const auto some = [&](CrashMedium& medium, const auto& check) {
      const uint64_t of = random() % 9;
      for (int i = 0; i < 4; ++i) check(medium.After([&](size_t) { return random() % 8 < of; }));
    };
    const auto steps = random() % 40;
    cases += CrashEverywhere(log, some, [&] {
      for (uint64_t i = 0; i < steps; ++i) {
        if (random() % 50 == 0) {
          log.EraseAll();
        } else if (random() % 4 == 0) {
          log.Erase(random() % kKeys + 1);
        } else {
          log.Put(random() % kKeys + 1, ++version, 1 + random() % 700, random() % 10 == 0,
                  static_cast<unsigned>(random() % 2));
        }
      }
    });
    versions = log.versions;
    if (random() % 2 == 0) {
      left = log.medium().AfterKill();
    } else {
      const uint64_t of = random() % 9;
      left = log.medium().After([&](size_t) { return random() % 8 < of; });
    }
  }
  EXPECT_GE(cases, std::min<uint64_t>(wanted, 40'000));
}

}  // namespace
}  // namespace mezz
