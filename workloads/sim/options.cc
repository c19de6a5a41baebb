// SPDX-License-Identifier: Apache-2.0
#include "workloads/sim/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <set>

#include "admission/policy.h"
#include "cache/base/invalid.h"
#include "cache/base/text.h"
#include "cache/layout.h"
#include "cache/log_rules.h"
#include "cache/options.h"
#include "workloads/readers/open_trace.h"

namespace mezz::sim {
namespace {

constexpr unsigned kThreadsMax = 256;
constexpr uint64_t kSegmentsOfUnitTier = 256;

Status OutOfRange(std::string_view flag, double value, std::string_view range) {
  return Invalid("--{}={} is out of range; it goes from {}", flag, value, range);
}

// Names each item that appears twice.
template <typename Items, typename Text>
Status CheckDistinct(std::string_view flag, const Items& items, Text&& text) {
  std::set<std::string> seen;
  for (const auto& item : items) {
    if (!seen.insert(text(item)).second) return Invalid("--{} names \"{}\" twice; name it once", flag, text(item));
  }
  return Status::Ok();
}

bool IsPolicy(const std::string& name) { return std::ranges::find(PolicyNames(), name) != PolicyNames().end(); }

// Its SCM tier is segments.
bool HasSegments(const std::string& policy) {
  return IsPolicy(policy) || AlternativeOf(policy) == Alternative::kInlineMemory;
}

Status CheckPolicies(const SimOptions& o) {
  if (o.policies.empty()) return Invalid("--policies is empty; name at least one policy");
  for (const std::string& policy : o.policies) {
    if (IsReference(policy) || AlternativeOf(policy) || IsPolicy(policy)) continue;
    return Invalid(
        "--policies names \"{}\", which is not known; two tiers: {}; what else a buyer could have: {}; one tier of the "
        "total: {}",
        policy, fmt::join(PolicyNames(), ", "), fmt::join(AlternativeNames(), ", "), fmt::join(ReferenceNames(), ", "));
  }
  return CheckDistinct("policies", o.policies, [](const std::string& policy) { return policy; });
}

Status CheckFastShare(const SimOptions& o) {
  if (!(o.fast_share >= 0 && o.fast_share < 1))
    return OutOfRange("fast_share", o.fast_share, "0 (one level) up to, not including, 1");
  if (o.fast_share == 0) return Status::Ok();
  for (const std::string& policy : o.policies) {
    if (!AlternativeOf(policy)) continue;
    return Invalid(
        "--fast_share={} is for the hybrid cache's SCM tier, and --policies names {}, which has none of two "
        "levels; run it without --fast_share",
        o.fast_share, policy);
  }
  if (std::ranges::any_of(o.policies, IsPolicy)) return Status::Ok();
  return Invalid(
      "--fast_share={} changes nothing, as --policies names no policy of two tiers; name one of {}, or "
      "leave it out",
      o.fast_share, fmt::join(PolicyNames(), ", "));
}

Status CheckTotals(const SimOptions& o) {
  if (o.totals.empty()) return Invalid("--total is empty; name at least one capacity");
  for (const Total& total : o.totals) {
    if (total.bytes == 0 && !(total.share > 0 && total.share <= 1)) {
      return Invalid("--total={} is no share of the footprint; it goes from above 0 to 1", total.text);
    }
  }
  return CheckDistinct("total", o.totals, [](const Total& total) {
    return total.bytes != 0 ? fmt::format("{}", total.bytes) : fmt::format("{} of the footprint", total.share);
  });
}

Status ParseShare(const std::string& item, bool percent, Total* total) {
  const char* const end = item.data() + item.size() - (percent ? 1 : 0);
  const auto [stop, error] = std::from_chars(item.data(), end, total->share);
  if (error != std::errc() || stop != end || !std::isfinite(total->share)) {
    return Invalid("--total names \"{}\"; want a share of the footprint (0.1 or 10%) or bytes (64M)", item);
  }
  if (percent) total->share /= 100;
  return Status::Ok();
}

// With equal blocks a raw record takes a unit, as without packing, and a packed one what it would live; both in bytes.
void AddPacking(const LoadedTrace& trace, const SimOptions& o, const Capacity& capacity, TwoTierOptions* run) {
  const bool unit = o.sizes == Sizes::kUnit;
  const uint64_t bytes_of_unit = unit ? o.unit_bytes : 1;
  run->scm.capacity *= bytes_of_unit;
  run->scm.fast_capacity *= bytes_of_unit;
  run->scm.segment *= bytes_of_unit;
  if (unit) run->record_units.assign(trace.unique(), o.unit_bytes);
  PackOptions& pack = run->pack.emplace();
  pack.codec = *CodecOf(o.pack);
  pack.dram_bytes = capacity.dram * bytes_of_unit;
  pack.scm_bytes = capacity.scm * bytes_of_unit;
  pack.block_bytes.reserve(trace.unique());
  pack.codec_bytes.reserve(trace.unique());
  for (BlockId block = 0; block < trace.unique(); ++block) {
    const uint32_t bytes = unit ? o.unit_bytes : trace.bytes(block);
    pack.block_bytes.push_back(bytes);
    pack.codec_bytes.push_back(
        static_cast<uint32_t>(std::ceil(static_cast<double>(bytes) / o.pack_ratios.Of(trace.key(block), o.seed))));
  }
}

}  // namespace

const std::vector<std::string_view>& ReferenceNames() {
  static const std::vector<std::string_view> names = {"lru", "clock", "s3_fifo", "s3_fifo_lib", "w_tinylfu", "opt"};
  return names;
}

bool IsReference(std::string_view policy) {
  return std::ranges::find(ReferenceNames(), policy) != ReferenceNames().end();
}

Status ParseList(std::string_view flag, const std::string& text, std::vector<std::string>* items) {
  items->clear();
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    items->push_back(text.substr(at, comma - at));
    if (items->back().empty()) {
      return Status::InvalidArgument(text.empty() ? fmt::format("--{} is missing", flag)
                                                  : fmt::format("--{}={} has an empty item", flag, text));
    }
    at = comma + 1;
  }
  return Status::Ok();
}

Status ParseTotals(const std::string& text, std::vector<Total>* totals) {
  std::vector<std::string> items;
  MEZZ_RETURN_IF_ERROR(ParseList("total", text, &items));
  totals->clear();
  for (const std::string& item : items) {
    Total total{.text = item};
    const bool percent = item.ends_with('%');
    if (percent || item.find('.') != std::string::npos) {
      MEZZ_RETURN_IF_ERROR(ParseShare(item, percent, &total));
    } else {
      MEZZ_RETURN_IF_ERROR(ParseBytes("--total", item, &total.bytes));
    }
    totals->push_back(std::move(total));
  }
  return Status::Ok();
}

Status ParseDramCache(const std::string& text, DramCache* dram_cache) {
  if (text != "hcc" && text != "lru") return Invalid("--dram_cache={} is not known; choose hcc or lru", text);
  *dram_cache = text == "hcc" ? DramCache::kHcc : DramCache::kLru;
  return Status::Ok();
}

Status ParseSizes(const std::string& text, Sizes* sizes) {
  if (text != "unit" && text != "bytes") return Invalid("--sizes={} is not known; choose unit or bytes", text);
  *sizes = text == "unit" ? Sizes::kUnit : Sizes::kBytes;
  return Status::Ok();
}

Status ParsePacking(const std::string& pack, const std::string& ratio, SimOptions* options) {
  if (pack != "off" && pack != "lz4" && pack != "zstd")
    return Invalid("--pack={} is not known; choose off, lz4 or zstd", pack);
  options->pack = pack == "off" ? PackMode::kOff : pack == "lz4" ? PackMode::kLz4 : PackMode::kZstd;
  options->pack_ratio = ratio;
  const bool compresses =
      std::ranges::any_of(options->policies, [](const std::string& policy) { return Compresses(policy); });
  if (options->pack == PackMode::kOff && !compresses && !ratio.empty()) {
    return Invalid(
        "--pack_ratio={} needs --pack=lz4, --pack=zstd, or one of compressed, page_cache, inline_memory in --policies",
        ratio);
  }
  options->pack_ratios = PackRatios(RatioOfSourceText(options->pack));
  options->alternative_ratios = PackRatios(RatioOfSourceText(PackMode::kLz4));
  if (ratio.empty()) return Status::Ok();
  MEZZ_RETURN_IF_ERROR(PackRatios::Parse(ratio, &options->pack_ratios));
  options->alternative_ratios = options->pack_ratios;
  return Status::Ok();
}

Status SimOptions::Validate() const {
  if (traces.empty()) return Invalid("--trace is missing; name at least one trace file");
  MEZZ_RETURN_IF_ERROR(CheckDistinct("trace", traces, [](const std::string& trace) { return trace; }));
  MEZZ_RETURN_IF_ERROR(CheckTraceFormat(format));
  MEZZ_RETURN_IF_ERROR(CheckPolicies(*this));
  MEZZ_RETURN_IF_ERROR(CheckTotals(*this));
  if (!(dram_share > 0 && dram_share < 1)) return OutOfRange("dram_share", dram_share, "above 0 to below 1");
  MEZZ_RETURN_IF_ERROR(CheckFastShare(*this));
  if (!(high_priority_pool >= 0 && high_priority_pool <= 1))
    return OutOfRange("high_priority_pool", high_priority_pool, "0 to 1");
  if (dram_shards > kShardsMax || (dram_shards != 0 && !std::has_single_bit(dram_shards)))
    return Invalid("--dram_shards={} must be a power of two, at most {}, or 0", dram_shards, kShardsMax);
  if (unit_bytes < kUnitBytesMin || unit_bytes > kUnitBytesMax)
    return OutOfRange("unit", unit_bytes, fmt::format("{} to {}", kUnitBytesMin, kUnitBytesMax));
  if (sizes == Sizes::kBytes && segment_blocks != 0)
    return Invalid("--segment_blocks is for --sizes=unit; byte sizes have the live tier's segments");
  constexpr int64_t kOverheadMax = 1 << 20;
  if (dram_overhead_bytes >= 0 && sizes == Sizes::kUnit)
    return Invalid("--dram_overhead is for --sizes=bytes; equal blocks have none");
  if (dram_overhead_bytes > kOverheadMax)
    return OutOfRange("dram_overhead", static_cast<double>(dram_overhead_bytes), fmt::format("-1 to {}", kOverheadMax));
  if (!(warmup >= 0 && warmup < 1)) return OutOfRange("warmup", warmup, "0 up to, not including, 1");
  if (threads > kThreadsMax) return OutOfRange("threads", threads, fmt::format("0 to {}", kThreadsMax));
  if (!(sample > 0 && sample <= 1)) return OutOfRange("sample", sample, "above 0 to 1");
  if (!(flash_us >= 0 && flash_us <= 1e6)) return OutOfRange("flash_us", flash_us, "0 to 1000000");
  return Status::Ok();
}

namespace {

// By bytes: as a live tier of that size has them. No live tier is smaller than eight of its smallest; then they only
// order the records.
Status PlanSegments(const LoadedTrace& trace, const SimOptions& o, const std::string& what, Capacity* capacity) {
  ScmOptions live;
  live.capacity_bytes = capacity->scm;
  capacity->segment = live.EffectiveSegmentBytes();
  if (capacity->scm / capacity->segment >= kSegmentsMin) return Status::Ok();
  if (o.pack != PackMode::kOff) {
    return Invalid("{}: the SCM tier's {} bytes are less than {} segments of {} bytes; raise it, or use --pack=off",
                   what, capacity->scm, kSegmentsMin, capacity->segment);
  }
  uint32_t largest = 0;
  for (BlockId block = 0; block < trace.unique(); ++block) largest = std::max(largest, trace.bytes(block));
  capacity->exact = true;
  capacity->segment = std::max<uint64_t>(capacity->scm / kSegmentsOfUnitTier, layout::RecordBytes(largest));
  return Status::Ok();
}

// The fast level's part of the SCM tier; of a live one, in whole segments.
Status PlanLevels(const SimOptions& o, const std::string& what, Capacity* capacity) {
  if (o.fast_share == 0) return Status::Ok();
  const uint64_t step = capacity->exact ? 1 : capacity->segment;
  const double steps = static_cast<double>(capacity->scm) * o.fast_share / static_cast<double>(step);
  capacity->fast = static_cast<uint64_t>(std::llround(steps)) * step;
  // Each of several live media has the least that a tier has.
  const uint64_t least = capacity->exact ? log_rules::kSegmentsOfLevelMin : kSegmentsMin;
  for (const bool fast : {true, false}) {
    const uint64_t units = fast ? capacity->fast : capacity->scm - capacity->fast;
    if (units / capacity->segment >= least) continue;
    return Invalid(
        "{}: at --fast_share={} the {} level of the SCM tier gets {}, less than {} segments of {}; {} it, "
        "or raise the total",
        what, o.fast_share, fast ? "fast" : "slow", units, least, capacity->segment, fast ? "raise" : "lower");
  }
  return Status::Ok();
}

}  // namespace

Status PlanCapacity(const LoadedTrace& trace, const SimOptions& o, const Total& total, Capacity* capacity) {
  const bool unit = o.sizes == Sizes::kUnit;
  const double footprint = unit ? trace.unique() : static_cast<double>(trace.footprint_bytes());
  const double sampled_bytes =
      static_cast<double>(total.bytes) * o.sample * trace.source_rate() / (unit ? o.unit_bytes : 1);
  *capacity = {};
  // 0.29 of 100 blocks are 29, whatever a double makes of it.
  constexpr double kRounding = 1e-6;
  capacity->total = static_cast<uint64_t>(total.bytes == 0 ? footprint * total.share + kRounding : sampled_bytes);
  capacity->dram = static_cast<uint64_t>(std::llround(static_cast<double>(capacity->total) * o.dram_share));
  capacity->scm = capacity->total - capacity->dram;
  uint32_t smallest = unit ? 1 : UINT32_MAX;
  for (BlockId block = 0; !unit && block < trace.unique(); ++block) smallest = std::min(smallest, trace.bytes(block));
  const std::string what = fmt::format("--total={} of trace {} is {} {}", total.text, trace.name(), capacity->total,
                                       unit ? "blocks" : "bytes");
  if (capacity->total < smallest) return Status::InvalidArgument(what + ": less than one block; raise it");
  if (std::ranges::all_of(o.policies, [](const std::string& policy) { return IsReference(policy); }))
    return Status::Ok();
  const uint64_t block = smallest;
  if (capacity->dram < block || capacity->scm < block) {
    return Invalid("{}: at --dram_share={} one tier gets less than one block; raise it", what, o.dram_share);
  }
  if (std::ranges::none_of(o.policies, HasSegments)) return Status::Ok();
  if (unit) {
    capacity->exact = true;
    capacity->segment =
        o.segment_blocks != 0 ? o.segment_blocks : std::max<uint64_t>(1, capacity->scm / kSegmentsOfUnitTier);
    if (capacity->scm >= capacity->segment) return PlanLevels(o, what, capacity);
    return Invalid("{}: the SCM tier's {} are less than one segment of --segment_blocks={}", what, capacity->scm,
                   capacity->segment);
  }
  MEZZ_RETURN_IF_ERROR(PlanSegments(trace, o, what, capacity));
  return PlanLevels(o, what, capacity);
}

TwoTierOptions MakeTwoTierOptions(const LoadedTrace& trace, const SimOptions& o, const Capacity& capacity) {
  TwoTierOptions run;
  const bool unit = o.sizes == Sizes::kUnit;
  run.dram_cache = o.dram_cache;
  run.heirs = o.heirs;
  run.dram = {.capacity = capacity.dram,
              .high_priority_pool = o.high_priority_pool,
              .shards = std::max(1u, o.dram_shards),
              .slot_charge = unit ? 0 : kHccSlotBytes,
              .seed = o.seed};
  run.scm = {.capacity = capacity.scm,
             .fast_capacity = capacity.fast,
             .segment = capacity.segment,
             .exact_capacity = capacity.exact};
  run.warmup_accesses = static_cast<uint64_t>(static_cast<double>(trace.accesses().size()) * o.warmup);
  if (o.pack != PackMode::kOff) AddPacking(trace, o, capacity, &run);
  if (unit) return run;
  if (o.dram_shards == 0) run.dram.shards = LiveShards(o.dram_cache, capacity.dram);
  const int64_t own_overhead = o.dram_cache == DramCache::kLru ? int64_t{kLruHandleBytes} : 0;
  const auto overhead = static_cast<uint32_t>(o.dram_overhead_bytes >= 0 ? o.dram_overhead_bytes : own_overhead);
  run.dram_charges.reserve(trace.unique());
  run.record_units.reserve(trace.unique());
  for (BlockId block = 0; block < trace.unique(); ++block) {
    run.dram_charges.push_back(trace.bytes(block) + overhead);
    run.record_units.push_back(static_cast<uint32_t>(layout::RecordBytes(trace.bytes(block))));
  }
  return run;
}

}  // namespace mezz::sim
