// SPDX-License-Identifier: Apache-2.0
// The checksum of a record's header. It is inline, and apart from record.h, because every hit computes it between the
// arrival of the header and the next locked instruction. A call would cost a third of the checksum's time again.
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

// A header with its checksum is a number of 256 bits. Divided by kHeaderModulus it leaves kHeaderResidue. So one or two
// flipped bits are always noticed, which no hash of 16 bits can promise; of other damage one case in 65,519 is not. The
// modulus is that of Koopman, "An Improved Modular Addition Checksum Algorithm", arXiv:2304.13496 (2023), for 16 bits;
// the division is done at once, as a header's length is known.
inline constexpr uint64_t kHeaderModulus = 65519;
inline constexpr uint64_t kHeaderResidue = 0x4d5a;  // a header of zeros leaves another, and so does one of ones

namespace internal {

inline constexpr size_t kHeaderBits = 8 * sizeof(Header);

// `base` to the power of `exponent`, modulo kHeaderModulus.
constexpr uint64_t Power(uint64_t base, size_t exponent) {
  uint64_t power = 1;
  for (size_t i = 0; i < exponent; ++i) power = power * base % kHeaderModulus;
  return power;
}

// A number below 2^49 that is congruent to the header's number, from its four words.
constexpr uint64_t Sum(uint64_t word0, uint64_t word1, uint64_t word2, uint64_t word3) {
  using Wide = unsigned __int128;
  constexpr uint64_t kOf32 = Power(2, 32), kOf64 = Power(2, 64), kOf128 = Power(2, 128), kOf192 = Power(2, 192);
  const Wide sum = word0 + Wide{word1} * kOf64 + Wide{word2} * kOf128 + Wide{word3} * kOf192;
  const auto low = static_cast<uint64_t>(sum);
  return (low & UINT32_MAX) + (low >> 32) * kOf32 + static_cast<uint64_t>(sum >> 64) * kOf64;
}

inline uint64_t Sum(const Header& header) {
  const auto word = [&header](size_t n) {  // one register each: copied at once, they would go through the stack
    uint64_t value;
    std::memcpy(&value, reinterpret_cast<const std::byte*>(&header) + n * sizeof(value), sizeof(value));
    return value;
  };
  static_assert(sizeof(header) == 4 * sizeof(word(0)));
  return Sum(word(0), word(1), word(2), word(3));
}

// Whether every change by one or two flipped bits is noticed: 2^a and 2^a +- 2^b must be no multiples of the modulus.
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

// The checksum that seals the header, whatever its present one.
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

// Whether the header is as it was sealed, and of the fill of its segment with this sequence.
inline bool IsWhole(const Header& header, uint32_t sequence) {
  return header.sequence == sequence && internal::Sum(header) % kHeaderModulus == kHeaderResidue;
}

// Whether the role is a known one, so that it may index counters. The checksum does not prove that: it has 16 bits, and
// anyone can make it.
inline bool HasRole(const Header& header) { return static_cast<size_t>(header.role) < kBlockRoles; }

}  // namespace mezz::record
