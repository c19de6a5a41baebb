// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "cache/status.h"

namespace mezz {

// The caller's secret for verify=keyed: 32 random bytes. Each copy is overwritten when it goes; none is ever printed.
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

// Reads a key from a file that holds its bytes and nothing else, belongs to us, and that nobody else may read. Not
// through a symbolic link.
Status ReadVerifyKey(const std::string& path, VerifyKey* key);

}  // namespace mezz
