// SPDX-License-Identifier: Apache-2.0
// Block I/O as a block cache sees it.
#pragma once

#include <cstdint>
#include <memory>

#include "workloads/requests/request.h"

namespace mezz {

// Gives one request for each block of `unit_bytes` that an extent of `source` touches, whole or in part, lowest first:
// key is the block's number on the device (byte / unit_bytes), value_bytes is unit_bytes. Requests without an extent
// pass as they are. An extent is refused unless unit_bytes is a power of two: devices begin at multiples of those.
// REQUIRES: unit_bytes > 0.
std::unique_ptr<RequestSource> CutExtents(std::unique_ptr<RequestSource> source, uint32_t unit_bytes);

}  // namespace mezz
