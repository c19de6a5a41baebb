// SPDX-License-Identifier: Apache-2.0
#include "integration/move_gate.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "integration/erased_objects.h"
#include "tests/support/seed.h"

namespace mezz {
namespace {

BlockKey Key(uint64_t id) {
  BlockKey key;
  key.words[0] = id;
  return key;
}
void ChangeKey(MoveGate& gate, uint64_t id) { const MoveGate::Change change(gate, Key(id)); }
bool Moves(MoveGate& gate, uint64_t id) { return static_cast<bool>(MoveGate::Move(gate, Key(id))); }

TEST(MoveGate, WhatIsReadAfterTheLastChangeMayMove) {
  MoveGate gate;
  {
    const MoveGate::Window window(gate);
    EXPECT_TRUE(Moves(gate, 1)) << "never changed";
  }
  ChangeKey(gate, 1);
  const MoveGate::Window window(gate);
  EXPECT_TRUE(Moves(gate, 1));
  EXPECT_TRUE(Moves(gate, 1)) << "a move changes nothing";
}

TEST(MoveGate, AChangeOvertakesWhatWasReadBefore) {
  MoveGate gate;
  const MoveGate::Window window(gate);
  ChangeKey(gate, 1);
  EXPECT_FALSE(Moves(gate, 1));
  EXPECT_TRUE(Moves(gate, 2)) << "another key, of another stripe";
  const MoveGate::Window later(gate);
  EXPECT_TRUE(Moves(gate, 1)) << "read again";
}

TEST(MoveGate, NothingMovesWhileItsKeyIsChanged) {
  MoveGate gate;
  {
    const MoveGate::Change change(gate, Key(1));
    const MoveGate::Window window(gate);
    EXPECT_FALSE(Moves(gate, 1));
  }
  const MoveGate::Window window(gate);
  EXPECT_TRUE(Moves(gate, 1));
}

TEST(MoveGate, WithoutAWindowOnThisGateNothingMoves) {
  MoveGate gate, other;
  EXPECT_FALSE(Moves(gate, 1));
  const MoveGate::Window elsewhere(other);
  EXPECT_FALSE(Moves(gate, 1));
  {
    const MoveGate::Window window(gate);
    EXPECT_TRUE(Moves(gate, 1));
  }
  EXPECT_FALSE(Moves(gate, 1)) << "closed again";
  EXPECT_TRUE(Moves(other, 1)) << "the outer one counts again";
}

TEST(MoveGate, AChangeWaitsForTheMovesOfItsKey) {
  MoveGate gate;
  const MoveGate::Window window(gate);
  auto move = std::make_unique<MoveGate::Move>(gate, Key(1));
  ASSERT_TRUE(static_cast<bool>(*move));
  std::atomic<bool> moved{false};
  bool moved_first = false;
  std::thread changer([&] {
    const MoveGate::Change change(gate, Key(1));
    moved_first = moved.load(std::memory_order_relaxed);
  });
  // The change closes the gate before it waits.
  while (Moves(gate, 1)) std::this_thread::yield();
  moved.store(true, std::memory_order_relaxed);
  move.reset();
  changer.join();
  EXPECT_TRUE(moved_first);
}

TEST(MoveGate, AChangeThatAMoveOfThisThreadSetsOffDoesNotWaitForIt) {
  MoveGate gate;
  const MoveGate::Window window(gate);
  const MoveGate::Move move(gate, Key(1));
  ChangeKey(gate, 1);  // would hang
  EXPECT_FALSE(Moves(gate, 1));
}

TEST(MoveGate, AForkedChildWaitsForNoMoveOfItsParent) {
  MoveGate gate;
  std::atomic<bool> moves{false}, forked{false};
  std::thread mover([&] {
    const MoveGate::Window window(gate);
    const MoveGate::Move move(gate, Key(1));
    moves.store(true, std::memory_order_relaxed);
    while (!forked.load(std::memory_order_relaxed)) std::this_thread::yield();
  });
  while (!moves.load(std::memory_order_relaxed)) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    ChangeKey(gate, 1);  // would hang
    _exit(0);
  }
  forked.store(true, std::memory_order_relaxed);
  mover.join();
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(ErasedObjects, IsTakenOnceForEachTimeItWasAdded) {
  ErasedObjects erased;
  std::vector<uint64_t> objects(100);
  EXPECT_FALSE(erased.Take(&objects[0]));
  for (const uint64_t& object : objects) erased.Add(&object);
  erased.Add(&objects[7]);
  for (const uint64_t& object : objects) EXPECT_TRUE(erased.Take(&object));
  EXPECT_TRUE(erased.Take(&objects[7]));
  EXPECT_TRUE(erased.empty());
  EXPECT_FALSE(erased.Take(&objects[7]));
}

TEST(ErasedObjects, WhatHasNoObjectIsNeverAmongThem) {
  ErasedObjects erased;
  const uint64_t object = 0;
  erased.Add(&object);
  EXPECT_FALSE(erased.Take(nullptr));
  EXPECT_FALSE(erased.empty()) << "what was added is there still";
  EXPECT_TRUE(erased.Take(&object));
}

TEST(ErasedObjects, KnowsTheLatestWhenItOverflows) {
  ErasedObjects erased;
  std::vector<uint64_t> objects(5000);
  for (size_t i = 0; i < objects.size(); ++i) {
    erased.Add(&objects[i]);
    if (i % 2 == 0) {
      EXPECT_TRUE(erased.Take(&objects[i])) << "the one just added";
    }
  }
  size_t left = 0;
  for (const uint64_t& object : objects) left += erased.Take(&object) ? 1 : 0;
  EXPECT_GT(left, 400u);
  EXPECT_LE(left, 512u) << "its words";
  EXPECT_TRUE(erased.empty()) << "what was overwritten is not counted";
}

// Two places for each key, and bytes that move from one to the other. Who changes a key empties both, then fills the
// first anew, and never finds older bytes in either.
TEST(MoveGate, ManyThreadsNeverBringOldBytesBack) {
  constexpr uint64_t kKeys = 4;
  constexpr int kChanges = 20'000;
  struct Places {
    std::atomic<uint64_t> first{0}, second{0};
  };
  MoveGate gate;
  std::vector<Places> keys(kKeys);
  std::atomic<bool> done{false};
  const auto mover = [&](uint64_t seed) {
    for (uint64_t i = seed; !done.load(std::memory_order_relaxed); ++i) {
      const uint64_t id = i % kKeys;
      const MoveGate::Window window(gate);
      std::atomic<uint64_t>& from = i % 3 == 0 ? keys[id].second : keys[id].first;
      std::atomic<uint64_t>& to = i % 3 == 0 ? keys[id].first : keys[id].second;
      const uint64_t bytes = from.exchange(0, std::memory_order_acq_rel);
      if (bytes == 0) continue;
      if (i % 5 == 0) std::this_thread::yield();
      if (const MoveGate::Move move(gate, Key(id)); move) to.store(bytes, std::memory_order_release);
    }
  };
  std::vector<std::thread> movers;
  for (uint64_t i = 0; i < 3; ++i) movers.emplace_back(mover, test::Seed() + i);
  std::vector<std::thread> owners;
  std::atomic<uint64_t> old_bytes{0}, found{0};
  for (uint64_t id = 0; id < kKeys; ++id) {
    owners.emplace_back([&, id] {
      for (uint64_t version = 1; version <= kChanges; ++version) {
        {
          const MoveGate::Change change(gate, Key(id));
          keys[id].first.store(0, std::memory_order_release);
          keys[id].second.store(0, std::memory_order_release);
        }
        keys[id].first.store(version, std::memory_order_release);
        for (int look = 0; look < 3; ++look) {
          for (const auto* place : {&keys[id].first, &keys[id].second}) {
            const uint64_t seen = place->load(std::memory_order_acquire);
            if (seen != 0) found.fetch_add(1, std::memory_order_relaxed);
            if (seen != 0 && seen != version) old_bytes.fetch_add(1, std::memory_order_relaxed);
          }
        }
      }
    });
  }
  for (std::thread& owner : owners) owner.join();
  done.store(true, std::memory_order_relaxed);
  for (std::thread& thread : movers) thread.join();
  EXPECT_EQ(old_bytes.load(std::memory_order_relaxed), 0u);
  EXPECT_GT(found.load(std::memory_order_relaxed), 0u);
}

}  // namespace
}  // namespace mezz
