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

// Where the first split moves the word to: the new bucket, which both choices of the key are then; or another old one,
// which is its first choice and as empty.
enum class Moves : uint8_t { kToNew, kToOld };

// Records that exist only here: lines 1 and 2 are the key's, first and second; 3 is a stranger's.
class Records {
 public:
  struct Reader {
    bool Pin(IndexWord) const { return true; }
    void Unpin(IndexWord) const {}
    void Prefetch(IndexWord) const {}
    Verdict Judge(IndexWord word) const {
      return any || records.KeyAt(word.line()) == key ? Verdict::kThisKey : Verdict::kAnotherKey;
    }
    const Records& records;
    BlockKey key;
    bool any = false;
  };

  explicit Records(Moves moves) : keys_(kKeys[static_cast<size_t>(moves)]), index_(1, kSeed, Index::Size::kGrows) {
    Require(index_.ok(), "there is memory");
    if (moves == Moves::kToOld) Publish(kStranger);
    Publish(kFirst);
    if (moves == Moves::kToOld) Erase(keys_.stranger);
  }

  void Publish(uint64_t line) {
    Reader reader{*this, KeyAt(line)};
    const KeyHash hash = index_.Hash(reader.key);
    index_.Publish(hash, IndexWord::Make(hash.tag, line, false, 0), reader, [](IndexWord) { return uint64_t{0}; });
  }
  // The line found; 0: a miss.
  uint64_t Find() {
    Reader reader{*this, keys_.key};
    return index_.Find(index_.Hash(keys_.key), reader).word.line();
  }
  bool Erase() { return Erase(keys_.key); }
  bool RemoveFirst() { return index_.RemoveLine(index_.Hash(keys_.key), kFirst); }
  void Split() {
    Reader reader{*this, keys_.key, /*any=*/true};
    const auto key_of = [this](IndexWord word) { return KeyAt(word.line()); };
    Require(index_.Split(reader, key_of, [](IndexWord word) { return word.line(); }) == 0, "there is room");
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
  static constexpr uint64_t kStranger = 3;

  bool Erase(const BlockKey& key) {
    Reader reader{*this, key};
    return index_.Erase(index_.Hash(key), reader, [](IndexWord) {});
  }
  const BlockKey& KeyAt(uint64_t line) const { return line == kStranger ? keys_.stranger : keys_.key; }

  struct Keys {
    BlockKey key, stranger;  // the stranger takes a slot of the key's first choice
  };
  static Keys KeysThat(Moves moves) {
    const Index index(1, kSeed, Index::Size::kGrows);
    const auto bucket_of = [&](const BlockKey& key, unsigned choice, unsigned members) {
      return BucketGroups::MemberOf(index.Hash(key).choice[choice] >> IndexWord::kTagBits, members);
    };
    const auto goes = [&](const BlockKey& key, unsigned choice) { return bucket_of(key, choice, 5) == 4; };
    const auto first_key = [](const std::function<bool(const BlockKey&)>& is_it) {
      uint64_t n = 1;
      while (!is_it({{n, n}})) ++n;
      return BlockKey{{n, n}};
    };
    const BlockKey key = first_key([&](const BlockKey& k) {
      if (moves == Moves::kToNew) return goes(k, 0) && goes(k, 1);
      return !goes(k, 0) && goes(k, 1) && bucket_of(k, 0, 4) != bucket_of(k, 1, 4);
    });
    return {key, first_key([&](const BlockKey& k) { return k != key && bucket_of(k, 0, 4) == bucket_of(key, 0, 4); })};
  }
  static inline const std::array<Keys, 2> kKeys = {KeysThat(Moves::kToNew), KeysThat(Moves::kToOld)};

  const Keys& keys_;
  Index index_;
};

void ExpectHolds(const std::function<void(Trial&, Moves)>& scenario) {
  const bool deep = std::getenv("MEZZ_CHECK_DEPTH") != nullptr;
  const Options all{.preemptions_max = deep ? 2u : 1u, .stale_max = 1, .runs_max = 1'000'000, .steps_max = 60'000};
  const Options some{.random_runs = deep ? 200'000u : 1000u, .seed = kSeed, .steps_max = 60'000};
  for (const Moves moves : {Moves::kToNew, Moves::kToOld}) {
    const auto of_these = [&](Trial& trial) { scenario(trial, moves); };
    const Result result = Explore(all, of_these);
    EXPECT_TRUE(result.ok()) << result.failure;
    EXPECT_TRUE(!result.ok() || result.complete || deep) << "the bounds allow more than " << result.runs << " runs";
    const Result random = Explore(some, of_these);
    EXPECT_TRUE(random.ok()) << random.failure;
  }
}

TEST(CheckedGrowth, AFoundRecordIsTheKeysAndIsFoundAfterwards) {
  ExpectHolds([](Trial& trial, Moves moves) {
    Records records(moves);
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
  ExpectHolds([](Trial& trial, Moves moves) {
    Records records(moves);
    trial.Threads({{"split", [&] { records.Split(); }}, {"eraser", [&] {
                                                           Require(records.Erase(), "it was there");
                                                           Require(records.Find() == 0, "it is gone");
                                                         }}});
    Require(records.Find() == 0, "it stays gone");
    records.ExpectSound();
  });
}

TEST(CheckedGrowth, WhatIsRemovedIsGone) {
  ExpectHolds([](Trial& trial, Moves moves) {
    Records records(moves);
    trial.Threads({{"split", [&] { records.Split(); }}, {"remover", [&] {
                                                           Require(records.RemoveFirst(), "it was there");
                                                           Require(records.Find() == 0, "it is gone");
                                                         }}});
    records.ExpectSound();
    Require(records.Find() == 0, "it stays gone");
  });
}

TEST(CheckedGrowth, APutBesideTwoSplitsLeavesOneWord) {
  ExpectHolds([](Trial& trial, Moves moves) {
    Records records(moves);
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
  ExpectHolds([](Trial& trial, Moves moves) {
    Records records(moves);
    trial.Threads({{"split", [&] { records.Split(); }}, {"clearer", [&] {
                                                           records.Clear();
                                                           Require(records.Find() == 0, "it is gone");
                                                         }}});
    records.ExpectSound();
    Require(records.Find() == 0, "it stays gone");
  });
}

TEST(CheckedGrowth, WhatIsPutReplacesWhatMoves) {
  ExpectHolds([](Trial& trial, Moves moves) {
    Records records(moves);
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
  ExpectHolds([](Trial& trial, Moves moves) {
    Records records(moves);
    records.Erase();
    trial.Threads({{"split", [&] { records.Split(); }}, {"owner", [&] { records.Publish(Records::kSecond); }}});
    Require(records.Find() == Records::kSecond, "it is found");
    records.ExpectSound();
  });
}

TEST(CheckedGrowth, TwoPutsLeaveOneRecord) {
  ExpectHolds([](Trial& trial, Moves moves) {
    Records records(moves);
    records.Erase();
    trial.Threads({{"split", [&] { records.Split(); }},
                   {"one", [&] { records.Publish(Records::kFirst); }},
                   {"two", [&] { records.Publish(Records::kSecond); }}});
    records.ExpectSound();
  });
}

}  // namespace
}  // namespace mezz::check
