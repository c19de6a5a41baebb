// SPDX-License-Identifier: Apache-2.0
#include "workloads/plan/page/plan_page.h"

#include "workloads/report/html_report.h"

namespace mezz::plan {

std::string HtmlPlan(const nlohmann::json& answer) { return HtmlPage(kPlanPage, answer); }

}  // namespace mezz::plan
