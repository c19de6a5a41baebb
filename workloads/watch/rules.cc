// SPDX-License-Identifier: Apache-2.0
// The doctor's rules. docs/how-to/watch.md tells how to do the same by hand.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "cache/pack/codec_rules.h"
#include "workloads/watch/doctor.h"

namespace mezz::watch {
namespace {

using Samples = MetricSamples;
using Sentence = std::optional<std::string>;

// So few may be chance.
constexpr double kLookUpsMin = 1000;
constexpr double kPutsMin = 1000;
constexpr double kCompactionReadsMin = 64;

double LookUps(const Samples& samples, std::string_view role) {
  return samples.Sum("dram_hit_total", {{"role", role}}) + samples.Sum("scm_hit_total", {{"role", role}}) +
         samples.Sum("miss_total", {{"role", role}});
}

// "N blocks (data 3, index 2)"
std::string BlocksByRole(const Samples& samples, std::string_view name, Samples::Labels labels = {}) {
  std::string roles;
  for (const auto& [role, count] : samples.SumsBy(name, "role", labels)) {
    if (count > 0) roles += fmt::format("{}{} {:.0f}", roles.empty() ? "" : ", ", role, count);
  }
  return fmt::format("{:.0f} blocks ({})", samples.Sum(name, labels), roles);
}

// Calls `visit(number, description)` for each medium. Of one alone the number is empty.
template <typename Visit>
void ForEachMedium(const Samples& samples, Visit visit) {
  if (!samples.Has("member_bytes")) return visit("", samples.Info("description"));
  for (const auto& [number, unused] : samples.SumsBy("member_bytes", "number"))
    visit(number, samples.SumsBy("member_bytes", "description", {{"number", number}}).begin()->first);
}

// Of a medium that is a file: the file system, as in "file /dev/shm/mezz (tmpfs)", with "-dax" behind it where DAX maps
// it. Empty: it is none.
std::string_view FileSystem(std::string_view description) {
  const size_t open = description.rfind('(');
  if (!description.starts_with("file ") || open == std::string::npos || !description.ends_with(')')) return "";
  return description.substr(open + 1, description.size() - open - 2);
}
bool IsMemoryFileSystem(std::string_view name) { return name == "tmpfs" || name == "ramfs" || name == "hugetlbfs"; }

// The media that are files on a drive, as the page cache shows them. Empty: there are none.
std::string MediaNotDax(const Samples& samples) {
  std::string media;
  ForEachMedium(samples, [&](const std::string& /*number*/, const std::string& description) {
    const std::string_view file_system = FileSystem(description);
    if (file_system.empty() || IsMemoryFileSystem(file_system) || file_system.ends_with("-dax")) return;
    media += (media.empty() ? "" : " + ") + description;
  });
  return media;
}

// Memory that could be DRAM cache as well, all of it.
bool IsDram(const Samples& samples) {
  bool all = true;
  ForEachMedium(samples, [&](const std::string& /*number*/, const std::string& description) {
    all &= description == "DRAM of this process" || IsMemoryFileSystem(FileSystem(description));
  });
  return all;
}

// False under a stock cache, of whose look-ups the SCM tier sees the misses alone.
bool KnowsDram(const Samples& samples) { return samples.Has("dram_usage_bytes"); }

// RocksDB's release, as 1108 for 11.8.
int Release(const Samples& samples) {
  const std::string text = samples.Info("rocksdb");
  int major = 0, minor = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), major);
  if (parsed.ptr < text.data() + text.size()) std::from_chars(parsed.ptr + 1, text.data() + text.size(), minor);
  return major * 100 + minor;
}

// ---------------------------------------------------------------------------------------------------------------------

Sentence Closed(const Samples& samples) {
  if (samples.Sum("scm_closed") == 0) return std::nullopt;
  return fmt::format("the SCM tier has closed itself, after {:.0f} faults of its medium",
                     samples.Sum("scm_faults_total"));
}

Sentence MediumLeftOut(const Samples& samples) {
  std::string out;
  ForEachMedium(samples, [&](const std::string& number, const std::string& description) {
    if (samples.Sum("member_left_out", {{"number", number}}) == 0) return;
    out += fmt::format("{}medium {}, {}", out.empty() ? "" : "; ", number, description);
  });
  if (out.empty()) return std::nullopt;
  return fmt::format("of several media some failed and are not used any more: {}", out);
}

// Which of several media failed how often, as " (medium 2, numa node 1 (no CPUs): 3)".
std::string FaultsByMedium(const Samples& samples) {
  std::string text;
  ForEachMedium(samples, [&](const std::string& number, const std::string& description) {
    const double faults = samples.Sum("member_fault_total", {{"number", number}});
    if (faults > 0)
      text += fmt::format("{}medium {}, {}: {:.0f}", text.empty() ? "" : "; ", number, description, faults);
  });
  return text.empty() ? "" : fmt::format(" ({})", text);
}

Sentence Faults(const Samples& samples) {
  const double faults = samples.Sum("scm_faults_total"), out = samples.Sum("scm_quarantined_bytes");
  const double damaged = samples.Sum("scm_checksum_mismatch_total") + samples.Sum("scm_damaged_header_total");
  if (faults + out + damaged == 0) return std::nullopt;
  return fmt::format("the medium fails: {:.0f} faults{}, {:.0f} records with changed bytes, {} out of use", faults,
                     FaultsByMedium(samples), damaged, BytesText(out));
}

Sentence NotDax(const Samples& samples) {
  const std::string media = MediaNotDax(samples);
  if (media.empty()) return std::nullopt;
  return fmt::format(
      "the medium, {}, is not mapped by DAX: the page cache stands in for memory, and a drive behind it "
      "is written",
      media);
}

// One model for all media, or one for each, with commas between them.
Sentence StandsIn(const Samples& samples) {
  const std::string model = samples.Info("model");
  bool slows = false;
  for (std::string_view rest = model; !rest.empty();) {
    const std::string_view one = rest.substr(0, rest.find(','));
    slows |= one != "none";
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
  }
  if (!slows) return std::nullopt;
  return fmt::format("model={} slows the medium down, so that it stands in for another", model);
}

bool NotPrepared(const Samples& samples) {
  return !samples.Has("scm_huge_page_bytes") || samples.Sum("scm_ready_bytes") < samples.Sum("scm_capacity_bytes") / 2;
}
// Below that, the processor holds the addresses of small pages as well.
constexpr double kHugePagesMatterFrom = 64 << 20;
Sentence SmallPages(const Samples& samples) {
  const double ready = samples.Sum("scm_ready_bytes"), huge = samples.Sum("scm_huge_page_bytes");
  if (!MediaNotDax(samples).empty() || ready < kHugePagesMatterFrom || huge >= ready / 2) return std::nullopt;
  return fmt::format("huge pages are missing: of {} of the medium {} came as pages of 2 MiB", BytesText(ready),
                     BytesText(huge));
}

bool FewCompactionReads(const Samples& samples) {
  return samples.Sum("compaction_looked_up_total") < kCompactionReadsMin;
}
// Releases before 11.1 warm with flushes alone, and the cache reads back what compactions write.
Sentence NoWarming(const Samples& samples) {
  constexpr int kWarmsWithCompactions = 1101;
  if (samples.Info("heirs") == "off" || samples.Sum("warming_offered_total", {{"writer", "compaction"}}) > 0)
    return std::nullopt;
  const double back = samples.Sum("read_back_files_total") + samples.Sum("read_back_skipped_total");
  if (Release(samples) < kWarmsWithCompactions && back > 0) return std::nullopt;
  return fmt::format(
      "warming does not reach the cache: compactions looked up {:.0f} blocks, and none that they wrote was "
      "offered",
      samples.Sum("compaction_looked_up_total"));
}

Sentence NotTold(const Samples& samples) {
  if (samples.Sum("scm_file_forgotten_total") > 0) return std::nullopt;
  return "databases compact, and nobody tells the cache of deleted files, whose blocks keep their space";
}

Sentence LeftOut(const Samples& samples) {
  const double blocks = samples.Sum("refused_total", {{"reason", "not_persistable"}, {"role", "data"}});
  if (blocks == 0) return std::nullopt;
  return fmt::format(
      "{:.0f} data blocks came from a database with lowest_used_cache_tier=kVolatileTier, which stores "
      "nothing in SCM",
      blocks);
}

Sentence UnderTieredCache(const Samples& samples) {
  const double blocks = samples.Sum("refused_total", {{"reason", "compressed"}});
  if (blocks == 0) return std::nullopt;
  return fmt::format("{:.0f} compressed blocks came from a tiered cache, and SCM takes none of them", blocks);
}

Sentence LargeMemtable(const Samples& samples) {
  const double flushed = samples.Sum("largest_flush_bytes");
  const double cache = samples.Sum("dram_capacity_bytes") + samples.Sum("scm_capacity_bytes");
  if (flushed <= cache || !KnowsDram(samples)) return std::nullopt;
  return fmt::format("a memtable of {} was flushed, and the cache has {}: one flush replaces all that it holds",
                     BytesText(flushed), BytesText(cache));
}

Sentence LargerThanSegment(const Samples& samples) {
  const Samples::Label reason{"reason", "too_large"};
  if (samples.Sum("refused_total", {reason}) == 0) return std::nullopt;
  return fmt::format("{} are larger than a segment of the SCM tier, which takes none of them",
                     BlocksByRole(samples, "refused_total", {reason}));
}

bool FewMetadataLookUps(const Samples& samples) {
  return LookUps(samples, "index") < kLookUpsMin && LookUps(samples, "filter") < kLookUpsMin;
}
Sentence LargerThanShard(const Samples& samples) {
  for (const std::string_view role : {"filter", "index"}) {
    const double all = LookUps(samples, role), misses = samples.Sum("miss_total", {{"role", role}});
    if (all < kLookUpsMin || misses < all / 2) continue;
    return fmt::format(
        "{:.0f} of {:.0f} look-ups of {} blocks miss: they are larger than what DRAM keeps of one block, "
        "three quarters of it, or a shard of a cache with strict_capacity_limit",
        misses, all, role);
  }
  return std::nullopt;
}

Sentence StrictDram(const Samples& samples) {
  const double refused = samples.Sum("promotion_refused_total"), done = samples.Sum("promotion_total");
  if (refused <= done) return std::nullopt;
  return fmt::format("{:.0f} blocks found no room in a DRAM tier with strict_capacity_limit, and {:.0f} did", refused,
                     done);
}

bool FewLookUps(const Samples& samples) { return !KnowsDram(samples) || LookUps(samples, "data") < kLookUpsMin; }
Sentence NoMetadata(const Samples& samples) {
  if (LookUps(samples, "index") + LookUps(samples, "filter") > 0) return std::nullopt;
  return fmt::format(
      "index and filters are not in the cache: of {:.0f} look-ups none was of them, so their memory comes "
      "on top",
      LookUps(samples, "data"));
}

bool FewPackingTries(const Samples& samples) {
  if (samples.Info("pack") == "off") return false;
  return samples.Sum("scm_packed_put_total") + samples.Sum("pack_rejected_total") < double{kPackingTriesMin};
}
double PackingRatioOf(const Samples& samples) {
  return PackingRatio(samples.Sum("scm_packed_put_total"), samples.Sum("scm_packed_put_bytes_total"),
                      samples.Sum("scm_packed_put_stored_bytes_total"), samples.Sum("pack_rejected_total"));
}
Sentence NoGainOfDram(const Samples& samples) {
  if (samples.Info("pack") == "off" || !IsDram(samples) || PackingRatioOf(samples) >= kPackingPaysFrom)
    return std::nullopt;
  return fmt::format(
      "the data do not pack ({:.2f} times), and the medium is DRAM: it holds no more than it would as DRAM "
      "cache",
      PackingRatioOf(samples));
}
Sentence PackedInVain(const Samples& samples) {
  constexpr double kMost = 0.9;
  const double rejected = samples.Sum("pack_rejected_total");
  const double tries = rejected + samples.Sum("scm_packed_put_total");
  if (samples.Info("pack") == "off" || IsDram(samples) || rejected < kMost * tries) return std::nullopt;
  return fmt::format("the data do not pack: {:.0f} of {:.0f} tries were in vain", rejected, tries);
}

bool FewPuts(const Samples& samples) { return samples.Sum("scm_put_total") < kPutsMin; }
Sentence Displaced(const Samples& samples) {
  constexpr double kMany = 0.1;
  const double displaced = samples.Sum("scm_displaced_total"), puts = samples.Sum("scm_put_total");
  if (displaced <= kMany * puts) return std::nullopt;
  return fmt::format("blocks are smaller than block= says: {:.0f} of {:.0f} pushed another out of a full index",
                     displaced, puts);
}

Sentence AllPinned(const Samples& samples) {
  const double refused = samples.Sum("refused_total", {{"reason", "all_pinned"}});
  if (refused == 0) return std::nullopt;
  return fmt::format("{:.0f} blocks were refused because iterators hold all segments", refused);
}

constexpr Rule kRules[] = {
    {"closed", nullptr, &Closed, "replace the device, and restart the program"},
    {"left_out", nullptr, &MediumLeftOut, "replace the device, and restart the program with the same list of media"},
    {"faults", nullptr, &Faults, "replace the device; ndctl clear-errors where the kernel knows of bad blocks"},
    {"not_dax", nullptr, &NotDax,
     "mount the file system with -o dax=always, or name a file in /dev/shm; mezz_plan devices lists what there is. "
     "virtio-pmem never grants MAP_SYNC: leave it so"},
    {"stands_in", nullptr, &StandsIn, "leave model= out of the URI: it is for experiments"},
    {"small_pages", &NotPrepared, &SmallPages,
     "tmpfs, /dev/shm too: mount -o remount,huge=advise FOLDER; dram and numa:N: echo madvise > "
     "/sys/kernel/mm/transparent_hugepage/enabled; then restart the program"},
    {"lowest_used_cache_tier", nullptr, &LeftOut, "leave lowest_used_cache_tier at its default, kNonVolatileBlockTier"},
    {"tiered_cache", nullptr, &UnderTieredCache, "use mezzanine:// instead of mezzanine_scm:// below a tiered cache"},
    {"no_warming", &FewCompactionReads, &NoWarming,
     "prepare the options with mezz::UseHybridCache, which sets prepopulate_block_cache and adds the listener; or set "
     "prepopulate_block_cache=kFlushAndCompaction yourself (RocksDB 11.1 and later)"},
    {"not_told", &FewCompactionReads, &NotTold,
     "prepare the options with mezz::UseHybridCache, or install the listener of dead_file_listener.h"},
    {"large_memtable", nullptr, &LargeMemtable, "lower write_buffer_size, or give the memory to scm= or dram="},
    {"larger_than_segment", nullptr, &LargerThanSegment,
     "filter and index: partition_filters=true with index_type=kTwoLevelIndexSearch; data: a smaller block_size; or "
     "raise segment="},
    {"larger_than_shard", &FewMetadataLookUps, &LargerThanShard,
     "partition_filters=true with index_type=kTwoLevelIndexSearch, or raise dram="},
    {"strict_dram", nullptr, &StrictDram, "leave strict_capacity_limit out, or raise dram="},
    {"no_metadata", &FewLookUps, &NoMetadata,
     "set cache_index_and_filter_blocks=true, with cache_index_and_filter_blocks_with_high_priority=true"},
    {"no_gain", &FewPackingTries, &NoGainOfDram, "use all of this memory as DRAM cache, or store data that compress"},
    {"packed_in_vain", &FewPackingTries, &PackedInVain, "pack=off spares the tries"},
    {"displaced", &FewPuts, &Displaced, "lower block= to the usual size of a block"},
    {"all_pinned", nullptr, &AllPinned, "shorter iterators, or a larger scm="},
};

}  // namespace

std::span<const Rule> Rules() { return kRules; }

}  // namespace mezz::watch
