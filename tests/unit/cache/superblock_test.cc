// SPDX-License-Identifier: Apache-2.0
#include "cache/superblock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace mezz {
namespace {

using layout::Superblock;
using ::testing::HasSubstr;

struct Judgement {
  Status status;
  Superblock superblock{};
  bool damaged = false;
};

Judgement Judge(const Superblock& superblock, size_t bytes = sizeof(Superblock)) {
  Judgement judgement;
  judgement.status =
      ReadSuperblock(reinterpret_cast<const std::byte*>(&superblock), bytes, &judgement.superblock, &judgement.damaged);
  return judgement;
}

TEST(Superblock, IsReadBackAsItWasMade) {
  const Superblock made = MakeSuperblock(1 << 30, 4 << 20, 11, 12, 11008001);
  const Judgement judgement = Judge(made);
  ASSERT_TRUE(judgement.status.ok()) << judgement.status.message();
  EXPECT_FALSE(judgement.damaged);
  EXPECT_EQ(std::memcmp(&made, &judgement.superblock, sizeof(made)), 0);
}

TEST(Superblock, ForeignBytesAreForeign) {
  EXPECT_EQ(Judge(Superblock{}).status.code(), Status::Code::kForeignFile) << "zeros";
  Superblock foreign = MakeSuperblock(1 << 30, 4 << 20, 0, 1, 0);
  foreign.magic[15] ^= 1;
  EXPECT_EQ(Judge(foreign).status.code(), Status::Code::kForeignFile);
}

TEST(Superblock, ATruncatedOneIsForeign) {
  const Superblock made = MakeSuperblock(1 << 30, 4 << 20, 0, 1, 0);
  for (size_t bytes = 0; bytes < sizeof(made); ++bytes) {
    EXPECT_EQ(Judge(made, bytes).status.code(), Status::Code::kForeignFile) << bytes;
  }
}

TEST(Superblock, AnotherFormatVersionIsRefusedWithBothNumbers) {
  Superblock other = MakeSuperblock(1 << 30, 4 << 20, 0, 1, 0);
  other.format_version = 7;
  const Judgement judgement = Judge(other);
  EXPECT_EQ(judgement.status.code(), Status::Code::kNotSupported);
  EXPECT_THAT(judgement.status.message(), HasSubstr("version 7"));
  EXPECT_THAT(judgement.status.message(), HasSubstr("version " + std::to_string(layout::kFormatVersion)));
}

TEST(Superblock, TheOppositeByteOrderIsRefused) {
  Superblock other = MakeSuperblock(1 << 30, 4 << 20, 0, 1, 0);
  other.byte_order_mark = __builtin_bswap32(other.byte_order_mark);
  other.format_version = __builtin_bswap32(other.format_version);
  const Judgement judgement = Judge(other);
  EXPECT_EQ(judgement.status.code(), Status::Code::kNotSupported);
  EXPECT_THAT(judgement.status.message(), HasSubstr("byte order"));
}

TEST(Superblock, EveryFlippedBitIsNoticed) {
  const Superblock made = MakeSuperblock(1 << 30, 4 << 20, 5, 6, 7);
  for (size_t bit = 0; bit < sizeof(made) * 8; ++bit) {
    Superblock flipped = made;
    reinterpret_cast<unsigned char*>(&flipped)[bit / 8] ^= static_cast<unsigned char>(1u << (bit % 8));
    const Judgement judgement = Judge(flipped);
    EXPECT_TRUE(!judgement.status.ok() || judgement.damaged) << "bit " << bit;
  }
}

}  // namespace
}  // namespace mezz
