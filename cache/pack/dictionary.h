// SPDX-License-Identifier: Apache-2.0
// What blocks of one role have in common: packed with it, small blocks are a fifth smaller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cache/record.h"
#include "cache/types.h"

struct ZSTD_CDict_s;
struct ZSTD_DDict_s;

namespace mezz {

// A zstd dictionary, digested once for those who pack and those who unpack. Its number is in it, so that each frame
// packed with it names it. Immutable: any thread may read it.
class Dictionary {
 public:
  // `number` > 0 replaces the one in `trained`, which is what ZDICT made. Null: it is none, or there is no memory.
  static std::unique_ptr<const Dictionary> Make(std::span<const std::byte> trained, uint16_t number, BlockRole role);
  // From its record: null also for a record that is no dictionary's, or damaged. REQUIRES: the header is whole, and
  // the payload within the medium.
  static std::unique_ptr<const Dictionary> Read(const record::Header& header);
  ~Dictionary();
  Dictionary(const Dictionary&) = delete;
  Dictionary& operator=(const Dictionary&) = delete;

  uint16_t number() const { return number_; }
  BlockRole role() const { return role_; }
  std::span<const std::byte> bytes() const { return bytes_; }
  const ZSTD_CDict_s* packer() const { return packer_; }
  const ZSTD_DDict_s* unpacker() const { return unpacker_; }
  // Some 0.5 MiB more than its bytes: zstd's tables.
  uint64_t dram_bytes() const;

  // Writes its record, record_bytes() of the medium.
  void Write(const Medium& medium, record::Place place) const;
  uint64_t record_bytes() const { return layout::RecordBytes(bytes_.size()); }

 private:
  Dictionary(std::span<const std::byte> trained, uint16_t number, BlockRole role);

  const uint16_t number_;
  const BlockRole role_;
  std::vector<std::byte> bytes_;
  ZSTD_CDict_s* packer_;
  ZSTD_DDict_s* unpacker_;
};

}  // namespace mezz
