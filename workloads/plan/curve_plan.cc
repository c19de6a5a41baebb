// SPDX-License-Identifier: Apache-2.0
#include "workloads/plan/curve_plan.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>

#include "cache/base/read_file.h"
#include "cache/base/text.h"
#include "workloads/plan/known_policies.h"
#include "workloads/sim/alternatives.h"
#include "workloads/sim/options.h"

namespace mezz::plan {
namespace {

Status ParseSizes(std::string_view flag, const std::string& text, std::vector<uint64_t>* sizes) {
  sizes->clear();
  if (text.empty()) return Status::Ok();
  std::vector<std::string> items;
  MEZZ_RETURN_IF_ERROR(sim::ParseList(flag, text, &items));
  for (const std::string& item : items) {
    uint64_t bytes = 0;
    if (item != "0") MEZZ_RETURN_IF_ERROR(ParseBytes(fmt::format("--{}", flag), item, &bytes));
    if (!sizes->empty() && bytes <= sizes->back()) {
      return Status::InvalidArgument(fmt::format("--{}={}: {} comes behind {}; name each size once, smallest first",
                                                 flag, text, item, sizes->back()));
    }
    sizes->push_back(bytes);
  }
  if (sizes->size() > kGridMax) {
    return Status::InvalidArgument(fmt::format("--{} names {} sizes; {} are the most", flag, sizes->size(), kGridMax));
  }
  return Status::Ok();
}

// The text of a distribution, however its file is called; of a number, the number.
std::string DigestOfRatios(const CurveOptions& o, PackMode mode) {
  const bool compresses = sim::Compresses(o.policy);
  if (mode == PackMode::kOff && !compresses) return "";
  if (o.pack_ratio.empty()) return fmt::format("{}", sim::RatioOfSourceText(compresses ? PackMode::kLz4 : mode));
  std::string content;
  if (!ReadWholeFile(o.pack_ratio, &content)) return o.pack_ratio;
  return fmt::format("xxh3:{:016x}", XXH3_64bits(content.data(), content.size()));
}

}  // namespace

Status MakeCurvePlan(const CurveOptions& o, CurvePlan* plan) {
  if (!IsKnownPolicy(o.policy)) {
    return Status::InvalidArgument(fmt::format("--policy={} is not known; {}", o.policy, KnownPolicies()));
  }
  const uint32_t writers = std::min(o.writers, log_rules::kWriterLanesMax);
  plan->miniature = {.policy = o.policy, .seed = o.seed, .writers = writers};
  MEZZ_RETURN_IF_ERROR(sim::ParseDramCache(o.dram_cache, &plan->miniature.dram_cache));
  sim::SimOptions packing;
  packing.policies = {o.policy};
  MEZZ_RETURN_IF_ERROR(sim::ParsePacking(o.pack, o.pack_ratio, &packing));
  plan->miniature.pack = packing.pack;
  plan->miniature.pack_ratios = sim::Compresses(o.policy) ? packing.alternative_ratios : packing.pack_ratios;
  CurveForm& form = plan->form;
  form = {.policy = o.policy,
          .dram_cache = o.dram_cache,
          .block_bytes = o.block_bytes,
          .pack = o.pack,
          .pack_ratios = DigestOfRatios(o, packing.pack),
          .warmup = o.warmup,
          .seeds = o.seeds != 0 ? o.seeds
                   : o.exact    ? 1
                                : kSeedsDefault,
          .writers = writers};
  MEZZ_RETURN_IF_ERROR(ParseSizes("dram", o.dram, &form.dram));
  MEZZ_RETURN_IF_ERROR(ParseSizes("scm", o.scm, &form.scm));
  const bool dram_alone = IsIn(DramAloneNames(), o.policy);
  const bool scm_alone = IsIn(ScmAloneNames(), o.policy);
  const bool packs_nothing = dram_alone || scm_alone || IsIn(OtherTwoTierNames(), o.policy);
  if (packs_nothing && o.pack != "off") {
    return Status::InvalidArgument(
        fmt::format("--pack={} is for two tiers that pack; {} does not: leave it out", o.pack, o.policy));
  }
  if (dram_alone && !o.scm.empty() && o.scm != "0") {
    return Status::InvalidArgument(fmt::format("--scm={}: {} is DRAM alone; leave it out", o.scm, o.policy));
  }
  if (scm_alone && !o.dram.empty() && o.dram != "0") {
    return Status::InvalidArgument(fmt::format("--dram={}: {} is SCM alone; leave it out", o.dram, o.policy));
  }
  if (dram_alone) form.scm = {0};
  if (scm_alone) form.dram = {0};
  if (!scm_alone && !form.dram.empty() && form.dram.front() == 0) {
    return Status::InvalidArgument(
        fmt::format("--dram={}: {} needs DRAM; SCM without it is --policy=naive_scm", o.dram, o.policy));
  }
  if (scm_alone && !form.scm.empty() && form.scm.front() == 0) {
    return Status::InvalidArgument(
        fmt::format("--scm={}: {} is SCM alone, and a server has some memory; leave 0 out", o.scm, o.policy));
  }
  return Status::Ok();
}

Status CurveOptions::Validate() const {
  const auto out_of_range = [](std::string_view flag, double value, std::string_view range) {
    return Status::InvalidArgument(fmt::format("--{}={} is out of range; it goes from {}", flag, value, range));
  };
  if (block_bytes < kUnitBytesMin || block_bytes > kUnitBytesMax)
    return out_of_range("unit", block_bytes, fmt::format("{} to {}", kUnitBytesMin, kUnitBytesMax));
  if (!(warmup >= 0 && warmup < 1)) return out_of_range("warmup", warmup, "0 up to, not including, 1");
  if (!(rate > 0 && rate <= 1)) return out_of_range("rate", rate, "above 0 to 1");
  if (seeds > kSeedsMax || (seeds == 1 && !exact))
    return out_of_range("seeds", seeds, fmt::format("2, for there is no band without a second, to {}", kSeedsMax));
  if (blocks_max < kSampleBlocksMin)
    return out_of_range("blocks", blocks_max, fmt::format("{} on; fewer say nothing", kSampleBlocksMin));
  if (writers == 0) return out_of_range("writers", writers, "1 on");
  if (exact && rate < 1) {
    return Status::InvalidArgument(
        fmt::format("--exact looks at every request, --rate={} at some; leave one of them out", rate));
  }
  CurvePlan plan;
  return MakeCurvePlan(*this, &plan);
}

}  // namespace mezz::plan
