// SPDX-License-Identifier: Apache-2.0
// A strict reader of OpenMetrics 1.0, for what we write.
#pragma once

#include <cctype>
#include <charconv>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace mezz::test {

struct OpenMetrics {
  struct Family {
    std::string type, unit, help;
    std::vector<std::string> series;  // in their order
  };
  std::map<std::string, Family> families;
  std::map<std::string, double> series;  // by name{label="value",...}, values as they were before they were escaped
  std::vector<std::string> violations;

  double at(const std::string& name) const {
    const auto found = series.find(name);
    return found == series.end() ? -1 : found->second;
  }
};

class OpenMetricsReader {
 public:
  static OpenMetrics Read(std::string_view text) {
    OpenMetricsReader reader;
    reader.ReadAll(text);
    return std::move(reader.read_);
  }

 private:
  using Labels = std::vector<std::pair<std::string, std::string>>;

  void Violation(std::string_view what, std::string_view line) {
    read_.violations.push_back(std::string(what) + ": " + std::string(line));
  }

  void ReadAll(std::string_view text) {
    bool ended = false;
    while (!text.empty()) {
      const size_t end = text.find('\n');
      if (end == std::string_view::npos) return Violation("no line feed at the end", text);
      const std::string_view line = text.substr(0, end);
      text.remove_prefix(end + 1);
      if (ended) return Violation("something behind # EOF", line);
      if (line == "# EOF") {
        ended = true;
      } else if (line.starts_with("# ")) {
        ReadMetadata(line);
      } else {
        ReadSample(line);
      }
    }
    if (!ended) Violation("no # EOF", "");
    for (const auto& [name, family] : read_.families) CheckFamily(name, family);
  }

  static bool IsName(std::string_view name, std::string_view also) {
    for (const char c : name) {
      if (std::isalnum(static_cast<unsigned char>(c)) == 0 && also.find(c) == std::string_view::npos) return false;
    }
    return !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) == 0;
  }

  void ReadMetadata(std::string_view line) {
    std::string_view rest = line.substr(2);
    const size_t space = rest.find(' ');
    const std::string_view keyword = rest.substr(0, space);
    rest.remove_prefix(space == std::string_view::npos ? rest.size() : space + 1);
    const std::string name(rest.substr(0, rest.find(' ')));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    if (!IsName(name, "_:")) Violation("no name", line);
    if (name != current_ && read_.families.count(name) != 0) Violation("a family in two places", line);
    current_ = name;
    OpenMetrics::Family& family = read_.families[name];
    if (!family.series.empty()) Violation("metadata behind samples", line);
    std::string* const to = keyword == "TYPE"   ? &family.type
                            : keyword == "UNIT" ? &family.unit
                            : keyword == "HELP" ? &family.help
                                                : nullptr;
    if (to == nullptr || rest.empty()) return Violation("neither TYPE, UNIT nor HELP, or nothing behind it", line);
    if (!to->empty()) Violation("twice", line);
    *to = rest;
  }

  void ReadSample(std::string_view line) {
    const size_t name_end = line.find_first_of("{ ");
    const std::string name(line.substr(0, name_end));
    std::string_view rest = line.substr(std::min(line.size(), name.size()));
    Labels labels;
    if (rest.starts_with('{') && !ReadLabels(&rest, &labels)) return Violation("labels", line);
    if (!rest.starts_with(' ')) return Violation("no space before the value", line);
    rest.remove_prefix(1);
    double value = 0;
    const auto [stop, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error != std::errc() || stop != rest.data() + rest.size()) return Violation("no number", line);
    const OpenMetrics::Family& family = read_.families[current_];
    if (!name.starts_with(current_) || !SuffixFits(family.type, name.substr(current_.size()), labels))
      Violation("a sample that its type (" + family.type + ") does not have", line);
    if (family.type == "counter" && !(value >= 0)) Violation("a counter below 0", line);
    if (family.type == "info" && value != 1) Violation("an info that is not 1", line);
    std::string key = name;
    std::set<std::string> names;
    for (const auto& [label, text] : labels) {
      key += (names.empty() ? "{" : ",") + label + "=\"" + text + "\"";
      if (!names.insert(label).second) Violation("a label twice", line);
    }
    if (!names.empty()) key += "}";
    if (!read_.series.insert({key, value}).second) Violation("a series twice", line);
    read_.families[current_].series.push_back(key);
  }

  bool ReadLabels(std::string_view* rest, Labels* labels) {
    while (!rest->starts_with('}')) {
      rest->remove_prefix(1);  // '{' or ','
      const std::string name(rest->substr(0, rest->find('=')));
      if (!IsName(name, "_") || rest->substr(std::min(rest->size(), name.size()), 2) != "=\"") return false;
      rest->remove_prefix(name.size() + 2);
      std::string value;
      for (; !rest->empty() && rest->front() != '"'; rest->remove_prefix(1)) {
        if (rest->front() != '\\') {
          value += rest->front();
          continue;
        }
        rest->remove_prefix(1);
        if (rest->empty()) return false;
        const char escaped = rest->front();
        if (escaped != 'n' && escaped != '\\' && escaped != '"') return false;
        value += escaped == 'n' ? '\n' : escaped;
      }
      if (rest->empty()) return false;
      rest->remove_prefix(1);
      labels->push_back({name, value});
      if (!rest->starts_with(',') && !rest->starts_with('}')) return false;
    }
    rest->remove_prefix(1);
    return true;
  }

  static bool SuffixFits(std::string_view type, std::string_view suffix, const Labels& labels) {
    if (type == "counter") return suffix == "_total";
    if (type == "info") return suffix == "_info";
    if (type == "gauge") return suffix.empty();
    const bool bucket = !labels.empty() && labels.back().first == "le";
    return type == "histogram" && (bucket ? suffix == "_bucket" : suffix == "_count" || suffix == "_sum");
  }

  void CheckFamily(const std::string& name, const OpenMetrics::Family& family) {
    if (family.type.empty() || family.help.empty()) Violation("no TYPE, or no HELP", name);
    if (!family.unit.empty() && !name.ends_with("_" + family.unit)) Violation("a unit that the name lacks", name);
    for (const std::string_view unit : {"bytes", "seconds", "ratio"}) {
      if (name.ends_with(unit) && family.unit != unit) Violation("a name with a unit that is not told", name);
    }
    if (name.ends_with("_total") || name.ends_with("_info")) Violation("a suffix in the family's name", name);
    if (family.series.empty()) Violation("a family without a sample", name);
    if (family.type != "histogram") return;
    double below = 0;
    for (const std::string& key : family.series) {
      if (!key.starts_with(name + "_bucket")) continue;
      if (read_.at(key) < below) Violation("buckets that fall", key);
      below = read_.at(key);
    }
    if (read_.at(name + "_bucket{le=\"+Inf\"}") != below || read_.at(name + "_count") != below)
      Violation("+Inf, or the count, is not the sum", name);
  }

  OpenMetrics read_;
  std::string current_;  // family
};

}  // namespace mezz::test
