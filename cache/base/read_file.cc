// SPDX-License-Identifier: Apache-2.0
#include "cache/base/read_file.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

namespace mezz {

bool ReadWholeFile(const std::string& path, std::string* content) {
  std::ifstream file(path, std::ios::binary);
  std::error_code error;
  if (!file || std::filesystem::is_directory(path, error)) return false;
  std::ostringstream text;
  text << file.rdbuf();  // no exception of the file's leaves this
  *content = std::move(text).str();
  return true;
}

}  // namespace mezz
