// SPDX-License-Identifier: Apache-2.0
// A result as one page that needs nothing else.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace mezz {

// mezz_replay --html: the page for what ReportJson made, or ReadResult read.
std::string HtmlReport(const nlohmann::json& result);

// `page` (workloads/report/page.h) with the result inside it as JSON, where kReportPlace was. It fetches nothing, and
// no text of the result can leave its place in the page. Bytes that are not UTF-8 are replaced.
std::string HtmlPage(std::string_view page, const nlohmann::json& result);

}  // namespace mezz
