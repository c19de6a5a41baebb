// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/request.h"

namespace mezz {

// The names --format takes, in the order they are shown.
std::vector<std::string_view> TraceFormatNames();

// Opens a trace, compressed or not, at its first request. An empty `format` is found from the file's name, else from
// its first bytes. Refuses unknown formats, and files that are missing, empty, directories or not readable.
Status OpenTrace(const std::string& path, std::string_view format, std::unique_ptr<RequestSource>* source);

}  // namespace mezz
