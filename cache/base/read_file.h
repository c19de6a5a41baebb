// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace mezz {

// False: it cannot be read, or is a folder, at which a stream throws.
bool ReadWholeFile(const std::string& path, std::string* content);

}  // namespace mezz
