// SPDX-License-Identifier: Apache-2.0
#include "workloads/report/html_report.h"

#include <cassert>
#include <nlohmann/json.hpp>

#include "workloads/replay/engine/fields.h"
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

std::string HtmlPage(std::string_view page, const nlohmann::json& result) {
  const size_t place = page.find(kReportPlace);
  assert(place != std::string_view::npos);
  std::string text(page.substr(0, place));
  text += WithoutMarkup(result.dump(1, ' ', /*ensure_ascii=*/true, nlohmann::json::error_handler_t::replace));
  text += page.substr(place + kReportPlace.size());
  return text;
}

std::string HtmlReport(const nlohmann::json& result) {
  std::string page(kReportPage);
  const size_t fields = page.find(kFieldsPlace);
  assert(fields != std::string::npos);
  page.replace(fields, kFieldsPlace.size(), WithoutMarkup(FieldsForPage().dump(-1, ' ', /*ensure_ascii=*/true)));
  return HtmlPage(page, result);
}

}  // namespace mezz
