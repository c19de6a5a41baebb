// SPDX-License-Identifier: Apache-2.0
#include "integration/companions/write_throttle.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

namespace mezz {
namespace {

// RocksDB's own, of db/column_family.cc: the lowest rate, the reward for less debt, and the one for leaving a delay.
constexpr double kLowest = 16 * 1024;
constexpr double kReward = 1 / 0.8;
constexpr double kRewardAtEnd = 1.4;
// RocksDB's penalty for a stop that is near begins so many files before it.
constexpr int kNearStopFiles = 2;
// Smaller differences are not worth an OPTIONS file, which every change of an option writes.
constexpr double kSame = 0.02;

bool Differ(double a, double b) { return std::abs(a - b) > kSame * std::max(a, b); }

int HalfWay(const WriteState& state) { return (state.slowdown_trigger + state.stop_trigger) / 2; }

}  // namespace

WriteThrottle::WriteThrottle(uint64_t accepted) : accepted_(accepted), own_rate_(static_cast<double>(accepted)) {
  assert(accepted > 0);
}

WriteThrottle::Stage WriteThrottle::StageOf(const WriteState& state) const {
  if (state.limited_elsewhere) return Stage::kGivenBack;
  if (state.level0_files < state.slowdown_trigger) return Stage::kFree;
  const int back = stage_ == Stage::kGivenBack ? HalfWay(state) - 1 : HalfWay(state);
  return state.level0_files < back ? Stage::kHeld : Stage::kGivenBack;
}

double WriteThrottle::Follow(const WriteState& state) {
  const auto accepted = static_cast<double>(accepted_);
  if (state.rate == 0) {
    const bool ended = left_at_ != 0 && state.level0_files < state.slowdown_trigger;  // else writes are stopped
    if (ended) own_rate_ = std::min(accepted, own_rate_ * kRewardAtEnd);
    return 1;
  }
  if (left_at_ == 0) return 1;  // a delay begins, at the rate that the last one ended with
  const double factor = static_cast<double>(state.rate) / left_at_;
  // At its highest a rate shows no reward: one that did not sink was to rise.
  const double own_factor = factor < 1 ? factor : kReward;
  own_rate_ = std::clamp(own_rate_ * own_factor, std::min(kLowest, accepted), accepted);
  return own_factor;
}

double WriteThrottle::Ceiling(const WriteState& state) const {
  const auto accepted = static_cast<double>(accepted_);
  if (state.limited_elsewhere) return own_rate_;
  const int from = HalfWay(state);
  const int to = state.stop_trigger - kNearStopFiles;
  // RocksDB alone would have fewer files here, so its rate is too high for ours.
  if (state.level0_files >= to) return std::min(kLowest, accepted);
  const double way = static_cast<double>(state.level0_files - from) / (to - from);
  return accepted * std::pow(own_rate_ / accepted, std::max(way, 0.0));
}

std::optional<uint64_t> WriteThrottle::Decide(const WriteState& state) {
  const auto accepted = static_cast<double>(accepted_);
  const double factor = Follow(state);
  const Stage before = std::exchange(stage_, StageOf(state));
  if (state.rate == 0) {
    left_at_ = 0;
    // RocksDB begins its next delay at the rate that it ended this one with.
    if (stage_ != Stage::kFree || before == Stage::kFree) return std::nullopt;
    return accepted_;
  }
  const auto now = static_cast<double>(state.rate);
  double wanted = accepted;
  if (stage_ == Stage::kGivenBack) wanted = std::min(Ceiling(state), left_at_ == 0 ? now : left_at_ * factor);
  wanted = std::floor(wanted);  // as RocksDB will know it
  assert(wanted > 0);
  const bool set = stage_ != Stage::kFree && Differ(now, wanted);
  left_at_ = set ? wanted : now;
  if (!set) return std::nullopt;
  return static_cast<uint64_t>(wanted);
}

}  // namespace mezz
