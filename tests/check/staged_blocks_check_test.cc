// SPDX-License-Identifier: Apache-2.0
// The stage's slots under the model checker, beside an index of one word: every schedule and every value a load may
// return, up to a bound.
#include <gtest/gtest.h>

#include <functional>

#include "cache/pack/staged_blocks.h"
#include "tests/support/check/explorer.h"
#include "tests/support/seed.h"

namespace mezz::check {
namespace {

constexpr uint64_t kBytes = StagedBlocks::kUnits * kLineBytes;
constexpr BlockKey kKey{{1, 2}};

void ExpectHolds(const std::function<void(Trial&)>& scenario) {
  const Result result = Explore({.preemptions_max = 2, .stale_max = 1, .runs_max = 1'000'000}, scenario);
  EXPECT_TRUE(result.ok()) << result.failure;
  EXPECT_TRUE(!result.ok() || result.complete) << "the bounds allow more than " << result.runs << " runs";
  const Result random = Explore({.random_runs = 500, .seed = test::Seed()}, scenario);
  EXPECT_TRUE(random.ok()) << random.failure;
}

// ScmTier's steps with each. The versions are 1 and 2; the index holds one, or 0.
struct World {
  StagedBlocks stage{kBytes};
  Atomic<uint64_t> index{0};

  void Stage(uint8_t version) {
    const auto block = stage.Reserve(kKey, BlockRole::kData, Generation::kYoung, 1);
    Require(block.has_value(), "there is room");
    block->bytes[0] = std::byte{version};
    WriteData(block->bytes.data(), 1);
    EraseStored();
    stage.Commit(block->slot);
  }
  void PutAtOnce(uint8_t version) {
    Forget();
    index.exchange(version, std::memory_order_seq_cst);
    Forget();
  }
  void Forget() {
    if (stage.MayHold(kKey)) stage.Forget(kKey);
  }
  void Erase() {
    Forget();
    EraseStored();
  }
  // As the index does: what it does not see it leaves alone, so that only the order of all seq_cst steps has it see.
  void EraseStored() {
    if (index.load(std::memory_order_seq_cst) != 0) index.exchange(0, std::memory_order_seq_cst);
  }
  void StoreOne() {
    const auto block = stage.Take();
    if (!block) return;
    ReadData(block->bytes.data(), 1);
    const auto version = static_cast<uint64_t>(block->bytes[0]);
    stage.Publish(block->slot, [&](unsigned, bool) { index.exchange(version, std::memory_order_seq_cst); });
    stage.Finish(block->slot);
  }
  // The index first, as a look-up does.
  uint64_t Find() {
    if (const uint64_t stored = index.load(std::memory_order_seq_cst)) return stored;
    return Staged();
  }
  uint64_t Staged() {
    const auto pinned = stage.MayHold(kKey) ? stage.Pin(kKey, false) : std::nullopt;
    if (!pinned) return 0;
    ReadData(pinned->bytes.data(), 1);
    const auto version = static_cast<uint64_t>(pinned->bytes[0]);
    stage.Unpin(pinned->slot);
    return version;
  }
  void ExpectOneAtMost() {
    Require(index.load(std::memory_order_relaxed) == 0 || Staged() == 0, "a key is stored or staged, never both");
    const uint64_t found = Find();
    while (stage.busy() != 0) StoreOne();
    Require(Find() == found, "what is found stays");
    Require(stage.pins() == 0, "no pin is left");
  }
};

TEST(CheckedStage, WhatIsErasedIsNeverPublished) {
  ExpectHolds([&](Trial& trial) {
    World world;
    world.Stage(1);
    trial.Threads({{"thread", [&] { world.StoreOne(); }}, {"eraser", [&] {
                                                             world.Erase();
                                                             Require(world.Find() == 0, "an erased block is a miss");
                                                           }}});
    Require(world.Find() == 0, "and stays one");
    world.ExpectOneAtMost();
  });
}

TEST(CheckedStage, ANewerPutWinsOverOneThatIsPacked) {
  for (const bool staged : {false, true}) {
    ExpectHolds([&](Trial& trial) {
      World world;
      world.Stage(1);
      trial.Threads({{"thread", [&] { world.StoreOne(); }}, {"writer", [&] {
                                                               staged ? world.Stage(2) : world.PutAtOnce(2);
                                                               Require(world.Find() != 1, "the older one is gone");
                                                             }}});
      Require(world.Find() == 2, "the newer one is found");
      world.ExpectOneAtMost();
    });
  }
}

TEST(CheckedStage, OfTwoPutsAtOnceOneStaysAtMost) {
  for (const bool staged : {false, true}) {
    ExpectHolds([&](Trial& trial) {
      World world;
      trial.Threads(
          {{"one", [&] { world.Stage(1); }}, {"other", [&] { staged ? world.Stage(2) : world.PutAtOnce(2); }}});
      trial.Outcome(world.Find() == 0 ? "none" : world.Find() == 1 ? "one" : "other");
      world.ExpectOneAtMost();
    });
  }
}

// A reader's bytes against the next block of the same unit.
TEST(CheckedStage, PinnedBytesStay) {
  ExpectHolds([&](Trial& trial) {
    World world;
    world.Stage(1);
    trial.Threads(
        {{"reader", [&] { Require(world.Staged() < 2 || world.Find() != 1, "no older version after a newer"); }},
         {"thread", [&] {
            world.StoreOne();
            world.Stage(2);
          }}});
    Require(world.Find() == 2, "the newer one is found");
    world.ExpectOneAtMost();
  });
}

}  // namespace
}  // namespace mezz::check
