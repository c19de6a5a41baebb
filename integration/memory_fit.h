// SPDX-License-Identifier: Apache-2.0
// Whether the machine's memory, or its control group's, holds what a cache is to take of it. Each refusal is NoSpace
// and names what to lower.
#pragma once

#include <cstdint>

#include "cache/options.h"
#include "cache/status.h"
#include "integration/machine.h"
#include "integration/options.h"

namespace mezz {

// The SCM tier's index, and its media that are memory. A file is judged when it is opened, and a NUMA node's own memory
// then too.
Status CheckScmSideFits(const ScmOptions& scm, const Machine& machine);
// The DRAM tier beside these.
Status CheckDramFits(const HybridCacheOptions& options, const Machine& machine);
// dram_total by itself. 0: it was not given.
Status CheckTotalFits(uint64_t dram_total_bytes, const Machine& machine);

}  // namespace mezz
