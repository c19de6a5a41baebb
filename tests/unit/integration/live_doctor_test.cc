// SPDX-License-Identifier: Apache-2.0
// The doctor and the follower over what a live cache serves at its socket.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "integration/hybrid_cache.h"
#include "tests/support/small_db.h"
#include "workloads/watch/doctor.h"
#include "workloads/watch/follow.h"
#include "workloads/watch/metrics_source.h"

namespace mezz::watch {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class LiveDoctor : public testing::Test {
 protected:
  LiveDoctor() {
    options_.dram_bytes = 2 << 20;
    options_.scm.medium = MediumKind::kAnonymous;
    options_.scm.capacity_bytes = 32 << 20;
    socket_ = std::filesystem::temp_directory_path() / fmt::format("mezz_live_doctor_{}.sock", getpid());
    std::filesystem::remove(socket_);
    options_.metrics = "unix:" + socket_;
  }
  void Open() {
    const Status status = NewHybridCache(options_, &cache_);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  MetricSamples Look() const {
    MetricsSource source;
    MetricSamples samples;
    Status status = FindMetricsSource(options_.metrics, &source);
    if (status.ok()) status = ReadMetrics(source, &samples);
    EXPECT_TRUE(status.ok()) << status.message();
    return samples;
  }
  static std::vector<std::string> Wrong(const MetricSamples& samples) {
    std::vector<std::string> rules;
    for (const Diagnosis::Finding& finding : Diagnose(samples).findings) rules.emplace_back(finding.rule);
    return rules;
  }

  HybridCacheOptions options_;
  std::string socket_;
  std::shared_ptr<rocksdb::Cache> cache_;
};

TEST_F(LiveDoctor, FindsNothingWrongWithASmallSetUp) {
  Open();
  test::SmallDb db(cache_);
  db.ReadAll();
  const MetricSamples samples = Look();
  const Diagnosis diagnosis = Diagnose(samples);
  EXPECT_TRUE(diagnosis.healthy()) << DiagnosisText(diagnosis);
  EXPECT_THAT(diagnosis.cache, HasSubstr("policy=adaptive"));
  EXPECT_EQ(samples.Info("heirs"), options_.heirs ? "on" : "off");
  EXPECT_TRUE(samples.Has("scm_huge_page_bytes"));
}

TEST_F(LiveDoctor, FindsAModelledMedium) {
  options_.scm.model = MediumModelName::kCxl;
  Open();
  EXPECT_THAT(Wrong(Look()), Contains("stands_in"));
}

// The rules tell media by these descriptions.
TEST_F(LiveDoctor, SeveralMediaAreTold) {
  options_.scm.medium = MediumKind::kFile;
  const std::string path = fmt::format("/dev/shm/mezz_live_doctor_{}", getpid());
  options_.scm.members = {{.medium = MediumKind::kAnonymous, .capacity_bytes = 16 << 20},
                          {.path = path, .capacity_bytes = 16 << 20}};
  Open();
  const MetricSamples samples = Look();
  EXPECT_THAT(samples.SumsBy("member_bytes", "description"),
              testing::ElementsAre(testing::Pair("DRAM of this process", 16 << 20),
                                   testing::Pair(fmt::format("file {} (tmpfs)", path), 16 << 20)));
  EXPECT_TRUE(Diagnose(samples).healthy()) << DiagnosisText(Diagnose(samples));
  cache_.reset();
  std::filesystem::remove(path);
}

TEST_F(LiveDoctor, TheFollowerSeesWhatHappensBetweenTwoLooks) {
  Open();
  test::SmallDb db(cache_);
  const MetricSamples before = Look();
  db.ReadAll();
  const MetricSamples now = Look();
  EXPECT_THAT(FollowLine(before, now, 1), Not(HasSubstr("no look-ups")));
  EXPECT_THAT(FollowLine(now, now, 1), HasSubstr("no look-ups"));
}

}  // namespace
}  // namespace mezz::watch
