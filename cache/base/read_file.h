// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace mezz {

// Reads a file. False: it cannot be read, or it is a folder, for which a stream would throw.
bool ReadWholeFile(const std::string& path, std::string* content);

}  // namespace mezz
