// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "cache/status.h"

namespace mezz {

// How a request's key looks in the database: 8 bytes, most significant first, so neighbours in the workload's key space
// are neighbours there.
using DatabaseKey = std::array<char, 8>;

inline DatabaseKey EncodeKey(uint64_t key) {
  DatabaseKey bytes;
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(key >> (56 - 8 * i));
  return bytes;
}

inline uint64_t DecodeKey(std::string_view bytes) {
  uint64_t key = 0;
  for (const char byte : bytes) key = key << 8 | static_cast<unsigned char>(byte);
  return key;
}

// What values, and the blocks of --mode=block, hold.
struct ValueOptions {
  std::string sample{};         // --values: a file they are cut from; empty: they are made
  double ratio = 1;             // --value_ratio: made so that LZ4 and zstd pack them to about one part in so many
  uint64_t block_bytes = 4096;  // a sample must be so long that a block hardly ever holds the same bytes twice,
  uint64_t value_bytes = 0;     // and longer than a value of so many
  std::string_view block_flag = "--block_bytes";  // names block_bytes in a refusal

  // Refuses a ratio out of range, and a ratio beside a sample.
  Status Validate() const;
};

// Gives every key its value: the bytes follow from key and size alone, so that every byte read can be checked.
//
// Made bytes are runs of random bytes, each repeated until it takes `ratio` times its place. A run is long beside what
// a codec spends on saying "as before", so LZ4 and zstd come to the same within a few percent, and no cleverer codec,
// level or dictionary gets further. Values of less than some 100 bytes pack worse than `ratio`, as any do.
//
// Bytes from a sample keep its order: the values of neighbouring keys are neighbours in it. Beyond its end it begins
// again elsewhere, so that blocks do not come back.
//
// Thread-safe: constant once open. Copies share the sample, which is mapped: it must not be cut short meanwhile.
class Values {
 public:
  Values() = default;  // made, incompressible
  // Also refuses, naming the option, a sample that cannot be read, or is too small.
  static Status Open(const ValueOptions& options, Values* values);

  void Fill(uint64_t key, size_t bytes, std::string* value) const;
  bool Matches(uint64_t key, std::string_view value) const;

  // The same for a file of sectors, which are numbered. Each differs from all others, in its first word at least.
  static constexpr size_t kSectorBytes = 512;
  using Sector = std::array<std::byte, kSectorBytes>;
  void FillSector(uint64_t number, Sector* sector) const;

  // "ratio-2", "sample-0123456789abcdef": values of the same name are the same. Reads a sample through.
  std::string Name() const;
  // "made to pack to 1/2", "cut from text.bin"; for reports.
  std::string Description() const;

 private:
  void Cut(uint64_t at, std::span<std::byte> to) const;
  void FillBytes(uint64_t key, std::span<std::byte> to) const;

  double ratio_ = 1;
  std::string path_;
  std::shared_ptr<const std::byte> sample_;  // null: made
  size_t sample_bytes_ = 0;
};

}  // namespace mezz
