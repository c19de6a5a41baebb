// SPDX-License-Identifier: Apache-2.0
#include "workloads/watch/doctor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

namespace mezz::watch {

Diagnosis Diagnose(const MetricSamples& samples) {
  Diagnosis diagnosis;
  diagnosis.cache = fmt::format("RocksDB {}, policy={}, {}", samples.Info("rocksdb"), samples.Info("policy"),
                                samples.Info("description"));
  for (const Rule& rule : Rules()) {
    if (rule.too_early != nullptr && rule.too_early(samples)) {
      diagnosis.too_early.push_back(rule.name);
    } else if (std::optional<std::string> sentence = rule.wrong(samples)) {
      diagnosis.findings.push_back({rule.name, std::move(*sentence), rule.remedy});
    }
  }
  return diagnosis;
}

std::string DiagnosisText(const Diagnosis& diagnosis) {
  std::string text = diagnosis.cache + "\n";
  for (const Diagnosis::Finding& finding : diagnosis.findings)
    text += fmt::format("wrong ({}): {}\n  do: {}\n", finding.rule, finding.sentence, finding.remedy);
  text += fmt::format("{} of {} rules found something\n",
                      diagnosis.healthy() ? "none" : fmt::format("{}", diagnosis.findings.size()), Rules().size());
  if (!diagnosis.too_early.empty())
    text += fmt::format("too little has happened yet for: {}\n", fmt::join(diagnosis.too_early, ", "));
  return text;
}

nlohmann::json DiagnosisJson(const Diagnosis& diagnosis) {
  nlohmann::json json{{"cache", diagnosis.cache},
                      {"healthy", diagnosis.healthy()},
                      {"findings", nlohmann::json::array()},
                      {"too_early", diagnosis.too_early}};
  for (const Diagnosis::Finding& finding : diagnosis.findings) {
    json["findings"].push_back({{"rule", finding.rule}, {"sentence", finding.sentence}, {"remedy", finding.remedy}});
  }
  return json;
}

}  // namespace mezz::watch
