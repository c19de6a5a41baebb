// SPDX-License-Identifier: Apache-2.0
// A devdax device: what it holds, and how fast it is. It is locked as a cache locks it, so no cache has it meanwhile.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "cache/status.h"
#include "workloads/plan/devices/place.h"

namespace mezz::plan {

// An open device, mapped from its beginning.
class DaxDevice {
 public:
  DaxDevice() = default;
  ~DaxDevice();
  DaxDevice(const DaxDevice&) = delete;
  DaxDevice& operator=(const DaxDevice&) = delete;

  // Opens the device, for writing where that is allowed, and maps `bytes` of it, rounded up to its alignment. Changes
  // nothing. kBusy if a cache has it.
  Status Open(const std::string& path, uint64_t bytes, uint64_t alignment);

  std::span<std::byte> bytes() const { return bytes_; }
  bool writable() const { return writable_; }

 private:
  int fd_ = -1;
  std::span<std::byte> bytes_;
  bool writable_ = false;
};

enum class DaxHolds : uint8_t {
  kNothing,    // its first 4 KiB are zeros: a cache may begin there
  kMezzanine,  // a cache of ours
  kForeign,
};
// What the first 4 KiB say. An error if their memory failed.
Status ReadHolds(const DaxDevice& device, DaxHolds* holds);

// Opens the device of a place to fill in its trouble and remarks.
void JudgeDaxDevice(const std::string& root, Place* place);

}  // namespace mezz::plan
