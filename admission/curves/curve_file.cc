// SPDX-License-Identifier: Apache-2.0
#include "admission/curves/curve_file.h"

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>

#include "admission/curves/operation.h"
#include "cache/base/write_file.h"

namespace mezz::plan {
namespace {

using nlohmann::json;

constexpr uintmax_t kFileBytesMax = 256 << 20;
constexpr std::string_view kBegin = "{\"format\":\"mezzanine curve\",\"version\":";

std::string FirstLine(std::string_view rest) {
  return fmt::format("{}{},\"xxh3\":\"{:016x}\",\n", kBegin, kCurveFileVersion, XXH3_64bits(rest.data(), rest.size()));
}

// The fields of PointCounts, in the order in which a seed's row has them; the last only of ordered media.
constexpr std::pair<const char*, uint64_t PointCounts::*> kPointFields[] = {
    {"dram_hits", &PointCounts::dram_hits},
    {"scm_in_place", &PointCounts::scm_in_place},
    {"scm_unpacked", &PointCounts::scm_unpacked},
    {"promotions", &PointCounts::promotions},
    {"packed_promotions", &PointCounts::packed_promotions},
    {"scm_writes", &PointCounts::scm_writes},
    {"second_chances", &PointCounts::second_chances},
    {"packed_writes", &PointCounts::packed_writes},
    {"scm_written_bytes", &PointCounts::scm_written_bytes},
    {"scm_slow_hits", &PointCounts::scm_slow_hits},
};
std::span<const std::pair<const char*, uint64_t PointCounts::*>> FieldsOf(const CurveForm& form) {
  return std::span(kPointFields).first(std::size(kPointFields) - (form.fast_share == 0 ? 1 : 0));
}

constexpr std::pair<const char*, uint64_t CurveSums::*> kSumFields[] = {
    {"hosts", &CurveSums::hosts},
    {"requests", &CurveSums::requests},
    {"counted_requests", &CurveSums::counted_requests},
    {"counted_bytes", &CurveSums::counted_bytes},
    {"blocks", &CurveSums::blocks},
    {"footprint_bytes", &CurveSums::footprint_bytes},
    {"sampled_blocks", &CurveSums::sampled_blocks},
    {"damaged_records", &CurveSums::damaged_records},
};

json FormJson(const CurveForm& form) {
  json of = {{"policy", form.policy}, {"dram_cache", form.dram_cache},   {"block_bytes", form.block_bytes},
             {"pack", form.pack},     {"pack_ratios", form.pack_ratios}, {"warmup", form.warmup},
             {"seeds", form.seeds},   {"writers", form.writers},         {"dram", form.dram},
             {"scm", form.scm}};
  if (form.fast_share != 0) of["fast_share"] = form.fast_share;
  return of;
}

json SumsJson(const CurveSums& sums) {
  json of;
  for (const auto& [name, field] : kSumFields) of[name] = sums.*field;
  for (size_t i = 0; i < kOperations; ++i)
    of["operations"][std::string(ToString(static_cast<Operation>(i)))] = sums.operations[i];
  for (size_t i = 0; i < kBlockRoles; ++i)
    of["role_requests"][std::string(ToString(static_cast<BlockRole>(i)))] = sums.role_requests[i];
  return of;
}

json PointJson(const CurvePoint& point, const CurveForm& form) {
  json rows = json::array();
  for (const PointCounts& counts : point.seeds) {
    json& row = rows.emplace_back(json::array());
    for (const auto& [name, field] : FieldsOf(form)) row.push_back(counts.*field);
  }
  json roles;
  for (size_t i = 0; i < kBlockRoles; ++i) {
    const RoleCounts& role = point.roles[i];
    if (role != RoleCounts{}) roles[std::string(ToString(static_cast<BlockRole>(i)))] = {role.dram_hits, role.scm_hits};
  }
  return {{"dram", point.dram_bytes}, {"scm", point.scm_bytes}, {"seeds", rows}, {"roles", roles}};
}

json CurveJson(const Curve& curve) {
  json fields = json::array();
  for (const auto& [name, field] : FieldsOf(curve.form)) fields.push_back(name);
  json points = json::array();
  for (const CurvePoint& point : curve.points) points.push_back(PointJson(point, curve.form));
  return {{"form", FormJson(curve.form)},
          {"sums", SumsJson(curve.sums)},
          {"rate_min", curve.rate_min},
          {"traces", curve.traces},
          {"warnings", curve.warnings},
          {"fields", fields},
          {"points", points}};
}

// These functions throw json::exception if a field is missing or of another type.
CurveForm FormOf(const json& of) {
  return {.policy = of.at("policy"),
          .dram_cache = of.at("dram_cache"),
          .block_bytes = of.at("block_bytes"),
          .pack = of.at("pack"),
          .pack_ratios = of.at("pack_ratios"),
          .warmup = of.at("warmup"),
          .seeds = of.at("seeds"),
          .fast_share = of.value("fast_share", 0.0),
          .writers = of.at("writers"),
          .dram = of.at("dram"),
          .scm = of.at("scm")};
}

CurveSums SumsOf(const json& of) {
  CurveSums sums;
  for (const auto& [name, field] : kSumFields) sums.*field = of.at(name);
  for (size_t i = 0; i < kOperations; ++i)
    sums.operations[i] = of.at("operations").at(std::string(ToString(static_cast<Operation>(i))));
  for (size_t i = 0; i < kBlockRoles; ++i)
    sums.role_requests[i] = of.at("role_requests").at(std::string(ToString(static_cast<BlockRole>(i))));
  return sums;
}

CurvePoint PointOf(const json& of, const CurveForm& form) {
  CurvePoint point{.dram_bytes = of.at("dram"), .scm_bytes = of.at("scm")};
  for (const json& row : of.at("seeds")) {
    PointCounts counts;
    size_t column = 0;
    for (const auto& [name, field] : FieldsOf(form)) counts.*field = row.at(column++);
    point.seeds.push_back(counts);
  }
  for (size_t i = 0; i < kBlockRoles; ++i) {
    const auto role = of.at("roles").find(std::string(ToString(static_cast<BlockRole>(i))));
    if (role != of.at("roles").end()) point.roles[i] = {.dram_hits = role->at(0), .scm_hits = role->at(1)};
  }
  return point;
}

Curve CurveOf(const json& of) {
  Curve curve{.form = FormOf(of.at("form")),
              .sums = SumsOf(of.at("sums")),
              .rate_min = of.at("rate_min"),
              .traces = of.at("traces"),
              .warnings = of.at("warnings")};
  for (const json& point : of.at("points")) curve.points.push_back(PointOf(point, curve.form));
  return curve;
}

bool Ascends(const std::vector<uint64_t>& axis) {
  return !axis.empty() && std::ranges::adjacent_find(axis, std::greater_equal<>()) == axis.end();
}

// What is wrong with the curve; empty: nothing. A checksum shows damage, but not that a program wrote nonsense.
std::string Contradiction(const Curve& curve) {
  const CurveForm& form = curve.form;
  if (!Ascends(form.dram) || !Ascends(form.scm)) return "the sizes of its grid do not ascend";
  if (curve.points.size() != form.dram.size() * form.scm.size()) return "it has not one point for each pair of sizes";
  if (!(form.fast_share >= 0 && form.fast_share < 1)) return "its fast level has no share of its SCM sizes";
  if (form.seeds == 0 || curve.sums.counted_requests == 0) return "it counts nothing";
  for (size_t i = 0; i < curve.points.size(); ++i) {
    const CurvePoint& point = curve.points[i];
    const std::string at = fmt::format("its point {}", i);
    if (point.dram_bytes != form.dram[i / form.scm.size()] || point.scm_bytes != form.scm[i % form.scm.size()])
      return at + " is not that of its grid";
    if (point.seeds.size() != form.seeds) return at + " has another number of seeds";
    for (const PointCounts& counts : point.seeds) {
      if (counts.dram_hits + counts.scm_hits() > curve.sums.counted_requests)
        return at + " has more hits than requests";
    }
  }
  return "";
}

}  // namespace

std::string CurveText(const Curve& curve, const json& manifest) {
  json points = CurveJson(curve);
  // A line a point: these files are read by people, too.
  json list = json::array();
  points["points"].swap(list);
  // Paths in it are any bytes.
  const auto text = [](const json& of) {
    return of.dump(-1, ' ', /*ensure_ascii=*/false, json::error_handler_t::replace);
  };
  std::string rest = fmt::format("\"manifest\":{},\n\"curve\":{}", text(manifest), text(points));
  assert(rest.ends_with('}'));
  const std::string empty = "\"points\":[]";
  std::string lines;
  for (const json& point : list) lines += fmt::format("{}\n{}", lines.empty() ? "" : ",", point.dump());
  rest.replace(rest.rfind(empty), empty.size(), fmt::format("\"points\":[{}]", lines));
  rest += "}\n";
  return FirstLine(rest) + rest;
}

Status ParseCurve(std::string_view text, const std::string& path, Curve* curve) {
  if (!text.starts_with(kBegin)) {
    return Status::IoError(
        fmt::format("{} does not begin as a curve does; make it with mezz_plan curve, or copy it anew", path));
  }
  const size_t behind = text.find('\n');
  const std::string_view rest = behind == std::string_view::npos ? "" : text.substr(behind + 1);
  const std::string_view first = text.substr(0, text.size() - rest.size());
  const std::string version = fmt::format("{}{},", kBegin, kCurveFileVersion);
  if (!first.starts_with(version)) {
    return Status::IoError(fmt::format("{} is a curve of another version than {}, the one known here; make it anew",
                                       path, kCurveFileVersion));
  }
  if (first != FirstLine(rest)) {
    return Status::IoError(
        fmt::format("{} is damaged: its {} bytes do not have the checksum of its first line; copy it anew, or make it "
                    "anew with mezz_plan curve",
                    path, text.size()));
  }
  try {
    *curve = CurveOf(json::parse(text).at("curve"));
  } catch (const json::exception& error) {
    return Status::IoError(fmt::format("{} is no curve, though its checksum is right: {}", path, error.what()));
  }
  const std::string wrong = Contradiction(*curve);
  if (wrong.empty()) return Status::Ok();
  return Status::IoError(fmt::format("{} is no curve, though its checksum is right: {}", path, wrong));
}

Status WriteCurve(const Curve& curve, const json& manifest, const std::string& path) {
  return WriteFileAtomically(path, CurveText(curve, manifest));
}

Status ReadCurve(const std::string& path, Curve* curve) {
  std::error_code error;
  const uintmax_t bytes = std::filesystem::file_size(path, error);
  if (error) return Status::NotFound(fmt::format("{}: {}", path, error.message()));
  if (bytes > kFileBytesMax)
    return Status::InvalidArgument(fmt::format("{} is no curve: it has {} MiB", path, bytes >> 20));
  std::ifstream file(path, std::ios::binary);
  if (!file) return Status::IoError(fmt::format("{} cannot be read", path));
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return ParseCurve(text, path, curve);
}

}  // namespace mezz::plan
