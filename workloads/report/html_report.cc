// SPDX-License-Identifier: Apache-2.0
#include "workloads/report/html_report.h"

#include <nlohmann/json.hpp>

#include "workloads/report/page.h"

namespace mezz {
namespace {

// "</script" and "<!--" would end or hide the script element that holds the JSON. In JSON a "<" can stand in strings
// only, where the escape means the same.
std::string WithoutMarkup(const std::string& result) {
  std::string text;
  text.reserve(result.size());
  for (const char c : result) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace

std::string HtmlReport(const nlohmann::json& result) {
  const size_t place = kReportPage.find(kReportPlace);
  std::string page(kReportPage.substr(0, place));
  page += WithoutMarkup(result.dump(1, ' ', /*ensure_ascii=*/true, nlohmann::json::error_handler_t::replace));
  page += kReportPage.substr(place + kReportPlace.size());
  return page;
}

}  // namespace mezz
