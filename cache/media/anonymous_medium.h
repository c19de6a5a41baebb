// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "cache/media/medium.h"

namespace mezz {

// Private memory of the process, in huge pages where the kernel has them. Also the ground of a NUMA-node medium.
class AnonymousMedium : public Medium {
 public:
  AnonymousMedium() = default;
  ~AnonymousMedium() override;

  // Reserves addresses; no memory is taken yet.
  Status Reserve(uint64_t bytes, std::string_view name);
  void Describe(MediumInfo info) { info_ = std::move(info); }
};

}  // namespace mezz
