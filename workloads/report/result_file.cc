// SPDX-License-Identifier: Apache-2.0
#include "workloads/report/result_file.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cache/base/read_file.h"

namespace mezz {
namespace {

using nlohmann::json;

constexpr int kSchema = 1;

// Empty: it is one.
std::string WhyNoResult(const json& result) {
  if (result.is_discarded()) return "it is not JSON, or was cut off";
  if (!result.is_object()) return "it is JSON, but no object";
  const auto program = result.find("program");
  if (program == result.end() || !program->is_string()) return "it does not name the program that wrote it";
  if (*program != "mezz_replay") return fmt::format("it is of {}", program->get<std::string>());
  const auto schema = result.find("schema");
  if (schema == result.end() || *schema != kSchema) {
    return fmt::format("its schema is {}, and {} is known",
                       schema == result.end() ? "missing" : schema->dump(-1, ' ', true, json::error_handler_t::replace),
                       kSchema);
  }
  const auto rows = result.find("rows");
  if (rows == result.end() || !rows->is_array()) return "it has no rows";
  for (const json& row : *rows) {
    if (!row.is_object() || !row.contains("cache") || !row["cache"].is_string()) return "it has a row without a cache";
  }
  return "";
}

}  // namespace

Status ReadResult(const std::string& flag, const std::string& path, json* result) {
  std::string text;
  if (!ReadWholeFile(path, &text)) {
    return Status::NotFound(fmt::format("--{}={} cannot be read; name a file that --json wrote", flag, path));
  }
  *result = json::parse(text, nullptr, /*allow_exceptions=*/false);
  const std::string why = WhyNoResult(*result);
  if (why.empty()) return Status::Ok();
  return Status::ForeignFile(
      fmt::format("--{}={} is not a result of mezz_replay: {}; name a file that --json wrote", flag, path, why));
}

}  // namespace mezz
