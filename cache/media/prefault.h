// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cache/options.h"

namespace mezz {

// Whether the kernel can populate a mapping and report a shortage (Linux 5.14); without it a shortage is a signal.
bool KernelCanPopulate();

// Makes every page of [base, base + bytes) present and writable, with several threads, without changing a byte. No
// later store to it faults for want of space. `medium` begins the message of an error.
Status Prefault(std::byte* base, uint64_t bytes, const ScmOptions& options, std::string_view medium);

// Memory the kernel could still hand out without swapping, in bytes; the maximum where it does not say.
uint64_t AvailableMemoryBytes();

// NoSpace if `bytes` of memory are more than the machine has to give.
Status CheckMemoryHolds(uint64_t bytes, std::string_view medium);

}  // namespace mezz
