// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "cache/media/medium.h"

namespace mezz {

// Overwrites [from, from + bytes) of a medium with zeros, and makes that as durable as the medium can
// (Medium::Persist). Both are multiples of kLineBytes, and the range is ready. Blocks: the medium's bandwidth for
// writes, and an msync under kPage. False: some of it is not there any more (bus_errors.h), or not durable. A hole
// punched in the file would give the space back and leave the bytes on the device.
[[nodiscard]] bool Wipe(const Medium& medium, uint64_t from, uint64_t bytes);

}  // namespace mezz
