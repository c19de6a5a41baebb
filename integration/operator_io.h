// SPDX-License-Identifier: Apache-2.0
// Messages of the preloaded libraries to the person who started the program. They go to stderr, because there is no
// other channel.
#pragma once

#include <exception>
#include <functional>
#include <new>
#include <string>

#include "cache/options.h"
#include "cache/status.h"
#include "integration/tell.h"

namespace mezz {

// Returns what `make` returns, or an error if it throws. No exception of ours may pass through the program's RocksDB.
template <typename Make>
Status NoThrow(Make make) {
  try {
    return make();
  } catch (const std::bad_alloc&) {
    return Status::NoSpace("no memory for the cache: lower dram or scm");
  } catch (const std::exception& error) {
    return Status::NotSupported(std::string("the cache cannot be made: ") + error.what());
  }
}

// Returns an empty text if the RocksDB in this process is the release that this library was built for. Otherwise a
// sentence that tells the release, `consequence`, and what to do.
std::string OtherRocksDB(std::string_view consequence = {});
// Returns true if the RocksDB in this process is the one that this library was built for. Otherwise it says so once on
// stderr and returns false, because classes of another release have another layout.
bool RocksDBMatches();

// Returns a function that shows how far the medium's preparation has come. On a terminal the line changes; elsewhere
// there is one line at the end.
std::function<void(const PrefaultProgress&)> PrefaultLine();

}  // namespace mezz
