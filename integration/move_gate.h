// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "cache/base/fork_guard.h"
#include "cache/types.h"

namespace mezz {

// Keeps what moves between the tiers apart from what its user changes, so that no older version of a block comes back.
//
// A *move* carries a block's bytes into the other tier: a demotion or a promotion. A *change* is what a user does to a
// key: an Erase, or an Insert, which erases first. A move may be overtaken: the block has left the DRAM tier, a change
// then finds it in neither tier, and the move would put it back afterwards. The gate refuses such moves. Both tiers
// stay as they are; docs/explanation/synchronization.md ("Between the tiers") proves it.
//
// Each key belongs to one of kStripes stripes:
//
//   state: [changes under way 32 | moves under way 32]
//            Move:   moves + 1 (acq_rel), and back at once if a change is under way or was made since; - 1 (release)
//            Change: changes + 1 (acq_rel), then waits for no moves (acquire); - 1 (release)
//   newest:  the Moment of the stripe's newest change; raised by CAS before that change ends
//
// and all stripes share `changes_made_`, which grows by one with each change (acq_rel): it orders changes, and dates
// the moves. A stripe's keys share their fate: one move in kStripes is refused because of a change of another key made
// in the same few microseconds. A cache may forget.
//
// In a child made by fork() a change waits for nobody: the moves that were under way are its parent's, and nothing
// moves to SCM there.
//
// Thread-safe. A move never waits, so a change waits for no more than the few moves of its stripe that it met.
// Costs: a move two atomic additions on its stripe's line; a change three, and one on the shared line; a window a load
// of that line. 16 KiB.
class MoveGate {
 public:
  // How many changes had been made. What is read from a tier at a moment is right until a change after that moment.
  enum class Moment : uint64_t { kUnknown = 0 };

  MoveGate() = default;
  MoveGate(const MoveGate&) = delete;
  MoveGate& operator=(const MoveGate&) = delete;

  class Window;
  class Move;
  class Change;

 private:
  struct Stripe {
    std::atomic<uint64_t> state{0};
    std::atomic<uint64_t> newest{1};
  };
  static constexpr size_t kStripes = 1024;
  static constexpr uint64_t kOneMove = 1;
  static constexpr uint64_t kOneChange = uint64_t{1} << 32;
  static constexpr uint64_t kMovesMask = kOneChange - 1;

  Stripe& StripeOf(const BlockKey& key);

  const ForkGuard guard_;
  alignas(kLineBytes) std::atomic<uint64_t> changes_made_{1};  // 0 is Moment::kUnknown
  alignas(kLineBytes) std::array<Stripe, kStripes> stripes_;
};

// Dates what the calling thread moves: to be opened before the SCM tier is read for a promotion, and before the DRAM
// tier is asked for anything that may evict. An eviction outside of any window has no date and is not demoted. Windows
// nest, the inner one counts, and one that was opened too early is merely strict.
class MoveGate::Window {
 public:
  explicit Window(const MoveGate& gate) : outer_(current_) {
    // Acquire: what this thread removes from a tier, it removes after this.
    current_ = {&gate, Moment{gate.changes_made_.load(std::memory_order_acquire)}};
  }
  ~Window() { current_ = outer_; }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  // Of the calling thread's window on `gate`.
  static Moment Opened(const MoveGate& gate) { return current_.gate == &gate ? current_.since : Moment::kUnknown; }

 private:
  struct Date {
    const MoveGate* gate;
    Moment since;
  };
  static inline thread_local constinit Date current_{nullptr, Moment::kUnknown};

  const Date outer_;
};

// A move of `key`, of bytes that this thread's window is older than. While it lives no change of the key is made.
class MoveGate::Move {
 public:
  Move(MoveGate& gate, const BlockKey& key);
  ~Move();
  Move(const Move&) = delete;
  Move& operator=(const Move&) = delete;

  // False: a change overtook the bytes. Do not move them.
  explicit operator bool() const { return stripe_ != nullptr; }

 private:
  Stripe* stripe_;
};

// A change of `key`. Erase the key from both tiers while it lives: then every move of what was erased is over, or will
// be refused.
class MoveGate::Change {
 public:
  Change(MoveGate& gate, const BlockKey& key);
  ~Change();
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;

 private:
  MoveGate& gate_;
  Stripe& stripe_;
};

}  // namespace mezz
