// SPDX-License-Identifier: Apache-2.0
// The HTML report without its result: page.html, page.css and page.js, joined by the build.
#pragma once

#include <string_view>

namespace mezz {

// Holds kReportPlace once.
extern const std::string_view kReportPage;
// Where the result goes, as JSON.
inline constexpr std::string_view kReportPlace = "@RESULT@";

}  // namespace mezz
