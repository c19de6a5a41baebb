// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace mezz {

// "1.5 GiB"; whole numbers without a fraction ("4 MiB"), bytes below 1 KiB.
std::string HumanBytes(uint64_t bytes);

// For messages: "1073741824 bytes (1 GiB)".
std::string ExactBytes(uint64_t bytes);

// What the operating system calls `error`.
std::string ErrnoText(int error);

}  // namespace mezz
