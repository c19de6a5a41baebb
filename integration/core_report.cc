// SPDX-License-Identifier: Apache-2.0
// The report of a hybrid cache: its figures as text.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "cache/base/text.h"
#include "integration/core_figures.h"
#include "integration/packing_advice.h"
#include "integration/warming.h"

namespace mezz {
namespace {

std::string_view ToString(std::optional<Codec> codec) {
  if (!codec) return "raw";
  return *codec == Codec::kLz4 ? "lz4" : "zstd";
}

void AppendCounters(const CounterSnapshot& counters, std::string* text) {
  for (size_t e = 0; e < kEvents; ++e) {
    const auto event = static_cast<Event>(e);
    fmt::format_to(std::back_inserter(*text), "{}: {}{}\n", ToString(event), counters[event],
                   RolesText(counters.by_role[e]));
  }
}

std::string RecoveryText(const RecoveryReport& report) {
  if (report.outcome != RecoveryReport::Outcome::kRecovered) return "";
  return fmt::format(
      "recovery.running: {}\nrecovery.recovered: {}\nrecovery.recovered_bytes: {}\nrecovery.in_dram: {}\n"
      "recovery.dropped: {}\nrecovery.passed_over: {}\nrecovery.given_up_segments: {}\n",
      report.running ? 1 : 0, report.records, report.bytes, report.in_dram, report.dropped, report.passed_over,
      report.given_up);
}

std::string DramText(const CoreFigures& figures) {
  const std::string total =
      figures.dram_total_bytes ? fmt::format("dram.total_bytes: {}\n", *figures.dram_total_bytes) : "";
  return fmt::format("{}dram.tier_bytes: {}\ndram.warmed_bytes: {}\n{}", total, figures.dram_capacity_bytes,
                     figures.dram_warmed_bytes, figures.dram.ToString());
}

std::string ScmText(const CoreFigures& figures) {
  const MediumInfo& medium = figures.medium;
  return fmt::format(
      "medium: {}{}\n"
      "medium.emulated: {}\n"
      "medium.store_granularity: {}\n"
      "medium.persistent_memory: {}\n"
      "medium.model: {}\n"
      "scm.capacity_bytes: {}\n"
      "scm.usage_bytes: {}\n"
      "scm.faults: {}\n"
      "scm.bus_errors: {}\n"
      "scm.quarantined_bytes: {}\n"
      "scm.closed: {}\n"
      "scm.pinned_bytes: {}\n"
      "scm.pin_pressure: {}\n"
      "scm.resident_blocks: {}\n"
      "scm.dram_bytes: {}\n",
      medium.description, figures.name_trouble.empty() ? "" : ", which " + figures.name_trouble, medium.emulated,
      ToString(medium.granularity), medium.persistent_memory, figures.options.scm.ModelText(), figures.capacity_bytes,
      figures.used_bytes, figures.faults, figures.bus_errors, figures.quarantined_bytes, figures.closed ? 1 : 0,
      figures.pinned_bytes, figures.pin_pressure, figures.resident_blocks, figures.scm_dram_bytes);
}

// One line for each of several media.
std::string MembersText(const CoreFigures& figures) {
  std::string text;
  for (size_t number = 0; number < figures.members.size(); ++number) {
    const MemberFigures& of = figures.members[number];
    text += fmt::format("medium.{}: {}{}, {} of {} used, {} faults{}\n", number + 1,
                        of.level == Level::kSlow ? "slow, " : "", of.description, HumanBytes(of.usage_bytes),
                        HumanBytes(of.bytes), of.faults, of.is_out ? ", left out" : "");
  }
  return text;
}

std::string HeirsText(const CoreFigures& figures) {
  return fmt::format("heirs: {}\n",
                     WarmingText({.heirs = figures.options.heirs,
                                  .flushed = figures.offered_by_flushes,
                                  .compacted = figures.offered_by_compactions,
                                  .read_by_compactions = figures.read_by_compactions,
                                  .without_scm = figures.counters.of(Event::kRefusedNotPersistable, BlockRole::kData),
                                  .read_back = figures.read_back}));
}

// One line for each database that has a share, and one for the rest.
std::string DatabasesText(const CoreFigures& figures) {
  std::string text;
  for (const DatabaseFigures& it : figures.databases) text += ToText(it);
  return text;
}

// Of several media the advice is for all together, so each must be such that it would be given for that one alone.
std::string AdviceText(const CoreFigures& figures) {
  const ScmOptions& scm = figures.options.scm;
  std::string advice;
  if (figures.members.empty()) return PackingAdvice(scm.medium, figures.medium, figures.counters);
  for (size_t number = 0; number < figures.members.size(); ++number) {
    MediumInfo medium = figures.medium;
    medium.description = figures.members[number].description;
    medium.persistent_memory = IsPersistentMemory(medium.description);
    advice = PackingAdvice(scm.members[number].medium, medium, figures.counters);
    if (advice.empty()) break;
  }
  return advice;
}

// What the tier packed since it was opened: blocks' bytes over bytes stored.
std::string PackedText(const CoreFigures& figures) {
  const HybridCacheOptions& options = figures.options;
  if (options.scm.pack == PackMode::kOff) return "";
  const CounterSnapshot& counters = figures.counters;
  const auto stored = static_cast<double>(std::max<uint64_t>(counters[Event::kScmPackedPutStored], 1));
  const auto hits = static_cast<double>(std::max<uint64_t>(counters[Event::kScmHit], 1));
  std::string text =
      fmt::format("pack.codec: {}\nscm.packed_ratio: {:.2f}\nscm.packed_hit_share: {:.3f}\n", ToString(figures.codec),
                  static_cast<double>(counters[Event::kScmPackedPutBytes]) / stored,
                  static_cast<double>(counters[Event::kScmPackedHit]) / hits);
  const auto out = std::back_inserter(text);
  if (figures.flash_read_ns)
    fmt::format_to(out, "flash.miss_ns: {}\npack.zstd_percent: {}\n", *figures.flash_read_ns, *figures.zstd_percent);
  if (figures.staged_puts)
    fmt::format_to(out, "pack.staged: {}\npack.stage_full: {}\n", *figures.staged_puts, *figures.unstaged_puts);
  return text + AdviceText(figures);
}

}  // namespace

std::string ToReport(const CoreFigures& figures, UriKind uri) {
  const HybridCacheOptions& options = figures.options;
  std::string text = fmt::format("options: {}\npolicy: {}\npolicy.dram_bytes: {}\n",
                                 uri == UriKind::kHybrid ? options.ToUri() : options.ToScmSecondaryUri(),
                                 options.policy, figures.policy_bytes);
  text += ScmText(figures) + MembersText(figures) + DramText(figures) + DatabasesText(figures);
  if (uri == UriKind::kHybrid) text += HeirsText(figures);
  text += PackedText(figures) + RecoveryText(figures.recovery);
  AppendCounters(figures.counters, &text);
  return text + figures.decisions.ToString();
}

}  // namespace mezz
