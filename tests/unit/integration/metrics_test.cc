// SPDX-License-Identifier: Apache-2.0
// What monitoring is told of a cache: numbers, and their text.
#include "integration/metrics.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "integration/core_figures.h"
#include "integration/hybrid_cache.h"
#include "tests/support/http_client.h"
#include "tests/support/hybrid_fixture.h"
#include "tests/support/open_metrics.h"
#include "tests/support/small_db.h"
#include "tests/support/temporary_folder.h"

namespace mezz {
namespace {

using test::HttpClient;
using test::OpenMetrics;
using test::OpenMetricsReader;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

OpenMetrics Read(const MetricFamilies& families) {
  return OpenMetricsReader::Read(MetricsText(families, MetricsFormat::kOpenMetrics));
}

MetricFamily Gauge(std::string value) {
  return {.name = "mezzanine_x", .help = "An x.", .samples = {{.labels = {{"of", std::move(value)}}, .value = 1}}};
}

TEST(MetricsText, EscapesLabelValues) {
  const std::string hostile = "a \"quoted\" \\ path\nof two lines";
  const std::string text = MetricsText({Gauge(hostile)}, MetricsFormat::kOpenMetrics);
  EXPECT_THAT(text, HasSubstr(R"(mezzanine_x{of="a \"quoted\" \\ path\nof two lines"} 1)"));
  const OpenMetrics read = OpenMetricsReader::Read(text);
  EXPECT_THAT(read.violations, IsEmpty());
  EXPECT_EQ(read.at("mezzanine_x{of=\"" + hostile + "\"}"), 1);
}

TEST(MetricsText, WritesBytesThatAreNoUtf8AsNumbers) {
  const auto written = [](std::string_view value) {
    const std::string text = MetricsText({Gauge(std::string(value))}, MetricsFormat::kOpenMetrics);
    const size_t begin = text.find("of=\"") + 4;
    return text.substr(begin, text.find('"', begin) - begin);
  };
  for (const std::string_view good : {"\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\xF4\x8F\xBF\xBF", "\x7F"})
    EXPECT_EQ(written(good), good);
  EXPECT_EQ(written("\xFF"), R"(\\xFF)");
  EXPECT_EQ(written("a\xC3"), R"(a\\xC3)") << "cut off";
  EXPECT_EQ(written("\xC0\xAF"), R"(\\xC0\\xAF)") << "overlong";
  EXPECT_EQ(written("\xE0\x80\xAF"), R"(\\xE0\\x80\\xAF)") << "overlong";
  EXPECT_EQ(written("\xED\xA0\x80"), R"(\\xED\\xA0\\x80)") << "half of a pair";
  EXPECT_EQ(written("\xF4\x90\x80\x80"), R"(\\xF4\\x90\\x80\\x80)") << "beyond Unicode";
  EXPECT_EQ(written(R"(a\y)"), R"(a\\y)");
  EXPECT_EQ(written(R"(\xFF)"), R"(\\x5CxFF)") << "is another value than the byte";
}

TEST(MetricsText, PrometheusFormatNamesWhatTheTypeAdds) {
  const MetricFamily counter{.name = "mezzanine_y_bytes",
                             .type = MetricType::kCounter,
                             .unit = "bytes",
                             .help = "A y.",
                             .samples = {{.labels = {}, .value = 3}}};
  EXPECT_EQ(MetricsText({counter}, MetricsFormat::kPrometheus),
            "# TYPE mezzanine_y_bytes_total counter\n# HELP mezzanine_y_bytes_total A y.\nmezzanine_y_bytes_total 3\n");
  EXPECT_EQ(MetricsText({counter}, MetricsFormat::kOpenMetrics),
            "# TYPE mezzanine_y_bytes counter\n# UNIT mezzanine_y_bytes bytes\n# HELP mezzanine_y_bytes A y.\n"
            "mezzanine_y_bytes_total 3\n# EOF\n");
}

TEST(MetricsText, WritesNumbersWholeOrInFull) {
  const auto written = [](double value) {
    MetricFamily gauge = Gauge("");
    gauge.samples[0] = {.labels = {}, .value = value};
    const std::string text = MetricsText({gauge}, MetricsFormat::kOpenMetrics);
    const size_t begin = text.rfind("mezzanine_x ") + 12;
    return text.substr(begin, text.find('\n', begin) - begin);
  };
  EXPECT_EQ(written(0), "0");
  EXPECT_EQ(written(9007199254740992.0), "9007199254740992");
  EXPECT_EQ(written(0.000005), "5e-06");
  EXPECT_EQ(written(0.25), "0.25");
}

TEST(MissLatency, CountsInTheFirstBucketThatHoldsIt) {
  MissLatency latency;
  for (const uint64_t ns : {uint64_t{0}, uint64_t{5'000}, uint64_t{5'001}, uint64_t{2'000'000'000}}) latency.Add(ns);
  const MissLatency::Snapshot read = latency.Read();
  EXPECT_EQ(read.counts[0], 2u);
  EXPECT_EQ(read.counts[1], 1u);
  EXPECT_EQ(read.counts.back(), 1u);
  EXPECT_EQ(read.sum_ns, 2'000'010'001u);
}

TEST(CoreMetrics, HistogramsAddUp) {
  CoreFigures figures;
  figures.misses.emplace();
  figures.misses->counts = {3, 0, 4};
  figures.misses->counts.back() = 2;
  figures.misses->sum_ns = 2'500'000'000;
  const OpenMetrics read = Read(ToMetrics(figures));
  EXPECT_THAT(read.violations, IsEmpty());
  EXPECT_EQ(read.at("mezzanine_miss_latency_seconds_bucket{le=\"5e-06\"}"), 3);
  EXPECT_EQ(read.at("mezzanine_miss_latency_seconds_bucket{le=\"2e-05\"}"), 7);
  EXPECT_EQ(read.at("mezzanine_miss_latency_seconds_bucket{le=\"+Inf\"}"), 9);
  EXPECT_EQ(read.at("mezzanine_miss_latency_seconds_sum"), 2.5);
}

TEST(CoreMetrics, HostileDescriptionsAreEscaped) {
  CoreFigures figures;
  figures.medium.description = "file /tmp/\"x\"\n\\";
  const OpenMetrics read = Read(ToMetrics(figures));
  EXPECT_THAT(read.violations, IsEmpty());
  ASSERT_EQ(read.families.at("mezzanine_cache").series.size(), 1u);
  EXPECT_THAT(read.families.at("mezzanine_cache").series.front(), HasSubstr("description=\"file /tmp/\"x\"\n\\\""));
}

TEST(CoreMetrics, CurveTellsBothTiers) {
  CoreFigures figures;
  CacheCurve::Figures curve;
  curve.points.push_back({.dram = 0.5, .scm = 2, .dram_hits = 0.25, .scm_hits = 0.5, .error = 0.01});
  figures.curve = std::move(curve);
  const OpenMetrics read = Read(ToMetrics(figures));
  EXPECT_THAT(read.violations, IsEmpty());
  EXPECT_EQ(read.at("mezzanine_curve_hit_ratio{dram=\"0.5\",scm=\"2\",tier=\"scm\"}"), 0.5);
  EXPECT_EQ(read.at("mezzanine_curve_error_ratio{dram=\"0.5\",scm=\"2\"}"), 0.01);
}

// Of a cache that has all that a cache may have.
CoreFigures AllFigures() {
  CoreFigures figures;
  figures.dram_tier.emplace();
  figures.misses.emplace();
  figures.recovery.outcome = RecoveryReport::Outcome::kRecovered;
  figures.dram_total_bytes = figures.flash_read_ns = figures.zstd_percent = figures.staged_puts =
      figures.unstaged_puts = 0;
  CacheCurve::Figures curve;
  curve.points.emplace_back();
  figures.curve = std::move(curve);
  figures.databases.emplace_back();
  figures.members.emplace_back();
  return figures;
}

std::string_view SuffixOf(MetricType type) {
  if (type == MetricType::kCounter) return "_total";
  return type == MetricType::kInfo ? "_info" : "";
}

TEST(CoreMetrics, AreWhatTheirPageLists) {
  std::string wanted =
      "The figures of a cache, as Prometheus scrapes them: name, type, and what it is. Labels tell roles, reasons and "
      "tiers.\nunit/integration/metrics_test compares this file with the code's own table.\n\n";
  constexpr std::array<std::string_view, 4> kTypes = {"counter", "gauge", "histogram", "info"};
  for (const MetricFamily& family : ToMetrics(AllFigures())) {
    wanted += fmt::format("{:<58} {:<9} {}\n", family.name + std::string(SuffixOf(family.type)),
                          kTypes[static_cast<size_t>(family.type)], family.help);
  }
  std::ifstream file(MEZZ_SOURCE_DIR "/docs/reference/metrics.txt");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(page, wanted) << "docs/reference/metrics.txt should be\n" << wanted;
}

class CacheMetrics : public test::HybridTest {
 protected:
  static constexpr uint64_t kDramBytes = 2 << 20, kScmBytes = 32 << 20;

  CacheMetrics() {
    options_.dram_cache = DramCacheKind::kLru;
    options_.dram_bytes = kDramBytes;
    options_.scm.medium = MediumKind::kAnonymous;
    options_.scm.capacity_bytes = kScmBytes;
  }
  void Open() { Make(options_); }
  std::string Scrape() const { return test::BodyOf(HttpClient::Unix(socket_).Get("/metrics")); }

  HybridCacheOptions options_;
  const TemporaryFolder folder_;
  const std::string socket_ = folder_.Path("socket");
};

std::string NameOf(Event event) {
  std::string name = "mezzanine_" + std::string(ToString(event));
  std::replace(name.begin(), name.end(), '.', '_');
  if (name.ends_with("_stored")) name += "_bytes";
  return name + "_total";
}

TEST_F(CacheMetrics, HaveEveryCounterByRole) {
  Open();
  test::SmallDb db(cache_);
  db.ReadAll();
  const OpenMetrics read = Read(stats_->Metrics());
  EXPECT_THAT(read.violations, IsEmpty());
  const CounterSnapshot counters = stats_->Counters();
  for (size_t e = 0; e < kEvents; ++e) {
    for (size_t r = 0; r < kBlockRoles; ++r) {
      const auto event = static_cast<Event>(e);
      const std::string text(ToString(event));
      const std::string role = "role=\"" + std::string(ToString(static_cast<BlockRole>(r))) + "\"}";
      const std::string labels = text.starts_with("scm.") ? "{medium=\"dram\"," : "{";
      const std::string series = text.starts_with("refused.")
                                     ? "mezzanine_refused_total{reason=\"" + text.substr(8) + "\"," + role
                                     : NameOf(event) + labels + role;
      EXPECT_EQ(read.at(series), static_cast<double>(counters.of(event, static_cast<BlockRole>(r)))) << series;
    }
  }
  EXPECT_GT(counters[Event::kScmPut], 0u) << "the database was too small to tell";
}

TEST_F(CacheMetrics, HaveEveryDecision) {
  Open();
  test::SmallDb db(cache_);
  db.ReadAll();
  const OpenMetrics read = Read(stats_->Metrics());
  double told = 0;
  for (const std::string& series : read.families.at("mezzanine_decision").series) told += read.at(series);
  uint64_t decided = 0;
  const DecisionSnapshot decisions = stats_->Decisions();
  for (size_t reason = 0; reason < kReasons; ++reason) decided += decisions.of(static_cast<Reason>(reason));
  EXPECT_EQ(told, static_cast<double>(decided));
  EXPECT_GT(decided, 0u);
}

TEST_F(CacheMetrics, TellSizes) {
  Open();
  test::SmallDb db(cache_);
  db.ReadAll();
  const OpenMetrics read = Read(stats_->Metrics());
  EXPECT_EQ(read.at("mezzanine_scm_capacity_bytes{medium=\"dram\"}"), kScmBytes);
  EXPECT_EQ(read.at("mezzanine_scm_usage_bytes{medium=\"dram\"}"),
            static_cast<double>(stats_->scm().figures().usage_bytes()));
  EXPECT_EQ(read.at("mezzanine_dram_capacity_bytes"), kDramBytes);
  EXPECT_EQ(read.at("mezzanine_dram_usage_bytes"), static_cast<double>(cache_->GetUsage()));
  EXPECT_EQ(read.at("mezzanine_dram_beside_tier_bytes{structure=\"index\"}"),
            static_cast<double>(stats_->Dram().index));
}

TEST_F(CacheMetrics, CountersOnlyGrow) {
  Open();
  test::SmallDb db(cache_);
  OpenMetrics before = Read(stats_->Metrics());
  db.ReadAll();
  const OpenMetrics after = Read(stats_->Metrics());
  for (const auto& [name, family] : before.families) {
    if (family.type != "counter" && family.type != "histogram") continue;
    for (const std::string& series : family.series) EXPECT_GE(after.at(series), before.at(series)) << series;
  }
  EXPECT_GT(after.at("mezzanine_miss_latency_seconds_count"), 0) << "no miss was timed";
}

TEST_F(CacheMetrics, AreServedAsLongAsTheCacheLives) {
  options_.metrics = "unix:" + socket_;
  Open();
  test::SmallDb db(cache_);
  db.ReadAll();
  const OpenMetrics read = OpenMetricsReader::Read(Scrape());
  EXPECT_THAT(read.violations, IsEmpty());
  EXPECT_EQ(read.at(NameOf(Event::kScmPut).append("{medium=\"dram\",role=\"other\"}")),
            static_cast<double>(stats_->Counters().of(Event::kScmPut, BlockRole::kOther)));
  const OpenMetrics again = OpenMetricsReader::Read(Scrape());
  EXPECT_EQ(again.at("mezzanine_metrics_deliveries_total{outcome=\"done\"}"), 1);
}

TEST_F(CacheMetrics, SocketGoesWithTheCache) {
  options_.metrics = "unix:" + socket_;
  Open();
  EXPECT_TRUE(std::filesystem::exists(socket_));
  cache_.reset();
  EXPECT_FALSE(std::filesystem::exists(socket_));
}

TEST_F(CacheMetrics, NothingIsLeftOfACacheThatWasRefused) {
  options_.metrics = "unix:" + socket_;
  options_.scm.medium = MediumKind::kFile;
  options_.scm.path = "/no/such/folder/mezz";
  EXPECT_FALSE(NewHybridCache(options_, &cache_).ok());
  EXPECT_FALSE(std::filesystem::exists(socket_));
}

TEST_F(CacheMetrics, TwoCachesWantTwoSockets) {
  options_.metrics = "unix:" + socket_;
  Open();
  std::shared_ptr<rocksdb::Cache> other;
  const Status status = NewHybridCache(options_, &other);
  EXPECT_EQ(status.code(), Status::Code::kBusy);
  EXPECT_THAT(status.message(), HasSubstr(options_.metrics));
  EXPECT_THAT(OpenMetricsReader::Read(Scrape()).violations, IsEmpty()) << "the first one suffered";
}

TEST_F(CacheMetrics, SecondaryCachesHaveThemToo) {
  options_.metrics = "unix:" + socket_;
  std::shared_ptr<rocksdb::SecondaryCache> secondary;
  options_.dram_bytes = 0;
  ASSERT_EQ(NewScmSecondaryCache(options_, &secondary).message(), "");
  const OpenMetrics read = OpenMetricsReader::Read(Scrape());
  EXPECT_THAT(read.violations, IsEmpty());
  EXPECT_EQ(read.at("mezzanine_scm_capacity_bytes{medium=\"dram\"}"), kScmBytes);
  EXPECT_EQ(read.families.count("mezzanine_dram_usage_bytes"), 0u) << "nobody knows it";
}

// Also for the sanitizers: scrapes meet look-ups, resizes and other policies.
TEST_F(CacheMetrics, ScrapesMeetWork) {
  options_.metrics = "unix:" + socket_;
  Open();
  test::SmallDb db(cache_);
  std::atomic<bool> over{false};
  uint64_t scraped = 0;
  std::thread scraper([&] {
    do {
      EXPECT_THAT(OpenMetricsReader::Read(Scrape()).violations, IsEmpty());
      ++scraped;
    } while (!over.load(std::memory_order_relaxed));
  });
  db.ReadAll();
  EXPECT_TRUE(stats_->SetPolicy("dram_first").ok());
  cache_->SetCapacity(kDramBytes / 2);
  EXPECT_TRUE(stats_->SetScmCapacity(kScmBytes / 2).ok());
  db.ReadAll();
  over.store(true, std::memory_order_relaxed);
  scraper.join();
  EXPECT_GT(scraped, 0u);
}

}  // namespace
}  // namespace mezz
