// SPDX-License-Identifier: Apache-2.0
#include "admission/policy.h"

#include <algorithm>

#include "admission/simple_policies.h"

namespace mezz {
namespace {

std::string KnownNames() {
  std::string names;
  for (const std::string_view name : PolicyNames()) {
    if (!names.empty()) names += ", ";
    names += name;
  }
  return names;
}

}  // namespace

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
    case Action::kPromote:
      return "promote";
  }
  return "unknown";
}

std::string_view ToString(Reason reason) {
  switch (reason) {
    case Reason::kPolicyDefault:
      return "policy_default";
    case Reason::kClean:
      return "clean";
    case Reason::kCount:
      break;
  }
  return "unknown";
}

const std::vector<std::string_view>& PolicyNames() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const SimpleRules& rules : AllSimpleRules()) all.push_back(rules.name);
    return all;
  }();
  return names;
}

Status MakePolicy(std::string_view name, std::unique_ptr<Policy>* policy) {
  const auto known = AllSimpleRules();
  const auto rules = std::ranges::find(known, name, &SimpleRules::name);
  if (rules == known.end()) {
    return Status::InvalidArgument("policy=" + std::string(name) + " is unknown: choose one of " + KnownNames());
  }
  *policy = std::make_unique<SimplePolicy>(*rules);
  return Status::Ok();
}

}  // namespace mezz
