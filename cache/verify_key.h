// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "cache/status.h"

namespace mezz {

// The caller's secret for verify=keyed: 32 random bytes. The destructor overwrites each copy. None is ever printed.
class VerifyKey {
 public:
  static constexpr size_t kBytes = 32;

  VerifyKey() = default;
  explicit VerifyKey(const std::array<std::byte, kBytes>& bytes) : bytes_(bytes) {}
  VerifyKey(const VerifyKey&) = default;
  VerifyKey& operator=(const VerifyKey&) = default;
  ~VerifyKey();

  const std::byte* data() const { return bytes_.data(); }

 private:
  std::array<std::byte, kBytes> bytes_{};
};

// Reads a key from a file. The file must hold the 32 bytes and nothing else, belong to this user, and be readable by no
// other. A symbolic link is refused.
Status ReadVerifyKey(const std::string& path, VerifyKey* key);

}  // namespace mezz
