// SPDX-License-Identifier: Apache-2.0
#include "admission/decision_counters.h"

#include <fmt/format.h>

#include <cassert>
#include <iterator>
#include <numeric>

namespace mezz {
namespace {

struct Answer {
  DecisionPoint point;
  Action action;
};
constexpr Answer kKnown[] = {
    {DecisionPoint::kMiss, Action::kToDram},       {DecisionPoint::kMiss, Action::kToScm},
    {DecisionPoint::kMiss, Action::kBypass},       {DecisionPoint::kDramEviction, Action::kToScm},
    {DecisionPoint::kDramEviction, Action::kKeep}, {DecisionPoint::kDramEviction, Action::kDrop},
    {DecisionPoint::kScmHit, Action::kInPlace},    {DecisionPoint::kScmHit, Action::kPromote},
    {DecisionPoint::kScmHit, Action::kMove},       {DecisionPoint::kReclaim, Action::kSpare},
    {DecisionPoint::kReclaim, Action::kDrop},      {DecisionPoint::kReclaim, Action::kPack},
    {DecisionPoint::kForm, Action::kRaw},          {DecisionPoint::kForm, Action::kPack},
    {DecisionPoint::kMiss, Action::kToBoth},       {DecisionPoint::kWarm, Action::kToDram},
    {DecisionPoint::kWarm, Action::kToScm},        {DecisionPoint::kWarm, Action::kBypass},
    {DecisionPoint::kReclaim, Action::kDemote},
};
static_assert(std::size(kKnown) == kNoSuchAnswer);

using Places = std::array<std::array<uint8_t, kActions>, kDecisionPoints>;
constexpr Places kPlaces = [] {
  Places places{};
  for (auto& of_point : places) of_point.fill(kNoSuchAnswer);
  for (size_t i = 0; i < std::size(kKnown); ++i) {
    places[static_cast<size_t>(kKnown[i].point)][static_cast<size_t>(kKnown[i].action)] = static_cast<uint8_t>(i);
  }
  return places;
}();

size_t PlaceOf(DecisionPoint point, Action action) {
  assert(point < DecisionPoint::kCount);
  return action < Action::kCount ? kPlaces[static_cast<size_t>(point)][static_cast<size_t>(action)] : kNoSuchAnswer;
}

size_t PlaceOf(Reason reason) { return reason < Reason::kCount ? static_cast<size_t>(reason) : 0; }

using Roles = std::array<uint64_t, kBlockRoles>;
uint64_t Sum(const Roles& roles) { return std::accumulate(roles.begin(), roles.end(), uint64_t{0}); }

void AppendLine(size_t place, size_t reason, const Roles& roles, std::string* text) {
  if (place == kNoSuchAnswer) {
    *text += "decision.invalid";
  } else {
    fmt::format_to(std::back_inserter(*text), "decision.{}.{}.{}", ToString(kKnown[place].point),
                   ToString(kKnown[place].action), ToString(static_cast<Reason>(reason)));
  }
  fmt::format_to(std::back_inserter(*text), ": {}{}\n", Sum(roles), RolesText(roles));
}

}  // namespace

bool IsAllowed(DecisionPoint point, Action action) { return PlaceOf(point, action) != kNoSuchAnswer; }

uint64_t DecisionSnapshot::of(DecisionPoint point, Action action, Reason reason, BlockRole role) const {
  return counts[PlaceOf(point, action)][static_cast<size_t>(reason)][static_cast<size_t>(role)];
}

uint64_t DecisionSnapshot::of(DecisionPoint point, Action action, Reason reason) const {
  return Sum(counts[PlaceOf(point, action)][static_cast<size_t>(reason)]);
}

uint64_t DecisionSnapshot::of(DecisionPoint point, Action action) const {
  uint64_t sum = 0;
  for (const Roles& roles : counts[PlaceOf(point, action)]) sum += Sum(roles);
  return sum;
}

uint64_t DecisionSnapshot::of(Reason reason) const {
  uint64_t sum = 0;
  for (const auto& of_answer : counts) sum += Sum(of_answer[static_cast<size_t>(reason)]);
  return sum;
}

uint64_t DecisionSnapshot::invalid() const {
  uint64_t sum = 0;
  for (const Roles& roles : counts[kNoSuchAnswer]) sum += Sum(roles);
  return sum;
}

void DecisionSnapshot::Add(DecisionPoint point, const Decision& decision, BlockRole role) {
  uint64_t& sum = counts[PlaceOf(point, decision.action)][PlaceOf(decision.reason)][static_cast<size_t>(role)];
  ++sum;
}

DecisionSnapshot DecisionSnapshot::operator-(const DecisionSnapshot& earlier) const {
  DecisionSnapshot difference;
  for (size_t place = 0; place < kAnswers; ++place) {
    for (size_t reason = 0; reason < kReasons; ++reason) {
      for (size_t role = 0; role < kBlockRoles; ++role) {
        difference.counts[place][reason][role] = counts[place][reason][role] - earlier.counts[place][reason][role];
      }
    }
  }
  return difference;
}

std::string DecisionSnapshot::ToString() const {
  std::string text;
  for (size_t place = 0; place < kAnswers; ++place) {
    for (size_t reason = 0; reason < kReasons; ++reason) {
      if (Sum(counts[place][reason]) != 0) AppendLine(place, reason, counts[place][reason], &text);
    }
  }
  return text;
}

size_t DecisionCounters::dram_bytes() { return sizeof(DecisionCounters) + sizeof(Stripes); }

DecisionCounters::Stripe::Stripe() {
  for (auto& of_answer : row_of) {
    for (std::atomic<uint8_t>& number : of_answer) number.store(kNoRow, std::memory_order_relaxed);
  }
}

DecisionCounters::DecisionCounters() : stripes_(std::make_unique<Stripes>()) {}

void DecisionCounters::Add(DecisionPoint point, const Decision& decision, BlockRole role) {
  const size_t answer = PlaceOf(point, decision.action), reason = PlaceOf(decision.reason);
  const size_t stripe = StripeOfThisThread();
  if (stripe != kSharedStripe) [[likely]] {
    Stripe& own = stripes_->own[stripe];
    std::atomic<uint8_t>& row_of = own.row_of[answer][reason];
    uint8_t number = row_of.load(std::memory_order_relaxed);
    if (number == kNoRow && own.used != kRows) [[unlikely]] {
      number = own.used++;
      row_of.store(number, std::memory_order_relaxed);
    }
    if (number != kNoRow) [[likely]]
      return AddInStripe(stripe, own.rows[number][static_cast<size_t>(role)], uint64_t{1});
  }
  AddInStripe(kSharedStripe, stripes_->shared[answer][reason][static_cast<size_t>(role)], uint64_t{1});
}

DecisionSnapshot DecisionCounters::Snapshot() const {
  DecisionSnapshot sum;
  const auto add = [](Roles* to, const Row& row) {
    for (size_t role = 0; role < kBlockRoles; ++role) (*to)[role] += row[role].load(std::memory_order_relaxed);
  };
  for (size_t place = 0; place < kAnswers; ++place) {
    for (size_t reason = 0; reason < kReasons; ++reason) {
      Roles* const to = &sum.counts[place][reason];
      add(to, stripes_->shared[place][reason]);
      for (const Stripe& stripe : stripes_->own) {
        const uint8_t number = stripe.row_of[place][reason].load(std::memory_order_relaxed);
        if (number != kNoRow) add(to, stripe.rows[number]);
      }
    }
  }
  return sum;
}

}  // namespace mezz
