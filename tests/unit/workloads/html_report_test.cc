// SPDX-License-Identifier: Apache-2.0
// What the page holds; tests/browser looks at what it shows.
#include "workloads/report/html_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace mezz {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kOpening[] = "<script id=\"result\" type=\"application/json\">";

// What a browser takes for the result: the text up to the first end of a script element.
json ResultInside(const std::string& page) {
  const size_t begin = page.find(kOpening) + sizeof(kOpening) - 1;
  return json::parse(page.substr(begin, page.find("</script", begin) - begin), nullptr, /*allow_exceptions=*/false);
}

TEST(HtmlReport, HoldsTheResultWhateverItsTextsSay) {
  for (const char* text : {"plain", "</script><script>alert(1)</script>", "<!--<script>", "]]>", "\\u003c/script>",
                           "\"quoted\\", "@RESULT@", "line\nfeed", "\xe2\x80\xa8 separator", ""}) {
    const json result = {{"workload", text}, {"rows", {{{"cache", text}}}}};
    EXPECT_EQ(ResultInside(HtmlReport(result)), result) << text;
  }
}

TEST(HtmlReport, ReplacesBytesThatAreNotUtf8) {
  const json result = {{"command_line", "--trace=\xff\xfe"}};
  EXPECT_EQ(ResultInside(HtmlReport(result))["command_line"], "--trace=\xef\xbf\xbd\xef\xbf\xbd");
}

TEST(HtmlReport, IsOnePageThatFetchesNothing) {
  const std::string page = HtmlReport(json::object());
  EXPECT_THAT(page, HasSubstr("<!doctype html>"));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  EXPECT_THAT(page, HasSubstr("@media (prefers-color-scheme: dark)"));
  for (const char* foreign : {"src=", "@import", "@RESULT@", "@STYLE@", "@SCRIPT@", "href=\"http"}) {
    EXPECT_THAT(page, Not(HasSubstr(foreign)));
  }
}

}  // namespace
}  // namespace mezz
