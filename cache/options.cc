// SPDX-License-Identifier: Apache-2.0
#include "cache/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "cache/base/text.h"

namespace mezz {
namespace {

constexpr uint64_t kAutoSegments = 256;

uint64_t AutoSegmentBytes(uint64_t capacity_bytes) {
  return std::clamp(std::bit_floor(capacity_bytes / kAutoSegments), kSegmentBytesMin, kSegmentBytesAutoMax);
}

}  // namespace

uint64_t ScmOptions::EffectiveSegmentBytes() const {
  return segment_bytes != 0 ? segment_bytes : AutoSegmentBytes(capacity_bytes);
}

std::string ScmMember::Name() const {
  switch (medium) {
    case MediumKind::kFile:
      return path;
    case MediumKind::kNumaNode:
      return fmt::format("numa:{}", numa_node);
    case MediumKind::kAnonymous:
      break;
  }
  return std::string(ToString(medium));
}

ScmOptions ScmOptions::Effective() const {
  ScmOptions effective = *this;
  effective.segment_bytes = EffectiveSegmentBytes();
  effective.capacity_bytes = capacity_bytes / effective.segment_bytes * effective.segment_bytes;
  if (members.empty()) return effective;
  const uint64_t multiple = std::max(kMemberMultiple, effective.segment_bytes);
  effective.capacity_bytes = 0;
  for (ScmMember& member : effective.members) {
    member.capacity_bytes = member.capacity_bytes / multiple * multiple;
    effective.capacity_bytes += member.capacity_bytes;
  }
  return effective;
}

bool ScmOptions::Remembers() const {
  if (members.empty()) return mezz::Remembers(medium);
  return std::ranges::any_of(members, [](const ScmMember& member) { return mezz::Remembers(member.medium); });
}

ScmOptions ScmOptions::OfMember(size_t number) const {
  ScmOptions one = *this;
  one.members.clear();
  one.medium = members[number].medium;
  one.path = members[number].path;
  one.numa_node = members[number].numa_node;
  one.capacity_bytes = members[number].capacity_bytes;
  one.model = number < member_models.size() ? member_models[number] : model;
  one.member_models.clear();
  return one;
}

uint64_t ScmOptions::SlowBegin() const {
  uint64_t begin = 0;
  for (const ScmMember& member : members) {
    if (member.level == Level::kSlow) return begin;
    begin += member.capacity_bytes;
  }
  return UINT64_MAX;
}

std::vector<MediumModelName> ScmOptions::Models() const {
  return member_models.empty() ? std::vector{model} : member_models;
}

bool ScmOptions::IsEmulated() const {
  return std::ranges::any_of(Models(), [](MediumModelName name) { return name != MediumModelName::kNone; });
}

std::string ScmOptions::ModelText() const {
  std::string text;
  for (const MediumModelName name : Models())
    text += fmt::format("{}{}", text.empty() ? "" : ",", mezz::ToString(name));
  return text;
}

std::string ScmOptions::MediumText() const {
  if (members.empty()) return ScmMember{.medium = medium, .path = path, .numa_node = numa_node}.Name();
  return Listed(members, [](const ScmMember& member) {
    return fmt::format("{}{} of {}", member.level == Level::kSlow ? "slow: " : "", HumanBytes(member.capacity_bytes),
                       member.Name());
  });
}

Recovery ScmOptions::EffectiveRecovery() const {
  if (recovery != Recovery::kAuto) return recovery;
  return Remembers() ? Recovery::kWarm : Recovery::kDiscard;
}

std::string ScmOptions::ToString() const {
  const bool by_path = members.empty() && medium == MediumKind::kFile;
  return fmt::format("{}{} {}, {} segments, model {}", by_path ? "file:" : "", MediumText(), HumanBytes(capacity_bytes),
                     HumanBytes(EffectiveSegmentBytes()), ModelText());
}

}  // namespace mezz
