// SPDX-License-Identifier: Apache-2.0
// mezz_plan --html: an answer as one page that needs nothing else, whose prices and capacities the reader can turn.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace mezz::plan {

// workloads/report/page.html with page.css, page.js and what it shares with mezz_replay's report; holds kReportPlace
// once.
extern const std::string_view kPlanPage;

// The page for what AnswerJson made. It fetches nothing, and no text of the answer can leave its place in the page.
// What the answer lacks the page leaves out.
std::string HtmlPlan(const nlohmann::json& answer);

}  // namespace mezz::plan
