// SPDX-License-Identifier: Apache-2.0
#include "admission/policy.h"

#include <algorithm>
#include <iterator>

#include "admission/adaptive_policy.h"
#include "admission/rocksdb_policies.h"
#include "admission/simple_policies.h"

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

std::string KnownNames() {
  std::string names;
  for (const std::string_view name : PolicyNames()) {
    if (!names.empty()) names += ", ";
    names += name;
  }
  return names;
}

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

std::string_view ToString(Action action) {
  switch (action) {
    case Action::kToDram:
      return "to_dram";
    case Action::kToScm:
      return "to_scm";
    case Action::kDrop:
      return "drop";
    case Action::kKeep:
      return "keep";
    case Action::kInPlace:
      return "in_place";
    case Action::kBypass:
      return "bypass";
    case Action::kToBoth:
      return "to_both";
    case Action::kPromote:
      return "promote";
    case Action::kMove:
      return "move";
    case Action::kSpare:
      return "spare";
    case Action::kPack:
      return "pack";
    case Action::kRaw:
      return "raw";
    case Action::kDemote:
      return "demote";
    case Action::kCount:
      break;
  }
  return "unknown";
}

std::string_view ToString(Reason reason) {
  switch (reason) {
    case Reason::kPolicyDefault:
      return "policy_default";
    case Reason::kClean:
      return "clean";
    case Reason::kCompaction:
      return "compaction";
    case Reason::kRole:
      return "role";
    case Reason::kFilling:
      return "filling";
    case Reason::kHit:
      return "hit";
    case Reason::kNoHit:
      return "no_hit";
    case Reason::kGhost:
      return "ghost";
    case Reason::kNoEvidence:
      return "no_evidence";
    case Reason::kFrequency:
      return "frequency";
    case Reason::kTooCold:
      return "too_cold";
    case Reason::kInDram:
      return "in_dram";
    case Reason::kChurn:
      return "churn";
    case Reason::kWriteBudget:
      return "write_budget";
    case Reason::kProbe:
      return "probe";
    case Reason::kWindowClosed:
      return "window_closed";
    case Reason::kFull:
      return "full";
    case Reason::kFlashFast:
      return "flash_fast";
    case Reason::kFlashMedium:
      return "flash_medium";
    case Reason::kFlashSlow:
      return "flash_slow";
    case Reason::kFlushed:
      return "flushed";
    case Reason::kHeirOfDram:
      return "heir_of_dram";
    case Reason::kHeirOfHot:
      return "heir_of_hot";
    case Reason::kHeirOfCold:
      return "heir_of_cold";
    case Reason::kHeirOfNothing:
      return "heir_of_nothing";
    case Reason::kHeirOfUnknown:
      return "heir_of_unknown";
    case Reason::kRenewed:
      return "renewed";
    case Reason::kCount:
      break;
  }
  return "unknown";
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
  return Status::InvalidArgument("policy=" + std::string(name) + " is unknown: choose one of " + KnownNames());
}

}  // namespace mezz
