// SPDX-License-Identifier: Apache-2.0
// Apart from record.h, and inline, because every hit asks it, between the header's arrival and the next locked
// instruction: a call would cost a third of the checksum again.
#pragma once

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cache/layout.h"
#include "cache/record.h"

namespace mezz::record {

// Of a record's header: the header, its checksum included, is one number of 256 bits that leaves kHeaderResidue when
// it is divided by kHeaderModulus. So no one and no two flipped bits go unnoticed, which no hash of 16 bits can
// promise, and of other damage one in 65,519. After Koopman, "An Improved Modular Addition Checksum Algorithm",
// arXiv:2304.13496 (2023), whose modulus of 16 bits this is; taken all at once, as a header's length is known.
inline constexpr uint64_t kHeaderModulus = 65519;
inline constexpr uint64_t kHeaderResidue = 0x4d5a;  // not that of zeros, nor of ones

namespace internal {

inline constexpr size_t kHeaderBits = 8 * sizeof(Header);

// Base to the power of `exponent`, modulo kHeaderModulus.
constexpr uint64_t Power(uint64_t base, size_t exponent) {
  uint64_t power = 1;
  for (size_t i = 0; i < exponent; ++i) power = power * base % kHeaderModulus;
  return power;
}

// What the header's number is congruent to, from its four words; below 2^49.
constexpr uint64_t Sum(uint64_t word0, uint64_t word1, uint64_t word2, uint64_t word3) {
  using Wide = unsigned __int128;
  constexpr uint64_t kOf32 = Power(2, 32), kOf64 = Power(2, 64), kOf128 = Power(2, 128), kOf192 = Power(2, 192);
  const Wide sum = word0 + Wide{word1} * kOf64 + Wide{word2} * kOf128 + Wide{word3} * kOf192;
  const auto low = static_cast<uint64_t>(sum);
  return (low & UINT32_MAX) + (low >> 32) * kOf32 + static_cast<uint64_t>(sum >> 64) * kOf64;
}

inline uint64_t Sum(const Header& header) {
  const auto word = [&header](size_t n) {  // each into a register: copied at once, they go through the stack
    uint64_t value;
    std::memcpy(&value, reinterpret_cast<const std::byte*>(&header) + n * sizeof(value), sizeof(value));
    return value;
  };
  static_assert(sizeof(header) == 4 * sizeof(word(0)));
  return Sum(word(0), word(1), word(2), word(3));
}

// Two flipped bits change the number by 2^a +- 2^b: never a multiple of the modulus. Nor is one, 2^a.
constexpr bool TellsTwoFlippedBits() {
  for (size_t apart = 1; apart < kHeaderBits; ++apart) {
    if (Power(2, apart) == 1 || Power(2, apart) == kHeaderModulus - 1) return false;
  }
  return true;
}
static_assert(TellsTwoFlippedBits());
static_assert(Sum(0, 0, 0, 0) % kHeaderModulus != kHeaderResidue);
static_assert((Power(2, kHeaderBits) - 1) % kHeaderModulus != kHeaderResidue);

}  // namespace internal

// To seal it with, whatever its checksum is now.
inline uint16_t HeaderChecksum(Header header) {
  constexpr size_t kLowestBit =
      std::endian::native == std::endian::little ? internal::kHeaderBits - 16 : internal::kHeaderBits - 64;
  constexpr uint64_t kHalf = (kHeaderModulus + 1) / 2;  // 1 / 2, modulo kHeaderModulus
  static_assert(offsetof(Header, checksum) == sizeof(Header) - sizeof(uint16_t));
  header.checksum = 0;
  const uint64_t missing = kHeaderResidue + kHeaderModulus - internal::Sum(header) % kHeaderModulus;
  return static_cast<uint16_t>(missing * internal::Power(kHalf, kLowestBit) % kHeaderModulus);
}

inline uint64_t SegmentHeaderChecksum(const layout::SegmentHeader& header) {
  return XXH3_64bits_withSeed(&header, offsetof(layout::SegmentHeader, checksum), layout::kChecksumSeed);
}

// The header is as it was sealed, and of this fill of its segment.
inline bool IsWhole(const Header& header, uint32_t sequence) {
  return header.sequence == sequence && internal::Sum(header) % kHeaderModulus == kHeaderResidue;
}

// Its role is one of ours, so that it may be counted by: a checksum of 16 bits, which anyone can make, does not tell.
inline bool HasRole(const Header& header) { return static_cast<size_t>(header.role) < kBlockRoles; }

}  // namespace mezz::record
