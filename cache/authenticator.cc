// SPDX-License-Identifier: Apache-2.0
#include "cache/authenticator.h"

#include <sodium.h>

#include <algorithm>
#include <cassert>
#include <cstring>

#include "cache/record.h"

namespace mezz {
namespace {

static_assert(layout::kMacBytes == crypto_shorthash_siphashx24_BYTES);
static_assert(layout::kMacBytes == crypto_shorthash_siphashx24_KEYBYTES);

unsigned char* Raw(Mac* mac) { return reinterpret_cast<unsigned char*>(mac->data()); }

// `out` may be `key`.
void SipHash(const void* bytes, size_t count, const Mac& key, Mac* out) {
  Mac made;
  crypto_shorthash_siphashx24(Raw(&made), static_cast<const unsigned char*>(bytes), count,
                              reinterpret_cast<const unsigned char*>(key.data()));
  *out = made;
}

// What the superblock says of this life. Its bytes are hashed, so all members are listed here, without gaps.
struct Life {
  char purpose[24] = "mezzanine records, life";
  uint64_t uuid[2];
  uint64_t format_id;
  uint64_t host_version;
  uint64_t key_scheme;
};
static_assert(sizeof(Life) == 64);

// The first piece of each cascade. It leaves out what changes while a record lives: its sequence, and the flag that
// packing it is useless.
struct FirstPiece {
  BlockKey key;
  uint32_t payload_bytes;
  uint8_t role;
  uint8_t flags;
  uint16_t zero;
};
static_assert(sizeof(FirstPiece) == 24);

}  // namespace

Authenticator::Authenticator(const VerifyKey& key, const layout::Superblock& superblock) {
  [[maybe_unused]] const int ready = sodium_init();  // chooses BLAKE2b for this CPU; -1 leaves the portable one
  const Life life{.uuid = {superblock.uuid[0], superblock.uuid[1]},
                  .format_id = superblock.format_id,
                  .host_version = superblock.host_version,
                  .key_scheme = superblock.key_scheme};
  crypto_generichash(Raw(&key_), key_.size(), reinterpret_cast<const unsigned char*>(&life), sizeof(life),
                     reinterpret_cast<const unsigned char*>(key.data()), VerifyKey::kBytes);
  constexpr std::string_view kCheck = "mezzanine key check";  // 19 bytes: no FirstPiece
  Mac check;
  SipHash(kCheck.data(), kCheck.size(), key_, &check);
  std::memcpy(&check_, check.data(), sizeof(check_));
  check_ |= 1;
}

Authenticator::~Authenticator() { sodium_memzero(key_.data(), key_.size()); }

bool Authenticator::Accepts(const layout::RecordHeader& header) const {
  if ((header.flags & layout::kRecordKeyed) == 0 || header.payload_bytes < layout::kMacBytes) return false;
  const auto payload = record::PayloadOf(header);
  Running running(*this, header);
  running.Add(payload);
  const Mac mac = running.Finish();
  return crypto_verify_16(reinterpret_cast<const unsigned char*>(payload.data() + payload.size()),
                          reinterpret_cast<const unsigned char*>(mac.data())) == 0;
}

Authenticator::Running::Running(const Authenticator& authenticator, const layout::RecordHeader& header)
    : left_(header.payload_bytes - layout::kMacBytes) {
  assert(header.payload_bytes >= layout::kMacBytes);
  const FirstPiece first{.key = header.key,
                         .payload_bytes = header.payload_bytes,
                         .role = static_cast<uint8_t>(header.role),
                         .flags = static_cast<uint8_t>(header.flags & ~layout::kRecordRejected),
                         .zero = 0};
  SipHash(&first, sizeof(first), authenticator.key_, &chain_);
}

void Authenticator::Running::Add(std::span<const std::byte> piece) {
  assert(piece.size() <= left_ - held_);
  while (!piece.empty()) {
    const auto whole = static_cast<size_t>(std::min<uint64_t>(layout::kMacPieceBytes, left_));
    if (held_ == 0 && piece.size() >= whole) {
      Advance(piece.first(whole));
      piece = piece.subspan(whole);
      continue;
    }
    const size_t taken = std::min(whole - held_, piece.size());
    std::memcpy(held_bytes_.data() + held_, piece.data(), taken);
    held_ += taken;
    piece = piece.subspan(taken);
    if (held_ == whole) {
      held_ = 0;
      Advance({held_bytes_.data(), whole});
    }
  }
}

void Authenticator::Running::Advance(std::span<const std::byte> piece) {
  SipHash(piece.data(), piece.size(), chain_, &chain_);
  left_ -= piece.size();
}

Mac Authenticator::Running::Finish() const {
  assert(left_ == 0 && held_ == 0);
  return chain_;
}

}  // namespace mezz
