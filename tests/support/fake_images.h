// SPDX-License-Identifier: Apache-2.0
// Blocks as a file might hold them compressed, for caches that know nothing of the codec: runs of 8-byte words. Like a
// real codec it has no checksum, so damaged bytes give other ones, or none.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace mezz::test {

inline constexpr unsigned char kFakeCompression = 0x80;  // RocksDB's first for codecs of users

// A byte that counts, and the word, for each run; then what is left of the block.
inline std::string FakeImage(std::string_view block) {
  constexpr size_t kWord = sizeof(uint64_t);
  std::string image;
  size_t at = 0;
  while (at + kWord <= block.size()) {
    unsigned char run = 1;
    while (run < 255 && at + (run + 1) * kWord <= block.size() &&
           std::memcmp(&block[at], &block[at + run * kWord], kWord) == 0)
      ++run;
    image += static_cast<char>(run);
    image += block.substr(at, kWord);
    at += run * kWord;
  }
  image += '\0';
  return image.append(block.substr(at));
}

inline std::optional<std::string> UnpackFakeImage(std::string_view image) {
  constexpr size_t kWord = sizeof(uint64_t);
  std::string block;
  size_t at = 0;
  for (; at < image.size() && image[at] != '\0'; at += 1 + kWord) {
    if (at + 1 + kWord > image.size()) return std::nullopt;
    for (unsigned run = static_cast<unsigned char>(image[at]); run > 0; --run) block += image.substr(at + 1, kWord);
  }
  if (at == image.size()) return std::nullopt;
  block += image.substr(at + 1);
  return block;
}

}  // namespace mezz::test
