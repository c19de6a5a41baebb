// SPDX-License-Identifier: Apache-2.0
#include "integration/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rocksdb/version.h"

namespace mezz {
namespace {

using ::testing::HasSubstr;

HybridCacheOptions Good() {
  HybridCacheOptions options;
  options.dram_bytes = 8 << 20;
  options.scm.medium = MediumKind::kAnonymous;
  options.scm.capacity_bytes = 64 << 20;
  return options;
}

void ExpectRefused(const HybridCacheOptions& options, std::string_view part) {
  const Status status = options.Validate();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(status.message(), HasSubstr(part));
}

TEST(HybridCacheOptions, DefaultsAreValidOnceTheSizesAreGiven) { EXPECT_EQ(Good().Validate().message(), ""); }

TEST(HybridCacheOptions, DefaultDramCacheIsOneThatTheReleaseSupports) {
  EXPECT_EQ(kDefaultDramCache, ROCKSDB_MAJOR < 8 ? DramCacheKind::kLru : DramCacheKind::kHyperClock);
  EXPECT_EQ(HybridCacheOptions().dram_cache, kDefaultDramCache);
}

TEST(HybridCacheOptions, EachBadFieldIsNamed) {
  HybridCacheOptions options = Good();
  options.dram_bytes = 0;
  ExpectRefused(options, "dram=0");
  options = Good();
  options.dram_bytes = ~0ull;
  ExpectRefused(options, "dram=18446744073709551615");
  for (const int bits : {-2, 20}) {
    options = Good();
    options.dram_shard_bits = bits;
    ExpectRefused(options, "shard_bits=");
  }
  options = Good();
  options.policy = "best";
  ExpectRefused(options, "best");
  options = Good();
  options.scm.capacity_bytes = 0;
  ExpectRefused(options, "capacity_bytes=0");
  options = Good();
  options.scm.path = "/dev/shm/mezz";
  ExpectRefused(options, "contradicts medium=");
  options.scm.medium = MediumKind::kFile;
  options.scm.path = "/dev/shm/a;b";
  ExpectRefused(options, "';'");
  options.scm.path = std::string("/dev/shm/a\nb");
  ExpectRefused(options, "control character");
}

TEST(HybridCacheOptions, TheScmSideAloneNeedsNoDramTier) {
  HybridCacheOptions options = Good();
  options.dram_bytes = 0;
  EXPECT_EQ(options.ValidateScmSide().message(), "");
  options.policy = "best";
  EXPECT_FALSE(options.ValidateScmSide().ok());
}

#if ROCKSDB_MAJOR < 8
TEST(HybridCacheOptions, HyperClockNeedsALaterRelease) {
  HybridCacheOptions options = Good();
  options.dram_cache = DramCacheKind::kHyperClock;
  EXPECT_EQ(options.Validate().code(), Status::Code::kNotSupported);
  ExpectRefused(options, "use dram_cache=lru");
}
#endif

}  // namespace
}  // namespace mezz
