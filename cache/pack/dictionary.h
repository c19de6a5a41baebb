// SPDX-License-Identifier: Apache-2.0
// A dictionary: what blocks of one role have in common. Small blocks that are packed with it are a fifth smaller.
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

// A zstd dictionary, prepared once for packing and for unpacking. It contains its number, so that each frame that is
// packed with it names it. Immutable: any thread may read it.
class Dictionary {
 public:
  static constexpr size_t kBytesMax = 64 << 10;

  // Makes a dictionary of `trained`, the output of ZDICT, whose number `number` > 0 replaces. Null: it is no
  // dictionary, or there is no memory.
  static std::unique_ptr<const Dictionary> Make(std::span<const std::byte> trained, uint16_t number, BlockRole role);
  // Reads a dictionary from its record. Null: the record is damaged or not one that we would have written, or there is
  // no memory. REQUIRES: the header is whole, and the payload lies within the medium.
  static std::unique_ptr<const Dictionary> Read(const record::Header& header,
                                                const Authenticator* authenticator = nullptr);
  // The number in the key of a dictionary's record. It may be any; Read accepts 1 to UINT16_MAX.
  static uint64_t NumberIn(const BlockKey& key) { return key.words[1] >> 8; }
  ~Dictionary();
  Dictionary(const Dictionary&) = delete;
  Dictionary& operator=(const Dictionary&) = delete;

  uint16_t number() const { return number_; }
  BlockRole role() const { return role_; }
  std::span<const std::byte> bytes() const { return bytes_; }
  const ZSTD_CDict_s* packer() const { return packer_; }
  const ZSTD_DDict_s* unpacker() const { return unpacker_; }
  // The DRAM that it takes: about 0.5 MiB more than its bytes, for zstd's tables.
  uint64_t dram_bytes() const;

  // Writes its record, which takes RecordBytes() of the medium. False: as for record::Write.
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

// Packs the block as one frame, with this dictionary or without one (null). Returns the size of the frame, or a value
// for which ZSTD_isError is true: `to` is too small, or there is no memory.
size_t PackFrame(ZSTD_CCtx_s* state, const Dictionary* dictionary, std::span<const std::byte> block,
                 std::span<std::byte> to);

}  // namespace mezz
