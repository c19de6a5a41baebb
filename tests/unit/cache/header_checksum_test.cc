// SPDX-License-Identifier: Apache-2.0
#include "cache/header_checksum.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>

#include "tests/support/seed.h"

namespace mezz::record {
namespace {

using Bytes = std::array<unsigned char, sizeof(Header)>;
constexpr size_t kBits = 8 * sizeof(Header);

Bytes Random(std::mt19937_64& random) {
  Bytes bytes;
  for (auto& byte : bytes) byte = static_cast<unsigned char>(random());
  return bytes;
}

Header From(const Bytes& bytes) {
  Header header;
  std::memcpy(static_cast<void*>(&header), bytes.data(), sizeof(header));
  return header;
}

bool Passes(const Bytes& bytes) {
  const Header header = From(bytes);
  return IsWhole(header, header.sequence);
}

Bytes Sealed(const Bytes& bytes) {
  Header header = From(bytes);
  header.checksum = HeaderChecksum(header);
  Bytes sealed;
  std::memcpy(sealed.data(), &header, sizeof(header));
  return sealed;
}

void Flip(size_t bit, Bytes* bytes) { (*bytes)[bit / 8] ^= static_cast<unsigned char>(1 << bit % 8); }

TEST(HeaderChecksum, NoTwoFlippedBitsPass) {
  std::mt19937_64 random(test::Seed());
  for (int round = 0; round < 20; ++round) {
    Bytes bytes = Sealed(Random(random));
    ASSERT_TRUE(Passes(bytes));
    for (size_t a = 0; a < kBits; ++a) {
      Flip(a, &bytes);
      ASSERT_FALSE(Passes(bytes)) << "bit " << a;
      for (size_t b = 0; b < a; ++b) {
        Flip(b, &bytes);
        ASSERT_FALSE(Passes(bytes)) << "bits " << b << " and " << a;
        Flip(b, &bytes);
      }
      Flip(a, &bytes);
    }
  }
}

TEST(HeaderChecksum, NeitherZerosNorOnesPassAndOfNoiseNextToNothing) {
  Bytes bytes;
  bytes.fill(0);
  EXPECT_FALSE(Passes(bytes));
  bytes.fill(0xff);
  EXPECT_FALSE(Passes(bytes));
  std::mt19937_64 random(test::Seed());
  int passed = 0;
  for (int n = 0; n < 1'000'000; ++n) passed += Passes(Random(random));
  EXPECT_LT(passed, 60) << "15 are expected";  // more has a probability below 1e-16
}

}  // namespace
}  // namespace mezz::record
