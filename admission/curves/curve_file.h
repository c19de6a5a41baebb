// SPDX-License-Identifier: Apache-2.0
// Curves as files. The first line has the checksum (XXH3) of the rest, so that no change goes unnoticed. The rest is
// JSON of one version, which any JSON tool reads.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "admission/curves/curve.h"
#include "cache/status.h"

namespace mezz::plan {

inline constexpr int kCurveFileVersion = 2;  // 1 had no form.writers

// The text of a file. `manifest`: where the curve comes from (program.h), for people; it is not read back. Equal
// arguments give equal text.
std::string CurveText(const Curve& curve, const nlohmann::json& manifest);
// The inverse of CurveText. For other text, the error names `path` and what is wrong: another version, a changed byte,
// or a field that is missing or contradicts another.
Status ParseCurve(std::string_view text, const std::string& path, Curve* curve);

Status WriteCurve(const Curve& curve, const nlohmann::json& manifest, const std::string& path);
Status ReadCurve(const std::string& path, Curve* curve);

}  // namespace mezz::plan
