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

struct ZSTD_CCtx_s;
struct ZSTD_CDict_s;
struct ZSTD_DDict_s;

namespace mezz {

// A zstd dictionary, digested once for those who pack and those who unpack. Its number is in it, so that each frame
// packed with it names it. Immutable: any thread may read it.
class Dictionary {
 public:
  static constexpr size_t kBytesMax = 64 << 10;

  // `number` > 0 replaces the one in `trained`, which is what ZDICT made. Null: it is none, or there is no memory.
  static std::unique_ptr<const Dictionary> Make(std::span<const std::byte> trained, uint16_t number, BlockRole role);
  // From its record: null also for a record that is no dictionary's that we would have written, or damaged. REQUIRES:
  // the header is whole, and the payload within the medium.
  static std::unique_ptr<const Dictionary> Read(const record::Header& header,
                                                const Authenticator* authenticator = nullptr);
  // What the key of a dictionary's record says, of any value: 1 to UINT16_MAX if Read takes it.
  static uint64_t NumberIn(const BlockKey& key) { return key.words[1] >> 8; }
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

  // Writes its record, RecordBytes() of the medium. False: as record::Write.
  bool Write(const Medium& medium, record::Place place, const Authenticator* authenticator = nullptr) const;
  uint64_t RecordBytes(const Authenticator* authenticator) const {
    return record::BytesFor(bytes_.size(), authenticator);
  }

 private:
  Dictionary(std::span<const std::byte> trained, uint16_t number, BlockRole role);

  const uint16_t number_;
  const BlockRole role_;
  std::vector<std::byte> bytes_;
  ZSTD_CDict_s* packer_;
  ZSTD_DDict_s* unpacker_;
};

// Packs the block as one frame, with this dictionary or with none (null). The bytes it took, or what ZSTD_isError takes
// for an error: `to` is too small, or there is no memory.
size_t PackFrame(ZSTD_CCtx_s* state, const Dictionary* dictionary, std::span<const std::byte> block,
                 std::span<std::byte> to);

}  // namespace mezz
