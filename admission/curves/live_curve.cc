// SPDX-License-Identifier: Apache-2.0
#include "admission/curves/live_curve.h"

#include <algorithm>
#include <cassert>
#include <new>
#include <utility>

namespace mezz::plan {
namespace {

// If fewer than one in this many of blocks_max are left after a turn, the lowered threshold is forgotten.
constexpr uint32_t kFewBlocksShare = 4;

// The sample that a hash is offered to, chosen by bits that the threshold does not depend on.
uint32_t SampleOf(uint64_t hash) { return static_cast<uint32_t>((hash & UINT32_MAX) * LiveCurve::kSeeds >> 32); }

}  // namespace

LiveCurve::LiveCurve(Options options)
    : options_(std::move(options)),
      requests_max_(size_t{options_.blocks_max} * kRequestsOfABlock),
      threshold_max_(HashMax(options_.rate_max)),
      threshold_(0) {
  assert(std::has_single_bit(options_.blocks_max));
  const std::lock_guard lock(mutex_);
  StartLocked();
}

void LiveCurve::StartLocked() {
  samplers_.clear();
  for (uint32_t i = 0; i < kSeeds; ++i) {
    samplers_.emplace_back(Sampler::Options{.rate_max = options_.rate_max,
                                            .blocks_max = options_.blocks_max,
                                            .log_max = UINT32_MAX,
                                            .block_bytes = options_.block_bytes,
                                            .hashed = true,
                                            .share = 1.0 / kSeeds,
                                            .left_max = 1});
  }
  assert(samplers_.front().threshold() == threshold_max_);
  mark_.reset();
  begin_ = NowLocked();
  PublishLocked();
}

LiveCurve::Begin LiveCurve::NowLocked() const {
  return {.look_ups = options_.look_ups(),
          .ns = options_.now_ns(),
          .kept = kept_,
          .dropped = dropped_.load(std::memory_order_relaxed)};
}

void LiveCurve::PublishLocked() {
  if (no_memory_) return threshold_.store(0, std::memory_order_relaxed);
  uint64_t threshold = 0;
  uint64_t bytes = 0;
  for (const Sampler& sampler : samplers_) {
    threshold = std::max(threshold, sampler.threshold());
    bytes += sampler.memory_bytes();
  }
  threshold_.store(threshold, std::memory_order_relaxed);
  // Samples shrink and grow; a DRAM tier that followed each time would evict for nothing.
  const uint64_t most = std::max(bytes, dram_bytes_.load(std::memory_order_relaxed));
  dram_bytes_.store(most, std::memory_order_relaxed);
}

void LiveCurve::Drop(const Note& note) {
  if (!note.is_look_up) return;
  dropped_.fetch_add(1, std::memory_order_relaxed);
}

void LiveCurve::Push(const Note& note) {
  if (note.is_look_up && note.role == BlockRole::kOther && !options_.takes_others) return;
  const size_t stripe = StripeOfThisThread();
  if (stripe != kSharedStripe) [[likely]]
    return PushTo(&queues_[stripe], note);
  const std::unique_lock lock(shared_mutex_, std::try_to_lock);
  lock.owns_lock() ? PushTo(&queues_[stripe], note) : Drop(note);
}

void LiveCurve::PushTo(Queue* queue, const Note& note) {
  const uint64_t noted = queue->noted.load(std::memory_order_relaxed);
  if (noted - queue->carried.load(std::memory_order_acquire) == kQueue) {
    const std::unique_lock samples(mutex_, std::try_to_lock);
    if (!samples.owns_lock()) return Drop(note);
    CarryLocked(queue);
    PublishLocked();
  }
  queue->notes[noted % kQueue] = note;
  queue->noted.store(noted + 1, std::memory_order_release);
  if (note.is_look_up)
    queue->look_ups.store(queue->look_ups.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

uint64_t LiveCurve::sampled() const {
  uint64_t sum = 0;
  for (const Queue& queue : queues_) sum += queue.look_ups.load(std::memory_order_relaxed);
  return sum;
}

// Carries a queue to the samples. Threads that look a block up call it, so it throws nothing.
void LiveCurve::CarryLocked(Queue* queue) {
  const uint64_t noted = queue->noted.load(std::memory_order_acquire);
  uint64_t next = queue->carried.load(std::memory_order_relaxed);
  assert(noted - next <= kQueue);
  try {
    for (; next != noted && !no_memory_; ++next) AddLocked(queue->notes[next % kQueue]);
  } catch (const std::bad_alloc&) {
    no_memory_ = true;
  }
  queue->carried.store(noted, std::memory_order_release);
}

void LiveCurve::AddLocked(const Note& note) {
  Sampler& sampler = samplers_[SampleOf(note.hash)];
  if (note.is_look_up) ++kept_;
  if (!sampler.Keeps(note.hash)) return;
  if (!note.is_look_up) return sampler.SetBytes(note.hash, note.bytes);
  sampler.Add(note.hash, note.role, note.bytes);
  if (!mark_ && sampler.log_size() >= requests_max_ / 2) {
    mark_ = NowLocked();
    for (Sampler& each : samplers_) each.Mark();
  }
  if (sampler.log_size() >= requests_max_) TurnLocked();
}

// Drops the older half of all logs. Called when the longest log is full.
void LiveCurve::TurnLocked() {
  bool full = false;
  for (Sampler& sampler : samplers_) {
    sampler.Compact();
    full |= sampler.log_size() >= requests_max_ - requests_max_ / 8;
  }
  if (!full) return;
  assert(mark_);
  uint32_t most = 0;
  bool lowered = false;
  for (Sampler& sampler : samplers_) {
    sampler.DropToMark();
    sampler.Mark();
    most = std::max(most, sampler.active_blocks());
    lowered |= sampler.threshold() < threshold_max_;
  }
  begin_ = *mark_;
  mark_ = NowLocked();
  if (lowered && most < options_.blocks_max / kFewBlocksShare) StartLocked();
}

CurveWindow LiveCurve::TakeWindow() {
  const std::lock_guard lock(mutex_);
  for (Queue& queue : queues_) CarryLocked(&queue);
  PublishLocked();
  if (no_memory_) throw std::bad_alloc();
  Begin passed = NowLocked();
  for (size_t role = 0; role < kBlockRoles; ++role) passed.look_ups[role] -= begin_.look_ups[role];
  passed.ns -= std::min(passed.ns, begin_.ns);
  passed.kept -= begin_.kept;
  passed.dropped -= begin_.dropped;
  return {.samplers = samplers_, .passed = passed, .rate_max = options_.rate_max, .block_bytes = options_.block_bytes};
}

Status LiveCurve::Make(const Tiers& tiers, Curve* curve) {
  if (tiers.dram_bytes < 2)
    return Status::NotSupported("the DRAM tier has no size now, and sizes around it are asked for");
  try {
    return CurveOf(TakeWindow(), tiers, curve);
  } catch (const std::bad_alloc&) {
    return Status::NoSpace("no memory for the live curve: give the process more, or leave out curve=");
  }
}

}  // namespace mezz::plan
