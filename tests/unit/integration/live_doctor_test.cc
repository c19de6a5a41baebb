// SPDX-License-Identifier: Apache-2.0
// The doctor and the follower over what a live cache serves at its socket.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "integration/hybrid_cache.h"
#include "tests/support/hybrid_fixture.h"
#include "tests/support/small_db.h"
#include "tests/support/temporary_folder.h"
#include "workloads/watch/doctor.h"
#include "workloads/watch/follow.h"
#include "workloads/watch/metrics_source.h"

namespace mezz::watch {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class LiveDoctor : public test::HybridTest {
 protected:
  LiveDoctor() {
    options_.dram_bytes = 2 << 20;
    options_.scm.medium = MediumKind::kAnonymous;
    options_.scm.capacity_bytes = 32 << 20;
    options_.metrics = "unix:" + folder_.Path("socket");
  }
  void Open() { Make(options_); }
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

  const TemporaryFolder folder_;
  HybridCacheOptions options_;
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
  const test::ScratchFile file("/dev/shm");
  options_.scm.members = {{.medium = MediumKind::kAnonymous, .capacity_bytes = 16 << 20},
                          {.path = file.path(), .capacity_bytes = 16 << 20}};
  Open();
  const MetricSamples samples = Look();
  EXPECT_THAT(samples.SumsBy("member_bytes", "description"),
              testing::ElementsAre(testing::Pair("DRAM of this process", 16 << 20),
                                   testing::Pair(fmt::format("file {} (tmpfs)", file.path()), 16 << 20)));
  EXPECT_TRUE(Diagnose(samples).healthy()) << DiagnosisText(Diagnose(samples));
  cache_.reset();  // before its medium
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
