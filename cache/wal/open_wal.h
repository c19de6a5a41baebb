// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "cache/options.h"
#include "cache/status.h"
#include "cache/wal/wal_store.h"

namespace mezz {

struct WalOptions {
  // The file or devdax device that holds the logs. A file is created with mode 0600 and locked while open; a symbolic
  // link is refused.
  std::string path;
  // The bytes of it that are used, now and at every later opening.
  uint64_t size = 0;
  MediumModelName model = MediumModelName::kNone;  // charged on top of the real medium
  // Called once, while the store lives, if its file is removed, replaced or renamed (WalStore::NameTrouble). A thread
  // of the medium calls it; it must not destroy the store.
  std::function<void(std::string_view what)> on_trouble{};

  // Checks everything that can be checked without touching the medium.
  Status Validate() const;
  wal_layout::Geometry Geometry() const;  // REQUIRES: Validate() is ok
};
inline constexpr uint64_t kWalSizeMin = 4 << 20;

// Opens or formats the medium, and prefaults it. Errors: a path that Medium refuses (medium.h), a file that holds
// something else, logs on a medium of another size, and a damaged superblock. The logs are then left as they are.
//   kNotFound, kNoSpace, kIoError   the medium is missing, full, read-only or broken
//   others                          the options are wrong, or the medium belongs to somebody else
Status OpenWalStore(const WalOptions& options, std::shared_ptr<WalStore>* store);

}  // namespace mezz
