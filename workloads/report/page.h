// SPDX-License-Identifier: Apache-2.0
// The HTML report without its result: page.html and page.js with common.css and common.js, joined by the build.
#pragma once

#include <string_view>

namespace mezz {

// Holds kReportPlace and kFieldsPlace once.
extern const std::string_view kReportPage;
// Where the fields and the result go, as JSON.
inline constexpr std::string_view kFieldsPlace = "'@FIELDS@'";
inline constexpr std::string_view kReportPlace = "@RESULT@";

}  // namespace mezz
