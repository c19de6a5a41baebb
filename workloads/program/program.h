// SPDX-License-Identifier: Apache-2.0
// What the programs of this folder share: flags that are judged before the run, and results that say where they come
// from.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "cache/base/write_file.h"
#include "cache/status.h"

namespace mezz {

// Whether assertions are on: then speeds mean nothing, and reports say so.
#ifdef NDEBUG
inline constexpr bool kAsserts = false;
#else
inline constexpr bool kAsserts = true;
#endif

// The arguments as they were given, with blanks between them.
std::string CommandLine(int argc, const char* const* argv);

// Refuses a value of `flag` below `min` or above what *out can hold.
Status CheckCount(std::string_view flag, int64_t value, int64_t min, uint64_t max);
template <typename T>
Status Count(std::string_view flag, int64_t value, int64_t min, T* out) {
  MEZZ_RETURN_IF_ERROR(CheckCount(flag, value, min, std::numeric_limits<T>::max()));
  *out = static_cast<T>(value);
  return Status::Ok();
}

// Results that cannot be written are found out before the run, not after it. An empty path is none.
Status CheckWritable(std::string_view flag, const std::string& path);

// How a result begins: program, time, command line, compiler and host.
nlohmann::json ManifestOf(std::string_view program, const std::string& command_line);

// Atomically, as text with so many blanks a level. Paths and arguments in it are any bytes: what is not UTF-8 is
// replaced.
Status WriteJson(const std::string& path, const nlohmann::json& result, int indent);

}  // namespace mezz
