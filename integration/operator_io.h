// SPDX-License-Identifier: Apache-2.0
// What the preloaded libraries tell the person who started the program: on stderr, because they have no other channel.
#pragma once

#include <functional>
#include <string_view>

#include "cache/options.h"
#include "integration/hybrid_cache.h"

namespace mezz {

// "mezzanine: <sentence>" on stderr. The same sentence twice in a row is said once: tools retry.
void Tell(std::string_view sentence);

// True if the RocksDB in this process is the one this library was built for. Otherwise tells, once, and says false:
// classes of another release have another layout.
bool RocksDBMatches();

// Shows how far the medium's preparation has come: a line that changes on a terminal, else one line at the end.
std::function<void(const PrefaultProgress&)> PrefaultLine();

// If MEZZANINE_REPORT is "stderr" or the path of a file, writes the cache's report there; to a file it is appended.
void ReportAtEnd(const HybridStats& stats);

}  // namespace mezz
