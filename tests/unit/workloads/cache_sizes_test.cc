// SPDX-License-Identifier: Apache-2.0
// --caches=hybrid@64M+1G: machines of different sizes side by side.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "tests/support/temporary_folder.h"
#include "workloads/replay/caches/cache_factory.h"
#include "workloads/replay/caches/options.h"
#include "workloads/replay/runner.h"

namespace mezz {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kMiB = 1 << 20;

class CacheSizes : public ::testing::Test {
 protected:
  Status Parse(const std::string& text) { return ParseCaches(text, "dram_first", &options_.caches); }
  void ParseOk(const std::string& text) {
    ASSERT_EQ(Parse(text).message(), "");
    options_.hybrid.dram_cache = DramCacheKind::kLru;
    options_.hybrid.dram_bytes = 4 * kMiB;
    options_.hybrid.scm.capacity_bytes = 32 * kMiB;
    options_.hybrid.scm.path = folder_.Path("scm");
  }
  ReplayOptions Sized(size_t number) const { return options_.SizedFor(options_.caches.at(number)); }

  TemporaryFolder folder_;
  ReplayOptions options_;
};

TEST_F(CacheSizes, AreTheCachesOwnOrThoseOfAll) {
  ParseOk("lru,lru@2M,hybrid:adaptive@8M+16M,all_dram@1M+3M");
  const std::pair<uint64_t, uint64_t> want[] = {{4, 32}, {2, 32}, {8, 16}, {1, 3}};
  for (size_t i = 0; i < std::size(want); ++i) {
    EXPECT_EQ(Sized(i).dram_bytes(), want[i].first * kMiB) << options_.caches[i].name;
    EXPECT_EQ(Sized(i).scm_bytes(), want[i].second * kMiB) << options_.caches[i].name;
  }
  EXPECT_EQ(options_.caches[2].policy, "adaptive");
  EXPECT_EQ(options_.caches[2].name, "hybrid:adaptive@8M+16M");
  EXPECT_EQ(options_.caches[1].policy, "dram_first");
  EXPECT_TRUE(options_.has_common_sizes());
  ParseOk("lru@2M,hybrid@8M+16M");
  EXPECT_FALSE(options_.has_common_sizes());
}

TEST_F(CacheSizes, OfSeveralMediaACacheHasAllOrOne) {
  ParseOk("hybrid,hybrid+striped,hybrid+first_medium,hybrid+last_medium@4M+24M");
  ScmOptions& scm = options_.hybrid.scm;
  scm.path.clear();
  scm.members = {{.path = "/a", .capacity_bytes = 8 * kMiB},
                 {.path = "/b", .capacity_bytes = 24 * kMiB, .level = Level::kSlow}};
  scm.member_models = {MediumModelName::kCxl, MediumModelName::kOptane100};
  EXPECT_EQ(Sized(0).hybrid.scm.members, scm.members);
  for (const ScmMember& member : Sized(1).hybrid.scm.members) EXPECT_EQ(member.level, Level::kFast);
  EXPECT_EQ(Sized(1).hybrid.scm.members.size(), 2u);
  const ScmOptions first = Sized(2).hybrid.scm, last = Sized(3).hybrid.scm;
  EXPECT_EQ(first.path, "/a");
  EXPECT_EQ(first.model, MediumModelName::kCxl);
  EXPECT_EQ(first.capacity_bytes, 32 * kMiB);
  EXPECT_EQ(last.path, "/b");
  EXPECT_EQ(last.model, MediumModelName::kOptane100);
  EXPECT_EQ(last.capacity_bytes, 24 * kMiB);
  EXPECT_TRUE(first.members.empty() && last.members.empty());
}

TEST_F(CacheSizes, StandBehindWhatWarmsTheCache) {
  ParseOk("lru,lru+warm,hybrid,hybrid:adaptive+nowarm,hybrid+lz4+warmflush@8M+16M,lru+compressed_lz4+warm@1M+2M");
  const Warming want[] = {Warming::kNone,  Warming::kFlushAndCompaction, Warming::kBest, Warming::kNone,
                          Warming::kFlush, Warming::kFlushAndCompaction};
  for (size_t i = 0; i < std::size(want); ++i)
    EXPECT_EQ(options_.caches[i].warming, want[i]) << options_.caches[i].name;
  EXPECT_EQ(options_.caches[3].policy, "adaptive");
  EXPECT_EQ(options_.caches[4].pack, PackMode::kLz4);
  EXPECT_EQ(Sized(4).dram_bytes(), 8 * kMiB);
  EXPECT_EQ(options_.caches[5].kind, CacheKind::kLruCompressedLz4);
  for (const char* bad : {"lru+warmer", "lru+warm+warm", "lru@2M+warm", "+warm", "lru+warm:adaptive"})
    EXPECT_FALSE(Parse(bad).ok()) << bad;
  EXPECT_THAT(Parse("lru+warmer").message(), HasSubstr("+warmflush"));
}

TEST_F(CacheSizes, MemtableIsA64thOfBothTiersUnlessItIsSaid) {
  options_.hybrid.dram_bytes = 32 * kMiB;
  options_.hybrid.scm.capacity_bytes = 128 * kMiB;
  EXPECT_EQ(options_.memtable_bytes(), 160 * kMiB / 64);
  options_.hybrid.scm.capacity_bytes = 1;
  EXPECT_EQ(options_.memtable_bytes(), kMiB);
  options_.hybrid.scm.capacity_bytes = uint64_t{64} << 30;
  EXPECT_EQ(options_.memtable_bytes(), 64 * kMiB);
  options_.write_buffer_bytes = 5 * kMiB;
  EXPECT_EQ(options_.memtable_bytes(), 5 * kMiB);
}

TEST_F(CacheSizes, AreThoseOfTheCachesThatAreBuilt) {
  ParseOk("lru,lru@2M,all_dram_lru@1M+3M,hybrid@8M+16M");
  Progress progress;
  const uint64_t want_mib[] = {4, 2, 4, 8};
  for (size_t i = 0; i < std::size(want_mib); ++i) {
    BuiltCache built;
    ASSERT_EQ(BuildCache(options_, options_.caches[i], static_cast<unsigned>(i), &progress, &built).message(), "");
    if (built.stats != nullptr) {
      EXPECT_EQ(built.stats->scm().options().capacity_bytes, 16 * kMiB);
    } else {
      EXPECT_EQ(built.cache->GetCapacity(), want_mib[i] * kMiB) << options_.caches[i].name;
    }
  }
}

// Of the memory cgroup whose cgroup.procs that is.
uint64_t LimitOf(int procs_fd) {
  const auto group = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(procs_fd)).parent_path();
  for (const char* name : {"memory.max", "memory.limit_in_bytes"}) {
    uint64_t bytes = 0;
    if (std::ifstream(group / name) >> bytes) return bytes;
  }
  return 0;
}

TEST_F(CacheSizes, BoundTheMemoryOfThePageCache) {
  ParseOk("page_cache@8M+16M");
  options_.trace = "gen:uniform";
  options_.db_dir = folder_.Path("db");
  options_.keys = options_.ops = 1000;
  std::optional<uint64_t> limit;
  const WorkerLauncher look = [&](const WorkerOrder& order, std::unique_ptr<Worker>*) {
    limit = LimitOf(order.group_fd);
    return Status::NotSupported("seen enough");
  };
  Progress progress(/*quiet=*/true);
  const std::atomic<bool> stop{false};
  ReplayReport report;
  const Status status = RunReplay(options_, look, &progress, stop, &report);
  if (!limit) GTEST_SKIP() << status.message();
  EXPECT_EQ(*limit, (8 + 16 + 32) * kMiB) << "and 32 MiB for what the process has beside them";
}

TEST_F(CacheSizes, ThatMakeNoSenseAreRefusedByName) {
  for (const char* wrong : {"lru@", "lru@x", "lru@0", "lru@1M+1M", "hybrid@1M", "hybrid@1M+", "hybrid@+1M",
                            "hybrid@0+1M", "hybrid@1M+0", "hybrid@1M+1M+1M", "all_dram@1M", "hybrid@1M@2M"}) {
    EXPECT_THAT(Parse(wrong).message(), HasSubstr(wrong));
  }
  EXPECT_THAT(Parse("nope@1M").message(), HasSubstr("known caches"));
}

}  // namespace
}  // namespace mezz
