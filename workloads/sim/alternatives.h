// SPDX-License-Identifier: Apache-2.0
// What a buyer could have instead of the hybrid cache, without bytes. `dram` and `scm` are the two parts of the total.
//
//   dram_only      RocksDB's stock cache in `dram`, and no second tier: what there is before anything is bought
//   naive_scm      its LRUCache of both parts together, every block of which lies in SCM (a memkind allocator)
//   memory_mode    its stock cache of `scm`, all the memory that software sees; the hardware keeps `dram` as a
//                  direct-mapped cache of it (workloads/sim/memory_mode.h)
//   compressed     its stock cache in `dram`, and a CompressedSecondaryCache of `scm` bytes of DRAM
//                  (workloads/sim/compressed_secondary.h)
//   page_cache     its stock cache in `dram`, and the kernel's page cache in `scm` bytes of DRAM, which holds blocks as
//                  they lie compressed in their files (workloads/sim/page_cache.h)
//   inline_memory  the hybrid cache, policy adaptive, whose SCM compresses each cache line by itself: records take so
//                  much less, and are served in place
//
// More DRAM is dram_only, or a single-tier reference, at another total; faster flash is another --flash_us.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admission/curves/two_tier.h"
#include "workloads/sim/access_time.h"

namespace mezz::sim {

enum class Alternative : uint8_t { kDramOnly, kNaiveScm, kMemoryMode, kCompressed, kPageCache, kInlineMemory };

const std::vector<std::string_view>& AlternativeNames();
std::optional<Alternative> AlternativeOf(std::string_view name);
// Whether its second tier holds blocks compressed, by --pack_ratio, however --pack stands.
bool Compresses(Alternative alternative);
// Of a name in --policies; false too where it names none of them.
bool Compresses(std::string_view policy);

// How a second tier that compresses keeps a block that its codec makes `codec_bytes` of. With `live_charges` as the
// process counts: the allocator's rounding, handles, trailers.
struct KeptBlock {
  uint32_t charge;
  bool packed;
};
// REQUIRES: kCompressed or kPageCache.
KeptBlock KeptBy(Alternative alternative, uint32_t codec_bytes, uint32_t bytes, bool live_charges);

struct AlternativeOptions {
  DramCache dram_cache = DramCache::kHcc;  // naive_scm: LRUCache, whatever this says
  // Of RocksDB's uncompressed cache, wherever its bytes lie; charges as TwoTierOptions::dram_charges.
  DramModelOptions dram;
  std::vector<uint32_t> dram_charges{};
  // memory_mode: blocks that the hardware's cache, and the memory behind it, have room for.
  uint32_t near_places = 0;
  uint32_t far_places = 0;
  // compressed, page_cache: capacity of the second tier in bytes, and what each block charges there, by block.
  uint64_t second_bytes = 0;
  uint32_t second_shards = 1;  // compressed
  std::vector<uint32_t> second_charges{};
  std::vector<bool> second_packed{};  // by block: its bytes there are compressed
  uint32_t placeholder_bytes = 0;     // compressed: what remembering a key alone charges
  uint32_t inactive_ratio = 1;        // page_cache: InactiveRatio
  uint64_t seed = 1;
  uint64_t warmup_accesses = 0;  // not counted
};

// A run of any of them but inline_memory, which is StartTwoTier with smaller records; as StartTwoTier's.
// options.warmup_accesses is left to the caller. The events by role are those of where a block was found.
std::unique_ptr<TwoTierRun> StartAlternative(Alternative alternative, const BlockTrace& trace,
                                             const AlternativeOptions& options);

// The same at one go. In the counts `scm` is the second tier, whatever it is made of:
//
//   naive_scm    hits are scm_in_place; each miss is an insert to SCM
//   memory_mode  hits are dram_hits or, where the hardware fetched the block from SCM, promotions; demotions are what
//                it wrote back
//   compressed   hits of the second tier are scm_unpacked, or promotions where the block moved to the first tier;
//                demotions are real insertions, not placeholders
//   page_cache   its hits are promotions; each of its misses is an insert
//
// Appends to *violations what does not add up at the end. Single-threaded; several may run over one trace at once.
SimCounts RunAlternative(Alternative alternative, const BlockTrace& trace, const AlternativeOptions& options,
                         std::vector<std::string>* violations);

// What an access costs there, as CostsOf: of `second_bytes` on average, as a block lies in the second tier.
// Differences:
//
//   naive_scm      is always searched in place: LRUCache does not copy
//   memory_mode    a block that the hardware has to fetch: each of its lines costs DRAM's random read, which finds the
//                  tag of another line, and SCM's
//   compressed     a hit: LZ4's unpack, and two copies of the block in DRAM; a real insert: LZ4's pack, two copies
//   page_cache     a hit: a system call, 1 us (assumed), a copy of the compressed bytes, LZ4's unpack
//   inline_memory  100 ns more for each line read (assumed: no device of 2026 publishes it)
AccessCosts AlternativeCostsOf(Alternative alternative, const MediumModel& model, double block_bytes,
                               double second_bytes, double flash_us);

}  // namespace mezz::sim
