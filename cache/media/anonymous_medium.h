// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
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

  // Reserves addresses, and takes no memory yet: at `at`, which must be of an AddressRange, or anywhere.
  Status Reserve(uint64_t bytes, std::string_view name, std::byte* at = nullptr);
  void Describe(MediumInfo info) { info_ = std::move(info); }

 private:
  bool in_range_ = false;
};

}  // namespace mezz
