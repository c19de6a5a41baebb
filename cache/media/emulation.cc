// SPDX-License-Identifier: Apache-2.0
#include "cache/media/emulation.h"

#include <algorithm>
#include <cassert>

namespace mezz {

std::unique_ptr<Emulation> Emulation::Make(const Medium& medium, std::span<const MediumModelName> models) {
  const size_t members = medium.begins().size();
  assert(members <= kMembersMax && (models.size() == 1 || models.size() == members));
  if (std::ranges::all_of(models, [](MediumModelName name) { return name == MediumModelName::kNone; })) return nullptr;
  std::unique_ptr<Emulation> emulation(new Emulation(medium));
  for (size_t member = 0; member < members; ++member) {
    const MediumModelName name = models[models.size() == 1 ? 0 : member];
    if (name != MediumModelName::kNone)
      emulation->throttles_[member] = std::make_unique<Throttle>(GetMediumModel(name));
  }
  return emulation;
}

}  // namespace mezz
