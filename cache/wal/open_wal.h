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
  // The file (created 0600, never through a symbolic link, locked while open) or devdax device that holds the logs.
  std::string path;
  // Of which so many bytes are used, now and at every later opening.
  uint64_t size = 0;
  MediumModelName model = MediumModelName::kNone;  // charged on top of the real medium
  // Told once, while the store lives, if its file is removed, replaced or renamed: WalStore::NameTrouble. By a thread
  // of the medium's; it must not destroy the store.
  std::function<void(std::string_view what)> on_trouble{};

  // Judges what can be judged without touching the medium.
  Status Validate() const;
  wal_layout::Geometry Geometry() const;  // REQUIRES: Validate() is ok
};
inline constexpr uint64_t kWalSizeMin = 4 << 20;

// Opens or formats the medium, and prefaults it. Refused are a path that Medium refuses (medium.h), a file that holds
// something else, logs on a medium of another size, and one whose superblock is damaged: its logs are left as they are.
//   kNotFound, kNoSpace, kIoError   the medium is not there, full, read-only or broken
//   others                          the options are wrong, or the medium is somebody else's
Status OpenWalStore(const WalOptions& options, std::shared_ptr<WalStore>* store);

}  // namespace mezz
