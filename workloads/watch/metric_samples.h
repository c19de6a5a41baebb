// SPDX-License-Identifier: Apache-2.0
// The figures of a running cache, as its metrics= serves them.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cache/status.h"

namespace mezz::watch {

class MetricSamples {
 public:
  using Label = std::pair<std::string_view, std::string_view>;
  using Labels = std::initializer_list<Label>;

  static constexpr size_t kTextBytesMax = 16 << 20;  // a hundred times what a cache serves

  // Parses OpenMetrics text of a cache of ours. Strict: refuses what begins otherwise, has a line that is neither
  // metadata nor a sample, or does not end in "# EOF". `with_end` is false for Prometheus' older format, which has no
  // such end. The message is the rest of a sentence whose subject is the text's source.
  static Status Parse(std::string_view text, bool with_end, MetricSamples* samples);

  // Names are without "mezzanine_". The samples of a name that have all of `labels`, summed up; 0 if there are none.
  double Sum(std::string_view name, Labels labels = {}) const;
  bool Has(std::string_view name) const { return by_name_.find(name) != by_name_.end(); }
  // The sums by each value of a label.
  std::map<std::string, double> SumsBy(std::string_view name, std::string_view label, Labels labels = {}) const;
  // The value of a label of mezzanine_cache_info; empty if it has none.
  std::string Info(std::string_view label) const;

 private:
  struct Sample {
    std::vector<std::pair<std::string, std::string>> labels;
    double value = 0;

    const std::string* Find(std::string_view label) const;
    bool HasAll(Labels labels) const;
  };

  Status ParseSample(std::string_view line);

  std::map<std::string, std::vector<Sample>, std::less<>> by_name_;
};

// A figure in bytes, for a reader.
std::string BytesText(double bytes);

}  // namespace mezz::watch
