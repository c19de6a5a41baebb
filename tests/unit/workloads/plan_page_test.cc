// SPDX-License-Identifier: Apache-2.0
// What the planner's page holds; tests/browser/plan_test.py looks at what it shows and does.
#include "workloads/plan/page/plan_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "workloads/report/html_report.h"

namespace mezz::plan {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(PlanPage, HoldsTheAnswerWhateverItsTextsSay) {
  for (const char* text : {"plain", "</script><script>alert(1)</script>", "<!--<script>", "@RESULT@", "\"quoted\\"}) {
    const json answer = {{"uri", text}, {"plans", {{{"name", text}}}}};
    const std::string page = HtmlPlan(answer);
    const std::string opening = "<script id=\"result\" type=\"application/json\">";
    const size_t begin = page.find(opening) + opening.size();
    EXPECT_EQ(json::parse(page.substr(begin, page.find("</script", begin) - begin), nullptr, false), answer) << text;
  }
}

TEST(PlanPage, IsOnePageThatFetchesNothing) {
  const std::string page = HtmlPlan(json::object());
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  for (const char* foreign : {"src=", "@import", "@RESULT@", "@STYLE@", "@SCRIPT@", "href=\"http"}) {
    EXPECT_THAT(page, Not(HasSubstr(foreign)));
  }
}

// One family: what both pages say of style and helpers is the same text.
TEST(PlanPage, SharesItsStyleAndHelpersWithTheReplaysPage) {
  const std::string plan = HtmlPlan(json::object());
  const std::string replay = HtmlReport(json::object());
  for (const char* shared : {"--c0: #0b62a3;", "const canvas = (width, height, ...children) =>", "@media print {"}) {
    EXPECT_THAT(plan, HasSubstr(shared));
    EXPECT_THAT(replay, HasSubstr(shared));
  }
  EXPECT_THAT(plan, Not(HasSubstr("mezz_replay")));
}

}  // namespace
}  // namespace mezz::plan
