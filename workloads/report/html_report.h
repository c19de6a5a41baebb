// SPDX-License-Identifier: Apache-2.0
// mezz_replay --html: a result as one page that needs nothing else.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace mezz {

// The page for what ReportJson made, or ReadResult read. It fetches nothing; the result is inside it as
// JSON, and no text of the result can leave its place in the page. Bytes that are not UTF-8 are replaced.
std::string HtmlReport(const nlohmann::json& result);

}  // namespace mezz
