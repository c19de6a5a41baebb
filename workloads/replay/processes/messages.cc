// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/processes/messages.h"

#include <nlohmann/json.hpp>

namespace mezz {
namespace {

using nlohmann::json;

template <Counted T>
json Write(const T& counts) {
  json message = json::object();
  for (const CountOf<T>& each : kCountsOf<T>) message[each.name] = counts.*each.count;
  return message;
}
template <Counted T>
T Read(const json& message) {
  T counts;
  for (const CountOf<T>& each : kCountsOf<T>) message.at(each.name).get_to(counts.*each.count);
  return counts;
}

// As for counts, one list of fields serves both directions: `fields(object, visit)` calls visit(name, field) for
// each.
template <typename T, typename Fields>
json Write(const T& object, const Fields& fields) {
  json message = json::object();
  fields(object, [&](const char* name, const auto& field) { message[name] = field; });
  return message;
}
template <typename T, typename Fields>
T Read(const json& message, const Fields& fields) {
  T object;
  fields(object, [&](const char* name, auto& field) { message.at(name).get_to(field); });
  return object;
}

constexpr auto kCacheFacts = [](auto& o, const auto& visit) {
  visit("unavailable", o.unavailable);
  visit("medium", o.medium);
  visit("emulated", o.emulated);
  visit("has_second_tier", o.has_second_tier);
  visit("ours", o.ours);
  visit("dram_shards", o.dram_shards);
  visit("dram_shards_usual", o.dram_shards_usual);
  visit("files", o.files);
};

constexpr auto kOpenCommand = [](auto& o, const auto& visit) {
  visit("path", o.path);
  visit("mean_block_bytes", o.mean_block_bytes);
  visit("may_be_missing", o.may_be_missing);
};

constexpr auto kWindowCommand = [](auto& o, const auto& visit) {
  visit("cold", o.cold);
  visit("seconds", o.seconds);
  visit("requests", o.requests);
  visit("first_time_us", o.first_time_us);
};

// Without its tiers.
constexpr auto kSeriesPoint = [](auto& o, const auto& visit) {
  visit("t_s", o.t_s);
  visit("seconds", o.seconds);
  visit("ops", o.ops);
  visit("p99_us", o.p99_us);
};

constexpr auto kPages = [](auto& o, const auto& visit) {
  visit("resident_bytes", o.resident_bytes);
  visit("huge_bytes", o.huge_bytes);
};

// Without what is written apart: tiers, flash, packed, background, roles, latencies.
constexpr auto kWindowResult = [](auto& o, const auto& visit) {
  visit("ops", o.ops);
  visit("seconds", o.seconds);
  visit("settle_seconds", o.settle_seconds);
  visit("cpu_seconds", o.cpu_seconds);
  visit("context_switches", o.context_switches);
  visit("second_hits_by_role", o.second_hits_by_role);
  visit("demotions", o.demotions);
  visit("promotions", o.promotions);
  visit("scm_writes", o.scm_writes);
  visit("clean_evictions", o.clean_evictions);
  visit("refusals", o.refusals);
  visit("operations", o.operations);
  visit("not_found", o.not_found);
  visit("other_bytes", o.other_bytes);
  visit("scm_dead_share", o.scm_dead_share);
};

}  // namespace

json ToJson(const CacheFacts& facts) { return Write(facts, kCacheFacts); }
json ToJson(const OpenCommand& command) { return Write(command, kOpenCommand); }
json ToJson(const WindowCommand& command) { return Write(command, kWindowCommand); }
CacheFacts CacheFactsOf(const json& message) { return Read<CacheFacts>(message, kCacheFacts); }
OpenCommand OpenCommandOf(const json& message) { return Read<OpenCommand>(message, kOpenCommand); }
WindowCommand WindowCommandOf(const json& message) { return Read<WindowCommand>(message, kWindowCommand); }

json ToJson(const WindowResult& result) {
  json message = Write(result, kWindowResult);
  message["tiers"] = Write(result.tiers);
  message["flash"] = Write(result.flash);
  message["packed"] = Write(result.packed);
  message["background"] = Write(result.background);
  for (const RoleCounts& role : result.roles) message["roles"].push_back(Write(role));
  json latencies = json::array();
  result.latencies.ForEach([&](uint64_t ns, uint64_t count) {
    latencies.push_back(ns);
    latencies.push_back(count);
  });
  message["latencies"] = std::move(latencies);
  message["latency_max"] = result.latencies.max_ns();
  return message;
}

WindowResult WindowResultOf(const json& message) {
  WindowResult result = Read<WindowResult>(message, kWindowResult);
  result.tiers = Read<TierCounts>(message.at("tiers"));
  result.flash = Read<FlashCounts>(message.at("flash"));
  result.packed = Read<PackedCounts>(message.at("packed"));
  result.background = Read<BackgroundCounts>(message.at("background"));
  for (size_t i = 0; i < kRoleSlots; ++i) result.roles[i] = Read<RoleCounts>(message.at("roles").at(i));
  const json& latencies = message.at("latencies");
  for (size_t i = 0; i + 1 < latencies.size(); i += 2) {
    result.latencies.Record(latencies[i].get<uint64_t>(), latencies[i + 1].get<uint64_t>());
  }
  result.latencies.SetMax(message.at("latency_max").get<uint64_t>());
  return result;
}

json ToJson(const CacheEnd& end) {
  json series = json::array();
  for (const SeriesPoint& point : end.series) {
    series.push_back(Write(point, kSeriesPoint));
    series.back()["tiers"] = Write(point.tiers);
  }
  return {{"series", std::move(series)},
          {"counters", end.counters},
          {"peak_rss_bytes", end.peak_rss_bytes},
          {"dram_tier_bytes", end.dram_tier_bytes},
          {"dram_beside_bytes", end.dram_beside_bytes},
          {"pages", Write(end.pages, kPages)}};
}

CacheEnd CacheEndOf(const json& message) {
  CacheEnd end;
  for (const json& point : message.at("series")) {
    end.series.push_back(Read<SeriesPoint>(point, kSeriesPoint));
    end.series.back().tiers = Read<TierCounts>(point.at("tiers"));
  }
  message.at("counters").get_to(end.counters);
  message.at("peak_rss_bytes").get_to(end.peak_rss_bytes);
  message.at("dram_tier_bytes").get_to(end.dram_tier_bytes);
  message.at("dram_beside_bytes").get_to(end.dram_beside_bytes);
  end.pages = Read<PageCounts>(message.at("pages"), kPages);
  return end;
}

}  // namespace mezz
