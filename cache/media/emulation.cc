// SPDX-License-Identifier: Apache-2.0
#include "cache/media/emulation.h"

#include <algorithm>
#include <cassert>

namespace mezz {

std::unique_ptr<Emulation> Emulation::Make(std::span<const uint64_t> begins, std::span<const MediumModelName> models) {
  assert(!begins.empty() && begins.size() <= kMembersMax && (models.size() == 1 || models.size() == begins.size()));
  if (std::ranges::all_of(models, [](MediumModelName name) { return name == MediumModelName::kNone; })) return nullptr;
  std::unique_ptr<Emulation> emulation(new Emulation);
  emulation->count_ = begins.size();
  for (size_t member = 0; member < begins.size(); ++member) {
    const MediumModelName name = models[models.size() == 1 ? 0 : member];
    emulation->begins_[member] = begins[member];
    if (name != MediumModelName::kNone)
      emulation->throttles_[member] = std::make_unique<Throttle>(GetMediumModel(name));
  }
  return emulation;
}

}  // namespace mezz
