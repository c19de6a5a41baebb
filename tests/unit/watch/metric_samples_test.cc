// SPDX-License-Identifier: Apache-2.0
#include "workloads/watch/metric_samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/watch/figures.h"

namespace mezz::watch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

constexpr std::string_view kHead = "# TYPE mezzanine_cache info\nmezzanine_cache_info{a=\"b\"} 1\n";

std::string Refusal(const std::string& lines) {
  MetricSamples samples;
  return MetricSamples::Parse(std::string(kHead) + lines + "# EOF\n", /*with_end=*/true, &samples).message();
}

TEST(MetricSamples, SumsWhatHasTheLabels) {
  MetricSamples samples;
  const std::string text = std::string(kHead) +
                           "# HELP mezzanine_x A x.\n"
                           "mezzanine_x_total{role=\"data\",reason=\"full\"} 3\n"
                           "mezzanine_x_total{role=\"data\",reason=\"cold\"} 4\n"
                           "mezzanine_x_total{role=\"index\",reason=\"full\"} 0.5\n"
                           "mezzanine_y +Inf\n# EOF\n";
  ASSERT_TRUE(MetricSamples::Parse(text, /*with_end=*/true, &samples).ok());
  EXPECT_EQ(samples.Sum("x_total"), 7.5);
  EXPECT_EQ(samples.Sum("x_total", {{"role", "data"}}), 7);
  EXPECT_EQ(samples.Sum("x_total", {{"role", "data"}, {"reason", "cold"}}), 4);
  EXPECT_EQ(samples.Sum("x_total", {{"colour", "data"}}), 0);
  EXPECT_EQ(samples.Sum("z_total"), 0);
  EXPECT_TRUE(std::isinf(samples.Sum("y")));
  EXPECT_THAT(samples.SumsBy("x_total", "reason"), ElementsAre(Pair("cold", 4), Pair("full", 3.5)));
  EXPECT_THAT(samples.SumsBy("x_total", "reason", {{"role", "index"}}), ElementsAre(Pair("full", 0.5)));
  EXPECT_THAT(samples.SumsBy("z_total", "reason"), IsEmpty());
  EXPECT_TRUE(samples.Has("y"));
  EXPECT_FALSE(samples.Has("z"));
}

TEST(MetricSamples, ReadsLabelsAsTheyWereBeforeTheyWereEscaped) {
  MetricSamples samples;
  const std::string text =
      "# TYPE mezzanine_cache info\nmezzanine_cache_info{description=\"a\\\\b\\\"c\\nd}, e\",model=\"\"} 1\n# EOF\n";
  ASSERT_TRUE(MetricSamples::Parse(text, /*with_end=*/true, &samples).ok());
  EXPECT_EQ(samples.Info("description"), "a\\b\"c\nd}, e");
  EXPECT_EQ(samples.Info("model"), "");
  EXPECT_EQ(samples.Info("none"), "");
}

TEST(MetricSamples, RefusesWhatIsNotOurs) {
  MetricSamples samples;
  EXPECT_THAT(MetricSamples::Parse("<html>\n<body>", true, &samples).message(),
              HasSubstr("its first line is \"<html>\"; name what metrics="));
  EXPECT_THAT(MetricSamples::Parse("", true, &samples).message(), HasSubstr("its first line is \"\""));
  EXPECT_THAT(MetricSamples::Parse("# TYPE node_cpu counter\n# EOF\n", true, &samples).message(),
              HasSubstr("node_cpu"));
  EXPECT_THAT(MetricSamples::Parse("# TYPE mezzanine_x gauge\nmezzanine_x 1\n# EOF\n", true, &samples).message(),
              HasSubstr("no mezzanine_cache_info"));
}

TEST(MetricSamples, RefusesEachLineThatIsNone) {
  EXPECT_EQ(Refusal("mezzanine_x 1\n"), "");
  EXPECT_THAT(Refusal("mezzanine_x 1 2\n"), HasSubstr("no number"));
  EXPECT_THAT(Refusal("mezzanine_x one\n"), HasSubstr("no number: \"mezzanine_x one\""));
  EXPECT_THAT(Refusal("mezzanine_x\n"), HasSubstr("no space"));
  EXPECT_THAT(Refusal("other_x 1\n"), HasSubstr("not ours"));
  EXPECT_THAT(Refusal("\n"), HasSubstr("not ours"));
  EXPECT_THAT(Refusal("# NOTE x\n"), HasSubstr("not ours"));
  EXPECT_THAT(Refusal("mezzanine_x{} 1\n"), HasSubstr("a label"));
  EXPECT_THAT(Refusal("mezzanine_x{a=b} 1\n"), HasSubstr("a label"));
  EXPECT_THAT(Refusal("mezzanine_x{a=\"b} 1\n"), HasSubstr("a label"));
  EXPECT_THAT(Refusal("mezzanine_x{a=\"\\t\"} 1\n"), HasSubstr("a label"));
  EXPECT_THAT(Refusal("mezzanine_x{a=\"b\" 1\n"), HasSubstr("labels that do not end"));
  EXPECT_THAT(Refusal("# EOF\nmezzanine_x 1\n"), HasSubstr("behind # EOF"));
  EXPECT_THAT(Refusal("\x01" + std::string(200, 'x') + "\n"), HasSubstr("\"?xxx"));
}

TEST(MetricSamples, RefusesEveryTextThatIsCutOff) {
  const std::string text = Figures().Text();
  MetricSamples samples;
  ASSERT_TRUE(MetricSamples::Parse(text, true, &samples).ok());
  for (size_t bytes = 0; bytes < text.size(); ++bytes)
    ASSERT_FALSE(MetricSamples::Parse(std::string_view(text).substr(0, bytes), true, &samples).ok()) << bytes;
}

TEST(MetricSamples, TheOlderFormatHasNoEnd) {
  std::string text = Figures().Text();
  text.resize(text.size() - std::string_view("# EOF\n").size());
  MetricSamples samples;
  EXPECT_TRUE(MetricSamples::Parse(text, /*with_end=*/false, &samples).ok());
  EXPECT_THAT(MetricSamples::Parse(text, /*with_end=*/true, &samples).message(), HasSubstr("cut off"));
}

TEST(MetricSamples, RefusesMoreThanAnyCacheServes) {
  MetricSamples samples;
  const std::string text = std::string(kHead) + std::string(MetricSamples::kTextBytesMax, '\n');
  EXPECT_THAT(MetricSamples::Parse(text, true, &samples).message(), HasSubstr("more than 16 MiB"));
}

}  // namespace
}  // namespace mezz::watch
