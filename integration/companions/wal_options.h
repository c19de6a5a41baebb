// SPDX-License-Identifier: Apache-2.0
// What the log on SCM can be told, and the URI that spells it.
#pragma once

#include <string>
#include <string_view>

#include "cache/status.h"
#include "cache/wal/open_wal.h"

namespace mezz {

struct WalFileSystemOptions {
  WalOptions medium;
  // A medium that is not there, is full, read-only or broken, and a log that does not fit it: true lets the base file
  // system take the log, counted and told; false refuses. What would lose logs is refused always.
  bool fallback = true;
  // URI of the file system that has all other files, as RocksDB's registry knows it. Empty: the default one.
  std::string base{};

  Status Validate() const { return medium.Validate(); }
  std::string ToUri() const;  // gives these options again
};

inline constexpr std::string_view kWalScheme = "mezzanine_wal://";

// Parses mezzanine_wal://path=PATH;size=SIZE, and fallback=true|false, model=none|optane100|cxl, base=URI (which cannot
// have a ";"). Unknown, repeated, missing or malformed keys are refused by name.
Status ParseWalUri(std::string_view uri, WalFileSystemOptions* options);

}  // namespace mezz
