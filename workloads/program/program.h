// SPDX-License-Identifier: Apache-2.0
// What the programs of this folder share: flags that are judged before the run, and results that say where they come
// from.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <span>
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

// Whether both are the same plain file, there or to be, by whatever names. What is written through, such as a device,
// may have two.
bool IsSameFile(const std::string& a, const std::string& b);

// Refuses outputs that are inputs, or one another. `words` are main's, `outputs` the flags that name a file to write.
Status CheckOutputsApart(std::span<const char* const> words, std::span<const std::string_view> outputs);

// The exit status of a program whose own is `body`'s. It is kExitRefused as well, with a line on stderr, if outputs are
// inputs, if what `body` printed did not reach the standard output, or if an exception left `body`.
inline constexpr int kExitRefused = 2;
int RunMain(std::string_view program, int argc, const char* const* argv,
            std::initializer_list<std::string_view> outputs, const std::function<int()>& body);

// How a result begins: program, time, command line, compiler and host.
nlohmann::json ManifestOf(std::string_view program, const std::string& command_line);

// Atomically, as text with so many blanks a level. Paths and arguments in it are any bytes: what is not UTF-8 is
// replaced.
Status WriteJson(const std::string& path, const nlohmann::json& result, int indent);

}  // namespace mezz
