// SPDX-License-Identifier: Apache-2.0
// A tier that serves while it recovers what an earlier one left. The recovery stops at its test points, and there a
// test does what a caller would do just then.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <new>
#include <set>
#include <string_view>
#include <thread>

#include "cache/snapshot.h"
#include "cache/superblock.h"
#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

using test::BytesOf;
using test::Key;
using test::Payload;
using test::Same;
using ::testing::HasSubstr;

constexpr size_t kBytes = 4000;
constexpr uint32_t kSegments = 16;
constexpr uint64_t kASegment = 62;  // blocks of kBytes, or a few more

class ServingRecovery : public ::testing::Test {
 protected:
  ~ServingRecovery() override {
    g_test_point_hook.store(nullptr, std::memory_order_release);
    current_ = nullptr;
  }

  void Open() {
    tier_.reset();
    tier_ = test::OpenOrDie(options_);
    ASSERT_NE(tier_, nullptr);
  }
  // A tier that was closed has a snapshot, and less to recover.
  enum class End : uint8_t { kKilled, kClosed };
  void Kill() { test::Kill(file_, &tier_); }
  // Ends the tier, and opens it again. The next tier's recovery calls `at_point(name)` whenever it comes to a test
  // point, once Open has returned; one call at a time, if its snapshot is of one chunk. With `walkers` also at points
  // that several of its threads come to at once.
  void OpenWith(std::function<void(std::string_view)> at_point, bool walkers = false, End end = End::kKilled) {
    if (end == End::kKilled) Kill();
    tier_.reset();
    walkers_ = walkers;
    at_point_ = std::move(at_point);
    opened_.store(false, std::memory_order_relaxed);
    current_ = this;
    g_test_point_hook.store(
        [](const char* name) {
          const std::string_view point = name;
          if (point.starts_with("recovery.") || (current_->walkers_ && point.starts_with("walker.")))
            current_->AtPoint(point);
        },
        std::memory_order_release);
    Open();
    opened_.store(true, std::memory_order_release);
    opened_.notify_all();
  }
  void Recovered() {
    tier_->WaitUntilRecovered();
    g_test_point_hook.store(nullptr, std::memory_order_release);
  }
  void PutAll(uint64_t first, uint64_t last, uint64_t version = 0) {
    for (uint64_t n = first; n < last; ++n)
      ASSERT_EQ(tier_->Put(Key(n), BlockRole::kData, Payload(n, version, kBytes)), PutResult::kStored) << n;
  }
  // Closes the tier, whose snapshot is whole as far as Open reads it. Flaw::kSegment: but for the header of a segment.
  enum class Flaw : uint8_t { kChunk, kSegment };
  void CloseWith(Flaw flaw) {
    tier_->WaitUntilRecovered();  // or it has no snapshot
    tier_.reset();
    std::string all = test::Contents(file_.path());
    const auto bytes = std::as_bytes(std::span(all));
    const layout::Superblock superblock = FindSuperblock(bytes.first(layout::kSuperblockSpace)).superblock;
    SnapshotReader reader(bytes, superblock);
    ASSERT_EQ(reader.Check(), "");
    const bool of_chunk = flaw == Flaw::kChunk;
    ASSERT_GE(reader.chunks().size(), of_chunk ? 2u : 1u);
    const uint64_t segment = of_chunk ? Raw(reader.chunks()[1].segment) : reader.fills().front().segment;
    // Behind the chunk's own header; or in the segment's.
    const uint64_t within = of_chunk ? sizeof(layout::SnapshotChunk) : segment == 0 ? layout::kSuperblockSpace : 0;
    all[segment * superblock.segment_bytes + within + 8] ^= 1;
    test::Overwrite(file_.path(), 0, all);
  }
  // Puts text until a dictionary is trained, and some more.
  void Train(uint64_t language, uint64_t at_least = 500) {
    const auto trained = [&] { return tier_->counters().Snapshot()[Event::kDictionaryTrained]; };
    const uint64_t before = trained();
    for (uint64_t i = 0; trained() == before || i < at_least; ++i, ++next_text_) {
      ASSERT_LT(i, 20'000u);
      ASSERT_EQ(tier_->Put(Key(next_text_), BlockRole::kData, test::TextPayload(next_text_, 0, kBytes, language),
                           Generation::kYoung, Form::kPacked),
                PutResult::kStored);
      if (i % 50 == 0) tier_->SettleDictionaries();
    }
  }
  // Of keys [first, last), each of which has the bytes wanted(key).
  template <typename Wanted>
  uint64_t ServedAs(uint64_t first, uint64_t last, Wanted&& wanted) {
    uint64_t served = 0;
    for (uint64_t n = first; n < last; ++n) {
      const PinnedBlock block = tier_->Find(Key(n));
      if (!block) continue;
      ++served;
      EXPECT_TRUE(Same(BytesOf(block), wanted(n))) << n;
    }
    return served;
  }
  // Of keys [first, last), all of version `version`.
  uint64_t Served(uint64_t first, uint64_t last, uint64_t version = 0) {
    return ServedAs(first, last, [&](uint64_t n) { return Payload(n, version, kBytes); });
  }

  // Of the texts [first, last) that Train put.
  uint64_t ServedTexts(uint64_t first, uint64_t last, uint64_t language) {
    return ServedAs(first, last, [&](uint64_t n) { return test::TextPayload(n, 0, kBytes, language); });
  }

  // Texts of a second language, with a dictionary of their own; and what a kill leaves of both.
  void TrainAnotherAndUnpackAll() {
    const uint64_t second = next_text_;
    Train(1);
    OpenWith([](std::string_view) {});
    Recovered();
    const uint64_t held = tier_->figures().resident_blocks();
    EXPECT_GT(held, 500u);
    EXPECT_EQ(ServedTexts(1, second, 0) + ServedTexts(second, next_text_, 1), held) << "each unpacks";
    test::ExpectSound(*tier_);
  }

  const test::ScratchFile file_;
  ScmOptions options_ = test::WarmOptions(file_.path(), uint64_t{kSegments} * kSegmentBytesMin);
  std::unique_ptr<ScmTier> tier_;
  uint64_t next_text_ = 1;

 private:
  void AtPoint(std::string_view name) {
    opened_.wait(false, std::memory_order_acquire);
    if (at_point_) at_point_(name);
  }
  static inline ServingRecovery* current_ = nullptr;
  std::function<void(std::string_view)> at_point_;
  bool walkers_ = false;
  std::atomic<bool> opened_{false};
};

TEST_F(ServingRecovery, OpenDoesNotWaitForItAndWhatIsNotBackYetIsAMiss) {
  for (const End end : {End::kKilled, End::kClosed}) {
    Open();
    tier_->EraseAll();
    PutAll(1, 5 * kASegment);
    std::atomic<bool> go{false};
    OpenWith([&](std::string_view) { go.wait(false); }, /*walkers=*/false, end);
    EXPECT_TRUE(tier_->recovery().running);
    EXPECT_EQ(Served(1, 5 * kASegment), 0u);
    PutAll(1000, 1000 + kASegment);
    EXPECT_EQ(Served(1000, 1000 + kASegment), kASegment);
    go.store(true);
    go.notify_all();
    Recovered();
    const RecoveryReport report = tier_->recovery();
    EXPECT_FALSE(report.running);
    EXPECT_EQ(report.from_snapshot, end == End::kClosed) << report.no_snapshot;
    EXPECT_EQ(report.records + report.passed_over, 5 * kASegment - 1);
    EXPECT_LE(report.passed_over, 2u) << "whose tag one of those has that were put since: one run in 1,700";
    EXPECT_EQ(Served(1, 5 * kASegment), report.records);
    EXPECT_EQ(Served(1000, 1000 + kASegment), kASegment);
    test::ExpectSound(*tier_);
  }
}

// A full medium: reclaim leaves a segment alone as long as its words are not back, and nothing is written over what is
// still to be read.
TEST_F(ServingRecovery, NothingOfAClosedTierGoesWhileItComesBack) {
  Open();
  PutAll(1, 3 * kSegments * kASegment);
  const uint64_t last = 3 * kSegments * kASegment;
  for (const std::string_view at : {"recovery.begins", "recovery.segments_adopted", "recovery.word_restored"}) {
    SCOPED_TRACE(at);
    const uint64_t held = tier_->figures().resident_blocks();
    bool done = false;
    const auto put = [&](std::string_view point) {
      if (point != at || std::exchange(done, true)) return;
      for (uint64_t n = last; n < last + 2 * kSegments * kASegment; ++n)
        tier_->Put(Key(n), BlockRole::kData, Payload(n, 1, kBytes));
      EXPECT_GE(Served(last, last + 2 * kSegments * kASegment, 1), kASegment / 2) << "it begins with some room";
    };
    OpenWith(put, /*walkers=*/false, End::kClosed);
    Recovered();
    const RecoveryReport report = tier_->recovery();
    ASSERT_TRUE(report.from_snapshot) << report.no_snapshot;
    EXPECT_TRUE(done);
    EXPECT_GE(report.records + report.passed_over + 8 * kASegment, held) << "all but what gave way to the snapshot";
    EXPECT_LE(report.passed_over, 3u) << "whose tag one of those has that were put";
    EXPECT_EQ(Served(1, last), report.records);
    test::ExpectSound(*tier_);
    tier_->EraseAll();
    PutAll(1, last);
  }
}

// What Open believed of the snapshot, and what its rest turns out to be.
TEST_F(ServingRecovery, ASnapshotThatTurnsOutToBeOfNoUseCostsOnlyTime) {
  options_.expected_block_bytes = kLineBytes;  // an index of two chunks
  for (const PackMode pack : {PackMode::kOff, PackMode::kZstd}) {
    for (const bool of_chunk : {true, false}) {
      SCOPED_TRACE(of_chunk);
      options_.pack = pack;
      options_.dictionaries = test::kTrainedSoon;
      Open();
      tier_->EraseAll();
      PutAll(1, 5 * kASegment);
      CloseWith(of_chunk ? Flaw::kChunk : Flaw::kSegment);
      bool done = false;
      const auto meanwhile = [&](std::string_view point) {
        if (point != "recovery.checks_snapshot" || std::exchange(done, true)) return;
        PutAll(4 * kASegment, 4 * kASegment + 20, 1);
        for (uint64_t n = 4 * kASegment + 20; n < 4 * kASegment + 40; ++n) tier_->Erase(Key(n));
      };
      OpenWith(meanwhile, /*walkers=*/false, End::kClosed);
      Recovered();
      EXPECT_TRUE(done);
      const RecoveryReport report = tier_->recovery();
      EXPECT_FALSE(report.from_snapshot);
      EXPECT_THAT(report.no_snapshot, HasSubstr(of_chunk ? "damaged" : "contradicts the medium"));
      EXPECT_EQ(Served(4 * kASegment, 4 * kASegment + 20, 1), 20u);
      EXPECT_EQ(Served(4 * kASegment + 20, 4 * kASegment + 40), 0u);
      const uint64_t of_earlier_life = 5 * kASegment - 1 - 40;
      EXPECT_GE(Served(1, 4 * kASegment) + Served(4 * kASegment + 40, 5 * kASegment) + (of_chunk ? 2 : 4 + kASegment),
                of_earlier_life);
      test::ExpectSound(*tier_);
    }
  }
}

// After a kill that is while segments are walked, and after a close before the snapshot is read.
TEST_F(ServingRecovery, ATierThatShrinksMeanwhileEndsSmall) {
  for (const End end : {End::kKilled, End::kClosed}) {
    for (const uint64_t segments : {uint64_t{0}, uint64_t{kSegmentsMin}}) {
      Open();
      tier_->WaitUntilRecovered();
      ASSERT_TRUE(tier_->SetCapacity(kSegments * kSegmentBytesMin).ok());
      PutAll(1, 2 * kSegments * kASegment);
      const std::string_view where = end == End::kKilled ? "recovery.segment_walked" : "recovery.checks_snapshot";
      int left = end == End::kKilled ? 3 : 1;
      const auto shrink = [&](std::string_view point) {
        if (point != where || --left != 0) return;
        EXPECT_TRUE(tier_->SetCapacity(segments * kSegmentBytesMin).ok());
      };
      OpenWith(shrink, /*walkers=*/false, end);
      Recovered();
      EXPECT_EQ(tier_->recovery().from_snapshot, end == End::kClosed) << tier_->recovery().no_snapshot;
      EXPECT_LE(tier_->figures().usage_bytes(), segments * kSegmentBytesMin);
      // Before look-ups drop words of segments that hold nothing.
      const uint64_t held = tier_->figures().resident_blocks();
      EXPECT_EQ(Served(1, 2 * kSegments * kASegment), held);
      EXPECT_TRUE(end == End::kKilled || (held == 0) == (segments == 0));
      test::ExpectSound(*tier_);
    }
  }
}

TEST_F(ServingRecovery, ABudgetThatIsOverLeavesTheRestOfASnapshotOut) {
  Open();
  PutAll(1, 8 * kASegment);
  options_.recovery_budget_ms = 1;
  const auto wait = [&](std::string_view point) {
    if (point != "recovery.segments_adopted") return;
    const auto here = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - here < std::chrono::milliseconds(1)) {
    }
  };
  OpenWith(wait, /*walkers=*/false, End::kClosed);
  Recovered();
  const RecoveryReport report = tier_->recovery();
  EXPECT_TRUE(report.from_snapshot && report.timed_out);
  EXPECT_EQ(report.records, 0u);
  EXPECT_EQ(Served(1, 8 * kASegment), 0u);
  PutAll(1, 6 * kASegment, 1);
  EXPECT_EQ(Served(1, 6 * kASegment, 1), 6 * kASegment - 1);
  test::ExpectSound(*tier_);
}

// The next close writes a snapshot of all of it.
TEST_F(ServingRecovery, ATierClosedMeanwhileRestoresItsSnapshotFirst) {
  Open();
  PutAll(1, 8 * kASegment);
  std::atomic<bool> came{false}, go{false};
  int restored = 0;
  const auto wait = [&](std::string_view point) {
    if (point != "recovery.word_restored" || ++restored != 10) return;
    came.store(true);
    came.notify_all();
    go.wait(false);
  };
  OpenWith(wait, /*walkers=*/false, End::kClosed);
  came.wait(false);
  EXPECT_EQ(tier_->figures().resident_blocks(), 10u);
  go.store(true);
  go.notify_all();
  Open();
  tier_->WaitUntilRecovered();
  EXPECT_TRUE(tier_->recovery().from_snapshot) << tier_->recovery().no_snapshot;
  EXPECT_EQ(Served(1, 8 * kASegment), 8 * kASegment - 1);
  test::ExpectSound(*tier_);
}

TEST_F(ServingRecovery, CountsTheOlderRecordsThatItPassesOver) {
  Open();
  PutAll(1, 3 * kASegment);
  PutAll(1, kASegment, 1);
  OpenWith({});
  Recovered();
  const RecoveryReport report = tier_->recovery();
  EXPECT_EQ(report.records + report.passed_over, 4 * kASegment - 2);
  EXPECT_GE(report.passed_over, kASegment - 1);
  EXPECT_EQ(Served(1, kASegment, 1), kASegment - 1);
  test::ExpectSound(*tier_);
}

TEST_F(ServingRecovery, TheYoungestComesFirst) {
  constexpr uint64_t kLast = 8 * kASegment;
  Open();
  PutAll(1, kLast);
  uint64_t points = 0, grew = 0, before = kLast;
  OpenWith([&](std::string_view point) {
    if (point != "recovery.segment_walked" && ++points % 50 != 0) return;
    uint64_t oldest = 1;
    while (oldest < kLast && !tier_->Contains(Key(oldest))) ++oldest;
    EXPECT_LE(oldest, before);
    grew += oldest < before ? 1 : 0;
    before = oldest;
    EXPECT_EQ(Served(oldest, kLast), kLast - oldest) << "what is back is the younger part, without gaps";
  });
  Recovered();
  EXPECT_GT(grew, 10u);
  test::ExpectSound(*tier_);
}

// However little comes back in a millisecond: the thread may not even start.
TEST_F(ServingRecovery, ABudgetLeavesOutTheOldest) {
  constexpr uint64_t kLast = 8 * kASegment;
  Open();
  PutAll(1, kLast);
  options_.recovery_budget_ms = 1;
  int walked = 0;
  OpenWith([&](std::string_view point) {
    if (point != "recovery.segment_walked" || ++walked != 3) return;
    const auto here = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - here < std::chrono::milliseconds(1)) {
    }
  });
  Recovered();
  const RecoveryReport report = tier_->recovery();
  EXPECT_TRUE(report.timed_out);
  EXPECT_GT(report.given_up, 0u);
  EXPECT_THAT(report.ToString(), HasSubstr("recovery_budget"));
  uint64_t oldest = 1;
  while (oldest < kLast && !tier_->Contains(Key(oldest))) ++oldest;
  EXPECT_EQ(Served(oldest, kLast), kLast - oldest);
  EXPECT_EQ(report.records, kLast - oldest);
  PutAll(1, 6 * kASegment, 1);
  test::ExpectSound(*tier_);
}

TEST_F(ServingRecovery, ToldOfWhenItIsOver) {
  Open();
  PutAll(1, kASegment);
  std::atomic<uint64_t> told{0}, records{0};
  options_.on_recovered = [&](const RecoveryReport& report) {
    records.store(report.records);
    ++told;
    told.notify_all();
  };
  Kill();
  Open();
  told.wait(0);
  EXPECT_EQ(told, 1u);
  EXPECT_EQ(records, kASegment - 1);
}

// A full medium, and room is wanted before anything is back: the oldest goes, unread, and the youngest comes back.
TEST_F(ServingRecovery, RoomIsMadeOfTheOldestThatAreNotBackYet) {
  Open();
  PutAll(1, 3 * kSegments * kASegment);
  const uint64_t last = 3 * kSegments * kASegment;
  bool done = false;
  OpenWith([&](std::string_view) {
    if (std::exchange(done, true)) return;
    PutAll(10'000, 10'000 + 6 * kASegment);
    EXPECT_EQ(Served(10'000, 10'000 + 6 * kASegment), 6 * kASegment);
  });
  Recovered();
  EXPECT_GE(tier_->recovery().given_up, 6u);
  EXPECT_EQ(Served(10'000, 10'000 + 6 * kASegment), 6 * kASegment);
  EXPECT_GE(Served(last - 2 * kASegment, last) + tier_->recovery().passed_over, 2 * kASegment);
  test::ExpectSound(*tier_);
}

// The next life finds records of segments that were given up, and unpacks them with the dictionary of that number.
TEST_F(ServingRecovery, NumbersOfDictionariesAreNotGivenOutAgainWhateverIsGivenUp) {
  options_.pack = PackMode::kZstd;
  options_.dictionaries = test::kTrainedSoon;
  options_.capacity_bytes *= 4;
  Open();
  Train(0, 5000);  // more than what comes later is written over
  OpenWith([&](std::string_view point) {
    if (point != "recovery.begins") return;
    EXPECT_TRUE(tier_->SetCapacity(0).ok());
    EXPECT_TRUE(tier_->SetCapacity(options_.capacity_bytes).ok());
  });
  Recovered();
  EXPECT_EQ(tier_->figures().resident_blocks(), 0u);
  TrainAnotherAndUnpackAll();
}

// Nor by what a snapshot tells that is of no use: records of an earlier number may lie where it names no segment.
TEST_F(ServingRecovery, NumbersOfDictionariesAreNotGivenOutAgainWhereASnapshotIsOfNoUse) {
  options_.pack = PackMode::kZstd;
  options_.dictionaries = test::kTrainedSoon;
  options_.capacity_bytes *= 4;
  Open();
  Train(0, 5000);  // more than what comes later is written over
  Train(1);        // so that the first one goes with its records
  ASSERT_TRUE(tier_->SetCapacity(0).ok());
  ASSERT_TRUE(tier_->SetCapacity(options_.capacity_bytes).ok());
  PutAll(100'000, 100'010);
  CloseWith(Flaw::kSegment);
  OpenWith([](std::string_view) {}, /*walkers=*/false, End::kClosed);
  Recovered();
  EXPECT_THAT(tier_->recovery().no_snapshot, HasSubstr("contradicts"));
  Train(2);
  OpenWith([](std::string_view) {});
  Recovered();
  EXPECT_GT(tier_->figures().resident_blocks(), 100u);
  test::ExpectSound(*tier_);
}

// Nor by what a life tells that has not seen them all itself: its snapshot would pass for knowing.
TEST_F(ServingRecovery, NumbersOfDictionariesThatWereNotFoundAreLookedForByTheNextLifeToo) {
  options_.pack = PackMode::kZstd;
  options_.dictionaries = test::kTrainedSoon;
  options_.capacity_bytes *= 4;
  Open();
  Train(0, 2000);
  const auto fail = [](std::string_view point) {
    if (point == "walker.scans_for_dictionaries") throw std::bad_alloc();
  };
  OpenWith(fail, /*walkers=*/true);
  Recovered();
  OpenWith([](std::string_view) {}, /*walkers=*/false, End::kClosed);
  Recovered();
  EXPECT_FALSE(tier_->recovery().from_snapshot);
  TrainAnotherAndUnpackAll();
  EXPECT_EQ(tier_->counters().Snapshot()[Event::kScmUnpackFailed], 0u);
}

// What is packed goes on to name a dictionary whose record no restart finds any more: so that is written anew.
TEST_F(ServingRecovery, DictionariesOutliveAllThatIsErasedOrGivenUp) {
  options_.pack = PackMode::kZstd;
  options_.dictionaries = test::kTrainedSoon;
  options_.dictionaries.rest = 1'000'000;  // no other comes
  options_.erase = EraseMode::kDurable;
  for (const auto& [all, end] :
       {std::pair(true, End::kKilled), {true, End::kClosed}, {false, End::kKilled}, {false, End::kClosed}}) {
    options_.recovery = Recovery::kDiscard;
    Open();
    options_.recovery = Recovery::kWarm;
    Open();
    Train(0);
    tier_->SettleDictionaries();
    if (all) tier_->EraseAll();
    // More tombstones than are kept: what is older than those that are left is given up.
    constexpr uint64_t kMany = 5 * (kSegmentBytesMin / kLineBytes);
    for (uint64_t n = 0; !all && n < kMany; ++n) tier_->Erase(Key(n % 2));
    tier_->SettleDictionaries();
    const uint64_t with = tier_->counters().Snapshot()[Event::kPackedWithDictionary];
    const uint64_t first = next_text_;
    for (; next_text_ < first + 200; ++next_text_) {
      ASSERT_EQ(tier_->Put(Key(next_text_), BlockRole::kData, test::TextPayload(next_text_, 0, kBytes),
                           Generation::kYoung, Form::kPacked),
                PutResult::kStored);
    }
    EXPECT_GE(tier_->counters().Snapshot()[Event::kPackedWithDictionary], with + 200);
    OpenWith([](std::string_view) {}, /*walkers=*/false, end);
    Recovered();
    EXPECT_EQ(tier_->recovery().from_snapshot, end == End::kClosed);
    EXPECT_EQ(ServedTexts(first, next_text_, 0), 200u);
    test::ExpectSound(*tier_);
  }
}

TEST_F(ServingRecovery, WithoutMemoryForASnapshotItIsDoneWithout) {
  for (const PackMode pack : {PackMode::kOff, PackMode::kZstd}) {
    options_.pack = pack;
    Open();
    tier_->WaitUntilRecovered();  // a tier that was closed meanwhile has none
    tier_->EraseAll();
    PutAll(1, 4 * kASegment);
    const auto fail = [](std::string_view point) {
      if (point == "recovery.checks_snapshot") throw std::bad_alloc();
    };
    OpenWith(fail, /*walkers=*/false, End::kClosed);
    Recovered();
    EXPECT_FALSE(tier_->recovery().from_snapshot);
    EXPECT_THAT(tier_->recovery().ToString(), HasSubstr("memory"));
    EXPECT_EQ(Served(1, 4 * kASegment), 4 * kASegment - 1);
    test::ExpectSound(*tier_);
  }
}

// Though reclaim, in whose order a snapshot names them, would take young ones before older ones that are proven.
TEST_F(ServingRecovery, RoomIsMadeOfTheOldestWhereASnapshotIsOfNoUseToo) {
  options_.expected_block_bytes = kLineBytes;
  Open();
  for (uint64_t n = 1; n < 6 * kASegment; ++n)
    ASSERT_EQ(tier_->Put(Key(n), BlockRole::kData, Payload(n, 0, kBytes), Generation::kProven), PutResult::kStored);
  PutAll(1000, 1000 + 3 * kASegment);
  CloseWith(Flaw::kChunk);
  bool done = false;
  const auto put = [&](std::string_view point) {
    if (point != "recovery.segment_walked" || std::exchange(done, true)) return;
    PutAll(10'000, 10'000 + 9 * kASegment);
  };
  OpenWith(put, /*walkers=*/false, End::kClosed);
  Recovered();
  EXPECT_TRUE(done && !tier_->recovery().from_snapshot);
  EXPECT_LT(Served(1, 6 * kASegment), 6 * kASegment - 1) << "room was needed";
  EXPECT_GE(Served(1000, 1000 + 3 * kASegment) + tier_->recovery().passed_over, 3 * kASegment);
  test::ExpectSound(*tier_);
}

// Nothing can be reclaimed for a tombstone as long as the snapshot's segments are held. Were it not waited for, the
// next life would have to forget all there is.
TEST_F(ServingRecovery, ADurableEraseWithoutRoomWaitsForTheSnapshot) {
  options_.erase = EraseMode::kDurable;
  Open();
  PutAll(1, 3 * kSegments * kASegment);
  const uint64_t last = 3 * kSegments * kASegment;
  std::atomic<bool> goes_on{false};
  std::thread eraser;
  bool done = false;
  const auto erase = [&](std::string_view point) {
    if (point == "recovery.is_waited_for") goes_on.store(true), goes_on.notify_all();
    if (point != "recovery.checks_snapshot" || std::exchange(done, true)) return;
    for (uint64_t n = last; n < last + kSegments * kASegment; ++n)
      tier_->Put(Key(n), BlockRole::kData, Payload(n, 0, kBytes),
                 n % 2 == 0 ? Generation::kYoung : Generation::kProven);
    eraser = std::thread([&] {
      EXPECT_FALSE(tier_->Erase(Key(last - 1))) << "it is not back yet";
      goes_on.store(true);
      goes_on.notify_all();
    });
    goes_on.wait(false);
  };
  OpenWith(erase, /*walkers=*/false, End::kClosed);
  Recovered();
  eraser.join();
  ASSERT_TRUE(tier_->recovery().from_snapshot) << tier_->recovery().no_snapshot;
  const uint64_t held = Served(1, last);
  EXPECT_GT(held, 4 * kASegment);
  Kill();
  Open();
  tier_->WaitUntilRecovered();
  EXPECT_FALSE(tier_->Contains(Key(last - 1)));
  EXPECT_GE(Served(1, last) + 4 * kASegment, held);
  test::ExpectSound(*tier_);
}

TEST_F(ServingRecovery, WithoutMemoryForSomeSegmentsTheOthersComeBack) {
  constexpr uint64_t kLast = 8 * kASegment;
  Open();
  PutAll(1, kLast);
  std::atomic<uint64_t> walks{0};
  const auto at_point = [&](std::string_view point) {
    if (point == "walker.walks" && walks++ % 3 == 1) throw std::bad_alloc();
  };
  OpenWith(at_point, /*walkers=*/true);
  Recovered();
  const RecoveryReport report = tier_->recovery();
  EXPECT_GE(report.without_memory, 2u);
  EXPECT_EQ(report.without_memory, report.given_up);
  EXPECT_EQ(report.without_memory + report.segments, walks);
  EXPECT_THAT(report.ToString(), HasSubstr("no memory for " + std::to_string(report.without_memory) + " of them"));
  EXPECT_GT(report.records, 0u);
  EXPECT_EQ(Served(1, kLast), report.records);
  PutAll(1, kLast, 1);
  EXPECT_EQ(Served(1, kLast, 1), kLast - 1);
  test::ExpectSound(*tier_);
}

// Those of which nothing is known come back without them, and no number is given out again that one of them has.
TEST_F(ServingRecovery, WithoutMemoryForDictionariesTheirRecordsAreMisses) {
  options_.pack = PackMode::kZstd;
  options_.dictionaries = test::kTrainedSoon;
  for (const std::string_view where : {"walker.scans_for_dictionaries", "recovery.reads_dictionaries"}) {
    SCOPED_TRACE(where);
    options_.recovery = Recovery::kDiscard;
    Open();
    options_.recovery = Recovery::kWarm;
    const uint64_t first = next_text_;
    Train(0, 1000);
    const uint64_t before = tier_->figures().resident_blocks();
    std::atomic<uint64_t> refused{0};
    const auto at_point = [&](std::string_view point) {
      if (point == where) ++refused, throw std::bad_alloc();
    };
    OpenWith(at_point, /*walkers=*/true);
    Recovered();
    EXPECT_GT(refused, 0u);
    const RecoveryReport report = tier_->recovery();
    EXPECT_GT(report.dropped, 0u);
    EXPECT_LT(tier_->figures().resident_blocks(), before);
    const uint64_t held = tier_->figures().resident_blocks();
    EXPECT_EQ(ServedTexts(first, next_text_, 0), held);
    EXPECT_EQ(tier_->counters().Snapshot()[Event::kScmUnpackFailed], 0u);
    for (uint64_t n = 1; n < 1000 && where == "walker.scans_for_dictionaries"; ++n) {
      ASSERT_EQ(
          tier_->Put(Key(n), BlockRole::kData, test::TextPayload(n, 0, kBytes, 1), Generation::kYoung, Form::kPacked),
          PutResult::kStored);
      if (n % 50 == 0) tier_->SettleDictionaries();
      ASSERT_EQ(tier_->counters().Snapshot()[Event::kDictionaryTrained], 0u) << "it might get a number that is in use";
    }
    test::ExpectSound(*tier_);
  }
}

// Nothing is lost by it: the next one that has memory finds all.
TEST_F(ServingRecovery, WithoutMemoryToBeginATierIsRefused) {
  Open();
  PutAll(1, 4 * kASegment);
  for (const bool closed : {false, true}) {
    SCOPED_TRACE(closed);
    if (closed) {
      tier_.reset();
    } else {
      Kill();
    }
    g_test_point_hook.store(
        [](const char* name) {
          if (std::string_view(name).starts_with("opening.")) throw std::bad_alloc();
        },
        std::memory_order_release);
    const Status status = ScmTier::Open(options_, &tier_);
    g_test_point_hook.store(nullptr, std::memory_order_release);
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(status.message(), HasSubstr("memory"));
    EXPECT_EQ(tier_, nullptr);
    const std::string all = test::Contents(file_.path());
    EXPECT_EQ(FindSuperblock(std::as_bytes(std::span(all))).superblock.flags & layout::kClosedCleanly, 0u)
        << "who could not open it did not close it";
    Open();
    tier_->WaitUntilRecovered();
    EXPECT_EQ(Served(1, 4 * kASegment), 4 * kASegment - 1);
    test::ExpectSound(*tier_);
  }
}

TEST_F(ServingRecovery, ATierClosedMeanwhileLeavesTheRestToTheNext) {
  Open();
  PutAll(1, 8 * kASegment);
  std::atomic<int> walked{0};
  std::atomic<bool> go{false};
  OpenWith([&](std::string_view point) {
    if (point != "recovery.segment_walked") return;
    if (++walked == 3) walked.notify_all(), go.wait(false);
  });
  for (int seen = walked; seen < 3; seen = walked) walked.wait(seen);
  EXPECT_TRUE(tier_->Erase(Key(8 * kASegment - 1)));
  go.store(true);
  go.notify_all();
  Open();
  tier_->WaitUntilRecovered();
  EXPECT_GE(Served(1, 8 * kASegment), 8 * kASegment - 2);
  test::ExpectSound(*tier_);
}

std::vector<std::byte> Made(uint64_t n, uint64_t version) {
  const size_t bytes = 100 + (n * 37 + version * 101) % 6000;
  return n % 2 == 0 ? test::PackablePayload(n, version, bytes) : Payload(n, version, bytes);
}

// A thread that knows of each key with which versions it may still be found: the one that it put last, none once it was
// erased, and of what the earlier life left always the same, once one was seen.
class Caller {
 public:
  static constexpr uint64_t kKeys = 250;
  Caller(std::unique_ptr<ScmTier>* tier, uint64_t seed) : tier_(tier), random(seed) {}

  void Put(uint64_t n) {
    const auto stored =
        (*tier_)->Put(Key(n), BlockRole::kData, Made(n, ++version_),
                      n % 5 == 0 ? Generation::kProven : Generation::kYoung, n % 4 == 0 ? Form::kPacked : Form::kRaw);
    if (stored == PutResult::kStored) may_[n] = {version_};
  }
  void Find(uint64_t n) {
    const auto heat = random() % 2 == 0 ? Heat::kKeep : Heat::kRaise;
    const PinnedBlock block = (*tier_)->Find(Key(n), BlockRole::kOther, heat);
    if (!block) return;
    ++found;
    const auto bytes = BytesOf(block);
    std::set<uint64_t>& may = may_[n];
    const auto is = std::ranges::find_if(may, [&](uint64_t v) { return Same(bytes, Made(n, v)); });
    ASSERT_NE(is, may.end()) << "key " << n << " has bytes that were put over, or erased";
    may = {*is};
  }
  void Erase(uint64_t n) {
    (*tier_)->Erase(Key(n));
    may_[n].clear();
    EXPECT_FALSE((*tier_)->Contains(Key(n)));
  }
  void EraseAll() {
    (*tier_)->EraseAll();
    may_.clear();
  }
  void Any(uint64_t puts_in_hundred) {
    const uint64_t n = random() % kKeys + 1;
    if (random() % 100 < puts_in_hundred) {
      Put(n);
      if (random() % 8 == 0) Erase(n);
    } else if (random() % 2 == 0) {
      Erase(n);
    } else {
      Find(n);
    }
  }
  // What the next life may find.
  void PutMany() {
    EraseAll();
    std::map<uint64_t, std::set<uint64_t>> all;
    for (int i = 0; i < 1500; ++i) {
      const uint64_t n = random() % kKeys + 1;
      Put(n);
      all[n].insert(version_);
    }
    may_ = all;
  }

 private:
  std::unique_ptr<ScmTier>* const tier_;
  std::map<uint64_t, std::set<uint64_t>> may_;
  uint64_t version_ = 0;

 public:
  std::mt19937_64 random;
  uint64_t found = 0;
};

TEST_F(ServingRecovery, NeverServesWhatWasPutOverOrErased) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Caller caller(&tier_, seed);
  std::mt19937_64& random = caller.random;
  options_.pack = PackMode::kLz4;
  int snapshots = 0;
  for (int life = 0; life < 16 && !HasFailure(); ++life) {
    const uint64_t puts_in_hundred = random() % 100, ops_in_hundred = random() % 60;
    const bool erases_all = random() % 3 == 0, shrinks = random() % 4 == 0;
    const uint64_t erases_at = random() % 3 == 0 ? 1 : 200;
    const End end = random() % 2 == 0 ? End::kKilled : End::kClosed;
    uint64_t points = 0;
    const auto meanwhile = [&](std::string_view point) {
      if (HasFailure()) return;
      if (erases_all && ++points == erases_at) caller.EraseAll();
      // Later it would wait for the segments of a snapshot.
      const bool may_shrink = point == "recovery.segment_walked" || point == "recovery.checks_snapshot";
      if (shrinks && may_shrink && random() % 4 == 0) {
        const uint64_t segments = kSegmentsMin + random() % (kSegments - kSegmentsMin + 1);
        EXPECT_TRUE(tier_->SetCapacity(segments * kSegmentBytesMin).ok());
      }
      while (random() % 100 < ops_in_hundred) caller.Any(puts_in_hundred);
    };
    OpenWith(meanwhile, /*walkers=*/false, end);
    Recovered();
    snapshots += tier_->recovery().from_snapshot ? 1 : 0;
    for (uint64_t n = 1; n <= Caller::kKeys; ++n) caller.Find(n);
    test::ExpectSound(*tier_);
    ASSERT_TRUE(tier_->SetCapacity(kSegments * kSegmentBytesMin).ok());
    caller.PutMany();
  }
  EXPECT_GT(caller.found, 100u);
  EXPECT_GT(snapshots, 0);
}

}  // namespace
}  // namespace mezz
