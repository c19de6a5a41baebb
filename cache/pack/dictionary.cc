// SPDX-License-Identifier: Apache-2.0
#include "cache/pack/dictionary.h"

#include <zdict.h>
#include <zstd.h>

#include <cassert>
#include <new>

#include "cache/header_checksum.h"
#include "cache/pack/codec_rules.h"

namespace mezz {
namespace {

// zstd's dictionary format: four bytes of magic, then the number, least significant byte first.
constexpr size_t kNumberAt = 4, kNumberEnd = 8;

// The key of a dictionary's record. No block of RocksDB has such a key, and these records are not in the index.
BlockKey KeyOf(uint16_t number, BlockRole role) {
  return {{layout::kDictionaryKey, uint64_t{number} << 8 | static_cast<uint64_t>(role)}};
}

}  // namespace

Dictionary::Dictionary(std::span<const std::byte> trained, uint16_t number, BlockRole role)
    : number_(number), role_(role), bytes_(trained.begin(), trained.end()) {
  assert(number != 0);
  for (size_t i = kNumberAt; i < kNumberEnd; ++i)
    bytes_[i] = static_cast<std::byte>(uint32_t{number} >> 8 * (i - kNumberAt));
  packer_ = ZSTD_createCDict(bytes_.data(), bytes_.size(), kZstdLevel);
  unpacker_ = ZSTD_createDDict(bytes_.data(), bytes_.size());
}

Dictionary::~Dictionary() {
  ZSTD_freeCDict(packer_);
  ZSTD_freeDDict(unpacker_);
}

std::unique_ptr<const Dictionary> Dictionary::Make(std::span<const std::byte> trained, uint16_t number,
                                                   BlockRole role) {
  if (trained.size() <= kNumberEnd || ZDICT_getDictID(trained.data(), trained.size()) == 0) return nullptr;
  try {
    std::unique_ptr<const Dictionary> made(new Dictionary(trained, number, role));
    const bool digested = made->packer_ != nullptr && made->unpacker_ != nullptr;
    assert(!digested || ZSTD_getDictID_fromDDict(made->unpacker_) == number);
    return digested ? std::move(made) : nullptr;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

std::unique_ptr<const Dictionary> Dictionary::Read(const record::Header& at, const Authenticator* authenticator) {
  record::Header header;
  if (!CopyBytes(std::as_bytes(std::span(&at, 1)), &header)) return nullptr;
  if ((header.flags & layout::kRecordDictionary) == 0 || !record::HasRole(header)) return nullptr;
  if (header.payload_bytes > kBytesMax + record::MacBytes(authenticator)) return nullptr;
  if (!record::PayloadIsWhole(at, authenticator)) return nullptr;
  std::span<const std::byte> bytes;
  const std::span payload(reinterpret_cast<const std::byte*>(&at + 1), record::PayloadBytes(header));
  if (record::SteadyBytes(payload, &bytes) != record::Steady::kHere) return nullptr;
  const uint64_t number = NumberIn(header.key);
  if (number == 0 || number > UINT16_MAX) return nullptr;
  const auto role = static_cast<BlockRole>(header.key.words[1] & 0xff);
  if (role != header.role || header.key != KeyOf(static_cast<uint16_t>(number), role)) return nullptr;
  if (ZDICT_getDictID(bytes.data(), bytes.size()) != number) return nullptr;
  return Make(bytes, static_cast<uint16_t>(number), role);
}

uint64_t Dictionary::dram_bytes() const {
  return sizeof(*this) + bytes_.capacity() + ZSTD_sizeof_CDict(packer_) + ZSTD_sizeof_DDict(unpacker_);
}

bool Dictionary::Write(const Medium& medium, record::Place place, const Authenticator* authenticator) const {
  return record::Write(medium, place, KeyOf(number_, role_), role_, bytes_.size(), SpanSource{bytes_},
                       layout::kRecordDictionary, authenticator);
}

size_t PackFrame(ZSTD_CCtx* state, const Dictionary* dictionary, std::span<const std::byte> block,
                 std::span<std::byte> to) {
  return dictionary != nullptr
             ? ZSTD_compress_usingCDict(state, to.data(), to.size(), block.data(), block.size(), dictionary->packer())
             : ZSTD_compressCCtx(state, to.data(), to.size(), block.data(), block.size(), kZstdLevel);
}

}  // namespace mezz
