// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "cache/media/medium.h"

namespace mezz {

// A medium of private memory of the process, in huge pages where the kernel has them. The medium of a NUMA node builds
// on it.
class AnonymousMedium : public Medium {
 public:
  AnonymousMedium() = default;
  ~AnonymousMedium() override;

  // Reserves addresses, and takes no memory yet.
  Status Reserve(uint64_t bytes, std::string_view name);
  void Describe(MediumInfo info) { info_ = std::move(info); }
};

}  // namespace mezz
