// SPDX-License-Identifier: Apache-2.0
// What all programs say alike of a trace.
#pragma once

#include <cstdint>
#include <string>

namespace mezz {

// Of a trace whose keys change their size: one size for a key, everywhere.
inline std::string SizesChangeRemark(uint64_t keys) {
  return "the size of " + std::to_string(keys) + (keys == 1 ? " key changes" : " keys changes") +
         "; each has the first that is not 0";
}

// Of what happened to blocks between requests: written, compacted, deleted.
inline std::string EventsLeftOutRemark(uint64_t events) {
  return std::to_string(events) + " events of flushes, compactions and deleted files are left out";
}

}  // namespace mezz
