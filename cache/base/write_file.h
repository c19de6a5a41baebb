// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "cache/status.h"

namespace mezz {

// The file that is replaced by what is written to `path`: behind links, also where there is none yet. Empty: a device
// or a pipe has that name, which is written through and never replaced.
std::string ReplaceableFile(const std::string& path);

// Writes the file so that a reader of `path` sees all of the old content or all of the new. A device or a pipe gets the
// new. kIoError says why it failed.
Status WriteFileAtomically(const std::string& path, const std::string& content);

// An error, naming `option`, if WriteFileAtomically could not write there: for a caller that will write much later.
// Leaves `path` as it is.
Status CheckFileWritable(std::string_view option, const std::string& path);

}  // namespace mezz
