// SPDX-License-Identifier: Apache-2.0
// The public traces are not in the tree: their licences differ. MEZZ_TRACES names their folder.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace mezz {

inline std::string PublicTracePath(const std::string& file) {
  const char* named = std::getenv("MEZZ_TRACES");
  return (named != nullptr ? std::string(named) : std::string(MEZZ_TRACES_FOLDER)) + "/" + file;
}

}  // namespace mezz

#define MEZZ_SKIP_WITHOUT_TRACE(path)                                                                     \
  do {                                                                                                    \
    if (!std::filesystem::exists(path))                                                                   \
      GTEST_SKIP() << "SKIPPED: no " << (path) << "; set MEZZ_TRACES to the folder of the public traces"; \
  } while (false)
