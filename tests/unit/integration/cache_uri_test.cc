// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "cache/base/text.h"
#include "integration/options.h"
#include "rocksdb/version.h"
#include "tests/support/seed.h"

namespace mezz {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Sizes are about the parser here, not about the machine that runs the test.
const Machine kBoundless;

HybridCacheOptions MustParse(std::string_view uri) {
  HybridCacheOptions options;
  const Status status = ParseHybridUri(uri, &options, kBoundless);
  EXPECT_TRUE(status.ok()) << uri << ": " << status.message();
  return options;
}

TEST(ParseHybridUri, ReadsEveryKey) {
  const HybridCacheOptions options = MustParse(
      "mezzanine://dram=256M;scm=1G@/mnt/pmem0/mezz;model=optane100;dram_cache=lru;serve=in_place;"
      "policy=bidirectional;write_budget=90M;segment=2M;block=16K;strict=true;verify=1;shard_bits=4;"
      "scrub=16M;prepare=open;recovery=warm;recovery_budget=1500ms;faults_max=40;bus_errors=contain");
  EXPECT_EQ(options.scm.bus_errors, BusErrorMode::kContain);
  EXPECT_EQ(options.scm.faults_max, 40u);
  EXPECT_EQ(options.scm.recovery, Recovery::kWarm);
  EXPECT_EQ(options.scm.recovery_budget_ms, 1500u);
  EXPECT_EQ(options.dram_bytes, 256ull << 20);
  EXPECT_EQ(options.scm.capacity_bytes, 1ull << 30);
  EXPECT_EQ(options.scm.path, "/mnt/pmem0/mezz");
  EXPECT_EQ(options.scm.medium, MediumKind::kFile);
  EXPECT_EQ(options.scm.model, MediumModelName::kOptane100);
  EXPECT_EQ(options.dram_cache, DramCacheKind::kLru);
  EXPECT_EQ(options.serve, ServeMode::kInPlace);
  EXPECT_EQ(options.policy, "bidirectional");
  EXPECT_EQ(options.write_budget_bytes_per_second, 90u << 20);
  EXPECT_EQ(options.scm.segment_bytes, 2u << 20);
  EXPECT_EQ(options.scm.expected_block_bytes, 16u << 10);
  EXPECT_TRUE(options.strict_capacity_limit);
  EXPECT_EQ(options.scm.verify, VerifyMode::kAlways);
  EXPECT_EQ(options.scm.scrub_bytes_per_second, 16u << 20);
  EXPECT_EQ(options.scm.prepare, Prepare::kBeforeOpen);
  EXPECT_EQ(options.dram_shard_bits, 4);
}

TEST(ParseHybridUri, LeavesTheRestAtItsDefault) {
  const HybridCacheOptions options = MustParse("mezzanine://dram=8M;scm=64M@/dev/shm/mezz;");
  EXPECT_EQ(options.scm.medium, MediumKind::kFile);
  EXPECT_EQ(options.scm.recovery, Recovery::kAuto);
  EXPECT_EQ(options.dram_cache, kDefaultDramCache);
  EXPECT_EQ(options.policy, kDefaultPolicyName);
  EXPECT_EQ(options.write_budget_bytes_per_second, 0u);
  EXPECT_EQ(options.dram_shard_bits, -1);
}

TEST(ParseHybridUri, AWriteBudgetOfZeroIsNone) {
  EXPECT_EQ(MustParse("mezzanine://dram=8M;scm=64M@dram;write_budget=0").write_budget_bytes_per_second, 0u);
  EXPECT_EQ(MustParse("mezzanine://dram=8M;scm=64M@dram;write_budget=2g").write_budget_bytes_per_second, 2ull << 30);
}

TEST(ParseHybridUri, ShardBitsOfMinusOneAreRocksDBsChoiceAsDocumented) {
  EXPECT_EQ(MustParse("mezzanine://dram=8M;scm=64M@dram;shard_bits=-1").dram_shard_bits, -1);
  EXPECT_EQ(MustParse("mezzanine://dram=8M;scm=64M@dram;shard_bits=0").dram_shard_bits, 0);
}

TEST(ParseHybridUri, VerifyTakesItsWordsAndTheOldOnes) {
  const auto verify = [](const std::string& value) {
    return MustParse("mezzanine://dram=8M;scm=64M@dram;verify=" + value).scm.verify;
  };
  for (const char* const off : {"off", "false", "0"}) EXPECT_EQ(verify(off), VerifyMode::kOff) << off;
  for (const char* const always : {"always", "true", "1"}) EXPECT_EQ(verify(always), VerifyMode::kAlways) << always;
  EXPECT_EQ(verify("sampled"), VerifyMode::kSampled);
}

TEST(ParseHybridUri, ReadsANumaNode) {
  const HybridCacheOptions options = MustParse("mezzanine://dram=8M;scm=64M@numa:3");
  EXPECT_EQ(options.scm.medium, MediumKind::kNumaNode);
  EXPECT_EQ(options.scm.numa_node, 3);
}

TEST(ParseHybridUri, APathMayHoldAnEqualsSign) {
  EXPECT_EQ(MustParse("mezzanine://dram=8M;scm=64M@/mnt/a=b").scm.path, "/mnt/a=b");
  EXPECT_EQ(MustParse(MustParse("mezzanine://dram=8M;scm=64M;scm_path=dram").ToUri()).scm.path, "./dram");
  EXPECT_EQ(MustParse("mezzanine://dram=8M;scm=64M@/mnt/a@b,c,G1/d,dram/e").scm.path, "/mnt/a@b,c,G1/d,dram/e");
}

TEST(ParseHybridUri, ReadsSeveralMedia) {
  const HybridCacheOptions options = MustParse("mezzanine://dram=8M;scm=1G@/mnt/a,b/x,512M@numa:2,64M@dram,2G@./y");
  const std::vector<ScmMember> members = {
      {.medium = MediumKind::kFile, .path = "/mnt/a,b/x", .capacity_bytes = 1ull << 30},
      {.medium = MediumKind::kNumaNode, .numa_node = 2, .capacity_bytes = 512ull << 20},
      {.medium = MediumKind::kAnonymous, .capacity_bytes = 64ull << 20},
      {.medium = MediumKind::kFile, .path = "./y", .capacity_bytes = 2ull << 30}};
  EXPECT_EQ(options.scm.members, members);
  EXPECT_EQ(options.scm.capacity_bytes, (3ull << 30) + (576ull << 20));
  EXPECT_EQ(MustParse(options.ToUri()).scm.members, members);
}

TEST(ParseHybridUri, ReadsOrderedMedia) {
  const std::string uri = "mezzanine://dram=8M;scm=1G@/mnt/a>b,512M@numa:2>64M@dram,2G@./y";
  const HybridCacheOptions options = MustParse(uri);
  std::vector<std::pair<std::string, Level>> members;
  for (const ScmMember& member : options.scm.members) members.emplace_back(member.Name(), member.level);
  EXPECT_THAT(members, ElementsAre(std::pair("/mnt/a>b", Level::kFast), std::pair("numa:2", Level::kFast),
                                   std::pair("dram", Level::kSlow), std::pair("./y", Level::kSlow)));
  EXPECT_EQ(MustParse(options.ToUri()).scm.members, options.scm.members);
}

TEST(ParseHybridUri, ReadsAModelForAllMediaOrForEach) {
  const HybridCacheOptions all = MustParse("mezzanine://dram=8M;scm=64M@dram>64M@/a;model=cxl");
  EXPECT_EQ(all.scm.model, MediumModelName::kCxl);
  const HybridCacheOptions each = MustParse("mezzanine://dram=8M;model=cxl,none;scm=64M@dram>64M@/a");
  EXPECT_THAT(each.scm.member_models, ElementsAre(MediumModelName::kCxl, MediumModelName::kNone));
  EXPECT_EQ(MustParse(each.ToUri()).scm.member_models, each.scm.member_models);
}

struct BadUri {
  std::string_view uri;
  std::string_view key;    // what the sentence names...
  std::string_view value;  // ...and the value, or what is accepted
};

class BadUris : public ::testing::TestWithParam<BadUri> {};

TEST_P(BadUris, AreRefusedByName) {
  HybridCacheOptions options;
  options.policy = "untouched";
  const Status status = ParseHybridUri(GetParam().uri, &options);
  ASSERT_FALSE(status.ok()) << GetParam().uri;
  EXPECT_THAT(status.message(), AllOf(HasSubstr(GetParam().key), HasSubstr(GetParam().value)));
  EXPECT_EQ(status.message().find('\n'), std::string::npos);
  EXPECT_EQ(options.policy, "untouched") << "a refused URI changed the options";
}

constexpr std::string_view kKeys =
    "the keys are dram, dram_total, scm, model, segment, block, recovery, warm_dram, verify, "
    "bus_errors";
INSTANTIATE_TEST_SUITE_P(
    All, BadUris,
    ::testing::Values(
        BadUri{"", "mezzanine://", "expected"}, BadUri{"mezz://dram=1M", "mezz://dram=1M", "expected mezzanine://"},
        BadUri{"mezzanine:/dram=1M", "expected", "mezzanine://"}, BadUri{"mezzanine://", "dram", "is missing"},
        BadUri{"mezzanine://dram=8M;speed=9", "\"speed\"", kKeys},
        BadUri{"mezzanine://dram=8M;Scm=64M", "\"Scm\"", "is unknown; did you mean scm? the keys are dram,"},
        BadUri{"mezzanine://dram=8M;polcy=adaptive", "\"polcy\"", "did you mean policy?"},
        BadUri{"mezzanine://dram=8M;serv=copy", "\"serv\"", "did you mean serve?"},
        BadUri{"mezzanine:// dram=8M", "\" dram\"", kKeys},
        BadUri{"mezzanine://dram=8M;dram=9M", "dram is given twice", "dram=9M"},
        BadUri{"mezzanine://dram", "\"dram\" is not key=value", kKeys},
        BadUri{"mezzanine://=8M", "\"=8M\" is not key=value", kKeys},
        BadUri{"mezzanine://dram=8M;;scm=64M", "\"\" is not key=value", kKeys},
        BadUri{"mezzanine://dram=;scm=64M", "dram=", "empty"}, BadUri{"mezzanine://dram=8M", "scm", "is missing"},
        BadUri{"mezzanine://scm=64M@dram", "dram", "is missing"},
        BadUri{"mezzanine://dram=8M;scm=64M", "scm=64M names no place", "scm=64M@numa:1"},
        BadUri{"mezzanine://dram=8M;scm=64M;scm_path=/a;medium=dram", "the medium /a", "contradicts"},
        BadUri{"mezzanine://dram=8M;scm=64M;scm_path=/a;medium=numa:0", "the medium /a", "contradicts"},
        BadUri{"mezzanine://dram=8M;scm=64M@/a;scm_path=/b", "/b", "is named already"},
        BadUri{"mezzanine://dram=8M;scm=64M@/a;scm_path=/a", "behind the @", "leave out medium and scm_path"},
        BadUri{"mezzanine://dram=8M;medium=numa:0;scm=64M@dram", "behind the @", "leave out medium and scm_path"},
        BadUri{"mezzanine://dram=8M;scm=64M;scm_path=/a,1G@/b", "/a,1G@/b", "another medium"},
        BadUri{"mezzanine://dram=8M;scm=64M;scm_path=/a>1G@/b", "/a>1G@/b", "another medium"},
        BadUri{"mezzanine://dram=8M;scm=64M@tape", "scm=64M@tape", "dram, or numa:N"},
        BadUri{"mezzanine://dram=8M;scm=64M@", "scm=64M@", "a path with a /"},
        BadUri{"mezzanine://dram=8M;scm=64M@numa:1024", "scm=64M@numa:1024", "from 0 to 1023"},
        BadUri{"mezzanine://dram=8M;scm=@dram", "scm=", "whole number"},
        BadUri{"mezzanine://dram=8M;scm=64M,64M@/b", "scm=64M,64M@/b", "SIZE@PLACE"},
        BadUri{"mezzanine://dram=8M;scm=64M@/a,0@/b", "scm=0", "larger than zero"},
        BadUri{"mezzanine://dram=8M;scm=64M@/a,1.5G@/b", "scm=1.5G", "whole number"},
        BadUri{"mezzanine://dram=8M;scm=64M@/a,", "scm=64M@/a,:", "\",\" in /a, stands no SIZE@PLACE"},
        BadUri{"mezzanine://dram=8M;scm=64M@/a,64M@/b>", "scm=64M@/b>:", "\">\" in /b> stands no SIZE@PLACE"},
        BadUri{"mezzanine://dram=8M;scm=64M@/a,,64M@/b", "in /a, stands no SIZE@PLACE", "cannot be given"},
        BadUri{"mezzanine://dram=8M;scm=64M@/a,>64M@/b", "in /a, stands no SIZE@PLACE", "cannot be given"},
        BadUri{"mezzanine://dram=8M;scm=64M@/a,64M", "in /a,64M stands no SIZE@PLACE", "cannot be given"},
        BadUri{"mezzanine://dram=8M;scm=64M@/a, 64M@/b", "in /a, 64M@/b stands no SIZE@PLACE", "cannot be given"},
        BadUri{"mezzanine://dram=8M;scm=64M@/a,x64M@/b", "in /a,x64M@/b stands no SIZE@PLACE", "cannot be given"},
        BadUri{"mezzanine://dram=8M;scm=64M@/a>-64M@/b", "in /a>-64M@/b stands no SIZE@PLACE", "cannot be given"},
        BadUri{"mezzanine://dram=8M;scm=64M@/a,@/b", "in /a,@/b stands no SIZE@PLACE", "cannot be given"},
        BadUri{"mezzanine://dram=8M;scm=64M@/a,/b", "in /a,/b stands no SIZE@PLACE", "cannot be given"},
        BadUri{"mezzanine://dram=8M;scm=64M@/a,dram", "in /a,dram stands no SIZE@PLACE", "cannot be given"},
        BadUri{"mezzanine://dram=8M;scm=64M@/a>numa:1", "in /a>numa:1 stands no SIZE@PLACE", "cannot be given"},
        BadUri{"mezzanine://dram=8M;scm=64M@dram,", "in dram, stands no SIZE@PLACE", "cannot be given"},
        BadUri{"mezzanine://dram=8M;scm=64M;scm_path=/a,", "the medium /a, contains \",\"", "choose another path"},
        BadUri{"mezzanine://dram=8M;scm=64M@/a,64M@/a", "scm: /a is named twice", "give it once"},
        BadUri{"mezzanine://dram=8M;scm=8M@/1,8M@/2,8M@/3,8M@/4,8M@/5,8M@/6,8M@/7,8M@/8,8M@/9", "scm=8M@/1,8M@/2,",
               "one medium, and 2 to 8 behind each other"},
        BadUri{"mezzanine://dram=8M;scm=64M@/a>64M@/b>64M@/c", "scm=", "one > at most"},
        BadUri{"mezzanine://dram=8M;scm=64M>64M@/b", "scm=64M>64M@/b", "SIZE@PLACE"},
        BadUri{"mezzanine://dram=8M;scm=64M@/a>64M@/a", "named twice", "give it once"},
        BadUri{"mezzanine://dram=8M;scm=64M@/a>1M@/b", "(1 MiB) of /b is too little", "at least"},
        BadUri{"mezzanine://dram=8M;scm=64M@/a,64M@/b;model=cxl,cxl,cxl", "3 models for 2 media", "one for each"},
        BadUri{"mezzanine://dram=8M;scm=64M@/a;model=cxl,none", "2 models for 1 media", "one for each"},
        BadUri{"mezzanine://dram=8M;scm=64M@/a,64M@/b;model=cxl,", "model=cxl,:", "optane100"},
        BadUri{"mezzanine://dram=8M;scm=64M@/a;model=cxl,,,,,,,,", "model=cxl,,", "one of these for each"},
        BadUri{"mezzanine://dram=8M;scm=64M@dram,64M@dram", "dram is named twice", "give it once"},
        BadUri{"mezzanine://dram=8M;scm=64M@/a,1M@/b", "too little", "at least"},
        BadUri{"mezzanine://dram=8M;scm=4T@/a,4T@/b", "more than one tier can address", "4 TiB"},
        BadUri{"mezzanine://dram=8M;scm=64M;medium=tape", "medium=tape", "file, dram, or numa:N"},
        BadUri{"mezzanine://dram=8M;scm=64M;medium=numa:", "medium=numa:", "numa:N"},
        BadUri{"mezzanine://dram=8M;scm=64M;medium=numa:-1", "medium=numa:-1", "numa:N"},
        BadUri{"mezzanine://dram=8M;scm=64M;medium=numa:99999999999", "medium=numa:99999999999", "1023"},
        BadUri{"mezzanine://dram=8M;scm=64M@dram;model=disk", "disk", "optane100"},
        BadUri{"mezzanine://dram=8M;scm=64M@dram;dram_cache=arc", "dram_cache=arc", "hcc or lru"},
        BadUri{"mezzanine://dram=8M;scm=64M@dram;serve=fast", "serve=fast", "auto, in_place or copy"},
        BadUri{"mezzanine://dram=8M;scm=64M@dram;policy=best", "policy=best", "dram_first"},
        BadUri{"mezzanine://dram=8M;scm=64M@dram;write_budget=fast", "write_budget=fast", "whole number"},
        BadUri{"mezzanine://dram=8M;scm=64M@dram;write_budget=-1", "write_budget=-1", "whole number"},
        BadUri{"mezzanine://dram=8M;scm=64M@dram;write_budget=0M", "write_budget=0M", "larger than zero"},
        BadUri{"mezzanine://dram=8M;scm=64M@dram;write_budget=", "write_budget=", "empty"},
        BadUri{"mezzanine://dram=8M;scm=64M@dram;strict=yes", "strict=yes", "true, false"},
        BadUri{"mezzanine://dram=8M;scm=64M@dram;write_budget=5T", "write_budget=5T", "at most 4T"},
        BadUri{"mezzanine://dram=8M;scm=64M@dram;scrub=5T", "scrub=", "at most"},
        BadUri{"mezzanine://dram=8M;scm=64M@dram;scrub_on_close=yes", "scrub_on_close=yes", "true, false"},
        BadUri{"mezzanine://dram=8M;scm=64M@dram;scrub=fast", "scrub=fast", "whole number"},
        BadUri{"mezzanine://dram=8M;scm=64M@dram;recovery=yes", "recovery=yes", "auto, discard, warm or require"},
        BadUri{"mezzanine://dram=8M;scm=64M@dram;recovery=require", "recovery=require", "forgets (dram)"},
        BadUri{"mezzanine://dram=8M;scm=64M@dram;bus_errors=off", "bus_errors=off", "fatal"},
        BadUri{"mezzanine://dram=8M;scm=64M@dram;faults_max=-1", "faults_max=-1", "from 0 to 4294967295"},
        BadUri{"mezzanine://dram=8M;scm=64M@dram;faults_max=4294967296", "faults_max=4294967296", "whole"},
        BadUri{"mezzanine://dram=8M;scm=64M@dram;recovery_budget=30", "recovery_budget=30", "with s or ms"},
        BadUri{"mezzanine://dram=8M;scm=64M@dram;recovery_budget=ms", "recovery_budget=ms", "with s or ms"},
        BadUri{"mezzanine://dram=8M;scm=64M@dram;recovery_budget=90000s", "recovery_budget", "day"},
        BadUri{"mezzanine://dram=8M;scm=64M@dram;prepare=never", "prepare=never", "background or open"},
        BadUri{"mezzanine://dram=8M;scm=64M@dram;pack=gzip", "pack=gzip", "off, image, lz4, zstd or auto"},
        BadUri{"mezzanine://dram=8M;scm=64M@dram;verify=2", "verify=2", "off, sampled, always and keyed:FILE"},
        BadUri{"mezzanine://dram=8M;scm=64M@dram;verify=keyed", "verify=keyed", "give verify=keyed:FILE"},
        BadUri{"mezzanine://dram=8M;scm=64M@dram;verify=keyed:", "verify=keyed:", "accepted are"},
        BadUri{"mezzanine://dram=8M;scm=64M@dram;verify=keyed:/a;verify_key_file=/b", "/a", "named already"},
        BadUri{"mezzanine://dram=8M;scm=64M@dram;verify_key_file=/k", "verify=sampled", "use verify=keyed"},
        BadUri{"mezzanine://dram=8M;scm=64M@dram;shard_bits=20", "shard_bits=20", "0 to 19"},
        BadUri{"mezzanine://dram=8M;scm=64M@dram;shard_bits=-2", "shard_bits=-2", "0 to 19, or -1"},
        BadUri{"mezzanine://dram=8M;scm=64M@dram;block=8G", "block=8G", "below 4G"},
        BadUri{"mezzanine://dram=8M;scm=64M@dram;segment=3M", "segment=3145728", "power of two"},
        BadUri{"mezzanine://dram=0;scm=64M@dram", "dram=0", "larger than zero"},
        BadUri{"mezzanine://dram=-1;scm=64M@dram", "dram=-1", "whole number"},
        BadUri{"mezzanine://dram=1.5G;scm=64M@dram", "dram=1.5G", "whole number"},
        BadUri{"mezzanine://dram=8MB;scm=64M@dram", "dram=8MB", "K, M, G or T"},
        BadUri{"mezzanine://dram=8M;scm=1@dram", "scm=1 is too small", "at least"},
        BadUri{"mezzanine://dram=8M;scm=99999999999999999999@dram", "scm=99999999999999999999", "64 bits"},
        BadUri{"mezzanine://dram=8M;scm=18014398509481984T@dram", "scm=18014398509481984T", "64 bits"}));

#if ROCKSDB_MAJOR < 8
TEST(ParseHybridUri, HyperClockNeedsALaterRelease) {
  HybridCacheOptions options;
  const Status status = ParseHybridUri("mezzanine://dram=8M;scm=64M@dram;dram_cache=hcc", &options);
  EXPECT_EQ(status.code(), Status::Code::kNotSupported);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("dram_cache=hcc"), HasSubstr("use dram_cache=lru")));
}
TEST(ParseHybridUri, ImagesNeedALaterRelease) {
  HybridCacheOptions options;
  const Status status = ParseHybridUri("mezzanine://dram=8M;scm=64M@dram;dram_cache=lru;pack=image", &options);
  EXPECT_EQ(status.code(), Status::Code::kNotSupported);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("pack=image needs RocksDB 8.7"), HasSubstr("auto")));
}
#else
TEST(ParseHybridUri, TakesImages) {
  HybridCacheOptions options;
  EXPECT_EQ(ParseHybridUri("mezzanine://dram=8M;scm=64M@dram;pack=image", &options).message(), "");
  EXPECT_EQ(options.scm.pack, PackMode::kImage);
}
#endif

TEST(ParseWrapUri, TakesTheDramTierAsItComes) {
  HybridCacheOptions options;
  EXPECT_EQ(ParseWrapUri("mezzanine://scm=64M@dram", &options).message(), "");
  EXPECT_EQ(ParseWrapUri("mezzanine://dram=8M;scm=64M@dram", &options).message(), "");
  EXPECT_EQ(ParseWrapUri("mezzanine://dram=8M;scm=64M@/f;warm_dram=16M", &options).message(), "");
  EXPECT_FALSE(ParseWrapUri("mezzanine://dram=8M", &options).ok());
}

TEST(ParseWrapUri, ContainsBusErrorsUnlessTheUriOrTheHostSaysOtherwise) {
  const std::string uri = "mezzanine://scm=64M@dram";
  HybridCacheOptions options;
  ASSERT_EQ(ParseWrapUri(uri, &options).message(), "");
  EXPECT_EQ(options.scm.bus_errors, BusErrorMode::kContain);
  ASSERT_EQ(ParseWrapUri(uri + ";bus_errors=fatal", &options).message(), "");
  EXPECT_EQ(options.scm.bus_errors, BusErrorMode::kFatal);
  ASSERT_EQ(ParseWrapUri(uri, &options, ThisMachine(), BusErrorMode::kFatal).message(), "");
  EXPECT_EQ(options.scm.bus_errors, BusErrorMode::kFatal);
  ASSERT_EQ(ParseWrapUri(uri + ";bus_errors=contain", &options, ThisMachine(), BusErrorMode::kFatal).message(), "");
  EXPECT_EQ(options.scm.bus_errors, BusErrorMode::kContain);
}

TEST(ParseScmSecondaryUri, TakesTheKeysOfTheScmSideAlone) {
  HybridCacheOptions options;
  EXPECT_EQ(ParseScmSecondaryUri("mezzanine_scm://scm=64M@dram;policy=scm_first;verify=1", &options).message(), "");
  EXPECT_EQ(options.policy, "scm_first");
  for (const std::string_view key : {"dram=8M", "dram_cache=lru", "serve=copy", "strict=1", "shard_bits=1"}) {
    const Status status = ParseScmSecondaryUri("mezzanine_scm://scm=64M@dram;" + std::string(key), &options);
    EXPECT_THAT(status.message(), AllOf(HasSubstr("unknown"), HasSubstr("the keys are scm, model")));
  }
  EXPECT_FALSE(ParseScmSecondaryUri("mezzanine://scm=64M@dram", &options).ok());
  EXPECT_THAT(ParseScmSecondaryUri("mezzanine_scm://scm=64M@dram;pack=image", &options).message(),
              AllOf(HasSubstr("pack=image"), HasSubstr("use pack=lz4, zstd or auto")));
  HybridCacheOptions again;
  ASSERT_EQ(ParseScmSecondaryUri(options.ToScmSecondaryUri(), &again).message(), "");
  EXPECT_EQ(again.ToScmSecondaryUri(), options.ToScmSecondaryUri());
}

// One of each retired key, which is not its default.
constexpr std::string_view kRetired[] = {
    "medium=dram",  "scm_path=/f",        "dram_cache=lru",    "shard_bits=3",      "strict=true",
    "prepare=open", "recovery_budget=5s", "erase=durable",     "faults_max=40",     "pack_stage=512K",
    "scrub=16M",    "curve_rate=0.5",     "curve_file=/tmp/x", "verify_key_file=/k"};

// What a cache of that URI tells on stderr, read twice, by each parser.
std::string ToldOf(const std::string& uri) {
  ::testing::internal::CaptureStderr();
  HybridCacheOptions options;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(ParseHybridUri(uri, &options, kBoundless).message(), "");
    (void)ParseWrapUri(uri, &options, kBoundless);
  }
  return ::testing::internal::GetCapturedStderr();
}

// A retired key in a URI that is valid with it.
std::string Valid(std::string_view retired) {
  const bool names_place = retired.starts_with("medium") || retired.starts_with("scm_path");
  std::string items = fmt::format("mezzanine://dram=64M;scm=64M{};{}", names_place ? "" : "@/f", retired);
  if (retired.starts_with("verify_key_file")) items += ";verify=keyed";
  if (retired.starts_with("curve_file")) items += ";curve=on";
  return items;
}

// In processes of their own: what was told is remembered.
TEST(RetiredKeysDeathTest, EachTellsItsLineOnce) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto tells = [] {
    for (const std::string_view retired : kRetired) {
      const std::string told = ToldOf(Valid(retired));
      const std::string key(retired.substr(0, retired.find('=')));
      if (!told.starts_with("mezzanine: the key " + key + " is retired, and the next release refuses it: ")) _exit(1);
      if (std::count(told.begin(), told.end(), '\n') != 1) _exit(2);
    }
    for (const std::string_view retired : kRetired) {  // after others, which Tell would not take for a repetition
      if (!ToldOf(Valid(retired)).empty()) _exit(4);
    }
    if (!ToldOf("mezzanine://dram=64M;scm=64M@/f;model=cxl;segment=1M;block=8K;serve=copy;heirs=off;verify=keyed:/"
                "k;curve=0.5:/x")
             .empty())
      _exit(3);
    _exit(0);
  };
  EXPECT_EXIT(tells(), ::testing::ExitedWithCode(0), "");
}

TEST(RetiredKeys, HaveTheirEffectAndAreSaidAgain) {
  for (const std::string_view retired : kRetired) {
    SCOPED_TRACE(retired);
    const HybridCacheOptions with = MustParse(Valid(retired));
    const std::string uri = with.ToUri();
    const std::string wanted = retired.starts_with("verify_key_file") ? "verify=keyed:/k"
                               : retired.starts_with("curve_file")    ? "curve=/tmp/x"
                               : retired.starts_with("scm_path")      ? "scm=64M@/f"
                               : retired.starts_with("medium")        ? "scm=64M@dram"
                                                                      : std::string(retired);
    if (retired == "dram_cache=lru" && kDefaultDramCache == DramCacheKind::kLru) continue;  // there is no other
    EXPECT_THAT(uri, HasSubstr(wanted));
    EXPECT_EQ(MustParse(uri).ToUri(), uri);
  }
  EXPECT_EQ(MustParse("mezzanine://dram=64M;scm=64M@/f;erase=durable").scm.erase, EraseMode::kDurable);
  EXPECT_EQ(MustParse("mezzanine://dram=64M;scm=64M@/f;pack_stage=512K").scm.pack_stage_bytes, 512u << 10);
}

TEST(RetiredKeys, AreNotSaidOfACacheThatHasNone) {
  const std::string uri = MustParse("mezzanine://dram=64M;scm=64M@/f").ToUri();
  for (const std::string_view retired : kRetired)
    EXPECT_EQ(uri.find(";" + std::string(retired.substr(0, retired.find('=') + 1))), std::string::npos) << retired;
}

TEST(RetiredKeys, AreNeitherListedNorSuggested) {
  HybridCacheOptions options;
  for (const std::string_view retired : kRetired) {
    const std::string key(retired.substr(0, retired.find('=')));
    const std::string misspelt = key + "s";
    const std::string refused(ParseHybridUri("mezzanine://dram=64M;" + misspelt + "=1", &options).message());
    EXPECT_EQ(refused.find(" " + key + ","), std::string::npos) << refused;
    EXPECT_EQ(refused.find("did you mean " + key + "?"), std::string::npos) << refused;
  }
}

TEST(ParseBytes, TakesPowersOfTwoInEitherCase) {
  uint64_t bytes = 0;
  for (const auto& [text, value] :
       std::initializer_list<std::pair<std::string_view, uint64_t>>{{"1", 1},
                                                                    {"7K", 7 << 10},
                                                                    {"7k", 7 << 10},
                                                                    {"64M", 64 << 20},
                                                                    {"2g", 2ull << 30},
                                                                    {"16777215T", 16777215ull << 40}}) {
    EXPECT_TRUE(ParseBytes("size", text, &bytes).ok()) << text;
    EXPECT_EQ(bytes, value) << text;
  }
}

TEST(ParseBytes, RefusesTheRestAndNamesWhat) {
  for (const std::string_view text : {"", "0", "0G", "K", "+1", "-1", " 1", "1 ", "1.0", "1e3", "0x10", "1KB", "1KK",
                                      "1P", "18446744073709551616", "16777216T"}) {
    uint64_t bytes = 42;
    const Status status = ParseBytes("--dram", text, &bytes);
    EXPECT_FALSE(status.ok()) << text;
    EXPECT_THAT(status.message(), HasSubstr("--dram=" + std::string(text)));
    EXPECT_EQ(bytes, 42u);
  }
}

HybridCacheOptions RandomOptions(std::mt19937_64& random) {
  const auto pick = [&](uint64_t n) { return random() % n; };
  HybridCacheOptions options;
  options.dram_bytes = 1 + pick(1ull << 40);
  if (pick(2) != 0) options.dram_bytes <<= pick(20);
  options.dram_cache = ROCKSDB_MAJOR >= 8 && pick(2) != 0 ? DramCacheKind::kHyperClock : DramCacheKind::kLru;
  options.dram_shard_bits = static_cast<int>(pick(21)) - 1;
  options.strict_capacity_limit = pick(2) != 0;
  options.scm.medium = static_cast<MediumKind>(pick(3));
  if (options.scm.medium == MediumKind::kFile) options.scm.path = "/mnt/p=" + std::to_string(pick(1000));
  if (options.scm.medium == MediumKind::kNumaNode) options.scm.numa_node = static_cast<int>(pick(1024));
  options.scm.capacity_bytes = (1ull << 30) + (pick(1 << 20) << pick(12));
  options.scm.segment_bytes = pick(2) != 0 ? 0 : 1ull << (18 + pick(9));
  options.scm.expected_block_bytes = static_cast<uint32_t>(512 + pick(1 << 20));
  options.scm.model = static_cast<MediumModelName>(pick(3));
  options.scm.verify = static_cast<VerifyMode>(pick(4));
  if (options.scm.verify == VerifyMode::kKeyed) options.scm.verify_key_file = "/etc/key" + std::to_string(pick(1000));
  options.scm.scrub_bytes_per_second = pick(2) != 0 ? 0 : pick(1ull << 40);
  options.scm.scrub_on_close = pick(2) != 0;
  options.scm.core_dump = static_cast<CoreDump>(pick(3));
  options.scm.faults_max = static_cast<uint32_t>(pick(2) != 0 ? pick(40) : pick(1ull << 32));
  options.scm.bus_errors = static_cast<BusErrorMode>(pick(2));
  options.scm.pack_stage_bytes = pick(2) != 0 ? 0 : kPackStageBytesMin + pick(1ull << 26);
  options.scm.prepare = static_cast<Prepare>(pick(2));
  options.scm.recovery_budget_ms = pick(2) != 0 ? 0 : pick(2) != 0 ? pick(100'000) : 1000 * pick(86'400);
  options.policy = PolicyNames()[pick(PolicyNames().size())];
  options.write_budget_bytes_per_second = pick(2) != 0 ? 0 : pick(1ull << 40);
  options.serve = static_cast<ServeMode>(pick(3));
  return options;
}

TEST(ToUri, ParsesBackToTheSameOptions) {
  const uint64_t seed = test::Seed();
  std::mt19937_64 random(seed);
  int judged_good = 0;
  for (int i = 0; i < 2000; ++i) {
    const HybridCacheOptions want = RandomOptions(random);
    if (!want.Validate(kBoundless).ok()) continue;
    ++judged_good;
    const std::string uri = want.ToUri();
    const HybridCacheOptions got = MustParse(uri);
    ASSERT_EQ(got.ToUri(), uri) << "seed " << seed;
    ASSERT_EQ(got.dram_bytes, want.dram_bytes) << uri;
    ASSERT_EQ(got.dram_cache, want.dram_cache) << uri;
    ASSERT_EQ(got.dram_shard_bits, want.dram_shard_bits) << uri;
    ASSERT_EQ(got.strict_capacity_limit, want.strict_capacity_limit) << uri;
    ASSERT_EQ(got.scm.medium, want.scm.medium) << uri;
    ASSERT_EQ(got.scm.path, want.scm.path) << uri;
    ASSERT_EQ(got.scm.numa_node, want.scm.numa_node) << uri;
    ASSERT_EQ(got.scm.capacity_bytes, want.scm.capacity_bytes) << uri;
    ASSERT_EQ(got.scm.segment_bytes, want.scm.segment_bytes) << uri;
    ASSERT_EQ(got.scm.expected_block_bytes, want.scm.expected_block_bytes) << uri;
    ASSERT_EQ(got.scm.model, want.scm.model) << uri;
    ASSERT_EQ(got.scm.verify, want.scm.verify) << uri;
    ASSERT_EQ(got.scm.verify_key_file, want.scm.verify_key_file) << uri;
    ASSERT_EQ(got.scm.scrub_bytes_per_second, want.scm.scrub_bytes_per_second) << uri;
    ASSERT_EQ(got.scm.scrub_on_close, want.scm.scrub_on_close) << uri;
    ASSERT_EQ(got.scm.core_dump, want.scm.core_dump) << uri;
    ASSERT_EQ(got.scm.faults_max, want.scm.faults_max) << uri;
    ASSERT_EQ(got.scm.bus_errors, want.scm.bus_errors) << uri;
    ASSERT_EQ(got.scm.pack_stage_bytes, want.scm.pack_stage_bytes) << uri;
    ASSERT_EQ(got.scm.prepare, want.scm.prepare) << uri;
    ASSERT_EQ(got.scm.recovery_budget_ms, want.scm.recovery_budget_ms) << uri;
    ASSERT_EQ(got.policy, want.policy) << uri;
    ASSERT_EQ(got.write_budget_bytes_per_second, want.write_budget_bytes_per_second) << uri;
    ASSERT_EQ(got.serve, want.serve) << uri;
  }
  EXPECT_GT(judged_good, 500) << "seed " << seed;
}

}  // namespace
}  // namespace mezz
