// SPDX-License-Identifier: Apache-2.0
// Curves as files: JSON of one version, behind a first line with the checksum (XXH3) of all that follows, so that any
// JSON tool reads them and no change passes unseen.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "admission/curves/curve.h"
#include "cache/status.h"

namespace mezz::plan {

inline constexpr int kCurveFileVersion = 2;  // 1 had no form.writers

// `manifest`: where the curve comes from (program.h), for people; not read back. Equal arguments give equal text.
std::string CurveText(const Curve& curve, const nlohmann::json& manifest);
// The inverse. Refuses what CurveText did not write, naming `path` and what is wrong: another version, a changed byte,
// a field that is missing or contradicts another.
Status ParseCurve(std::string_view text, const std::string& path, Curve* curve);

Status WriteCurve(const Curve& curve, const nlohmann::json& manifest, const std::string& path);
Status ReadCurve(const std::string& path, Curve* curve);

}  // namespace mezz::plan
