// SPDX-License-Identifier: Apache-2.0
#include "admission/policy.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "admission/adaptive_policy.h"
#include "admission/rocksdb_policies.h"
#include "admission/simple_policies.h"
#include "cache/base/invalid.h"

namespace mezz {
namespace {

// The policies with state; they come after the simple ones.
struct NamedMaker {
  std::string_view name;
  std::unique_ptr<Policy> (*make)(const PolicyOptions& options);
};

template <typename Made>
std::unique_ptr<Policy> Make(const PolicyOptions& options) {
  return std::make_unique<Made>(options);
}

constexpr NamedMaker kOthers[] = {
    {AdaptivePolicy::kName, &Make<AdaptivePolicy>},
    {PlaceholderPolicy::kName, &Make<PlaceholderPolicy>},
    {ThreeQueuePolicy::kName, &Make<ThreeQueuePolicy>},
};

}  // namespace

Reason ReasonOf(const Lineage& lineage) {
  if (lineage.kind == Lineage::Kind::kFlushed) return Reason::kFlushed;
  if (lineage.kind == Lineage::Kind::kUnknown) return Reason::kHeirOfUnknown;
  constexpr Reason kByStanding[kStandings] = {Reason::kHeirOfNothing, Reason::kHeirOfCold, Reason::kHeirOfHot,
                                              Reason::kHeirOfDram};
  return kByStanding[static_cast<size_t>(lineage.best)];
}

Decision Policy::OnWarm(const BlockFacts& block, const Lineage& lineage) {
  if (IsMetadata(block.role)) return {Action::kToDram, Reason::kRole};
  const Reason reason = ReasonOf(lineage);
  if (reason == Reason::kFlushed) return {Action::kToDram, reason};
  if (reason == Reason::kHeirOfNothing) return {Action::kBypass, reason};
  return {Action::kToScm, reason, /*proven=*/lineage.best >= Standing::kScmHot};
}

uint8_t Policy::Frequency(const BlockKey&) const { return 0; }

Decision Policy::OnReclaim(const BlockFacts& block) {
  if (block.in_dram && (!block.packed || block.scm_heat == 0)) return {Action::kDrop, Reason::kInDram};
  if (block.scm_heat > 0) return {Action::kSpare, Reason::kHit};
  return block.packable ? Decision{Action::kPack, Reason::kFull} : Decision{Action::kDrop, Reason::kNoHit};
}

Decision Policy::OnDemotion(const BlockFacts&) { return {Action::kDemote, Reason::kPolicyDefault}; }

Decision KeptFromDram(const Decision& decision) {
  switch (decision.action) {
    case Action::kToDram:
    case Action::kToBoth:
      return {Action::kToScm, Reason::kRole, decision.proven};
    case Action::kPromote:
    case Action::kMove:
      return {Action::kInPlace, Reason::kRole};
    default:
      return decision;
  }
}

const std::vector<std::string_view>& PolicyNames() {
  // Never destroyed: caches outlive statics.
  static const auto& names = *[] {
    auto* const all = new std::vector<std::string_view>;
    for (const SimpleRules& rules : AllSimpleRules()) all->push_back(rules.name);
    for (const NamedMaker& other : kOthers) all->push_back(other.name);
    return all;
  }();
  return names;
}

Status MakePolicy(std::string_view name, const PolicyOptions& options, std::unique_ptr<Policy>* policy) {
  const auto simple = AllSimpleRules();
  if (const auto rules = std::ranges::find(simple, name, &SimpleRules::name); rules != simple.end()) {
    *policy = std::make_unique<SimplePolicy>(*rules);
    return Status::Ok();
  }
  if (const auto other = std::ranges::find(kOthers, name, &NamedMaker::name); other != std::end(kOthers)) {
    *policy = other->make(options);
    return Status::Ok();
  }
  return Invalid("policy={} is unknown: choose one of {}", name, fmt::join(PolicyNames(), ", "));
}

}  // namespace mezz
