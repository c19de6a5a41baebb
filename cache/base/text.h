// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cache/status.h"

namespace mezz {

// "1.5 GiB"; whole numbers without a fraction ("4 MiB"), bytes below 1 KiB.
std::string HumanBytes(uint64_t bytes);

// For messages: "1073741824 bytes (1 GiB)".
std::string ExactBytes(uint64_t bytes);

// "64M" -> 67108864: a whole number of bytes, or of K, M, G or T of them in either case. Refuses zero, signs,
// fractions, other suffixes and overflow, naming `what`; then *bytes stays as it is.
Status ParseBytes(std::string_view what, std::string_view text, uint64_t* bytes);

// What the operating system calls `error`.
std::string ErrnoText(int error);

}  // namespace mezz
