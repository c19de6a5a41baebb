// SPDX-License-Identifier: Apache-2.0
// The rules of `adaptive`, one decision at a time. What they add up to stands in model/adaptive_properties_test.cc.
#include "admission/adaptive_policy.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>
#include <string>
#include <unordered_set>
#include <vector>

#include "tests/support/seed.h"

namespace mezz {
namespace {

constexpr BlockRole kMetadata[] = {BlockRole::kIndex, BlockRole::kFilter, BlockRole::kDictionary};
constexpr uint64_t kDramBlocks = 2000;
constexpr uint64_t kScmBlocks = 8000;

PolicyOptions Sizes() {
  PolicyOptions options;
  options.dram_bytes = kDramBlocks * 4096;
  options.scm_bytes = kScmBlocks * 4096;
  return options;
}

BlockFacts Block(uint64_t number) { return {.key = {{77, number}}, .role = BlockRole::kData, .bytes = 4096}; }
BlockFacts Recorded(uint64_t number) {
  BlockFacts block = Block(number);
  block.in_scm = true;
  return block;
}
BlockFacts HitInDram(uint64_t number) {
  BlockFacts block = Block(number);
  block.was_hit_in_dram = true;
  return block;
}

BlockFacts AnyFacts(std::mt19937_64& random, uint64_t keys) {
  return {.key = {{77, random() % keys}},
          .role = static_cast<BlockRole>(random() % kBlockRoles),
          .bytes = static_cast<uint32_t>(random() % 10 == 0 ? random() % 200'000 : 4096),
          .was_hit_in_dram = random() % 2 == 0,
          .in_scm = random() % 2 == 0,
          .in_dram = random() % 2 == 0,
          .by_compaction = random() % 8 == 0,
          .proven = random() % 2 == 0,
          .scm_heat = static_cast<uint8_t>(random() % 4)};
}

void ExpectDecision(const Decision& got, Action action, Reason reason) {
  EXPECT_EQ(ToString(got.action), ToString(action));
  EXPECT_EQ(ToString(got.reason), ToString(reason));
}

class Adaptive : public testing::Test {
 protected:
  Adaptive() { Make(Sizes()); }
  void Make(const PolicyOptions& options) { policy_ = std::make_unique<AdaptivePolicy>(options); }
  // The first reclaim says that the SCM tier is full.
  void Fill() { policy_->OnReclaim(Recorded(999'999'999)); }
  // Users look up blocks of which nothing more is heard: room for writes.
  void LookUp(uint64_t times) { policy_->OnDramHits(times); }
  // For so long that newcomers' room in DRAM is worth nothing.
  void NothingReturns() {
    for (int windows = 0; windows < 100; ++windows) LookUp(PromotionThreshold::kTurns * kDramBlocks);
  }

  const uint64_t seed_ = test::Seed();
  std::mt19937_64 random_{seed_};
  std::unique_ptr<AdaptivePolicy> policy_;
};

TEST_F(Adaptive, DataThatACompactionReadsGoesNowhere) {
  for (const bool filled : {false, true}) {
    if (filled) Fill();
    for (uint64_t n = 0; n < 1000; ++n) {
      BlockFacts block = Block(n % 10);
      block.by_compaction = true;
      ExpectDecision(policy_->OnMiss(block), Action::kBypass, Reason::kCompaction);
      block.in_scm = true;
      block.scm_heat = 3;
      block.role = static_cast<BlockRole>(n % kBlockRoles);
      ExpectDecision(policy_->OnScmHit(block), Action::kInPlace, Reason::kCompaction);
    }
  }
  BlockFacts index = Block(5000);
  index.role = BlockRole::kIndex;
  index.by_compaction = true;
  EXPECT_EQ(policy_->OnMiss(index).action, Action::kToDram) << "users will probe it as well";
}

TEST_F(Adaptive, WhatDramIsNotForGoesPastItByEvidence) {
  BlockFacts blob = Block(1);
  blob.role = BlockRole::kBlob;
  blob.bypass_dram = true;
  ExpectDecision(policy_->OnMiss(blob), Action::kToScm, Reason::kFilling);
  Fill();
  LookUp(100'000);
  blob.key = Block(2).key;
  ExpectDecision(policy_->OnMiss(blob), Action::kBypass, Reason::kNoEvidence);
  const Decision back = policy_->OnMiss(blob);
  ExpectDecision(back, Action::kToScm, Reason::kGhost);
  EXPECT_TRUE(back.proven);
  for (int hits = 0; hits < 100; ++hits) ExpectDecision(policy_->OnScmHit(blob), Action::kInPlace, Reason::kRole);
  blob.by_compaction = true;
  ExpectDecision(policy_->OnMiss(blob), Action::kBypass, Reason::kCompaction);
  for (uint64_t n = 0; n < 16 * kDramBlocks; ++n) {  // none of them leaves DRAM unhit: none closes its window
    blob.by_compaction = false;
    blob.key = Block(1'000'000 + n).key;
    policy_->OnMiss(blob);
  }
  EXPECT_EQ(policy_->OnMiss(Block(3)).action, Action::kToDram);
}

// A block that the SCM tier refused, and that comes back from a file that holds it compressed.
BlockFacts WithImage(uint64_t number) {
  BlockFacts block = Block(number);
  block.codec = Codec::kLz4;
  block.packed_bytes = block.image_bytes = 2000;
  return block;
}

TEST_F(Adaptive, WhatCameBackWithItsImageGoesToBothTiers) {
  Fill();
  LookUp(100'000);
  ExpectDecision(policy_->OnMiss(WithImage(1)), Action::kToDram, Reason::kPolicyDefault);  // never heard of
  ASSERT_EQ(policy_->OnDramEviction(Block(2)).action, Action::kDrop);                      // leaves a ghost
  ExpectDecision(policy_->OnMiss(Block(2)), Action::kToDram, Reason::kPolicyDefault);      // no image
  const Decision decision = policy_->OnMiss(WithImage(2));
  ExpectDecision(decision, Action::kToBoth, Reason::kGhost);
  EXPECT_TRUE(decision.proven);
}

TEST_F(Adaptive, AnImagePaysTheBudgetAsOtherWritesDo) {
  PolicyOptions options = Sizes();
  options.write_budget_bytes_per_second = 20'000;  // a tenth of a second's burst: one image
  options.now_ns = [] { return uint64_t{1}; };
  Make(options);
  Fill();
  LookUp(100'000);
  for (uint64_t n = 0; n < 10; ++n) ASSERT_EQ(policy_->OnDramEviction(Block(n)).action, Action::kDrop);
  unsigned stored = 0;
  for (uint64_t n = 0; n < 10; ++n) stored += policy_->OnMiss(WithImage(n)).action == Action::kToBoth ? 1 : 0;
  EXPECT_GT(stored, 0u);
  EXPECT_LT(stored, 10u);
}

// Its eviction says whether newcomers find anything in DRAM, and nothing of whether promotions pay: it was none.
TEST_F(Adaptive, ABlockWithAnImageWasNotPromoted) {
  Fill();
  LookUp(1'000'000);
  unsigned stored = 0;
  for (uint64_t n = 0; n < 5'000; ++n) {
    policy_->OnDramEviction(Block(n));
    policy_->OnDramEviction(HitInDram(100'000 + n));  // or the window would close
    if (policy_->OnMiss(WithImage(n)).action != Action::kToBoth) continue;
    ++stored;
    BlockFacts evicted = Recorded(n);
    evicted.codec = Codec::kLz4;
    evicted.packed_bytes = 2000;
    ExpectDecision(policy_->OnDramEviction(evicted), Action::kKeep, Reason::kClean);
    LookUp(10);
  }
  EXPECT_GT(stored, 500u);
  NothingReturns();
  unsigned promoted = 0;
  for (uint64_t n = 1'000'000; n < 1'000'100; ++n) {
    BlockFacts hit = Recorded(n);
    hit.packed = true;
    policy_->OnScmHit(hit);
    promoted += policy_->OnScmHit(hit).action == Action::kPromote ? 1 : 0;
  }
  EXPECT_GE(promoted, 95u) << "the second hit of a packed record promotes, unless promotions were found not to pay";
}

// Two policies see the same users; one sees compactions read the same blocks as well. It answers users the same.
TEST_F(Adaptive, CompactionReadsAreNoHeat) {
  AdaptivePolicy other(Sizes());
  Fill();
  other.OnReclaim(Recorded(999'999'999));
  for (int i = 0; i < 50'000; ++i) {
    for (uint64_t reads = random_() % 4; reads > 0; --reads) {
      BlockFacts read = Block(random_() % 5000);
      read.by_compaction = true;
      if (random_() % 2 == 0) {
        policy_->OnMiss(read);
      } else {
        policy_->OnScmHit(read);
      }
    }
    BlockFacts block = AnyFacts(random_, 5000);
    block.by_compaction = false;
    Decision with{}, without{};
    switch (random_() % 4) {
      case 0:
        with = policy_->OnMiss(block), without = other.OnMiss(block);
        break;
      case 1:
        with = policy_->OnScmHit(block), without = other.OnScmHit(block);
        break;
      case 2:
        with = policy_->OnDramEviction(block), without = other.OnDramEviction(block);
        break;
      default:
        with = policy_->OnReclaim(block), without = other.OnReclaim(block);
    }
    ASSERT_EQ(with.action, without.action) << i;
    ASSERT_EQ(with.reason, without.reason) << i;
  }
}

TEST_F(Adaptive, SmallMetadataIsPromotedAndLargeServedInPlace) {
  for (const bool filled : {false, true}) {
    if (filled) Fill();
    for (const BlockRole role : kMetadata) {
      BlockFacts block = Recorded(random_());
      block.role = role;
      block.bytes = 1 + static_cast<uint32_t>(random_() % AdaptivePolicy::kSmallMetadataBytes);
      ExpectDecision(policy_->OnScmHit(block), Action::kPromote, Reason::kRole);
      block.bytes = AdaptivePolicy::kSmallMetadataBytes + 1 + static_cast<uint32_t>(random_() % 10'000'000);
      for (int hit = 0; hit < 20; ++hit)
        ExpectDecision(policy_->OnScmHit(block), Action::kInPlace, Reason::kRole);  // however hot it is
    }
  }
}

TEST_F(Adaptive, MetadataIsAlwaysDemotedAsProven) {
  Fill();
  LookUp(100'000);
  for (int i = 0; i < 300; ++i) {
    BlockFacts block = Block(random_());
    block.role = kMetadata[i % 3];
    const Decision decision = policy_->OnDramEviction(block);
    ExpectDecision(decision, Action::kToScm, Reason::kRole);
    EXPECT_TRUE(decision.proven);
  }
}

TEST_F(Adaptive, NeverSparesWhatIsInDramAndNeverRewritesWhatIsClean) {
  for (int i = 0; i < 50'000; ++i) {
    BlockFacts block = AnyFacts(random_, 5000);
    if (random_() % 2 == 0) {
      block.in_dram = true;
      const Decision decision = policy_->OnReclaim(block);
      ASSERT_EQ(decision.action, Action::kDrop);
      ASSERT_EQ(decision.reason, Reason::kInDram);
    } else {
      block.in_scm = true;
      const Decision decision = policy_->OnDramEviction(block);
      ASSERT_EQ(decision.action, Action::kKeep);
      ASSERT_EQ(decision.reason, Reason::kClean);
    }
  }
}

TEST_F(Adaptive, FillsTheScmTierWithWhateverComes) {
  for (uint64_t n = 0; n < kScmBlocks; ++n)
    ExpectDecision(policy_->OnDramEviction(Block(n)), Action::kToScm, Reason::kFilling);
}

// What reclaim finds on the fast media tells nothing of the room on the slow ones.
TEST_F(Adaptive, FillsTheSlowMediaBeforeItAsksForEvidence) {
  BlockFacts spared = Recorded(1), demoted = Recorded(2), in_dram = Recorded(3);
  spared.demotable = demoted.demotable = in_dram.demotable = true;
  spared.scm_heat = 1;
  in_dram.in_dram = true;
  ExpectDecision(policy_->OnReclaim(spared), Action::kSpare, Reason::kHit);
  ExpectDecision(policy_->OnReclaim(in_dram), Action::kDrop, Reason::kInDram);
  ExpectDecision(policy_->OnReclaim(demoted), Action::kDrop, Reason::kNoHit);
  ExpectDecision(policy_->OnDemotion(demoted), Action::kDemote, Reason::kPolicyDefault);
  ExpectDecision(policy_->OnDramEviction(Block(4)), Action::kToScm, Reason::kFilling);
  EXPECT_FALSE(policy_->OnDramEviction(Block(2)).proven) << "it was not let go";
  EXPECT_TRUE(policy_->OnDramEviction(Block(3)).proven);
  policy_->OnReclaim(Recorded(5));
  ExpectDecision(policy_->OnDramEviction(Block(6)), Action::kDrop, Reason::kNoEvidence);
}

TEST_F(Adaptive, ASparseScmTierIsFilledAgain) {
  Fill();
  LookUp(100'000);
  BlockFacts block = Block(1);
  ExpectDecision(policy_->OnDramEviction(block), Action::kDrop, Reason::kNoEvidence);
  block = Block(2);
  block.scm_sparse = true;
  ExpectDecision(policy_->OnDramEviction(block), Action::kToScm, Reason::kFilling);
  ExpectDecision(policy_->OnDramEviction(Block(3)), Action::kDrop, Reason::kNoEvidence);
}

TEST_F(Adaptive, WhatIsRefusedAndComesBackIsProven) {
  Fill();
  LookUp(100'000);
  for (uint64_t n = 0; n < 200; ++n)
    ExpectDecision(policy_->OnDramEviction(Block(n)), Action::kDrop, Reason::kNoEvidence);
  for (uint64_t n = 0; n < 200; ++n) {
    const Decision decision = policy_->OnDramEviction(Block(n));
    ExpectDecision(decision, Action::kToScm, Reason::kGhost);
    EXPECT_TRUE(decision.proven);
    ExpectDecision(policy_->OnDramEviction(Block(n)), Action::kDrop, Reason::kNoEvidence);  // the ghost is used up
  }
}

TEST_F(Adaptive, WhatReclaimDroppedAndComesBackIsProven) {
  Fill();
  LookUp(100'000);
  for (uint64_t n = 0; n < 200; ++n) {
    BlockFacts block = Recorded(n);
    block.in_dram = n % 2 == 0;
    EXPECT_EQ(policy_->OnReclaim(block).action, Action::kDrop);
  }
  for (uint64_t n = 0; n < 200; ++n) EXPECT_TRUE(policy_->OnDramEviction(Block(n)).proven) << n;
}

TEST_F(Adaptive, AHitInDramIsEvidenceButProvesNothing) {
  Fill();
  LookUp(100'000);
  for (uint64_t n = 0; n < 200; ++n) {
    const Decision decision = policy_->OnDramEviction(HitInDram(n));
    ExpectDecision(decision, Action::kToScm, Reason::kHit);
    EXPECT_FALSE(decision.proven);
  }
}

TEST_F(Adaptive, SparesTheYoungOnOneHitTheProvenOnTwo) {
  LookUp(100'000);
  for (unsigned heat = 0; heat < 4; ++heat) {
    for (const bool proven : {false, true}) {
      BlockFacts block = Recorded(random_());
      block.scm_heat = static_cast<uint8_t>(heat);
      block.proven = proven;
      const bool spared = heat > (proven ? 1u : 0u);
      ExpectDecision(policy_->OnReclaim(block), spared ? Action::kSpare : Action::kDrop,
                     spared ? Reason::kHit : Reason::kNoHit);
    }
  }
}

// It takes the room of several that pack, so it must have been hit once more. Where nothing packs, it is like all.
TEST_F(Adaptive, WhatDoesNotPackAmongWhatDoesNeedsOneHitMore) {
  for (const uint32_t scale : {1u, 8u}) {  // of the size expected
    for (const uint32_t packed_bytes : {1500 * scale, 4000 * scale}) {
      SCOPED_TRACE(packed_bytes);
      const bool packs = packed_bytes == 1500 * scale;
      Make(Sizes());
      BlockFacts leaving = Block(0);
      leaving.bytes *= scale;
      leaving.codec = Codec::kLz4;
      leaving.packed_bytes = packed_bytes;
      for (uint64_t n = 0; n < 40'000; ++n) policy_->OnScmHit(leaving);
      for (uint64_t n = 0; n < 1000; ++n) {
        leaving.key = Block(n).key;
        policy_->OnDramEviction(leaving);
      }
      for (const bool proven : {false, true}) {
        BlockFacts record = Recorded(1);
        record.bytes *= scale;
        record.codec = Codec::kLz4;
        record.proven = proven;
        record.scm_heat = proven ? 2 : 1;
        EXPECT_EQ(policy_->OnReclaim(record).action, packs ? Action::kDrop : Action::kSpare);
        record.packed = true;
        ExpectDecision(policy_->OnReclaim(record), Action::kSpare, Reason::kHit);
        record.packed = false;
        ++record.scm_heat;
        ExpectDecision(policy_->OnReclaim(record), Action::kSpare, Reason::kHit);
        record.scm_heat = proven ? 2 : 1;
        record.bytes = 1500 * scale;
        ExpectDecision(policy_->OnReclaim(record), Action::kSpare, Reason::kHit);
        record.bytes = 4096 * scale;
        record.role = BlockRole::kIndex;
        ExpectDecision(policy_->OnReclaim(record), Action::kSpare, Reason::kHit);
      }
    }
  }
}

// The governor weighs what is written against what is looked up, whatever was expected of a block's size.
TEST_F(Adaptive, ALookUpCountsAsLargeAsItsBlock) {
  for (const bool hits_in_dram : {false, true}) {
    for (const uint32_t bytes : {1024u, 4096u, 32u << 10}) {
      for (const bool too_much : {false, true}) {
        SCOPED_TRACE(testing::Message() << hits_in_dram << " " << bytes << " " << too_much);
        Make(Sizes());
        Fill();
        BlockFacts block = HitInDram(0);
        block.bytes = bytes;
        // The mean follows those that miss DRAM.
        for (uint64_t n = 0; n < 40'000; ++n) policy_->OnScmHit(block);
        uint64_t refused = 0, written = 0;
        for (uint64_t n = 1; n <= (256u << 20) / bytes; ++n) {  // two of the governor's windows
          if (hits_in_dram) {
            policy_->OnDramHits(1);
          } else {
            policy_->OnScmHit(block);
          }
          for (; written < (too_much ? 3 * n / 2 : 4 * n / 5); ++written) {
            block.key = Block(written).key;
            if (policy_->OnDramEviction(block).reason == Reason::kChurn) ++refused;
          }
        }
        if (too_much) {
          EXPECT_GT(refused, written / 20);
        } else {
          EXPECT_EQ(refused, 0u);
        }
      }
    }
  }
}

TEST_F(Adaptive, ALookUpOfMetadataCountsAsNoMoreThanAMeanBlock) {
  Fill();
  BlockFacts filter = Recorded(1);
  filter.role = BlockRole::kFilter;
  filter.bytes = 1 << 20;
  uint64_t refused = 0;
  for (uint64_t n = 0; n < 40'000; ++n) {
    policy_->OnScmHit(filter);
    for (const uint64_t times : {0, 1})
      if (policy_->OnDramEviction(HitInDram(2 * n + times)).reason == Reason::kChurn) ++refused;
  }
  EXPECT_GT(refused, 1000u);
}

TEST_F(Adaptive, PromotesWhatIsAskedForOften) {
  Fill();
  ExpectDecision(policy_->OnScmHit(Recorded(1)), Action::kInPlace, Reason::kTooCold);
  Decision decision{};
  for (unsigned hit = 0; hit < FrequencySketch::kMax; ++hit) decision = policy_->OnScmHit(Recorded(1));
  ExpectDecision(decision, Action::kPromote, Reason::kFrequency);
}

class AdaptivePromotion : public Adaptive {
 protected:
  static BlockFacts Packed(uint64_t number, Codec codec) {
    BlockFacts block = Recorded(number);
    block.packed = true;
    block.codec = codec;
    return block;
  }
  // Of a hundred blocks that nobody asked for before, those that one of so many hits promotes. A fixed 64th may be.
  template <typename Facts>
  int PromotedBy(int hits, Facts&& facts) {
    int promoted = 0;
    for (int block = 0; block < 100; ++block, ++next_) {
      bool by_one = false;
      for (int hit = 0; hit < hits; ++hit) by_one |= policy_->OnScmHit(facts(next_)).action == Action::kPromote;
      promoted += by_one;
    }
    return promoted;
  }
  int PromotedRaw() { return PromotedBy(3, Recorded); }
  int PromotedPacked(Codec codec, int hits = 3) {
    return PromotedBy(hits, [codec](uint64_t number) { return Packed(number, codec); });
  }
  static constexpr int kFewProbes = 8, kNearlyAll = 92;

  uint64_t next_ = 1'000'000;
};

// The fixed 64th of one seed says nothing of another's, and not of the blocks beside its own: draws by seed are draws.
TEST_F(AdaptivePromotion, EachSeedHasAFixedPartOfItsOwn) {
  constexpr uint64_t kBlocks = 3500;  // of two look-ups each: PromotionThreshold knows nothing yet
  std::vector<std::vector<bool>> fixed;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    PolicyOptions options = Sizes();
    options.seed = seed;
    Make(options);
    Fill();
    fixed.emplace_back();
    for (uint64_t n = 0; n < kBlocks; ++n) {
      policy_->OnScmHit(Packed(n, Codec::kLz4));
      fixed.back().push_back(policy_->OnScmHit(Packed(n, Codec::kLz4)).action == Action::kPromote);
    }
  }
  for (uint64_t shift = 0; shift < 4; ++shift) {
    for (uint64_t other = 1; other < 4; ++other) {
      uint64_t both = 0;
      for (uint64_t n = 3; n < kBlocks - 3; ++n)
        both += fixed[0][n] && (fixed[other][n - shift] || fixed[other][n + shift]);
      EXPECT_LT(both, kBlocks / 64 / 4) << "seed " << other << ", " << shift << " blocks beside";
    }
  }
  EXPECT_GT(std::ranges::count(fixed[0], true), static_cast<ptrdiff_t>(kBlocks / 64 / 2));
}

TEST_F(AdaptivePromotion, OfPackedBlocksOnlyWhereTheirPlacePays) {
  EXPECT_GE(PromotedPacked(Codec::kLz4), kNearlyAll) << "while the SCM tier fills newcomers lose nothing";
  Fill();
  EXPECT_LE(PromotedPacked(Codec::kLz4), kFewProbes) << "nothing is known yet";
  EXPECT_GE(PromotedRaw(), kNearlyAll);
  NothingReturns();
  EXPECT_GE(PromotedPacked(Codec::kLz4), kNearlyAll);
  // One look-up in 130 misses what a larger DRAM tier would have kept: five hits of zstd's make up for that, or fifteen
  // of LZ4's. A window sees eight of them, so neither is counted exactly.
  for (uint64_t n = 0; n < 2000; ++n) {
    ASSERT_EQ(policy_->OnDramEviction(Block(n)).action, Action::kDrop);
    if (n % 4 == 0) policy_->OnDramEviction(HitInDram(500'000 + n));  // or the window would close
    policy_->OnMiss(Block(n));
    LookUp(129);
  }
  EXPECT_LE(PromotedPacked(Codec::kLz4, 8), kFewProbes);
  EXPECT_LE(PromotedPacked(Codec::kZstd, 2), kFewProbes);
  EXPECT_GE(PromotedPacked(Codec::kZstd, 10), kNearlyAll);
  EXPECT_GE(PromotedRaw(), kNearlyAll);
}

// More DRAM would not keep them either.
TEST_F(AdaptivePromotion, WhatDramIsNotForReturnsToNone) {
  Fill();
  NothingReturns();
  for (uint64_t n = 0; n < 20'000; ++n) {
    BlockFacts blob = Block(n);
    blob.role = BlockRole::kBlob;
    blob.bypass_dram = true;
    for (int miss = 0; miss < 3; ++miss) policy_->OnMiss(blob);
  }
  EXPECT_GE(PromotedPacked(Codec::kLz4), kNearlyAll);
}

// What lies in DRAM stays there, and SCM does not hold it.
TEST_F(AdaptivePromotion, OfNoPackedBlockWhileNewcomersPassDramBy) {
  Fill();
  for (uint64_t n = 0; n < 50'000; ++n) policy_->OnDramEviction(Block(n));
  NothingReturns();
  EXPECT_EQ(PromotedPacked(Codec::kZstd), 0);
  EXPECT_GE(PromotedRaw(), kNearlyAll);
}

// Their promotion asks for two; a ghost stands for the first.
TEST_F(AdaptivePromotion, AMissCountsOnceItsGhostIsKnown) {
  Fill();
  NothingReturns();
  int unknown = 0, known = 0;
  for (uint64_t n = 0; n < 100; ++n) {
    policy_->OnMiss(Block(n));
    unknown += policy_->OnScmHit(Packed(n, Codec::kLz4)).action == Action::kPromote;
    ASSERT_EQ(policy_->OnDramEviction(Block(1000 + n)).action, Action::kDrop);
    policy_->OnMiss(Block(1000 + n));
    known += policy_->OnScmHit(Packed(1000 + n, Codec::kLz4)).action == Action::kPromote;
  }
  EXPECT_LE(unknown, kFewProbes);
  EXPECT_GE(known, kNearlyAll);
}

TEST_F(Adaptive, ASpentWriteBudgetRefusesAndTimeGivesItBack) {
  uint64_t now = 1'000'000'000;
  PolicyOptions options = Sizes();
  options.write_budget_bytes_per_second = 1;
  options.now_ns = [&now] { return now; };
  Make(options);
  EXPECT_EQ(policy_->OnDramEviction(Block(0)).reason, Reason::kFilling) << "nothing is owed yet";
  ExpectDecision(policy_->OnDramEviction(Block(1)), Action::kDrop, Reason::kWriteBudget);  // even while it fills
  Fill();
  LookUp(100'000);
  for (uint64_t n = 2; n < 100; ++n) {
    ExpectDecision(policy_->OnDramEviction(HitInDram(n)), Action::kDrop, Reason::kWriteBudget);
    BlockFacts hot = Recorded(100 + n);
    hot.scm_heat = 3;
    ExpectDecision(policy_->OnReclaim(hot), Action::kDrop, Reason::kWriteBudget);
  }
  now += 4096 * 1'000'000'000ull;
  ExpectDecision(policy_->OnDramEviction(HitInDram(300)), Action::kDrop,
                 Reason::kWriteBudget);  // a record has a header
  now += 200 * 1'000'000'000ull;
  // Refused for the budget alone, not for want of evidence: its ghost is known.
  const Decision decision = policy_->OnDramEviction(Block(50));
  ExpectDecision(decision, Action::kToScm, Reason::kGhost);
  EXPECT_TRUE(decision.proven);
}

TEST_F(Adaptive, RefusesToChurnAndLookUpsGiveLeaveAgain) {
  Fill();
  uint64_t n = 0;
  ASSERT_EQ(policy_->OnDramEviction(HitInDram(n++)).action, Action::kToScm);
  for (int i = 0; i < 1000; ++i) {  // writes, and nobody looks anything up: the worst case
    ExpectDecision(policy_->OnDramEviction(HitInDram(n++)), Action::kDrop, Reason::kChurn);
    BlockFacts hot = Recorded(1'000'000 + n);
    hot.scm_heat = 3;
    ExpectDecision(policy_->OnReclaim(hot), Action::kDrop, Reason::kChurn);
  }
  LookUp(10'000);
  uint64_t written = 0;
  for (int i = 0; i < 30'000; ++i) written += policy_->OnDramEviction(HitInDram(n++)).action == Action::kToScm;
  EXPECT_GE(written, 4000u);
  EXPECT_LE(written, 10'500u) << "no more than was looked up";
}

// What the miniatures found out by paying for writes is not to be overruled at half of the look-ups' bytes.
TEST_F(Adaptive, ChurnDoesNotCloseWhatTheMiniaturesFoundOpen) {
  Fill();
  // A window of fresh blocks moves on, longer than DRAM lasts and shorter than SCM does, as in miniatures_test.cc.
  std::deque<uint64_t> dram;
  std::unordered_set<uint64_t> in_dram;
  bool open = false;  // as the last eviction shows; which keys are sampled decides when
  for (uint64_t i = 0; i < 600'000 || (i < 6'000'000 && !open); ++i) {
    const uint64_t n = i / 4 + random_() % (kScmBlocks / 2);
    if (!in_dram.insert(n).second) continue;
    policy_->OnMiss(Block(n));
    dram.push_back(n);
    if (dram.size() <= kDramBlocks) continue;
    const Decision decision = policy_->OnDramEviction(Block(dram.front()));
    open = decision.reason == Reason::kPolicyDefault && !decision.proven;  // kOnce keeps to half of the look-ups
    in_dram.erase(dram.front());
    dram.pop_front();
  }
  ASSERT_TRUE(open);
  uint64_t n = 1'000'000'000;
  for (int i = 0; i < 40'000; ++i) {  // three blocks written for four looked up
    LookUp(4);
    for (int write = 0; write < 3; ++write) ASSERT_EQ(policy_->OnDramEviction(Block(n++)).action, Action::kToScm) << i;
  }
  for (int i = 0; i < 40'000; ++i) policy_->OnDramEviction(Block(n++));
  ExpectDecision(policy_->OnDramEviction(Block(n++)), Action::kDrop, Reason::kChurn);
}

// While newcomers find nothing in DRAM they pass it by, and what their eviction would have said is said at the miss.
TEST_F(Adaptive, DataPassesAWindowByThatFindsNothing) {
  const auto evict_unhit = [&] {
    for (uint64_t n = 0; n < 50'000; ++n) policy_->OnDramEviction(Block(2'000'000 + n));
  };
  evict_unhit();
  EXPECT_EQ(policy_->OnMiss(Block(1)).action, Action::kToDram) << "the SCM tier still fills";
  Fill();
  LookUp(1'000'000);
  std::map<Action, int> first, second;
  for (uint64_t n = 0; n < 1000; ++n) ++first[policy_->OnMiss(Block(n)).action];
  EXPECT_GE(first[Action::kBypass], 990);
  ExpectDecision(policy_->OnMiss(Block(5000)), Action::kBypass, Reason::kWindowClosed);
  for (uint64_t n = 3000; n < 8000; ++n) policy_->OnMiss(Block(n));  // longer than DRAM would have kept them
  for (uint64_t n = 0; n < 1000; ++n) {
    const Decision decision = policy_->OnMiss(Block(n));
    ++second[decision.action];
    if (decision.action != Action::kToScm) continue;
    ASSERT_EQ(decision.reason, Reason::kGhost);
    ASSERT_TRUE(decision.proven);
  }
  EXPECT_GE(second[Action::kToScm], 900);
  for (const BlockRole role : kMetadata) {
    BlockFacts block = Block(random_());
    block.role = role;
    EXPECT_EQ(policy_->OnMiss(block).action, Action::kToDram);
  }
}

// What RocksDB offers, so much for so many look-ups.
TEST_F(Adaptive, WhereFilesAreReplacedNoEvidenceIsAskedFor) {
  Fill();
  LookUp(100'000);
  ExpectDecision(policy_->OnDramEviction(Block(1)), Action::kDrop, Reason::kNoEvidence);
  BlockFacts proven = Recorded(2);
  proven.proven = true;
  proven.scm_heat = 1;
  ExpectDecision(policy_->OnReclaim(proven), Action::kDrop, Reason::kNoHit);
  const Lineage of_nothing{.kind = Lineage::Kind::kHeir};
  for (uint64_t n = 0; n < 300; ++n) policy_->OnWarm(Block(10'000 + n), of_nothing);
  ExpectDecision(policy_->OnDramEviction(Block(3)), Action::kDrop, Reason::kNoEvidence);
  for (uint64_t n = 0; n < 4000; ++n) policy_->OnWarm(Block(20'000 + n), of_nothing);
  ExpectDecision(policy_->OnDramEviction(Block(4)), Action::kToScm, Reason::kRenewed);
  ExpectDecision(policy_->OnReclaim(proven), Action::kSpare, Reason::kHit);
  LookUp(10'000'000);
  ExpectDecision(policy_->OnDramEviction(Block(5)), Action::kDrop, Reason::kNoEvidence);
}

TEST_F(Adaptive, WhereFilesAreReplacedTheGovernorStopsNothingAndTheBudgetDoes) {
  PolicyOptions options = Sizes();
  uint64_t now = 1;
  options.now_ns = [&now] { return now; };
  for (const uint64_t budget : {uint64_t{0}, uint64_t{1} << 20}) {
    options.write_budget_bytes_per_second = budget;
    Make(options);
    Fill();
    LookUp(10'000);
    const Lineage of_hot{.kind = Lineage::Kind::kHeir, .best = Standing::kScmHot};
    uint64_t written = 0, over_budget = 0, churn = 0;
    for (uint64_t n = 0; n < 30'000; ++n) {
      const Decision decision = policy_->OnWarm(Block(n), of_hot);
      written += decision.action == Action::kToScm;
      over_budget += decision.reason == Reason::kWriteBudget;
      churn += decision.reason == Reason::kChurn;
    }
    EXPECT_EQ(churn, 0u);
    EXPECT_EQ(over_budget > 0, budget != 0);
    EXPECT_EQ(written + over_budget, 30'000u);
  }
}

TEST_F(Adaptive, WhereFilesAreReplacedItDoesAsDramFirst) {
  Fill();
  LookUp(100'000);
  EXPECT_EQ(policy_->young_percent(), AdaptivePolicy::kYoungPercent);
  NothingReturns();
  BlockFacts packed = Recorded(2);
  packed.packed = true;
  packed.codec = Codec::kLz4;
  Decision hit;
  for (int hits = 0; hits < 15; ++hits) hit = policy_->OnScmHit(packed);
  EXPECT_EQ(hit.action, Action::kPromote);

  for (uint64_t n = 0; n < 40'000; ++n)
    ExpectDecision(policy_->OnWarm(Block(10'000 + n), {.kind = Lineage::Kind::kFlushed}), Action::kToDram,
                   Reason::kFlushed);
  EXPECT_EQ(policy_->young_percent(), kYoungPercentDefault);
  ExpectDecision(policy_->OnScmHit(packed), Action::kInPlace, Reason::kTooCold);
}

// The governor's window must not keep the strictness of an unfilled tier: filling is limited by the budget alone.
TEST_F(Adaptive, FillingIsNoChurn) {
  for (uint64_t n = 0; n < 4 * kScmBlocks; ++n) ASSERT_EQ(policy_->OnDramEviction(Block(n)).action, Action::kToScm);
}

TEST_F(Adaptive, TakesAtMostSixBytesABlock) {
  for (const uint64_t megabytes : {64, 103, 128, 256, 3200}) {  // 82 k to 4 M blocks; just above 2^17
    PolicyOptions options;
    options.dram_bytes = megabytes << 20;
    options.scm_bytes = 4 * options.dram_bytes;
    Make(options);
    const auto blocks = static_cast<double>((options.dram_bytes + options.scm_bytes) / options.block_bytes);
    const double bytes_per_block = static_cast<double>(policy_->dram_bytes()) / blocks;
    RecordProperty("bytes_per_block_of_" + std::to_string(static_cast<uint64_t>(blocks)),
                   std::to_string(bytes_per_block));
    EXPECT_LE(bytes_per_block, 5.6);
  }
}

// 4 GiB and 64 GiB: more SCM to the DRAM. Below 2^16 blocks what is fixed shows.
TEST_F(Adaptive, TakesAtMostSixBytesABlockOfScmAloneWhereScmIsLarge) {
  PolicyOptions options;
  options.dram_bytes = uint64_t{4} << 30;
  options.scm_bytes = uint64_t{64} << 30;
  Make(options);
  const auto blocks = static_cast<double>(options.scm_bytes / options.block_bytes);
  EXPECT_LE(static_cast<double>(policy_->dram_bytes()) / blocks, 4.5);
  options.dram_bytes = uint64_t{16} << 20;
  options.scm_bytes = uint64_t{64} << 20;
  Make(options);
  EXPECT_LE(policy_->dram_bytes(), 5 * 20480 + (96u << 10));
}

TEST_F(Adaptive, TakesMoreMemoryOnlyOnceBlocksTurnOutToPack) {
  PolicyOptions options;
  options.dram_bytes = 64 << 20;
  options.scm_bytes = 256 << 20;
  Make(options);
  const size_t raw = policy_->dram_bytes();
  options.packs = true;
  Make(options);
  EXPECT_EQ(policy_->dram_bytes(), raw) << "nothing has packed yet";
  for (const double ratio : {1.0, 1.3, 2.0, 2.25, 3.25, 4.0, 1.0}) {
    const auto scm_bytes = static_cast<uint64_t>(ratio * static_cast<double>(options.scm_bytes));
    policy_->OnCapacity(options.dram_bytes, scm_bytes);
    const auto blocks = static_cast<double>((options.dram_bytes + scm_bytes) / options.block_bytes);
    EXPECT_LE(static_cast<double>(policy_->dram_bytes()), 6.0 * blocks * (ratio > 1 ? 1 : 3)) << ratio;
    if (ratio == 2.0) {
      EXPECT_LT(policy_->dram_bytes(), 3 * raw / 2) << "ghosts of more than both tiers hold";
    }
  }
  EXPECT_GT(policy_->dram_bytes(), 12 * raw / 5) << "it keeps what it took";
}

TEST_F(Adaptive, FillsAgainWhenTheScmTierGrows) {
  Fill();
  EXPECT_NE(policy_->OnDramEviction(Block(1)).reason, Reason::kFilling);
  policy_->OnCapacity(kDramBlocks * 4096, kScmBlocks * 4096 / 4);
  EXPECT_NE(policy_->OnDramEviction(Block(2)).reason, Reason::kFilling) << "a smaller tier has no room";
  policy_->OnCapacity(kDramBlocks * 4096, kScmBlocks * 4096);
  ExpectDecision(policy_->OnDramEviction(Block(3)), Action::kToScm, Reason::kFilling);
}

// Where nearly every look-up hits DRAM, the policy hears of a thousand hits for each block it is asked about. What that
// makes it age must not be paid by the one look-up that brings the news.
TEST_F(Adaptive, NoCallAgesMoreThanAFewLinesAndNothingOwedIsForgotten) {
  PolicyOptions options;
  options.dram_bytes = uint64_t{256} << 20;
  options.scm_bytes = uint64_t{1} << 30;
  Make(options);
  Fill();
  constexpr uint64_t kHits = 1'000'000;
  constexpr uint64_t kLookupsPerLine = 320;  // a line is 32 blocks' worth, halved once in ten look-ups a block
  uint64_t aged = policy_->aged_lines();
  const auto calls_age_few = [&](const char* what, auto call) {
    call();
    const uint64_t now = policy_->aged_lines();
    ASSERT_LE(now - aged, SketchAging::kLinesPerCallMax) << what;
    aged = now;
  };
  calls_age_few("OnDramHits", [&] { policy_->OnDramHits(kHits); });
  for (uint64_t n = 0; n < 1000; ++n) {
    calls_age_few("OnScmHit", [&] { policy_->OnScmHit(Recorded(n)); });
    calls_age_few("OnMiss", [&] { policy_->OnMiss(Block(n)); });
    calls_age_few("OnDramEviction", [&] { policy_->OnDramEviction(HitInDram(n)); });
    calls_age_few("OnReclaim", [&] { policy_->OnReclaim(Recorded(n)); });
  }
  EXPECT_NEAR(static_cast<double>(aged), static_cast<double>((kHits + 2000) / kLookupsPerLine), 1.0);
  // A day of hits that nobody told of owes no more than leaves every counter zero.
  calls_age_few("OnDramHits", [&] { policy_->OnDramHits(uint64_t{1} << 60); });
  const uint64_t lines = (options.dram_bytes + options.scm_bytes) / 4096 / 32;
  for (uint64_t n = 0; n < 2 * lines; ++n) calls_age_few("OnScmHit", [&] { policy_->OnScmHit(Recorded(n)); });
  EXPECT_LE(aged, kHits / kLookupsPerLine + 5 * lines);
}

TEST_F(Adaptive, SameCallsSameAnswers) {
  PolicyOptions options = Sizes();
  uint64_t now = 1;
  options.now_ns = [&now] { return now; };
  options.write_budget_bytes_per_second = 100'000'000;
  options.seed = random_();
  AdaptivePolicy one(options), other(options);
  std::map<Reason, int> reasons;
  for (int i = 0; i < 100'000; ++i) {
    now += random_() % 50'000;
    const BlockFacts block = AnyFacts(random_, 30'000);
    Decision first{}, second{};
    switch (random_() % 8) {
      case 0:
        first = one.OnReclaim(block), second = other.OnReclaim(block);
        break;
      case 1:
      case 2:
        first = one.OnDramEviction(block), second = other.OnDramEviction(block);
        break;
      case 3:
        one.OnDramHits(i % 100), other.OnDramHits(i % 100);
        continue;
      case 4:
      case 5:
        first = one.OnScmHit(block), second = other.OnScmHit(block);
        break;
      default:
        first = one.OnMiss(block), second = other.OnMiss(block);
    }
    ASSERT_EQ(first.action, second.action) << i;
    ASSERT_EQ(first.reason, second.reason) << i;
    ASSERT_EQ(first.proven, second.proven) << i;
    ++reasons[first.reason];
  }
  EXPECT_GE(reasons.size(), 8u) << "the calls were meant to be of all kinds";
}

TEST_F(Adaptive, WorksWithoutKnowingAnySize) {
  PolicyOptions options;
  options.block_bytes = 0;
  Make(options);
  for (int i = 0; i < 20'000; ++i) {
    const BlockFacts block = AnyFacts(random_, 100);
    policy_->OnMiss(block);
    policy_->OnDramEviction(block);
    policy_->OnScmHit(block);
    policy_->OnReclaim(block);
    policy_->OnDramHits(random_() % 1000);
  }
}

}  // namespace
}  // namespace mezz
