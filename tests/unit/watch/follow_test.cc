// SPDX-License-Identifier: Apache-2.0
#include "workloads/watch/follow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/watch/figures.h"

namespace mezz::watch {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

MetricSamples Parsed(const Figures& figures) {
  MetricSamples samples;
  EXPECT_TRUE(MetricSamples::Parse(figures.Text(), /*with_end=*/true, &samples).ok());
  return samples;
}

// Two seconds later.
Figures Later() {
  Figures later;
  later.values[R"(dram_hit_total{role="data"})"] += 30000;
  later.values[R"(scm_hit_total{medium="file",role="data"})"] += 8000;
  later.values[R"(miss_total{role="data"})"] += 2000;
  later.values[R"(demotion_total{role="data"})"] += 400;
  later.values[R"(refused_total{reason="policy",role="data"})"] += 70;
  later.values[R"(refused_total{reason="too_large",role="filter"})"] += 10;
  later.values[R"(decision_total{point="dram_eviction",action="drop",reason="churn",role="data"})"] += 20;
  later.values[R"(decision_total{point="dram_eviction",action="drop",reason="too_cold",role="data"})"] = 50;
  later.values[R"(decision_total{point="reclaim",action="drop",reason="no_hit",role="data"})"] = 900;
  later.values[R"(refused_total{reason="no_space",role="data"})"] = 2;
  later.values[R"(scm_written_bytes_total{medium="file",role="data"})"] += 4 << 20;
  return later;
}

TEST(Follow, ALineTellsRatesOfTheTimeBetweenTwoLooks) {
  EXPECT_EQ(FollowLine(Parsed(Figures()), Parsed(Later()), 2),
            "20.0k look-ups/s: DRAM 75.0 %, SCM 20.0 %, misses 5.0 % | demoted 200/s | "
            "refused 41/s (too_cold 25, churn 10, too_large 5) | SCM written 2 MiB/s, used 512 MiB of 1 GiB | "
            "DRAM used 128 MiB of 256 MiB\n");
}

TEST(Follow, AScreenHasThemByRole) {
  const std::string screen = FollowScreen(Parsed(Figures()), Parsed(Later()), 2);
  EXPECT_THAT(screen, StartsWith("RocksDB 11.8.1, policy=adaptive, file /dev/shm/mezz (tmpfs)\n"));
  EXPECT_THAT(screen, AllOf(HasSubstr("  data       20.0k look-ups/s: DRAM 75.0 %"), Not(HasSubstr("  index")),
                            HasSubstr("refused   41/s (too_cold 25")));
}

TEST(Follow, WhereNothingHappensItSaysSo) {
  const MetricSamples now = Parsed(Figures());
  EXPECT_THAT(FollowLine(now, now, 1), HasSubstr("no look-ups | demoted 0/s | refused 0/s | SCM written 0 bytes/s"));
}

TEST(Follow, ACacheThatWasOpenedAnewHasNoDifference) {
  EXPECT_EQ(FollowLine(Parsed(Later()), Parsed(Figures()), 1), "the cache was opened anew\n");
  EXPECT_EQ(FollowScreen(Parsed(Later()), Parsed(Figures()), 1), "the cache was opened anew\n");
}

class Looks {
 public:
  FollowOptions Options() {
    return {.read =
                [this](MetricSamples* samples, bool* fresh) {
                  *samples = Parsed(reads_ == 0 ? Figures() : Later());
                  *fresh = reads_ % stale_every_ != stale_every_ - 1;
                  ++reads_;
                  return reads_ > fails_after_ ? Status::NotFound("it is gone") : Status::Ok();
                },
            .show = [this](const std::string& text) { shown_.push_back(text); },
            .wait = [](std::chrono::milliseconds time) { return static_cast<double>(time.count()) / 1e3; }};
  }

  int reads_ = 0, stale_every_ = 1000, fails_after_ = 1000;
  std::vector<std::string> shown_;
};

TEST(Follow, EndsAfterSoManyLooks) {
  Looks looks;
  FollowOptions options = looks.Options();
  options.count = 2;
  EXPECT_TRUE(Follow(options).ok());
  EXPECT_THAT(looks.shown_, ElementsAre(HasSubstr("40.0k look-ups/s"), HasSubstr("no look-ups")));
}

TEST(Follow, AScreenClearsTheOneBefore) {
  Looks looks;
  FollowOptions options = looks.Options();
  options.count = 1;
  options.screen = true;
  EXPECT_TRUE(Follow(options).ok());
  EXPECT_THAT(looks.shown_, ElementsAre(StartsWith("\x1b[H\x1b[2JRocksDB 11.8.1")));
}

TEST(Follow, EndsWithTheCache) {
  Looks looks;
  looks.fails_after_ = 3;
  EXPECT_EQ(Follow(looks.Options()).message(), "it is gone");
  EXPECT_EQ(looks.shown_.size(), 2u);
}

TEST(Follow, EndsWhereTheFileIsNotWrittenAnyMore) {
  Looks looks;
  looks.stale_every_ = 1;
  EXPECT_THAT(Follow(looks.Options()).message(), HasSubstr("the file was not written for 31 s"));
  EXPECT_TRUE(looks.shown_.empty());
}

TEST(Follow, AFileThatWasNotWrittenSinceIsNoLook) {
  Looks looks;
  looks.stale_every_ = 2;  // each second one
  FollowOptions options = looks.Options();
  options.count = 1;
  EXPECT_TRUE(Follow(options).ok());
  EXPECT_THAT(looks.shown_, ElementsAre(HasSubstr("20.0k look-ups/s"))) << "over both seconds";
}

}  // namespace
}  // namespace mezz::watch
