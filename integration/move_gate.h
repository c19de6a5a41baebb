// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "cache/base/fork_guard.h"
#include "cache/types.h"

namespace mezz {

// Separates moves between the tiers from the user's changes, so that no older version of a block comes back.
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
// the moves. A change stops the moves of all keys of its stripe. So a change of another key, in the same few
// microseconds, refuses one move in kStripes. A cache may forget.
//
// In a child made by fork() a change does not wait: the moves that were under way are its parent's, and nothing moves
// to SCM in the child.
//
// Thread-safe. A move never waits, so a change waits only for the few moves of its stripe that it met. A move costs two
// atomic additions on its stripe's cache line. A change costs three, and one on the shared line. A window costs a load
// of the shared line. The gate takes 16 KiB.
class MoveGate {
 public:
  // The number of changes made so far. Bytes that were read from a tier at a moment are valid until the next change of
  // their key.
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

// Dates what the calling thread moves. Open a window before you read the SCM tier for a promotion, and before you ask
// the DRAM tier for anything that may evict. An eviction outside any window has no date and is not demoted. Windows
// nest, and the inner one counts. A window that was opened too early only refuses more moves.
class MoveGate::Window {
 public:
  explicit Window(const MoveGate& gate) : outer_(current_) {
    // Acquire, so that whatever this thread removes from a tier, it removes after this.
    current_ = {&gate, Moment{gate.changes_made_.load(std::memory_order_acquire)}};
  }
  ~Window() { current_ = outer_; }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  // The date of the calling thread's window on `gate`; kUnknown if it has none.
  static Moment Opened(const MoveGate& gate) { return current_.gate == &gate ? current_.since : Moment::kUnknown; }

 private:
  struct Date {
    const MoveGate* gate;
    Moment since;
  };
  static inline thread_local constinit Date current_{nullptr, Moment::kUnknown};

  const Date outer_;
};

// A move of `key`, whose bytes were read after this thread's window was opened. While it lives, no change of the key is
// made.
class MoveGate::Move {
 public:
  Move(MoveGate& gate, const BlockKey& key);
  ~Move();
  Move(const Move&) = delete;
  Move& operator=(const Move&) = delete;

  // False if a change has overtaken the bytes: do not move them.
  explicit operator bool() const { return stripe_ != nullptr; }

 private:
  Stripe* stripe_;
};

// A change of `key`. Erase the key from both tiers while this lives. Then every move of what you erase is over, or will
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
