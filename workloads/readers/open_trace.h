// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/requests/request.h"

namespace mezz {

// The names --format takes, in the order they are shown; "auto" is one more.
std::vector<std::string_view> TraceFormatNames();
// What each of them is, for people.
std::string_view AboutTraceFormat(std::string_view name);

// Refuses what --format does not take.
Status CheckTraceFormat(std::string_view name);

struct OpenOptions {
  // "auto" or empty: found by the first bytes of the content, decompressed; where these do not tell it, such as for raw
  // keys, by the file's name.
  std::string format = "auto";
  bool skip_bad = false;  // damaged records are left out and counted: RequestSource::skipped()
};

// Opens a trace, compressed or not, at its first request. Refuses unknown formats, and files that are missing, empty,
// directories or not readable.
Status OpenTrace(const std::string& path, const OpenOptions& options, std::unique_ptr<RequestSource>* source);
Status OpenTrace(const std::string& path, std::string_view format, std::unique_ptr<RequestSource>* source);

// The name of the format that OpenTrace() would read `path` in.
Status FindTraceFormat(const std::string& path, std::string_view format, std::string* name);

}  // namespace mezz
