// SPDX-License-Identifier: Apache-2.0
// What the readers of block I/O traces share: sectors of devices as extents.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "workloads/requests/request.h"

namespace mezz {

inline constexpr uint64_t kSectorBytes = 512;
// Devices lie this far apart in the space of keys, so that their blocks differ: 256 TiB each, 65,536 devices.
inline constexpr unsigned kDeviceShift = 48;
inline constexpr uint64_t kDevicesMax = uint64_t{1} << (64 - kDeviceShift);

// One read or write as its record tells it. The names are those of the record's fields.
struct BlockIo {
  uint64_t device = 0;
  uint64_t sector = 0;
  uint64_t length = 0;       // in length_unit bytes
  uint64_t length_unit = 1;  // 1, or a sector
  std::string_view device_name = "device";
  std::string_view sector_name = "lbn";
  std::string_view length_name = "size";
};

// Fills in key and extent_bytes of *request. Else what is wrong with `io`; empty is nothing.
std::string TakeExtent(const BlockIo& io, Request* request);

// The commands that read and write, of 6, 10, 12 and 16 bytes.
constexpr bool IsScsiRead(uint64_t op) { return op == 0x08 || op == 0x28 || op == 0xa8 || op == 0x88; }
constexpr bool IsScsiWrite(uint64_t op) { return op == 0x0a || op == 0x2a || op == 0xaa || op == 0x8a; }

}  // namespace mezz
