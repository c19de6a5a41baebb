// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "cache/media/medium.h"

namespace mezz {

// Overwrites [from, from + bytes) of a medium with zeros, and makes that as durable as the medium can
// (Medium::Persist). Both are multiples of kLineBytes, and the range must be ready. Blocks as long as the writes take,
// and under kPage an msync. False: some of the memory failed (bus_errors.h), or it is not durable. It does not punch a
// hole in the file, because that would leave the bytes on the device.
[[nodiscard]] bool Wipe(const Medium& medium, uint64_t from, uint64_t bytes);

}  // namespace mezz
