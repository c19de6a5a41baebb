// SPDX-License-Identifier: Apache-2.0
#include "integration/move_gate.h"

#include <sched.h>

#include <cassert>

namespace mezz {
namespace {

// How many moves of this thread are under way, in any gate: a promotion may evict, and so demote.
thread_local constinit unsigned moves_of_this_thread = 0;

}  // namespace

MoveGate::Stripe& MoveGate::StripeOf(const BlockKey& key) {
  uint64_t hash = (key.words[0] ^ key.words[1] >> 32 ^ key.words[1] << 32) * 0x9e3779b97f4a7c15ull;
  hash ^= hash >> 29;
  return stripes_[(hash * 0xd6e8feb86659fd93ull) >> 54];
  static_assert(kStripes == 1024);
}

MoveGate::Move::Move(MoveGate& gate, const BlockKey& key) : stripe_(&gate.StripeOf(key)) {
  const auto since = static_cast<uint64_t>(Window::Opened(gate));
  const uint64_t before = stripe_->state.fetch_add(kOneMove, std::memory_order_acq_rel);
  assert((before & kMovesMask) != kMovesMask);
  if (before < kOneChange && stripe_->newest.load(std::memory_order_acquire) <= since) {
    ++moves_of_this_thread;
    return;
  }
  stripe_->state.fetch_sub(kOneMove, std::memory_order_release);
  stripe_ = nullptr;
}

MoveGate::Move::~Move() {
  if (stripe_ == nullptr) return;
  --moves_of_this_thread;
  [[maybe_unused]] const uint64_t before = stripe_->state.fetch_sub(kOneMove, std::memory_order_release);
  assert((before & kMovesMask) != 0);
}

MoveGate::Change::Change(MoveGate& gate, const BlockKey& key) : gate_(gate), stripe_(gate.StripeOf(key)) {
  stripe_.state.fetch_add(kOneChange, std::memory_order_acq_rel);
  // A change within a move of this thread is the work of a destructor that the move set off: it would wait for itself.
  if (moves_of_this_thread != 0) return;
  while ((stripe_.state.load(std::memory_order_acquire) & kMovesMask) != 0 && gate.guard_.InParent()) sched_yield();
}

MoveGate::Change::~Change() {
  const uint64_t moment = gate_.changes_made_.fetch_add(1, std::memory_order_acq_rel) + 1;
  uint64_t newest = stripe_.newest.load(std::memory_order_relaxed);
  while (newest < moment &&
         !stripe_.newest.compare_exchange_weak(newest, moment, std::memory_order_release, std::memory_order_relaxed)) {
  }
  [[maybe_unused]] const uint64_t before = stripe_.state.fetch_sub(kOneChange, std::memory_order_release);
  assert(before >= kOneChange);
}

}  // namespace mezz
