// SPDX-License-Identifier: Apache-2.0
// What monitoring is told of a cache: the only list of it.
//
// Names: `mezzanine_` and what the report calls it, with underscores for dots; then the unit, and _total of what only
// grows. Labels have few values: roles, reasons, the kind of the medium. Paths and sizes are label values of
// mezzanine_cache_info alone.
#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "integration/core_figures.h"
#include "integration/event_help.h"
#include "integration/rocksdb_release.h"

namespace mezz {
namespace {

constexpr uint64_t kNsOfSecond = 1'000'000'000;

// --- how figures are read ---

using Figures = CoreFigures;
using Member = MemberFigures;
using Numbers = std::vector<MetricSample>;

std::string NumberText(double number) { return fmt::format("{}", number); }

template <typename Number>
MetricSample Sample(std::vector<MetricLabel> labels, Number value) {
  return {.labels = std::move(labels), .value = static_cast<double>(value)};
}

// The medium's kind, as the URI says it.
MetricLabel MediumOf(const Figures& figures) {
  const ScmOptions& scm = figures.options.scm;
  const auto kind_of = [](MediumKind medium, int node) {
    return medium == MediumKind::kNumaNode ? fmt::format("{}:{}", ToString(medium), node)
                                           : std::string(ToString(medium));
  };
  if (scm.members.empty()) return {"medium", kind_of(scm.medium, scm.numa_node)};
  std::string kinds;
  for (const ScmMember& member : scm.members)
    kinds += fmt::format("{}{}", kinds.empty() ? "" : "+", kind_of(member.medium, member.numa_node));
  return {"medium", std::move(kinds)};
}

// A member, which may be missing, or what that returns.
template <typename T>
std::optional<double> AsNumber(const T& value) {
  return static_cast<double>(value);
}
template <typename T>
std::optional<double> AsNumber(const std::optional<T>& value) {
  return value ? AsNumber(*value) : std::nullopt;
}
Numbers OfNumber(std::optional<double> number, std::vector<MetricLabel> labels = {}) {
  return number ? Numbers{Sample(std::move(labels), *number)} : Numbers{};
}

// One member.
template <auto kMember>
Numbers One(const Figures& figures) {
  return OfNumber(AsNumber(figures.*kMember));
}
template <auto kMember>
Numbers OfMedium(const Figures& figures) {
  return OfNumber(AsNumber(figures.*kMember), {MediumOf(figures)});
}
// A member of a member, which may be missing.
template <auto kMember, auto kOfIt>
Numbers OneOf(const Figures& figures) {
  const auto& of = figures.*kMember;
  if constexpr (requires { of.has_value(); }) {
    return of ? OfNumber(AsNumber(std::invoke(kOfIt, *of))) : Numbers{};
  } else {
    return OfNumber(AsNumber(std::invoke(kOfIt, of)));
  }
}
template <auto kMember>
Numbers Recovered(const Figures& figures) {
  if (figures.recovery.outcome != RecoveryReport::Outcome::kRecovered) return {};
  return OfNumber(AsNumber(figures.recovery.*kMember));
}
// In another unit.
template <auto kMember, uint64_t kDivisor>
Numbers Part(const Figures& figures) {
  const std::optional<double> number = AsNumber(figures.*kMember);
  return number ? OfNumber(*number / static_cast<double>(kDivisor)) : Numbers{};
}

// Parts of a sum.
Numbers By(std::string_view label, const std::vector<std::pair<std::string_view, uint64_t>>& values) {
  Numbers samples;
  for (const auto& [name, value] : values) samples.push_back(Sample({{label, std::string(name)}}, value));
  return samples;
}

// Of several media.
template <auto kMember>
Numbers OfMembers(const Figures& figures) {
  Numbers samples;
  for (const Member& of : figures.members) {
    samples.push_back(
        Sample({{"number", std::to_string(samples.size() + 1)}, {"description", of.description}}, of.*kMember));
  }
  return samples;
}

// By database; kSharesMax at most, so the label is bounded. The rest is database="".
template <auto kMember>
Numbers OfDatabases(const Figures& figures) {
  Numbers samples;
  for (const DatabaseFigures& of : figures.databases) samples.push_back(Sample({{"database", of.name}}, of.*kMember));
  return samples;
}
Numbers HitsOfDatabases(const Figures& figures) {
  Numbers hits;
  for (const DatabaseFigures& of : figures.databases) {
    hits.push_back(Sample({{"database", of.name}, {"tier", "dram"}}, of.counters[Event::kDramHit]));
    hits.push_back(Sample({{"database", of.name}, {"tier", "scm"}}, of.counters[Event::kScmHit]));
  }
  return hits;
}
Numbers MissesOfDatabases(const Figures& figures) {
  Numbers misses;
  for (const DatabaseFigures& of : figures.databases)
    misses.push_back(Sample({{"database", of.name}}, of.counters[Event::kMiss]));
  return misses;
}

Numbers MissLatencies(const Figures& figures) {
  if (!figures.misses) return {};
  Numbers samples;
  uint64_t below = 0;
  for (size_t i = 0; i < figures.misses->counts.size(); ++i) {
    below += figures.misses->counts[i];
    const bool last = i == MissLatency::kBoundsNs.size();
    const std::string bound = last ? "+Inf" : NumberText(static_cast<double>(MissLatency::kBoundsNs[i]) / kNsOfSecond);
    samples.push_back({.labels = {{"le", bound}}, .value = static_cast<double>(below), .suffix = "_bucket"});
  }
  samples.push_back({.labels = {}, .value = static_cast<double>(below), .suffix = "_count"});
  samples.push_back(
      {.labels = {}, .value = static_cast<double>(figures.misses->sum_ns) / kNsOfSecond, .suffix = "_sum"});
  return samples;
}

// At the sizes of the live curve's points: of both tiers, and of their sum.
template <auto... kOfPoint>
Numbers OfCurve(const Figures& figures) {
  constexpr const char* kTiers[] = {"dram", "scm"};
  Numbers samples;
  if (!figures.curve) return samples;
  for (const CacheCurve::Point& point : figures.curve->points) {
    size_t tier = 0;
    for (const double ratio : {point.*kOfPoint...}) {
      samples.push_back(Sample({{"dram", NumberText(point.dram)}, {"scm", NumberText(point.scm)}}, ratio));
      if (sizeof...(kOfPoint) > 1) samples.back().labels.push_back({"tier", kTiers[tier++]});
    }
  }
  return samples;
}

// --- what is no event, and has no role ---

constexpr auto kCounter = MetricType::kCounter;
constexpr auto kGauge = MetricType::kGauge;

struct FigureRow {
  std::string_view name;  // without the prefix
  MetricType type;
  std::string_view help;
  Numbers (*read)(const Figures& figures);  // empty: this cache has none
};
constexpr FigureRow kFigureRows[] = {
    {"scm_capacity_bytes", kGauge, "What the SCM tier may use of its medium now.", OfMedium<&Figures::capacity_bytes>},
    {"scm_ready_bytes", kGauge, "Of the medium: what is prepared to be used.", OfMedium<&Figures::ready_bytes>},
    {"scm_huge_page_bytes", kGauge, "Of what is prepared: what came as pages of 2 MiB.",
     OfMedium<&Figures::huge_page_bytes>},
    {"scm_usage_bytes", kGauge, "Of the medium: segments that hold records.", OfMedium<&Figures::used_bytes>},
    {"scm_pinned_bytes", kGauge, "Of the medium: segments that somebody reads now.", OfMedium<&Figures::pinned_bytes>},
    {"scm_quarantined_bytes", kGauge, "Of the medium: segments out of use, because their memory failed.",
     OfMedium<&Figures::quarantined_bytes>},
    {"scm_resident_blocks", kGauge, "Blocks that the SCM tier holds.", OfMedium<&Figures::resident_blocks>},
    {"scm_pin_pressure", kGauge, "1: readers hold so much that hits are copied for now.",
     OfMedium<&Figures::pin_pressure>},
    {"scm_closed", kGauge, "1: the SCM tier has closed itself, because its medium fails.", OfMedium<&Figures::closed>},
    {"scm_faults", kCounter, "Faults of the medium: what was whole in this life and is not any more.",
     OfMedium<&Figures::faults>},
    {"scm_bus_errors", kCounter, "Of the faults: bus errors that were contained.", OfMedium<&Figures::bus_errors>},
    {"dram_capacity_bytes", kGauge, "What the DRAM tier may hold now.", One<&Figures::dram_capacity_bytes>},
    {"dram_usage_bytes", kGauge, "What the DRAM tier holds.", OneOf<&Figures::dram_tier, &DramTierUse::bytes>},
    {"dram_pinned_bytes", kGauge, "Of it: what somebody reads now.",
     OneOf<&Figures::dram_tier, &DramTierUse::pinned_bytes>},
    {"dram_total_bytes", kGauge, "What the cache may take of DRAM, with dram_total.", One<&Figures::dram_total_bytes>},
    {"dram_warmed_bytes", kGauge, "What went back to DRAM after a restart.", One<&Figures::dram_warmed_bytes>},
    {"largest_flush_bytes", kGauge,
     "Keys and values of the largest memtable that was flushed, as far as the cache was told.",
     One<&Figures::largest_flush_bytes>},
    {"read_back_reads", kCounter, "Reads of files, to bring the heirs of what a compaction rewrote back.",
     OneOf<&Figures::read_back, &ReadBackCounts::reads>},
    {"read_back_bytes", kCounter, "What these reads have read.", OneOf<&Figures::read_back, &ReadBackCounts::bytes>},
    {"read_back_blocks", kCounter, "Blocks that were read so, and decided on.",
     OneOf<&Figures::read_back, &ReadBackCounts::blocks>},
    {"read_back_skipped", kCounter, "Compactions that were not read back, as few of such blocks were asked for.",
     OneOf<&Figures::read_back, &ReadBackCounts::skipped>},
    {"flash_read_seconds", kGauge, "Mean time of a miss of late, by which pack=auto chooses.",
     Part<&Figures::flash_read_ns, kNsOfSecond>},
    {"pack_zstd_ratio", kGauge, "What zstd makes of late of what LZ4 makes 1 of.", Part<&Figures::zstd_percent, 100>},
    {"pack_staged", kCounter, "Blocks of compactions that were left to the packing thread.",
     One<&Figures::staged_puts>},
    {"pack_stage_full", kCounter, "Blocks of compactions that were packed at once, as the stage was full.",
     One<&Figures::unstaged_puts>},
    {"recovery_running", kGauge, "1: blocks of an earlier process come back still.",
     Recovered<&RecoveryReport::running>},
    {"recovery_recovered_blocks", kGauge, "Blocks of an earlier process that were found again.",
     Recovered<&RecoveryReport::records>},
    {"recovery_recovered_bytes", kGauge, "What these take on the medium.", Recovered<&RecoveryReport::bytes>},
    {"recovery_in_dram_blocks", kGauge, "Of these blocks: those that the DRAM tier held.",
     Recovered<&RecoveryReport::in_dram>},
    {"recovery_dropped_blocks", kGauge, "Whole records of an earlier process that were of no use.",
     Recovered<&RecoveryReport::dropped>},
    {"recovery_passed_over_blocks", kGauge, "Records for which a younger one stands.",
     Recovered<&RecoveryReport::passed_over>},
    {"recovery_given_up_segments", kGauge, "Segments of an earlier process that were not read.",
     Recovered<&RecoveryReport::given_up>},
    {"compaction_looked_up", kCounter, "Data blocks that compactions looked up.", One<&Figures::read_by_compactions>},
    {"decision_invalid", kCounter, "Answers of the policy that their point does not allow: a mistake in it.",
     OneOf<&Figures::decisions, &DecisionSnapshot::invalid>},
    {"curve_sampled", kCounter, "Look-ups that the live curve has kept.",
     OneOf<&Figures::curve, &CacheCurve::Figures::sampled>},
    {"curve_dropped", kCounter, "Look-ups that the live curve would have kept, but threads met.",
     OneOf<&Figures::curve, &CacheCurve::Figures::dropped>},
    {"dram_beside_tier_bytes", kGauge, "DRAM that the cache's own structures take.",
     [](const Figures& f) {
       return By("structure", {{"index", f.dram.index},
                               {"segments", f.dram.segments},
                               {"policies", f.dram.policies},
                               {"hit_bits", f.dram.hit_bits},
                               {"packing", f.dram.packing},
                               {"curve", f.dram.curve},
                               {"rest", f.dram.rest}});
     }},
    {"warming_offered", kCounter, "Blocks that RocksDB wrote and offered to the cache, by who wrote them.",
     [](const Figures& f) {
       return By("writer", {{"flush", f.offered_by_flushes}, {"compaction", f.offered_by_compactions}});
     }},
    {"read_back_files", kCounter,
     "Tables that compactions wrote, by whether their heirs were read back (left_out: by none of their blocks).",
     [](const Figures& f) {
       const ReadBackCounts& back = f.read_back;
       return By("outcome", {{"read", back.files - back.failed}, {"failed", back.failed}, {"left_out", back.dropped}});
     }},
    {"pack_codec", kGauge, "1 at the codec that new records are packed with; raw: they are not.",
     [](const Figures& f) {
       return By("codec", {{"raw", !f.codec}, {"lz4", f.codec == Codec::kLz4}, {"zstd", f.codec == Codec::kZstd}});
     }},
    {"metrics_deliveries", kCounter,
     "Clients that were answered, or files written (done), and those that were not (failed).",
     [](const Figures& f) {
       return By("outcome", {{"done", f.deliveries.done}, {"failed", f.deliveries.failed}});
     }},
    {"member_bytes", kGauge, "Of one of several media: what the tier may use of it.", OfMembers<&Member::bytes>},
    {"member_used_bytes", kGauge, "Of one of several media: segments that hold records.",
     OfMembers<&Member::usage_bytes>},
    {"member_fault", kCounter, "Of one of several media: times that its memory failed.", OfMembers<&Member::faults>},
    {"member_left_out", kGauge, "1 if one of several media failed, and is not used any more.",
     OfMembers<&Member::is_out>},
    {"database_scm_bytes", kGauge, "Of the medium: segments of the database's records.",
     OfDatabases<&DatabaseFigures::scm_bytes>},
    {"database_scm_reserved_bytes", kGauge, "Of the medium: what others cannot take from the database.",
     OfDatabases<&DatabaseFigures::scm_reserved_bytes>},
    {"database_scm_max_bytes", kGauge, "Of the medium: what the database may have.",
     OfDatabases<&DatabaseFigures::scm_max_bytes>},
    {"database_dram_bytes", kGauge, "What the database's DRAM tier holds.", OfDatabases<&DatabaseFigures::dram_bytes>},
    {"database_dram_capacity_bytes", kGauge, "What the database's DRAM tier may hold now.",
     OfDatabases<&DatabaseFigures::dram_capacity_bytes>},
    {"database_hit", kCounter, "Look-ups of the database that a tier answered.", HitsOfDatabases},
    {"database_miss", kCounter, "Look-ups of the database that no tier answered.", MissesOfDatabases},
    {"miss_latency_seconds", MetricType::kHistogram,
     "From a look-up that missed both tiers to the insert of the block that was read instead; data and blobs.",
     MissLatencies},
    {"curve_hit_ratio", kGauge,
     "What share of the look-ups each tier would answer, if the tiers were so many times as large as they are.",
     OfCurve<&CacheCurve::Point::dram_hits, &CacheCurve::Point::scm_hits>},
    {"curve_error_ratio", kGauge, "How far off the sum of both may be, in 95 of 100 cases.",
     OfCurve<&CacheCurve::Point::error>},
};

// The unit is what the name ends with.
MetricFamily Family(std::string_view name, MetricType type, std::string_view help, Numbers samples) {
  constexpr std::string_view kUnits[] = {"bytes", "seconds", "ratio"};
  const std::string_view last = name.substr(name.rfind('_') + 1);
  const bool has_unit = std::ranges::find(kUnits, last) != std::end(kUnits);
  std::string prefixed = fmt::format("mezzanine_{}", name);
  std::ranges::replace(prefixed, '.', '_');
  return {.name = std::move(prefixed),
          .type = type,
          .unit = has_unit ? *std::ranges::find(kUnits, last) : std::string_view(),
          .help = help,
          .samples = std::move(samples)};
}

Numbers Info(const Figures& figures) {
  const auto yes_no = [](bool yes) { return std::string(yes ? "true" : "false"); };
  return {Sample({{"rocksdb", kRocksDbRelease},
                  {"policy", figures.options.policy},
                  {"pack", std::string(ToString(figures.options.scm.pack))},
                  {"heirs", figures.options.heirs ? "on" : "off"},
                  MediumOf(figures),
                  {"description", figures.medium.description},
                  {"granularity", std::string(ToString(figures.medium.granularity))},
                  {"persistent_memory", yes_no(figures.medium.persistent_memory)},
                  {"emulated", yes_no(figures.medium.emulated)},
                  {"model", figures.options.scm.ModelText()}},
                 1)};
}

// Adds the counts of `event` by role, with `labels` in front.
void AddRoles(const Figures& figures, Event event, const std::vector<MetricLabel>& labels, Numbers* samples) {
  for (size_t i = 0; i < kBlockRoles; ++i) {
    const auto role = static_cast<BlockRole>(i);
    samples->push_back(Sample(labels, figures.counters.of(event, role)));
    samples->back().labels.push_back({"role", std::string(ToString(role))});
  }
}

MetricFamily OfEvent(const Figures& figures, const EventRow& row) {
  const std::string_view name = ToString(row.event);
  std::vector<MetricLabel> labels;
  if (name.starts_with("scm.")) labels.push_back(MediumOf(figures));
  Numbers samples;
  AddRoles(figures, row.event, labels, &samples);
  return Family(fmt::format("{}{}", name, name.ends_with("_stored") ? "_bytes" : ""), kCounter, row.help,
                std::move(samples));
}

Numbers Refusals(const Figures& figures) {
  constexpr std::string_view kPrefix = "refused.";
  Numbers samples;
  for (size_t i = 0; i < kEvents; ++i) {
    const auto event = static_cast<Event>(i);
    if (!IsRefusal(event)) continue;
    AddRoles(figures, event, {{"reason", std::string(ToString(event).substr(kPrefix.size()))}}, &samples);
  }
  return samples;
}

void AddDecision(const Figures& figures, DecisionPoint point, Action action, Reason reason, Numbers* samples) {
  for (size_t i = 0; i < kBlockRoles; ++i) {
    const auto role = static_cast<BlockRole>(i);
    const uint64_t count = figures.decisions.of(point, action, reason, role);
    if (count == 0) continue;
    samples->push_back(Sample({{"point", std::string(ToString(point))},
                               {"action", std::string(ToString(action))},
                               {"reason", std::string(ToString(reason))},
                               {"role", std::string(ToString(role))}},
                              count));
  }
}
// What never happened is left out: few of the thousands of combinations are ever given.
Numbers Decisions(const Figures& figures) {
  Numbers samples;
  for (size_t i = 0; i < kDecisionPoints * kActions; ++i) {
    const auto point = static_cast<DecisionPoint>(i / kActions);
    const auto action = static_cast<Action>(i % kActions);
    if (!IsAllowed(point, action)) continue;
    for (size_t r = 0; r < kReasons; ++r) AddDecision(figures, point, action, static_cast<Reason>(r), &samples);
  }
  return samples;
}

}  // namespace

MetricFamilies ToMetrics(const CoreFigures& figures) {
  MetricFamilies families = {Family("cache", MetricType::kInfo, "How the cache is set up; always 1.", Info(figures))};
  for (const EventRow& row : kEventRows) families.push_back(OfEvent(figures, row));
  families.push_back(
      Family("refused", kCounter, "Blocks that were not stored in the SCM tier, by reason.", Refusals(figures)));
  families.push_back(Family("decision", kCounter, "What the policy answered, where, and why.", Decisions(figures)));
  for (const FigureRow& row : kFigureRows) {
    if (Numbers samples = row.read(figures); !samples.empty())
      families.push_back(Family(row.name, row.type, row.help, std::move(samples)));
  }
  return families;
}

}  // namespace mezz
