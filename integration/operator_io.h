// SPDX-License-Identifier: Apache-2.0
// What the preloaded libraries tell the person who started the program: on stderr, because they have no other channel.
#pragma once

#include <exception>
#include <functional>
#include <new>
#include <string>

#include "cache/options.h"
#include "cache/status.h"
#include "integration/tell.h"

namespace mezz {

// What `make` returns; if it throws, an error that says so: nothing of ours may pass through the program's RocksDB.
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

// Empty if the RocksDB in this process is the release that this library was built for. Else a sentence that says which
// it is, `consequence`, and what to do.
std::string OtherRocksDB(std::string_view consequence = {});
// True if the RocksDB in this process is the one this library was built for. Otherwise tells, once, and says false:
// classes of another release have another layout.
bool RocksDBMatches();

// Shows how far the medium's preparation has come: a line that changes on a terminal, else one line at the end.
std::function<void(const PrefaultProgress&)> PrefaultLine();

}  // namespace mezz
