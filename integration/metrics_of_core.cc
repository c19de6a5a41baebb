// SPDX-License-Identifier: Apache-2.0
// What monitoring is told of a cache: the only list of it.
//
// Names: `mezzanine_` and what the report calls it, with underscores for dots; then the unit, and _total of what only
// grows. Labels have few values: roles, reasons, the kind of the medium. Paths and sizes are label values of
// mezzanine_cache_info alone.
#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "fmt/format.h"
#include "integration/core_figures.h"
#include "rocksdb/version.h"

namespace mezz {
namespace {

constexpr std::string_view kBytes = "bytes";
constexpr std::string_view kSeconds = "seconds";
constexpr std::string_view kRatio = "ratio";
constexpr double kNsOfSecond = 1e9;

enum class Of : uint8_t { kTimes, kSize };

struct EventRow {
  Event event;
  Of of;
  std::string_view help;
};
constexpr EventRow kEventRows[] = {
    {Event::kScmHit, Of::kTimes, "Look-ups that found their block in the SCM tier."},
    {Event::kScmPackedHit, Of::kTimes, "Of the SCM hits: those of packed records, which had to be unpacked."},
    {Event::kScmPackedHitStored, Of::kSize, "What the packed records that were hit take on the medium."},
    {Event::kScmImageHit, Of::kTimes, "Of the packed hits: those of images, as compressed SST files hold the block."},
    {Event::kScmHitByCompaction, Of::kTimes, "Of the SCM hits: those of compactions, which no user asked for."},
    {Event::kScmPackedHitByCompaction, Of::kTimes, "Of the packed hits: those of compactions."},
    {Event::kScmMiss, Of::kTimes, "Look-ups that the SCM tier was asked for and did not answer."},
    {Event::kScmPut, Of::kTimes, "Blocks that were stored in the SCM tier."},
    {Event::kScmPutBytes, Of::kSize, "Their size, unpacked."},
    {Event::kScmPackedPut, Of::kTimes, "Of the puts: those stored packed."},
    {Event::kScmPackedPutBytes, Of::kSize, "Size of the blocks that were stored packed, unpacked."},
    {Event::kScmPackedPutStored, Of::kSize, "What these take on the medium."},
    {Event::kScmImagePut, Of::kTimes, "Of the packed puts: those stored as compressed SST files hold them."},
    {Event::kScmWrittenBytes, Of::kSize, "Written to the medium, for whatever cause: its wear."},
    {Event::kScmErase, Of::kTimes, "Records that were erased."},
    {Event::kScmReplaced, Of::kTimes, "Puts that found a record of their key."},
    {Event::kScmDropped, Of::kTimes, "Records that reclaim let go."},
    {Event::kScmSecondChance, Of::kTimes, "Records that reclaim wrote anew, because they were hit."},
    {Event::kScmSecondChanceBytes, Of::kSize, "What these take on the medium."},
    {Event::kScmDemoted, Of::kTimes, "Records that reclaim moved from the fast media to the slow ones."},
    {Event::kScmDemotedBytes, Of::kSize, "What these take on the slow media."},
    {Event::kScmPackedAtReclaim, Of::kTimes, "Records that reclaim packed instead of letting them go."},
    {Event::kScmDisplaced, Of::kTimes, "Records that left because their place in the index was full."},
    {Event::kScmDeadDropped, Of::kTimes, "Records that left because their file is deleted."},
    {Event::kScmDeadDroppedBytes, Of::kSize, "What these took on the medium."},
    {Event::kScmFileForgotten, Of::kTimes, "Files of which the cache was told that they are deleted."},
    {Event::kScmFileRevived, Of::kTimes, "Files that were asked for all the same."},
    {Event::kScmSegmentReclaimed, Of::kTimes, "Segments that were emptied."},
    {Event::kScmSegmentRequeued, Of::kTimes, "Segments that reclaim kept whole, without a write."},
    {Event::kScmSegmentSparse, Of::kTimes, "Segments that went first, because most of them was of deleted files."},
    {Event::kScmSegmentSkippedPinned, Of::kTimes, "Segments that reclaim passed over, because somebody read them."},
    {Event::kScmChecksumMismatch, Of::kTimes, "Records whose bytes had changed on the medium; none was served."},
    {Event::kScmDamagedHeader, Of::kTimes, "Record headers that had changed on the medium."},
    {Event::kScmUnpackFailed, Of::kTimes, "Whole records that were no packed block; none was served."},
    {Event::kScmNoDictionary, Of::kTimes, "Records whose dictionary is not there; none was served."},
    {Event::kScmImageFailed, Of::kTimes, "Whole images of which RocksDB made no such block."},
    {Event::kScmImageUnread, Of::kTimes, "Images that a look-up had nothing to unpack with."},
    {Event::kPackRejected, Of::kTimes, "Blocks that were tried to be packed, saved too little and were left raw."},
    {Event::kPackSkipped, Of::kTimes, "Blocks that were left raw because their kind does not pack."},
    {Event::kPackCodecChanged, Of::kTimes, "How often pack=auto chose another codec."},
    {Event::kPackNoMemory, Of::kTimes, "Blocks that were left raw for want of memory to pack them in."},
    {Event::kPackedWithDictionary, Of::kTimes, "Blocks that were packed with a dictionary."},
    {Event::kDictionaryTrained, Of::kTimes, "Dictionaries that were trained and are used since."},
    {Event::kDictionaryUseless, Of::kTimes, "Dictionaries that were trained and gained too little."},
    {Event::kDictionaryCollected, Of::kTimes, "Dictionaries that went with their last record."},
    {Event::kDictionaryWritten, Of::kTimes, "Dictionaries that were written to the medium, again too."},
    {Event::kRefusedTooLarge, Of::kTimes, "Blocks that were not stored in the SCM tier, by reason."},
    {Event::kRefusedAllPinned, Of::kTimes, "Blocks that were not stored in the SCM tier, by reason."},
    {Event::kRefusedNoSpace, Of::kTimes, "Blocks that were not stored in the SCM tier, by reason."},
    {Event::kRefusedFillFailed, Of::kTimes, "Blocks that were not stored in the SCM tier, by reason."},
    {Event::kRefusedForked, Of::kTimes, "Blocks that were not stored in the SCM tier, by reason."},
    {Event::kRefusedKeySize, Of::kTimes, "Blocks that were not stored in the SCM tier, by reason."},
    {Event::kRefusedDeadFile, Of::kTimes, "Blocks that were not stored in the SCM tier, by reason."},
    {Event::kRefusedCompressed, Of::kTimes, "Blocks that were not stored in the SCM tier, by reason."},
    {Event::kRefusedPolicy, Of::kTimes, "Blocks that were not stored in the SCM tier, by reason."},
    {Event::kRefusedChanged, Of::kTimes, "Blocks that were not stored in the SCM tier, by reason."},
    {Event::kRefusedNotPersistable, Of::kTimes, "Blocks that were not stored in the SCM tier, by reason."},
    {Event::kDramHit, Of::kTimes, "Look-ups that the DRAM tier answered."},
    {Event::kMiss, Of::kTimes, "Look-ups that neither tier answered: RocksDB reads flash."},
    {Event::kInsert, Of::kTimes, "Blocks that RocksDB inserted."},
    {Event::kInsertToScm, Of::kTimes, "Of the inserts: those that the policy sent to the SCM tier alone."},
    {Event::kInsertToBoth, Of::kTimes, "Of the inserts: those of which the SCM tier took the image as well."},
    {Event::kInsertBypassed, Of::kTimes, "Of the inserts: those that the policy sent to neither tier."},
    {Event::kDramEviction, Of::kTimes, "Blocks that left the DRAM tier."},
    {Event::kCleanEviction, Of::kTimes, "Of these: blocks that the SCM tier held already, so nothing was written."},
    {Event::kChangedEviction, Of::kTimes, "Of these: blocks of which the SCM tier held other bytes."},
    {Event::kDemotion, Of::kTimes, "Blocks that moved from the DRAM tier to the SCM tier."},
    {Event::kServedInPlace, Of::kTimes, "SCM hits that were served where they lie."},
    {Event::kServedCopied, Of::kTimes, "SCM hits that were served as a copy."},
    {Event::kPromotion, Of::kTimes, "SCM hits that moved to the DRAM tier."},
    {Event::kPromotionRefused, Of::kTimes, "Promotions that found no room in a strict DRAM tier."},
    {Event::kAdoptionFailed, Of::kTimes, "Blocks that could not be built where they lie and were copied."},
    {Event::kCreateFailed, Of::kTimes, "SCM hits of which RocksDB made no block: misses."},
    {Event::kAllocationFailed, Of::kTimes, "Steps that found no memory."},
};
static_assert(std::size(kEventRows) == kEvents);
static_assert(
    [] {
      for (size_t i = 0; i < kEvents; ++i) {
        if (kEventRows[i].event != static_cast<Event>(i)) return false;
      }
      return true;
    }(),
    "a row for each event, in their order");

// What is no event, and has no role: one number each.
struct FigureRow {
  std::string_view name;  // without the prefix
  MetricType type;
  std::string_view unit;
  bool of_medium;  // labelled so
  std::string_view help;
  std::optional<double> (*read)(const CoreFigures& figures);  // nothing: this cache has none
};

std::optional<double> Maybe(const std::optional<uint64_t>& value, double divisor = 1) {
  return value ? std::optional(static_cast<double>(*value) / divisor) : std::nullopt;
}
std::optional<double> OfCurve(const CoreFigures& figures, uint64_t CacheCurve::Figures::*figure) {
  return figures.curve ? std::optional<double>(static_cast<double>((*figures.curve).*figure)) : std::nullopt;
}
std::optional<double> Recovered(const CoreFigures& figures, uint64_t value) {
  if (figures.recovery.outcome != RecoveryReport::Outcome::kRecovered) return std::nullopt;
  return static_cast<double>(value);
}

#define MEZZ_READ(value) [](const CoreFigures& f) -> std::optional<double> { return value; }
constexpr auto kCounter = MetricType::kCounter;
constexpr auto kGauge = MetricType::kGauge;
constexpr FigureRow kFigureRows[] = {
    {"scm_capacity_bytes", kGauge, kBytes, true, "What the SCM tier may use of its medium now.",
     MEZZ_READ(f.capacity_bytes)},
    {"scm_ready_bytes", kGauge, kBytes, true, "Of the medium: what is prepared to be used.", MEZZ_READ(f.ready_bytes)},
    {"scm_huge_page_bytes", kGauge, kBytes, true, "Of what is prepared: what came as pages of 2 MiB.",
     MEZZ_READ(f.huge_page_bytes)},
    {"scm_usage_bytes", kGauge, kBytes, true, "Of the medium: segments that hold records.", MEZZ_READ(f.used_bytes)},
    {"scm_pinned_bytes", kGauge, kBytes, true, "Of the medium: segments that somebody reads now.",
     MEZZ_READ(f.pinned_bytes)},
    {"scm_quarantined_bytes", kGauge, kBytes, true, "Of the medium: segments out of use, because their memory failed.",
     MEZZ_READ(f.quarantined_bytes)},
    {"scm_resident_blocks", kGauge, "", true, "Blocks that the SCM tier holds.", MEZZ_READ(f.resident_blocks)},
    {"scm_pin_pressure", kGauge, "", true, "1: readers hold so much that hits are copied for now.",
     MEZZ_READ(f.pin_pressure)},
    {"scm_closed", kGauge, "", true, "1: the SCM tier has closed itself, because its medium fails.",
     MEZZ_READ(f.closed)},
    {"scm_faults", kCounter, "", true, "Faults of the medium: what was whole in this life and is not any more.",
     MEZZ_READ(f.faults)},
    {"scm_bus_errors", kCounter, "", true, "Of the faults: bus errors that were contained.", MEZZ_READ(f.bus_errors)},
    {"dram_capacity_bytes", kGauge, kBytes, false, "What the DRAM tier may hold now.",
     MEZZ_READ(f.dram_capacity_bytes)},
    {"dram_usage_bytes", kGauge, kBytes, false, "What the DRAM tier holds.",
     MEZZ_READ(f.dram_tier ? std::optional<double>(f.dram_tier->bytes) : std::nullopt)},
    {"dram_pinned_bytes", kGauge, kBytes, false, "Of it: what somebody reads now.",
     MEZZ_READ(f.dram_tier ? std::optional<double>(f.dram_tier->pinned_bytes) : std::nullopt)},
    {"dram_total_bytes", kGauge, kBytes, false, "What the cache may take of DRAM, with dram_total.",
     MEZZ_READ(Maybe(f.dram_total_bytes))},
    {"dram_warmed_bytes", kGauge, kBytes, false, "What went back to DRAM after a restart.",
     MEZZ_READ(f.dram_warmed_bytes)},
    {"largest_flush_bytes", kGauge, kBytes, false,
     "Keys and values of the largest memtable that was flushed, as far as the cache was told.",
     MEZZ_READ(f.largest_flush_bytes)},
    {"read_back_reads", kCounter, "", false, "Reads of files, to bring the heirs of what a compaction rewrote back.",
     MEZZ_READ(f.read_back.reads)},
    {"read_back_bytes", kCounter, kBytes, false, "What these reads have read.", MEZZ_READ(f.read_back.bytes)},
    {"read_back_blocks", kCounter, "", false, "Blocks that were read so, and decided on.",
     MEZZ_READ(f.read_back.blocks)},
    {"read_back_skipped", kCounter, "", false,
     "Compactions that were not read back, as few of such blocks were asked for.", MEZZ_READ(f.read_back.skipped)},
    {"flash_read_seconds", kGauge, kSeconds, false, "Mean time of a miss of late, by which pack=auto chooses.",
     MEZZ_READ(Maybe(f.flash_read_ns, kNsOfSecond))},
    {"pack_zstd_ratio", kGauge, kRatio, false, "What zstd makes of late of what LZ4 makes 1 of.",
     MEZZ_READ(Maybe(f.zstd_percent, 100))},
    {"pack_staged", kCounter, "", false, "Blocks of compactions that were left to the packing thread.",
     MEZZ_READ(Maybe(f.staged_puts))},
    {"pack_stage_full", kCounter, "", false, "Blocks of compactions that were packed at once, as the stage was full.",
     MEZZ_READ(Maybe(f.unstaged_puts))},
    {"recovery_running", kGauge, "", false, "1: blocks of an earlier process come back still.",
     MEZZ_READ(Recovered(f, f.recovery.running))},
    {"recovery_recovered_blocks", kGauge, "", false, "Blocks of an earlier process that were found again.",
     MEZZ_READ(Recovered(f, f.recovery.records))},
    {"recovery_recovered_bytes", kGauge, kBytes, false, "What these take on the medium.",
     MEZZ_READ(Recovered(f, f.recovery.bytes))},
    {"recovery_in_dram_blocks", kGauge, "", false, "Of these blocks: those that the DRAM tier held.",
     MEZZ_READ(Recovered(f, f.recovery.in_dram))},
    {"recovery_dropped_blocks", kGauge, "", false, "Whole records of an earlier process that were of no use.",
     MEZZ_READ(Recovered(f, f.recovery.dropped))},
    {"recovery_passed_over_blocks", kGauge, "", false, "Records for which a younger one stands.",
     MEZZ_READ(Recovered(f, f.recovery.passed_over))},
    {"recovery_given_up_segments", kGauge, "", false, "Segments of an earlier process that were not read.",
     MEZZ_READ(Recovered(f, f.recovery.given_up))},
    {"compaction_looked_up", kCounter, "", false, "Data blocks that compactions looked up.",
     MEZZ_READ(f.read_by_compactions)},
    {"decision_invalid", kCounter, "", false, "Answers of the policy that their point does not allow: a mistake in it.",
     MEZZ_READ(f.decisions.invalid())},
    {"curve_sampled", kCounter, "", false, "Look-ups that the live curve has kept.",
     MEZZ_READ(OfCurve(f, &CacheCurve::Figures::sampled))},
    {"curve_dropped", kCounter, "", false, "Look-ups that the live curve would have kept, but threads met.",
     MEZZ_READ(OfCurve(f, &CacheCurve::Figures::dropped))},
};
#undef MEZZ_READ

std::string WithPrefix(std::string_view name) {
  std::string prefixed = fmt::format("mezzanine_{}", name);
  std::replace(prefixed.begin(), prefixed.end(), '.', '_');
  return prefixed;
}

std::string NumberText(double number) { return fmt::format("{}", number); }

class Families {
 public:
  explicit Families(const CoreFigures& figures) : figures_(figures) {}

  MetricFamilies Make() {
    AddInfo();
    AddEvents();
    AddDecisions();
    for (const FigureRow& row : kFigureRows) AddFigure(row);
    AddSplitFigures();
    AddMembers();
    AddDatabases();
    AddMissLatency();
    AddCurve();
    return std::move(made_);
  }

 private:
  MetricFamily& Add(std::string_view name, MetricType type, std::string_view unit, std::string_view help) {
    return made_.emplace_back(MetricFamily{.name = WithPrefix(name), .type = type, .unit = unit, .help = help});
  }
  // The medium's kind, as the URI says it.
  MetricLabel Medium() const {
    const ScmOptions& scm = figures_.options.scm;
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

  void AddInfo() {
    const auto yes_no = [](bool yes) { return std::string(yes ? "true" : "false"); };
    Add("cache", MetricType::kInfo, "", "How the cache is set up; always 1.").samples = {
        {.labels = {{"rocksdb", fmt::format("{}.{}.{}", ROCKSDB_MAJOR, ROCKSDB_MINOR, ROCKSDB_PATCH)},
                    {"policy", figures_.options.policy},
                    {"pack", std::string(ToString(figures_.options.scm.pack))},
                    {"heirs", figures_.options.heirs ? "on" : "off"},
                    Medium(),
                    {"description", figures_.medium.description},
                    {"granularity", std::string(ToString(figures_.medium.granularity))},
                    {"persistent_memory", yes_no(figures_.medium.persistent_memory)},
                    {"emulated", yes_no(figures_.medium.emulated)},
                    {"model", figures_.options.scm.ModelText()}},
         .value = 1}};
  }

  // "refused.too_large" and its like are one family, by reason.
  void AddEvents() {
    constexpr std::string_view kRefused = "refused.";
    MetricFamily refused{.name = WithPrefix("refused"), .type = kCounter};
    for (const EventRow& row : kEventRows) {
      const std::string_view text = ToString(row.event);
      const bool is_refusal = text.starts_with(kRefused);
      std::string name(text);
      if (row.of == Of::kSize && !name.ends_with("_bytes")) name += "_bytes";
      MetricFamily& family =
          is_refusal ? refused : Add(name, kCounter, row.of == Of::kSize ? kBytes : std::string_view(), row.help);
      family.help = row.help;
      for (size_t i = 0; i < kBlockRoles; ++i) {
        const auto role = static_cast<BlockRole>(i);
        MetricSample& sample = family.samples.emplace_back();
        if (is_refusal) sample.labels.push_back({"reason", std::string(text.substr(kRefused.size()))});
        if (text.starts_with("scm.")) sample.labels.push_back(Medium());
        sample.labels.push_back({"role", std::string(ToString(role))});
        sample.value = static_cast<double>(figures_.counters.of(row.event, role));
      }
    }
    made_.push_back(std::move(refused));
  }

  // What never happened is left out: few of the thousands of pairs are ever given.
  void AddDecisions() {
    MetricFamily& family = Add("decision", kCounter, "", "What the policy answered, where, and why.");
    for (size_t p = 0; p < kDecisionPoints; ++p) {
      for (size_t a = 0; a < kActions; ++a) {
        const auto point = static_cast<DecisionPoint>(p);
        const auto action = static_cast<Action>(a);
        if (!IsAllowed(point, action)) continue;
        for (size_t r = 0; r < kReasons; ++r) AddDecision(point, action, static_cast<Reason>(r), &family);
      }
    }
  }
  void AddDecision(DecisionPoint point, Action action, Reason reason, MetricFamily* family) const {
    for (size_t i = 0; i < kBlockRoles; ++i) {
      const auto role = static_cast<BlockRole>(i);
      const uint64_t count = figures_.decisions.of(point, action, reason, role);
      if (count == 0) continue;
      family->samples.push_back({.labels = {{"point", std::string(ToString(point))},
                                            {"action", std::string(ToString(action))},
                                            {"reason", std::string(ToString(reason))},
                                            {"role", std::string(ToString(role))}},
                                 .value = static_cast<double>(count)});
    }
  }

  void AddFigure(const FigureRow& row) {
    const std::optional<double> value = row.read(figures_);
    if (!value) return;
    MetricSample sample{.labels = {}, .value = *value};
    if (row.of_medium) sample.labels.push_back(Medium());
    Add(row.name, row.type, row.unit, row.help).samples.push_back(std::move(sample));
  }

  // Figures that are sums of others, by a label.
  void AddSplit(std::string_view name, MetricType type, std::string_view unit, std::string_view help,
                std::string_view label, const std::vector<std::pair<std::string_view, double>>& values) {
    MetricFamily& family = Add(name, type, unit, help);
    for (const auto& [of, value] : values)
      family.samples.push_back({.labels = {{label, std::string(of)}}, .value = value});
  }
  void AddSplitFigures() {
    const auto number = [](uint64_t value) { return static_cast<double>(value); };
    const DramUse& dram = figures_.dram;
    AddSplit("dram_beside_tier_bytes", kGauge, kBytes, "DRAM that the cache's own structures take.", "structure",
             {{"index", number(dram.index)},
              {"segments", number(dram.segments)},
              {"policies", number(dram.policies)},
              {"hit_bits", number(dram.hit_bits)},
              {"packing", number(dram.packing)},
              {"curve", number(dram.curve)},
              {"rest", number(dram.rest)}});
    AddSplit("warming_offered", kCounter, "", "Blocks that RocksDB wrote and offered to the cache, by who wrote them.",
             "writer",
             {{"flush", number(figures_.offered_by_flushes)}, {"compaction", number(figures_.offered_by_compactions)}});
    const ReadBackCounts& back = figures_.read_back;
    AddSplit(
        "read_back_files", kCounter, "",
        "Tables that compactions wrote, by whether their heirs were read back (left_out: by none of their blocks).",
        "outcome",
        {{"read", number(back.files - back.failed)},
         {"failed", number(back.failed)},
         {"left_out", number(back.dropped)}});
    AddSplit(
        "pack_codec", kGauge, "", "1 at the codec that new records are packed with; raw: they are not.", "codec",
        {{"raw", !figures_.codec}, {"lz4", figures_.codec == Codec::kLz4}, {"zstd", figures_.codec == Codec::kZstd}});
    AddSplit("metrics_deliveries", kCounter, "",
             "Clients that were answered, or files written (done), and those that were not (failed).", "outcome",
             {{"done", number(figures_.deliveries.done)}, {"failed", number(figures_.deliveries.failed)}});
  }

  // By medium, of several.
  void AddMembers() {
    if (figures_.members.empty()) return;
    const auto add = [&](std::string_view name, MetricType type, std::string_view unit, std::string_view help,
                         const auto& figure) {
      MetricFamily& family = Add(name, type, unit, help);
      for (size_t number = 0; number < figures_.members.size(); ++number) {
        const ScmTier::MemberFigures& of = figures_.members[number];
        family.samples.push_back({.labels = {{"number", std::to_string(number + 1)}, {"description", of.description}},
                                  .value = static_cast<double>(figure(of))});
      }
    };
    using Figures = ScmTier::MemberFigures;
    add("member_bytes", kGauge, kBytes, "Of one of several media: what the tier may use of it.",
        [](const Figures& of) { return of.bytes; });
    add("member_used_bytes", kGauge, kBytes, "Of one of several media: segments that hold records.",
        [](const Figures& of) { return of.usage_bytes; });
    add("member_fault", kCounter, "", "Of one of several media: times that its memory failed.",
        [](const Figures& of) { return of.faults; });
    add("member_left_out", kGauge, "", "1 if one of several media failed, and is not used any more.",
        [](const Figures& of) { return of.is_out ? 1 : 0; });
  }

  // By database; kSharesMax at most, so the label is bounded. The rest is database="".
  void AddDatabases() {
    if (figures_.databases.empty()) return;
    const auto add = [&](std::string_view name, std::string_view help, uint64_t DatabaseFigures::*figure) {
      MetricFamily& family = Add(name, kGauge, kBytes, help);
      for (const DatabaseFigures& it : figures_.databases)
        family.samples.push_back({.labels = {{"database", it.name}}, .value = static_cast<double>(it.*figure)});
    };
    add("database_scm_bytes", "Of the medium: segments of the database's records.", &DatabaseFigures::scm_bytes);
    add("database_scm_reserved_bytes", "Of the medium: what others cannot take from the database.",
        &DatabaseFigures::scm_reserved_bytes);
    add("database_scm_max_bytes", "Of the medium: what the database may have.", &DatabaseFigures::scm_max_bytes);
    add("database_dram_bytes", "What the database's DRAM tier holds.", &DatabaseFigures::dram_bytes);
    add("database_dram_capacity_bytes", "What the database's DRAM tier may hold now.",
        &DatabaseFigures::dram_capacity_bytes);
    MetricFamily& hits = Add("database_hit", kCounter, "", "Look-ups of the database that a tier answered.");
    for (const DatabaseFigures& it : figures_.databases) {
      for (const auto& [tier, event] : {std::pair("dram", Event::kDramHit), std::pair("scm", Event::kScmHit)})
        hits.samples.push_back(
            {.labels = {{"database", it.name}, {"tier", tier}}, .value = static_cast<double>(it.counters[event])});
    }
    MetricFamily& misses = Add("database_miss", kCounter, "", "Look-ups of the database that no tier answered.");
    for (const DatabaseFigures& it : figures_.databases) {
      misses.samples.push_back(
          {.labels = {{"database", it.name}}, .value = static_cast<double>(it.counters[Event::kMiss])});
    }
  }

  void AddMissLatency() {
    if (!figures_.misses) return;
    MetricFamily& family =
        Add("miss_latency_seconds", MetricType::kHistogram, kSeconds,
            "From a look-up that missed both tiers to the insert of the block that was read instead; data and blobs.");
    uint64_t below = 0;
    for (size_t i = 0; i < figures_.misses->counts.size(); ++i) {
      below += figures_.misses->counts[i];
      const bool last = i == MissLatency::kBoundsNs.size();
      const std::string bound =
          last ? "+Inf" : NumberText(static_cast<double>(MissLatency::kBoundsNs[i]) / kNsOfSecond);
      family.samples.push_back({.labels = {{"le", bound}}, .value = static_cast<double>(below), .suffix = "_bucket"});
    }
    family.samples.push_back({.labels = {}, .value = static_cast<double>(below), .suffix = "_count"});
    family.samples.push_back(
        {.labels = {}, .value = static_cast<double>(figures_.misses->sum_ns) / kNsOfSecond, .suffix = "_sum"});
  }

  void AddCurve() {
    if (!figures_.curve || figures_.curve->points.empty()) return;
    MetricFamily hits{.name = WithPrefix("curve_hit_ratio"),
                      .unit = kRatio,
                      .help =
                          "What share of the look-ups each tier would answer, if the tiers were so many times as "
                          "large as they are."};
    MetricFamily errors{.name = WithPrefix("curve_error_ratio"),
                        .unit = kRatio,
                        .help = "How far off the sum of both may be, in 95 of 100 cases."};
    for (const CacheCurve::Point& point : figures_.curve->points) {
      const std::vector<MetricLabel> sizes = {{"dram", NumberText(point.dram)}, {"scm", NumberText(point.scm)}};
      const auto of_tier = [&](const char* tier, double value) {
        MetricSample& sample = hits.samples.emplace_back();
        sample.labels = sizes;
        sample.labels.push_back({"tier", tier});
        sample.value = value;
      };
      of_tier("dram", point.dram_hits);
      of_tier("scm", point.scm_hits);
      errors.samples.push_back({.labels = sizes, .value = point.error});
    }
    made_.push_back(std::move(hits));
    made_.push_back(std::move(errors));
  }

  const CoreFigures& figures_;
  MetricFamilies made_;
};

}  // namespace

MetricFamilies ToMetrics(const CoreFigures& figures) { return Families(figures).Make(); }

}  // namespace mezz
