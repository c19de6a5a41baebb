// SPDX-License-Identifier: Apache-2.0
// What is wrong with the set-up of a running cache, each with the remedy.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/watch/metric_samples.h"

namespace mezz::watch {

struct Rule {
  std::string_view name;
  // Too little has happened yet to tell. Null: one look is enough.
  bool (*too_early)(const MetricSamples& samples);
  // What is wrong, in a sentence with its figures. Nothing: all is well.
  std::optional<std::string> (*wrong)(const MetricSamples& samples);
  std::string_view remedy;
};
// The worst first.
std::span<const Rule> Rules();

struct Diagnosis {
  struct Finding {
    std::string_view rule;
    std::string sentence;
    std::string_view remedy;
  };
  std::string cache;  // what it is, in a line
  std::vector<Finding> findings;
  std::vector<std::string_view> too_early;  // the rules that could not tell yet
  bool healthy() const { return findings.empty(); }
};
Diagnosis Diagnose(const MetricSamples& samples);

std::string DiagnosisText(const Diagnosis& diagnosis);
nlohmann::json DiagnosisJson(const Diagnosis& diagnosis);

}  // namespace mezz::watch
