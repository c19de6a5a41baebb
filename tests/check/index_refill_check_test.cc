// SPDX-License-Identifier: Apache-2.0
// The index under the model checker while an older record of a key is recovered beside whoever puts and erases it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>

#include "cache/index.h"
#include "tests/support/check/explorer.h"

namespace mezz::check {
namespace {

constexpr uint64_t kSeed = 1;

// Records that exist only here, all of one key: line 1 is the one to be recovered, line 2 is younger.
class Refill {
 public:
  struct Reader {
    bool Pin(IndexWord) const { return true; }
    void Unpin(IndexWord) const {}
    void Prefetch(IndexWord) const {}
    Verdict Judge(IndexWord) const { return Verdict::kThisKey; }
  };

  explicit Refill(Index::Size size) : index_(1, kSeed, size), hash_(index_.Hash(kKey)) {
    Reader reader;
    const IndexWord old = IndexWord::Make(hash_.tag, kOld, false, 0);
    index_.Publish(hash_, old, reader, [](IndexWord) { return uint64_t{0}; });
    snapshot_ = index_.FindLine(hash_, kOld);
    Require(index_.Drop(snapshot_) == Index::Outcome::kDone, "it is empty again");
    Require(index_.ok() && index_.StartRefill(), "there is memory");
  }

  void Recover() { index_.PublishOldest(hash_, snapshot_.word); }
  void Restore() { index_.RestoreAt(snapshot_.slot, snapshot_.word); }
  void RecoverYounger() { index_.PublishOldest(hash_, IndexWord::Make(hash_.tag, kNew, false, 0)); }
  void Put() {
    Reader reader;
    index_.Publish(hash_, IndexWord::Make(hash_.tag, kNew, false, 0), reader, [](IndexWord) { return uint64_t{0}; });
  }
  // The line found; 0: a miss.
  uint64_t Find() {
    Reader reader;
    return index_.Find(hash_, reader).word.line();
  }
  void Erase() {
    Reader reader;
    index_.Erase(hash_, reader, [](IndexWord) {});
  }
  // As reclaim.
  void Drop() {
    if (const Index::Entry entry = index_.FindLine(hash_, kNew)) index_.Drop(entry);
  }
  void Split() {
    Reader reader;
    const auto key_of = [](IndexWord) { return kKey; };
    Require(index_.Split(reader, key_of, [](IndexWord word) { return word.line(); }) == 0, "there is room");
  }
  void Clear() { index_.Clear(); }
  void Expect(uint64_t line) {
    Require(Find() == line, "what is found is what was put last");
    Require(index_.counted() == (line == 0 ? 0 : 1), "there is no second word");
  }

  static constexpr uint64_t kOld = 1, kNew = 2;

 private:
  static inline const BlockKey kKey = [] {
    for (uint64_t n = 1;; ++n) {  // a key that the split moves
      const Index index(1, kSeed, Index::Size::kGrows);
      const BlockKey key{{n, n}};
      const KeyHash hash = index.Hash(key);
      const auto moves = [](uint64_t choice) {
        const uint64_t bits = choice >> IndexWord::kTagBits;
        return BucketGroups::MemberOf(bits, 4) != BucketGroups::MemberOf(bits, 5);
      };
      if (moves(hash.choice[0]) && moves(hash.choice[1])) return key;
    }
  }();
  Index index_;
  const KeyHash hash_;
  Index::Entry snapshot_;  // as an earlier life had the old record
};

enum class By : uint8_t { kRecord, kSnapshot };

// Beside the recovery of the old record, and perhaps a split.
void ExpectHolds(const std::function<void(Refill&)>& owner, uint64_t found_at_last, By by, bool splits = false) {
  const auto scenario = [&](Trial& trial) {
    Refill refill(splits ? Index::Size::kGrows : Index::Size::kFixed);
    const auto recover = [&] { by == By::kRecord ? refill.Recover() : refill.Restore(); };
    const auto own = [&] { owner(refill); };
    const auto split = [&] { refill.Split(); };
    if (splits) {
      trial.Threads({{"recovery", recover}, {"owner", own}, {"split", split}});
    } else {
      trial.Threads({{"recovery", recover}, {"owner", own}});
    }
    refill.Expect(found_at_last);
  };
  const Result result =
      Explore({.preemptions_max = 1, .stale_max = 1, .runs_max = 1'000'000, .steps_max = 60'000}, scenario);
  EXPECT_TRUE(result.ok()) << result.failure;
  EXPECT_TRUE(!result.ok() || result.complete) << "the bounds allow more than " << result.runs << " runs";
  const Result random = Explore({.random_runs = 300, .seed = kSeed, .steps_max = 60'000}, scenario);
  EXPECT_TRUE(random.ok()) << random.failure;
}

void ExpectHoldsByBoth(const std::function<void(Refill&)>& owner, uint64_t found_at_last) {
  for (const By by : {By::kRecord, By::kSnapshot}) ExpectHolds(owner, found_at_last, by);
}

TEST(CheckedRefill, APutBeatsAnOlderRecord) {
  const auto put = [](Refill& refill) {
    refill.Put();
    Require(refill.Find() == Refill::kNew, "the new one is found");
  };
  ExpectHoldsByBoth(put, Refill::kNew);
  ExpectHolds(put, Refill::kNew, By::kRecord, /*splits=*/true);  // by a snapshot none is split
}

// One that came back before.
TEST(CheckedRefill, ASplitHidesNoYoungerRecord) {
  const auto scenario = [](Trial& trial) {
    Refill refill(Index::Size::kGrows);
    refill.RecoverYounger();
    trial.Threads({{"recovery", [&] { refill.Recover(); }}, {"split", [&] { refill.Split(); }}});
    refill.Expect(Refill::kNew);
  };
  const Result result =
      Explore({.preemptions_max = 1, .stale_max = 1, .runs_max = 1'000'000, .steps_max = 60'000}, scenario);
  EXPECT_TRUE(result.ok()) << result.failure;
}

TEST(CheckedRefill, AnEraseIsNotUndone) {
  ExpectHoldsByBoth(
      [](Refill& refill) {
        refill.Erase();
        Require(refill.Find() == 0, "it is gone");
      },
      0);
}

TEST(CheckedRefill, WhatWasPutAndDroppedIsNotFollowedByAnOlderRecord) {
  ExpectHoldsByBoth(
      [](Refill& refill) {
        refill.Put();
        refill.Drop();
        Require(refill.Find() == 0, "it is gone");
      },
      0);
}

// Whoever finds the notes closing must wait as if they were open: what is being published would follow its erase.
TEST(CheckedRefill, AnEraseBesideClearIsNotUndone) {
  const auto scenario = [](Trial& trial) {
    Refill refill(Index::Size::kFixed);
    trial.Threads(
        {{"recovery", [&] { refill.Recover(); }}, {"clear", [&] { refill.Clear(); }}, {"eraser", [&] {
                                                                                         refill.Erase();
                                                                                         Require(refill.Find() == 0,
                                                                                                 "it is gone");
                                                                                       }}});
    refill.Expect(0);
  };
  const Result result =
      Explore({.preemptions_max = 2, .stale_max = 0, .runs_max = 3'000'000, .steps_max = 60'000}, scenario);
  EXPECT_TRUE(result.ok()) << result.failure;
  EXPECT_TRUE(!result.ok() || result.complete) << "the bounds allow more than " << result.runs << " runs";
}

TEST(CheckedRefill, ClearLeavesNothing) {
  ExpectHoldsByBoth(
      [](Refill& refill) {
        refill.Clear();
        Require(refill.Find() == 0, "it is gone");
      },
      0);
}

}  // namespace
}  // namespace mezz::check
