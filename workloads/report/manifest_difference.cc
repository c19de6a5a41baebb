// SPDX-License-Identifier: Apache-2.0
#include "workloads/report/manifest_difference.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

namespace mezz {
namespace {

using nlohmann::json;
using Facts = std::map<std::string, std::string>;

// Where things lie, and lists that the comparison deals with itself.
const std::set<std::string> kIgnored = {"db", "scm_path", "caches", "hybrid_uri"};

std::string Text(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', false, json::error_handler_t::replace);
}

void AddMembers(const json& object, Facts* facts) {
  if (!object.is_object()) return;
  for (const auto& [name, value] : object.items()) {
    if (!kIgnored.contains(name)) (*facts)[name] = Text(value);
  }
}

// "mezzanine://dram=48M;scm=192M": an option each.
// Of 64M@/a,64M@/b the sizes: two runs lie in two places.
std::string WithoutPlaces(std::string_view value) {
  std::string text;
  bool in_place = false;
  for (const char c : value) {
    in_place = (in_place && c != ',') || c == '@';
    if (!in_place) text += c;
  }
  return text;
}

void AddUri(std::string_view uri, Facts* facts) {
  const size_t scheme = uri.find("://");
  if (scheme != std::string_view::npos) uri.remove_prefix(scheme + 3);
  while (!uri.empty()) {
    const std::string_view part = uri.substr(0, uri.find(';'));
    uri.remove_prefix(std::min(uri.size(), part.size() + 1));
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string name(part.substr(0, equals));
    if (!kIgnored.contains(name)) (*facts)["hybrid " + name] = WithoutPlaces(part.substr(equals + 1));
  }
}

Facts FactsOf(const json& result) {
  Facts facts;
  for (const char* name : {"rocksdb", "compiler", "asserts", "model", "workload", "distinct_keys", "database_bytes"}) {
    if (result.contains(name)) facts[name] = Text(result[name]);
  }
  const json nothing = json::object();
  AddMembers(result.value("host", nothing), &facts);
  const json options = result.value("options", nothing);
  AddMembers(options, &facts);
  if (options.contains("hybrid_uri") && options["hybrid_uri"].is_string()) {
    AddUri(options["hybrid_uri"].get<std::string>(), &facts);
  }
  return facts;
}

}  // namespace

std::vector<std::string> ManifestDifferences(const json& a, const json& b) {
  const Facts in_a = FactsOf(a);
  const Facts in_b = FactsOf(b);
  std::set<std::string> names;
  for (const Facts* facts : {&in_a, &in_b}) {
    for (const auto& [name, value] : *facts) names.insert(name);
  }
  const auto text = [](const Facts& facts, const std::string& name) {
    const auto at = facts.find(name);
    return at == facts.end() ? std::string("not recorded") : at->second.empty() ? std::string("none") : at->second;
  };
  std::vector<std::string> differences;
  for (const std::string& name : names) {
    const std::string value_a = text(in_a, name);
    const std::string value_b = text(in_b, name);
    if (value_a != value_b) differences.push_back(fmt::format("{}: {} in A, {} in B", name, value_a, value_b));
  }
  return differences;
}

}  // namespace mezz
