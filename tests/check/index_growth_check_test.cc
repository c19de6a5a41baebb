// SPDX-License-Identifier: Apache-2.0
// The index under the model checker while it grows: a group is split beside every other operation.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <functional>

#include "cache/index.h"
#include "tests/support/check/explorer.h"

namespace mezz::check {
namespace {

constexpr uint64_t kSeed = 1;

// Records that exist only here: lines 1 and 2 are the key's, first and second; 3 is a stranger's.
class Records {
 public:
  struct Reader {
    bool Pin(IndexWord) const { return true; }
    void Unpin(IndexWord) const {}
    void Prefetch(IndexWord) const {}
    Verdict Judge(IndexWord word) const { return any || KeyAt(word) == key ? Verdict::kThisKey : Verdict::kAnotherKey; }
    BlockKey key;
    bool any = false;
  };

  // The first of two splits of this index moves the key.
  Records() : index_(1, kSeed, Index::Size::kGrows) {
    Require(index_.ok(), "there is memory");
    Publish(kFirst);
  }

  void Publish(uint64_t line) {
    Reader reader{KeyAt(IndexWord::Make(0, line, false, 0))};
    const KeyHash hash = index_.Hash(reader.key);
    index_.Publish(hash, IndexWord::Make(hash.tag, line, false, 0), reader, [](IndexWord) { return uint64_t{0}; });
  }
  // The line found; 0: a miss.
  uint64_t Find() {
    Reader reader{kKey};
    return index_.Find(index_.Hash(kKey), reader).word.line();
  }
  bool Erase() {
    Reader reader{kKey};
    return index_.Erase(index_.Hash(kKey), reader, [](IndexWord) {});
  }
  bool RemoveFirst() { return index_.RemoveLine(index_.Hash(kKey), kFirst); }
  void Split() {
    Reader reader{kKey, /*any=*/true};
    Require(index_.Split(reader, [](IndexWord word) { return KeyAt(word); }) == 0, "there is room");
  }
  void Clear() { index_.Clear(); }
  // After the threads: the one word of the key, or none, is where it is looked for, and nothing is anywhere else.
  void ExpectSound() {
    const int64_t words = index_.counted();
    const bool there = Find() != 0;
    Require(words == (there ? 1 : 0), "every word is found");
    Require(Erase() == there && Find() == 0 && index_.counted() == 0, "there was no second word");
  }

  static constexpr uint64_t kFirst = 1, kSecond = 2;

 private:
  static BlockKey KeyAt(IndexWord word) { return word.line() == 3 ? BlockKey{{7, 7}} : kKey; }
  static inline const BlockKey kKey = [] {
    for (uint64_t n = 1;; ++n) {  // a key that the split moves
      Index index(1, kSeed, Index::Size::kGrows);
      const BlockKey key{{n, n}};
      const uint64_t bits = index.Hash(key).choice[0] >> IndexWord::kTagBits;
      const uint64_t other = index.Hash(key).choice[1] >> IndexWord::kTagBits;
      const auto moves = [](uint64_t of) { return BucketGroups::MemberOf(of, 4) != BucketGroups::MemberOf(of, 5); };
      if (moves(bits) && moves(other)) return key;
    }
  }();

  Index index_;
};

void ExpectHolds(const std::function<void(Trial&)>& scenario) {
  const bool deep = std::getenv("MEZZ_CHECK_DEPTH") != nullptr;
  const Result result = Explore(
      {.preemptions_max = deep ? 2u : 1u, .stale_max = 1, .runs_max = 1'000'000, .steps_max = 60'000}, scenario);
  EXPECT_TRUE(result.ok()) << result.failure;
  EXPECT_TRUE(!result.ok() || result.complete || deep) << "the bounds allow more than " << result.runs << " runs";
  const Result random = Explore({.random_runs = deep ? 200'000u : 1000u, .seed = kSeed, .steps_max = 60'000}, scenario);
  EXPECT_TRUE(random.ok()) << random.failure;
}

TEST(CheckedGrowth, AFoundRecordIsTheKeysAndIsFoundAfterwards) {
  ExpectHolds([](Trial& trial) {
    Records records;
    trial.Threads({{"split", [&] { records.Split(); }}, {"finder", [&] {
                                                           const uint64_t found = records.Find();
                                                           Require(found == 0 || found == Records::kFirst,
                                                                   "no other record");
                                                         }}});
    Require(records.Find() == Records::kFirst, "it is found");
    records.ExpectSound();
  });
}

TEST(CheckedGrowth, WhatIsErasedIsGone) {
  ExpectHolds([](Trial& trial) {
    Records records;
    trial.Threads({{"split", [&] { records.Split(); }}, {"eraser", [&] {
                                                           Require(records.Erase(), "it was there");
                                                           Require(records.Find() == 0, "it is gone");
                                                         }}});
    Require(records.Find() == 0, "it stays gone");
    records.ExpectSound();
  });
}

TEST(CheckedGrowth, WhatIsRemovedIsGone) {
  ExpectHolds([](Trial& trial) {
    Records records;
    trial.Threads({{"split", [&] { records.Split(); }}, {"remover", [&] {
                                                           Require(records.RemoveFirst(), "it was there");
                                                           Require(records.Find() == 0, "it is gone");
                                                         }}});
    records.ExpectSound();
    Require(records.Find() == 0, "it stays gone");
  });
}

TEST(CheckedGrowth, APutBesideTwoSplitsLeavesOneWord) {
  ExpectHolds([](Trial& trial) {
    Records records;
    trial.Threads({{"splits",
                    [&] {
                      records.Split();
                      records.Split();
                    }},
                   {"owner", [&] { records.Publish(Records::kSecond); }}});
    Require(records.Find() == Records::kSecond, "it is found");
    records.ExpectSound();
  });
}

TEST(CheckedGrowth, ClearLeavesNothing) {
  ExpectHolds([](Trial& trial) {
    Records records;
    trial.Threads({{"split", [&] { records.Split(); }}, {"clearer", [&] {
                                                           records.Clear();
                                                           Require(records.Find() == 0, "it is gone");
                                                         }}});
    records.ExpectSound();
    Require(records.Find() == 0, "it stays gone");
  });
}

TEST(CheckedGrowth, WhatIsPutReplacesWhatMoves) {
  ExpectHolds([](Trial& trial) {
    Records records;
    trial.Threads({{"split", [&] { records.Split(); }}, {"owner", [&] {
                                                           records.Publish(Records::kSecond);
                                                           Require(records.Find() != Records::kFirst,
                                                                   "the old is gone");
                                                         }}});
    Require(records.Find() == Records::kSecond, "the new one is found");
    records.ExpectSound();
  });
}

TEST(CheckedGrowth, WhatIsPutIsNotLeftWhereNobodyLooks) {
  ExpectHolds([](Trial& trial) {
    Records records;
    records.Erase();
    trial.Threads({{"split", [&] { records.Split(); }}, {"owner", [&] { records.Publish(Records::kSecond); }}});
    Require(records.Find() == Records::kSecond, "it is found");
    records.ExpectSound();
  });
}

TEST(CheckedGrowth, TwoPutsLeaveOneRecord) {
  ExpectHolds([](Trial& trial) {
    Records records;
    records.Erase();
    trial.Threads({{"split", [&] { records.Split(); }},
                   {"one", [&] { records.Publish(Records::kFirst); }},
                   {"two", [&] { records.Publish(Records::kSecond); }}});
    records.ExpectSound();
  });
}

}  // namespace
}  // namespace mezz::check
