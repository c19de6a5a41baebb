// SPDX-License-Identifier: Apache-2.0
#include "integration/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rocksdb/version.h"

namespace mezz {
namespace {

using ::testing::AllOf;
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
  ExpectRefused(options, "dram=18446744073709551615 needs 16.0 EiB");
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

Machine Small() {
  Machine machine;
  machine.memory_bytes = 1ull << 30;
  machine.memory_of = "the control group /small";
  return machine;
}

void ExpectNoSpace(const HybridCacheOptions& options, std::string_view option, std::string_view what_to_do) {
  const Status status = options.Validate(Small());
  EXPECT_EQ(status.code(), Status::Code::kNoSpace) << status.message();
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr(option), HasSubstr("the control group /small has 1 GiB"), HasSubstr(what_to_do)));
}

TEST(HybridCacheOptions, NoSizeMayExceedTheMachine) {
  HybridCacheOptions options = Good();
  options.dram_bytes = 1ull << 30;
  ExpectNoSpace(options, "dram=1G, together with", "lower dram or scm");
  options.dram_bytes = 4'000'000ull << 40;
  ExpectNoSpace(options, "dram=4000000T needs 3.8 EiB of memory", "lower dram");
  options = Good();
  options.scm.capacity_bytes = 2ull << 30;
  ExpectNoSpace(options, "scm=2G (dram)", "lower scm");
  options.scm.medium = MediumKind::kNumaNode;
  options.scm.numa_node = 1;
  ExpectNoSpace(options, "scm=2G (numa:", "lower scm");
  options.scm.numa_node = -1;
  options.scm.medium = MediumKind::kFile;
  options.scm.path = "/mnt/pmem0/mezz";
  EXPECT_EQ(options.Validate(Small()).message(), "") << "a file is judged when it is opened";
  options.scm.capacity_bytes = 4ull << 40;
  ExpectNoSpace(options, "the index of scm=4T with block=4K needs 9.4 GiB", "lower scm, or raise block");
  EXPECT_EQ(options.ValidateScmSide(Small()).code(), Status::Code::kNoSpace);
  options.scm.expected_block_bytes = 64 << 10;
  EXPECT_EQ(options.Validate(Small()).message(), "");
  options.dram_bytes = 512 << 20;
  ExpectNoSpace(options, "dram=512M, together with 601.6 MiB for scm=4T with block=64K", "lower dram or scm");
}

TEST(HybridCacheOptions, ShardsMustHoldSomething) {
  HybridCacheOptions options = Good();
  options.dram_shard_bits = 7;  // 64 KiB a shard
  EXPECT_EQ(options.Validate().message(), "");
  options.dram_shard_bits = 8;
  ExpectRefused(options, "shard_bits=8 cuts dram=8M into shards of 32 KiB");
  ExpectRefused(options, "use shard_bits=7 or fewer");
  options.dram_shard_bits = 19;
  ExpectRefused(options, "shards of 16 bytes");
  options.dram_bytes = 1;
  ExpectRefused(options, "use shard_bits=0 or fewer");
  options.dram_shard_bits = 0;
  EXPECT_EQ(options.Validate().message(), "");
}

#if ROCKSDB_MAJOR >= 8
TEST(HybridCacheOptions, AHyperClockCacheThatCouldNotMapItsTableIsRefused) {
  Machine machine = Small();
  machine.can_map = [](uint64_t bytes) { return bytes <= 64 << 20; };
  HybridCacheOptions options = Good();
  options.dram_bytes = 256 << 20;
  EXPECT_EQ(options.Validate(machine).message(), "");
  options.dram_bytes = 512 << 20;
  EXPECT_THAT(options.Validate(machine).message(), AllOf(HasSubstr("dram=512M"), HasSubstr("ulimit -v")));
  options.dram_cache = DramCacheKind::kLru;
  EXPECT_EQ(options.Validate(machine).message(), "");
}
#endif

TEST(HybridCacheOptions, TheScmSideAloneNeedsNoDramTier) {
  HybridCacheOptions options = Good();
  options.dram_bytes = 0;
  EXPECT_EQ(options.ValidateScmSide().message(), "");
  options.policy = "best";
  EXPECT_FALSE(options.ValidateScmSide().ok());
  options.policy = Good().policy;
  options.dram_shard_bits = 20;
  EXPECT_THAT(std::string(options.ValidateScmSide().message()),
              ::testing::StartsWith("shard_bits=20: must be 0 to 19"));
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
