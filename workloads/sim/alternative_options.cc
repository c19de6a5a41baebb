// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "cache/layout.h"
#include "workloads/sim/options.h"
#include "workloads/sim/page_cache.h"

namespace mezz::sim {
namespace {

constexpr uint32_t kImageTrailerBytes = 5;  // of a block in an SST: its type and checksum
constexpr uint32_t kTagBytes = 4;           // CompressedSecondaryCache: a length of two bytes, and a tag

// glibc's malloc_usable_size.
constexpr uint32_t MallocBytes(uint32_t bytes) { return std::max(24u, (bytes + 8 + 15) / 16 * 16 - 8); }

// What the codec makes of the block. The bits of a filter are random: nothing is to be gained there.
uint32_t CodecBytes(const LoadedTrace& trace, const SimOptions& o, BlockId block, uint32_t bytes) {
  if (trace.role(block) == BlockRole::kFilter) return bytes;
  const double ratio = o.alternative_ratios.Of(trace.key(block), o.seed);
  return std::max(1u, static_cast<uint32_t>(std::ceil(bytes / ratio)));
}

}  // namespace

KeptBlock KeptBy(Alternative alternative, uint32_t codec_bytes, uint32_t bytes, bool live_charges) {
  if (alternative == Alternative::kCompressed) {
    const bool packed = codec_bytes < bytes;  // by one byte: compressed_secondary_cache.cc
    const uint32_t stored = packed ? codec_bytes : bytes;
    return {live_charges ? MallocBytes(stored + kTagBytes) + kLruHandleBytes : stored, packed};
  }
  const bool packed = uint64_t{codec_bytes} * 8 <= uint64_t{bytes} * 7;  // by an eighth: compression_type.h
  return {(packed ? codec_bytes : bytes) + (live_charges ? kImageTrailerBytes : 0), packed};
}

AlternativeOptions MakeAlternativeOptions(const LoadedTrace& trace, const SimOptions& o, const Capacity& capacity,
                                          Alternative alternative) {
  Capacity of_cache = capacity;  // where the uncompressed cache lies
  SimOptions cache = o;
  cache.pack = PackMode::kOff;
  if (alternative == Alternative::kNaiveScm) {
    of_cache.dram = capacity.total;
    cache.dram_cache = DramCache::kLru;
  } else if (alternative == Alternative::kMemoryMode) {
    of_cache.dram = capacity.scm;
  }
  TwoTierOptions tiers = MakeTwoTierOptions(trace, cache, of_cache);
  AlternativeOptions run{.dram_cache = cache.dram_cache,
                         .dram = tiers.dram,
                         .dram_charges = std::move(tiers.dram_charges),
                         .seed = o.seed,
                         .warmup_accesses = tiers.warmup_accesses};
  const bool unit = o.sizes == Sizes::kUnit;
  if (alternative == Alternative::kMemoryMode) {
    const double block_bytes = static_cast<double>(trace.footprint_bytes()) / trace.unique();
    const auto places = [&](uint64_t units) {
      const double blocks = unit ? static_cast<double>(units) : static_cast<double>(units) / block_bytes;
      return static_cast<uint32_t>(std::clamp(blocks, 1.0, static_cast<double>(UINT32_MAX - 1)));
    };
    run.near_places = places(capacity.dram);
    run.far_places = places(capacity.scm);
  }
  if (!Compresses(alternative)) return run;
  run.second_bytes = capacity.scm * (unit ? o.unit_bytes : 1);
  if (!unit) {
    run.placeholder_bytes = kLruHandleBytes;
    run.second_shards = LiveShards(DramCache::kLru, run.second_bytes);
  }
  run.inactive_ratio = InactiveRatio(static_cast<double>(run.second_bytes) / o.sample);
  for (BlockId block = 0; block < trace.unique(); ++block) {
    const uint32_t bytes = unit ? o.unit_bytes : trace.bytes(block);
    const KeptBlock kept = KeptBy(alternative, CodecBytes(trace, o, block, bytes), bytes, !unit);
    run.second_charges.push_back(kept.charge);
    run.second_packed.push_back(kept.packed);
  }
  return run;
}

TwoTierOptions MakeInlineMemoryOptions(const LoadedTrace& trace, const SimOptions& o, const Capacity& capacity,
                                       uint64_t* scm_block_bytes) {
  SimOptions raw = o;
  raw.pack = PackMode::kOff;
  TwoTierOptions run = MakeTwoTierOptions(trace, raw, capacity);
  const bool unit = o.sizes == Sizes::kUnit;
  const uint64_t bytes_of_unit = unit ? o.unit_bytes : 1;
  run.scm.capacity *= bytes_of_unit;
  run.scm.segment *= bytes_of_unit;
  run.record_units.resize(trace.unique());
  uint64_t block_sum = 0, record_sum = 0;
  for (BlockId block = 0; block < trace.unique(); ++block) {
    const uint32_t bytes = unit ? o.unit_bytes : trace.bytes(block);
    const uint64_t raw_record = unit ? bytes : layout::RecordBytes(bytes);
    const uint64_t record = std::min(raw_record, layout::RecordBytes(CodecBytes(trace, o, block, bytes)));
    run.record_units[block] = static_cast<uint32_t>(record);
    block_sum += bytes;
    record_sum += record;
  }
  const double expansion = static_cast<double>(block_sum) / static_cast<double>(record_sum);
  *scm_block_bytes = static_cast<uint64_t>(static_cast<double>(run.scm.capacity) * expansion);
  return run;
}

}  // namespace mezz::sim
