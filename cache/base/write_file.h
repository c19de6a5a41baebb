// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "cache/status.h"

namespace mezz {

// A reader of `path` sees the old content or the new, whole. kIoError says why not.
Status WriteFileAtomically(const std::string& path, const std::string& content);

// Refuses what cannot be written so, naming `option`, for who would find out late. Leaves `path` as it is.
Status CheckFileWritable(std::string_view option, const std::string& path);

}  // namespace mezz
