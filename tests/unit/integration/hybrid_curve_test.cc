// SPDX-License-Identifier: Apache-2.0
// The live curve of a whole cache, of any RocksDB release.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "admission/block_hash.h"
#include "admission/curves/block_key.h"
#include "admission/curves/curve_file.h"
#include "admission/curves/live_curve.h"
#include "cache/log_rules.h"
#include "integration/hybrid_cache.h"
#include "integration/option_table.h"
#include "tests/support/hybrid_fixture.h"
#include "tests/support/random.h"
#include "tests/support/seed.h"
#include "tests/support/temporary_folder.h"
#include "workloads/replay/caches/block_cache.h"

namespace mezz {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr size_t kBlockBytes = 4000;
constexpr uint64_t kCurveKeys = 8000;

class HybridCurve : public test::HybridTest {
 protected:
  HybridCurve() {
    options_.dram_bytes = 4 << 20;
    options_.scm.medium = MediumKind::kAnonymous;
    options_.scm.capacity_bytes = 16 << 20;
    options_.scm.prepare = Prepare::kBeforeOpen;
    options_.scm.pack = PackMode::kOff;
    options_.curve = true;
    options_.curve_rate = 1;
  }

  void Open() { Make(options_); }
  // Skewed look-ups, each miss inserted.
  void LookUp(uint64_t count, uint64_t keys = kCurveKeys) {
    BlockCache cache(cache_);
    const std::vector<std::byte> bytes(kBlockBytes, std::byte{7});
    for (uint64_t i = 0; i < count; ++i) {
      const BlockKey key = BlockKeyOf(random_.Below(random_.OneIn(2) ? keys / 16 : keys));
      if (!cache.Lookup(key, BlockRole::kData)) cache.Insert(key, BlockRole::kData, bytes);
    }
  }
  std::string PathOf(const std::string& name) const { return folder_.Path(name); }
  std::string Refused() {
    std::shared_ptr<rocksdb::Cache> cache;
    return std::string(NewHybridCache(options_, &cache).message());
  }

  test::Random random_{test::Seed()};
  HybridCacheOptions options_;
  const TemporaryFolder folder_;
};

TEST_F(HybridCurve, SaysAtItsOwnSizeWhatTheCacheFound) {
  Open();
  LookUp(100'000);
  const CounterSnapshot before = stats_->Counters();
  LookUp(100'000);
  const CounterSnapshot found = stats_->Counters() - before;
  plan::Curve curve;
  ASSERT_TRUE(stats_->MakeCurve(&curve).ok());
  EXPECT_EQ(curve.sums.requests, 200'000u) << "every look-up, wherever it was answered";
  EXPECT_EQ(curve.sums.counted_requests, 100'000u);
  EXPECT_EQ(curve.mean_block_bytes(), kBlockBytes);
  EXPECT_EQ(curve.form.writers, log_rules::WriterLanes(UINT32_MAX)) << "this machine's";
  plan::HitShares shares;
  ASSERT_TRUE(curve.At(options_.dram_bytes, options_.scm.capacity_bytes, &shares).ok());
  const double hits = 1 - static_cast<double>(found[Event::kMiss]) / 100'000;
  EXPECT_NEAR(shares.both.value, hits, 0.03);
  ASSERT_TRUE(curve.At(4 * options_.dram_bytes, 4 * options_.scm.capacity_bytes, &shares).ok());
  EXPECT_GT(shares.both.value, 0.97) << "all of it fits";
  ASSERT_TRUE(curve.At(options_.dram_bytes / 2, 0, &shares).ok());
  EXPECT_EQ(shares.scm.value, 0);
  EXPECT_LT(shares.both.value, hits);
}

TEST_F(HybridCurve, OfOrderedMediaSaysWhatTheCacheFound) {
  const test::ScratchFile slow;
  options_.scm.medium = ScmOptions().medium;
  options_.scm.recovery = Recovery::kDiscard;
  options_.scm.members = {{.medium = MediumKind::kAnonymous, .capacity_bytes = 4 << 20},
                          {.path = slow.path(), .capacity_bytes = 12 << 20, .level = Level::kSlow}};
  Open();
  LookUp(100'000);
  const CounterSnapshot before = stats_->Counters();
  LookUp(100'000);
  const CounterSnapshot found = stats_->Counters() - before;
  EXPECT_GT(found[Event::kScmDemoted], 1000u);
  plan::Curve curve;
  ASSERT_TRUE(stats_->MakeCurve(&curve).ok());
  EXPECT_EQ(curve.form.fast_share, 0.25);
  plan::HitShares shares;
  ASSERT_TRUE(curve.At(options_.dram_bytes, options_.scm.capacity_bytes, &shares).ok());
  EXPECT_NEAR(shares.both.value, 1 - static_cast<double>(found[Event::kMiss]) / 100'000, 0.03);
  EXPECT_GT(shares.scm_slow_hits, 0.02);
  EXPECT_LT(shares.scm_slow_hits, shares.scm.value);
  EXPECT_THAT(stats_->Report(), AllOf(HasSubstr("\ncurve.fast_share: 0.25\n"), HasSubstr(", on fast media ")));
  cache_.reset();  // before its medium
}

TEST_F(HybridCurve, StandsInTheReportAndInTheFileThatMergesWithAnotherHosts) {
  options_.curve_file = PathOf("a.curve");
  Open();
  EXPECT_THAT(stats_->Report(), HasSubstr("curve: no block was looked up yet"));
  LookUp(30'000);
  EXPECT_THAT(stats_->Report(),
              AllOf(HasSubstr("\ncurve.look_ups: 30000\n"), HasSubstr("\ncurve.sampled: 30000\n"),
                    HasSubstr("\ncurve.hit_percent.dram=4M.scm=16M: "), HasSubstr("dram.curve_bytes: "),
                    HasSubstr(";curve=1:/"), Not(HasSubstr("fast"))));
  plan::Curve reported;
  ASSERT_TRUE(plan::ReadCurve(options_.curve_file, &reported).ok()) << "written with the report";
  EXPECT_EQ(reported.sums.requests, 30'000u);
  LookUp(10'000);
  ASSERT_TRUE(stats_->DumpCurve(PathOf("b.curve")).ok());
  cache_.reset();
  plan::Curve a;
  plan::Curve b;
  ASSERT_TRUE(plan::ReadCurve(options_.curve_file, &a).ok()) << "written anew as the cache went";
  ASSERT_TRUE(plan::ReadCurve(PathOf("b.curve"), &b).ok());
  EXPECT_EQ(a.sums.requests, 40'000u);
  EXPECT_EQ(a.points, b.points) << "nothing was looked up between the two";
  ASSERT_TRUE(plan::Merge(b, &a).ok());
  EXPECT_EQ(a.sums.hosts, 2u);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 2) << "a temporary file was left";
}

// RocksDB asks for the options while its writes wait.
TEST_F(HybridCurve, IsNotMadeForPrintableOptions) {
  options_.curve_file = PathOf("a.curve");
  Open();
  LookUp(30'000);
  EXPECT_THAT(cache_->GetPrintableOptions(),
              AllOf(HasSubstr("\ncurve.sampled: 30000\n"), Not(HasSubstr("curve.look_ups"))));
  EXPECT_FALSE(std::filesystem::exists(options_.curve_file));
  EXPECT_THAT(stats_->Report(), HasSubstr("\ncurve.look_ups: 30000\n"));
  LookUp(30'000);
  EXPECT_THAT(cache_->GetPrintableOptions(),
              AllOf(HasSubstr("\ncurve.sampled: 60000\n"), HasSubstr("\ncurve.look_ups: 30000\n")));
}

// With the SCM tier off its curve is one of DRAM; with both, it is none, and the one that is there stays.
TEST_F(HybridCurve, OfTiersThatWereTurnedOffIsReadOrNotWritten) {
  options_.curve_file = PathOf("a.curve");
  Open();
  LookUp(30'000);
  ASSERT_TRUE(stats_->SetScmCapacity(0).ok());
  EXPECT_THAT(stats_->Report(), HasSubstr("\ncurve.hit_percent.dram=4M.scm=0: "));
  plan::Curve curve;
  ASSERT_TRUE(plan::ReadCurve(options_.curve_file, &curve).ok());
  EXPECT_EQ(curve.form.scm, std::vector<uint64_t>{0});
  cache_->SetCapacity(0);
  cache_.reset();
  plan::Curve kept;
  ASSERT_TRUE(plan::ReadCurve(options_.curve_file, &kept).ok());
  EXPECT_EQ(kept.points, curve.points);
}

// Paths are any bytes, and JSON is not.
TEST_F(HybridCurve, GoesToAFileWhoseNameIsNoText) {
  options_.curve_file = PathOf("caf\xe9");
  Open();
  LookUp(10'000);
  EXPECT_THAT(stats_->Report(), HasSubstr("\ncurve.look_ups: 10000\n"));
  plan::Curve curve;
  EXPECT_TRUE(plan::ReadCurve(options_.curve_file, &curve).ok());
}

TEST_F(HybridCurve, OfAForkedChildIsNotWritten) {
  options_.curve_file = PathOf("a.curve");
  Open();
  LookUp(10'000);
  const pid_t child = fork();
  if (child == 0) {
    cache_.reset();
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(std::filesystem::exists(options_.curve_file));
}

TEST_F(HybridCurve, OfATierThatPacksFindsMore) {
  options_.scm.pack = PackMode::kLz4;
  Open();
  LookUp(150'000, 40'000);
  plan::Curve packed;
  ASSERT_TRUE(stats_->MakeCurve(&packed).ok());
  EXPECT_EQ(packed.form.pack, "lz4");
  EXPECT_EQ(packed.form.pack_ratios, "observed");
  plan::HitShares shares;
  ASSERT_TRUE(packed.At(options_.dram_bytes, options_.scm.capacity_bytes, &shares).ok());
  EXPECT_GT(shares.both.value, 0.8) << "blocks of one byte's value pack a hundredfold";
  EXPECT_GT(shares.scm_unpacked, 0.1);
}

TEST_F(HybridCurve, CountsInTheTotalOfDram) {
  options_.dram_total_bytes = std::exchange(options_.dram_bytes, 0);
  std::shared_ptr<rocksdb::Cache> cache;
  EXPECT_THAT(Refused(), AllOf(HasSubstr("dram_total=4M is too small"), HasSubstr("curve 7.")));
  options_.dram_total_bytes = 16 << 20;
  Open();
  LookUp(20'000);
  EXPECT_GT(stats_->Dram().curve, 100u << 10);
  EXPECT_LE(stats_->Dram().curve, uint64_t{8} << 20);
  EXPECT_LE(cache_->GetCapacity() + stats_->Dram().total(), options_.dram_total_bytes);
  plan::Curve curve;
  ASSERT_TRUE(stats_->MakeCurve(&curve).ok());
}

// Spatial: of a block every look-up or none, wherever it was answered.
TEST_F(HybridCurve, LooksAtEveryLookUpOfTheBlocksWithTheLowestHashes) {
  for (const double rate : {0.001, 0.01, 0.1}) {
    options_.curve_rate = rate;
    Open();
    test::Random random(test::Seed());
    random_ = random;
    LookUp(20'000);
    uint64_t expected = 0;
    for (uint64_t i = 0; i < 20'000; ++i)
      expected += BlockHash(BlockKeyOf(random.Below(random.OneIn(2) ? kCurveKeys / 16 : kCurveKeys))) <=
                  plan::LiveCurve::HashMax(rate);
    EXPECT_GT(expected, 0u);
    EXPECT_THAT(stats_->Report(), HasSubstr("\ncurve.sampled: " + std::to_string(expected) + "\n"));
  }
}

TEST_F(HybridCurve, OffKeepsNothing) {
  options_.curve = false;
  Open();
  LookUp(5000);
  EXPECT_EQ(stats_->Dram().curve, 0u);
  EXPECT_THAT(stats_->Report(), AllOf(HasSubstr("curve=off"), Not(HasSubstr("curve.sampled"))));
  plan::Curve curve;
  const Status status = stats_->MakeCurve(&curve);
  EXPECT_EQ(status.code(), Status::Code::kNotSupported);
  EXPECT_THAT(status.message(), HasSubstr("open the cache with curve=on"));
}

TEST_F(HybridCurve, RefusesAFileThatCannotBeWritten) {
  options_.curve_file = PathOf("none/x.curve");
  EXPECT_THAT(Refused(), AllOf(HasSubstr("curve="), HasSubstr("none/x.curve cannot be written: No such file")));
  options_.curve_file = folder_.path();
  EXPECT_THAT(Refused(), HasSubstr("cannot be written: Is a directory"));
  options_.curve_file = PathOf("x.curve");
  options_.curve = false;
  EXPECT_THAT(Refused(), HasSubstr("x.curve needs curve=on"));
  EXPECT_FALSE(std::filesystem::exists(PathOf("x.curve")));
}

TEST(CurveOptions, AreReadFromTheUriAndRefusedByName) {
  const auto parse = [](const std::string& items, HybridCacheOptions* options) {
    const Status status = ParseHybridUri("mezzanine://dram=8M;scm=16M@dram;" + items, options);
    return status.ok() ? "" : std::string(status.message());
  };
  HybridCacheOptions options;
  struct Value {
    std::string text;
    bool curve;
    double rate;
    std::string file;
  };
  for (const Value& value : {Value{"off", false, kCurveRateDefault, ""}, Value{"on", true, kCurveRateDefault, ""},
                             Value{"0.25", true, 0.25, ""}, Value{"/tmp/0.5:x", true, kCurveRateDefault, "/tmp/0.5:x"},
                             Value{"./x", true, kCurveRateDefault, "./x"}, Value{"1:/tmp/x", true, 1, "/tmp/x"}}) {
    SCOPED_TRACE(value.text);
    ASSERT_EQ(parse("curve=" + value.text, &options), "");
    EXPECT_EQ(options.curve, value.curve);
    EXPECT_EQ(options.curve_rate, value.rate);
    EXPECT_EQ(options.curve_file, value.file);
    EXPECT_THAT(options.ToUri(), HasSubstr(";curve=" + value.text));
  }
  for (const std::string file : {"0.5", "x", ".hidden", "../x"}) {
    options.curve_file = file;
    HybridCacheOptions again;
    ASSERT_TRUE(ParseHybridUri(options.ToUri(), &again).ok()) << options.ToUri();
    EXPECT_EQ(std::filesystem::path(again.curve_file).lexically_normal(), file);
  }
  for (const std::string bad : {"yes", "x", "1:x", "0.5:", "0.5x"})
    EXPECT_THAT(parse("curve=" + bad, &options), HasSubstr("curve=" + bad + ": accepted are on, off, a share"));
  EXPECT_THAT(parse("curve=0", &options), HasSubstr("curve=0 is no share of the blocks"));
  EXPECT_THAT(parse("curve=nan:/x", &options), HasSubstr("curve=nan is no share"));
  EXPECT_THAT(parse("curve=/tmp/x;curve_file=/tmp/y", &options), HasSubstr("/tmp/x is named already"));
  EXPECT_THAT(parse("curve_file=/tmp/x", &options), HasSubstr("curve_file=/tmp/x needs curve=on"));
  HybridCacheOptions secondary;
  EXPECT_THAT(std::string(ParseScmSecondaryUri("mezzanine_scm://scm=16M@dram;curve=on", &secondary).message()),
              HasSubstr("\"curve\""));
}

}  // namespace
}  // namespace mezz
