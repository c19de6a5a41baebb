// SPDX-License-Identifier: Apache-2.0
#include "admission/curves/curve_file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "tests/support/curves.h"
#include "tests/support/seed.h"
#include "tests/support/temporary_folder.h"

namespace mezz::plan {
namespace {

using test::Random;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

Curve SomeCurve() {
  Random random(test::Seed());
  return test::RandomCurve(&random);
}

std::string Refusal(const std::string& text) {
  Curve curve;
  const Status status = ParseCurve(text, "host.curve", &curve);
  return status.ok() ? "" : std::string(status.message());
}

TEST(CurveFile, GivesBackWhatWasWritten) {
  Random random(test::Seed());
  for (int round = 0; round < 50; ++round) {
    const Curve curve = test::RandomCurve(&random);
    Curve read;
    ASSERT_EQ(ParseCurve(CurveText(curve, {{"host", "a"}}), "x", &read).message(), "");
    ASSERT_EQ(read, curve);
  }
}

TEST(CurveFile, HasTheHitsOnSlowMediaWhereTheMediaAreOrdered) {
  Curve curve = SomeCurve();
  EXPECT_THAT(CurveText(curve, {}), Not(AnyOf(HasSubstr("fast_share"), HasSubstr("scm_slow_hits"))));
  curve.form.fast_share = 0.2;
  curve.points[3].seeds[1].scm_slow_hits = 77;
  Curve read;
  ASSERT_TRUE(ParseCurve(CurveText(curve, {}), "x", &read).ok());
  EXPECT_EQ(read, curve);
  EXPECT_EQ(read.form.fast_share, 0.2);
  EXPECT_EQ(read.points[3].seeds[1].scm_slow_hits, 77u);
}

TEST(CurveFile, IsJsonForOthers) {
  const nlohmann::json json = nlohmann::json::parse(CurveText(SomeCurve(), {{"host", "a"}}));
  EXPECT_EQ(json.at("version"), kCurveFileVersion);
  EXPECT_EQ(json.at("manifest").at("host"), "a");
  EXPECT_EQ(json.at("curve").at("points").size(), 4u);
}

TEST(CurveFile, RefusesEveryFlippedBit) {
  const std::string text = CurveText(SomeCurve(), {});
  for (size_t bit = 0; bit < 8 * text.size(); ++bit) {
    std::string damaged = text;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    const std::string refusal = Refusal(damaged);
    ASSERT_THAT(refusal, HasSubstr("host.curve")) << "bit " << bit;
  }
}

TEST(CurveFile, RefusesEveryLengthButItsOwn) {
  const std::string text = CurveText(SomeCurve(), {});
  for (size_t length = 0; length < text.size(); ++length) ASSERT_NE(Refusal(text.substr(0, length)), "") << length;
  EXPECT_NE(Refusal(text + " "), "");
  EXPECT_EQ(Refusal(text), "");
}

TEST(CurveFile, SaysWhatIsWrong) {
  const std::string text = CurveText(SomeCurve(), {});
  EXPECT_THAT(Refusal("{}"), HasSubstr("does not begin as a curve does"));
  std::string changed = text;
  changed.replace(text.find("4096"), 4, "8192");
  EXPECT_THAT(Refusal(changed), HasSubstr("damaged"));
  std::string newer = text;
  newer.replace(text.find("\"version\":2,"), 12, "\"version\":9,");
  EXPECT_THAT(Refusal(newer), HasSubstr("another version than 2"));
}

TEST(CurveFile, RefusesNonsenseWithARightChecksum) {
  const std::pair<std::function<void(Curve*)>, std::string> cases[] = {
      {[](Curve* curve) {
         curve->form.dram = {4, 2};
       },
       "do not ascend"},
      {[](Curve* curve) { curve->form.scm.clear(); }, "do not ascend"},
      {[](Curve* curve) { curve->form.fast_share = 1; }, "its fast level has no share"},
      {[](Curve* curve) { curve->points.pop_back(); }, "one point for each pair"},
      {[](Curve* curve) { curve->points[1].scm_bytes = 5; }, "point 1 is not that of its grid"},
      {[](Curve* curve) { curve->points[2].seeds.pop_back(); }, "point 2 has another number of seeds"},
      {[](Curve* curve) { curve->sums.counted_requests = 0; }, "counts nothing"},
      {[](Curve* curve) { curve->points[3].seeds[0].dram_hits = curve->sums.requests + 1; }, "more hits than requests"},
  };
  for (const auto& [change, message] : cases) {
    Curve curve = SomeCurve();
    change(&curve);
    EXPECT_THAT(Refusal(CurveText(curve, {})), HasSubstr(message));
  }
}

TEST(CurveFile, IsWrittenAndReadByPath) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("curve");
  const Curve curve = SomeCurve();
  ASSERT_TRUE(WriteCurve(curve, {}, path).ok());
  Curve read;
  ASSERT_TRUE(ReadCurve(path, &read).ok());
  EXPECT_EQ(read, curve);
  std::filesystem::remove(path);
  const Status missing = ReadCurve(path, &read);
  EXPECT_THAT(std::string(missing.message()), HasSubstr("No such file"));
}

}  // namespace
}  // namespace mezz::plan
