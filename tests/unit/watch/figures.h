// SPDX-License-Identifier: Apache-2.0
// The figures of a made-up cache, as its metrics= would serve them.
#pragma once

#include <fmt/format.h>

#include <map>
#include <string>

namespace mezz::watch {

struct Figures {
  // Of a cache with which all is well, and which has done enough to tell.
  std::map<std::string, std::string> info = {{"rocksdb", "11.8.1"},   {"policy", "adaptive"},
                                             {"pack", "auto"},        {"heirs", "on"},
                                             {"medium", "file"},      {"description", "file /dev/shm/mezz (tmpfs)"},
                                             {"granularity", "page"}, {"persistent_memory", "false"},
                                             {"emulated", "false"},   {"model", "none"}};
  std::map<std::string, double> values = {
      {"scm_capacity_bytes", 1 << 30},
      {"scm_ready_bytes", 1 << 30},
      {"scm_huge_page_bytes", 1 << 30},
      {"scm_usage_bytes", 1 << 29},
      {"scm_closed", 0},
      {"scm_faults_total", 0},
      {"dram_capacity_bytes", 256 << 20},
      {"dram_usage_bytes", 128 << 20},
      {"largest_flush_bytes", 64 << 20},
      {"compaction_looked_up_total", 1000},
      {R"(warming_offered_total{writer="flush"})", 100},
      {R"(warming_offered_total{writer="compaction"})", 100},
      {R"(scm_file_forgotten_total{medium="file",role="data"})", 5},
      {R"(dram_hit_total{role="data"})", 5000},
      {R"(dram_hit_total{role="index"})", 5000},
      {R"(dram_hit_total{role="filter"})", 5000},
      {R"(scm_hit_total{medium="file",role="data"})", 3000},
      {R"(miss_total{role="data"})", 2000},
      {R"(miss_total{role="index"})", 100},
      {R"(miss_total{role="filter"})", 100},
      {R"(insert_total{role="data"})", 2000},
      {R"(demotion_total{role="data"})", 1500},
      {R"(promotion_total{role="data"})", 100},
      {R"(promotion_refused_total{role="data"})", 0},
      {R"(refused_total{reason="policy",role="data"})", 500},
      {R"(refused_total{reason="too_large",role="filter"})", 0},
      {R"(decision_total{point="dram_eviction",action="drop",reason="churn",role="data"})", 500},
      {R"(scm_put_total{medium="file",role="data"})", 5000},
      {R"(scm_written_bytes_total{medium="file",role="data"})", 10 << 20},
      {R"(scm_displaced_total{medium="file",role="data"})", 0},
      {R"(scm_packed_put_total{medium="file",role="data"})", 5000},
      {R"(scm_packed_put_bytes_total{medium="file",role="data"})", 20 << 20},
      {R"(scm_packed_put_stored_bytes_total{medium="file",role="data"})", 10 << 20},
      {R"(pack_rejected_total{role="data"})", 0}};

  std::string Text() const {
    std::string text = "# TYPE mezzanine_cache info\nmezzanine_cache_info{";
    for (const auto& [label, value] : info)
      text += fmt::format("{}{}=\"{}\"", text.ends_with('{') ? "" : ",", label, value);
    text += "} 1\n";
    for (const auto& [name, value] : values) text += fmt::format("mezzanine_{} {}\n", name, value);
    return text + "# EOF\n";
  }
};

}  // namespace mezz::watch
