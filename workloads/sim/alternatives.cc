// SPDX-License-Identifier: Apache-2.0
#include "workloads/sim/alternatives.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <memory>

#include "workloads/sim/compressed_secondary.h"
#include "workloads/sim/memory_mode.h"
#include "workloads/sim/page_cache.h"

namespace mezz::sim {
namespace {

constexpr double kSystemCallNs = 1000;
constexpr double kInlineUnpackNsPerLine = 100;

// Each has Access(block, counts), which counts where the block was found and what was written, and Audit.
template <typename Dram>
class OneTier {
 public:
  OneTier(const BlockTrace& trace, const AlternativeOptions& o, bool on_scm)
      : trace_(trace), on_scm_(on_scm), charges_(o.dram_charges), tier_(trace.unique(), charges_, o.dram) {}

  void Access(BlockId block, SimCounts* counts) {
    if (tier_.Hit(block)) {
      ++(on_scm_ ? counts->scm_in_place : counts->dram_hits);
      return;
    }
    ++counts->misses;
    if (on_scm_) {
      ++counts->inserts_to_scm;
      counts->scm_written_units += charges_.of(block);
    }
    tier_.Insert(block, PriorityOf(trace_.role(block)), [](BlockId, bool) {});
  }
  void Audit(std::vector<std::string>* violations) const { tier_.Audit(violations); }

 private:
  const BlockTrace& trace_;
  const bool on_scm_;
  const Charges charges_;
  Dram tier_;
};

template <typename Dram>
class MemoryMode {
 public:
  MemoryMode(const BlockTrace& trace, const AlternativeOptions& o)
      : trace_(trace),
        charges_(o.dram_charges),
        cache_(trace.unique(), charges_, o.dram),
        near_(o.near_places, o.far_places, o.seed),
        places_(trace.unique()) {}

  void Access(BlockId block, SimCounts* counts) {
    if (cache_.Hit(block)) {
      const bool near = Touch(block, /*write=*/false, counts);
      ++(near ? counts->dram_hits : counts->promotions);
      return;
    }
    ++counts->misses;
    cache_.Insert(block, PriorityOf(trace_.role(block)), [this](BlockId leaving, bool) { places_.Free(leaving); });
    places_.Take(block);
    Touch(block, /*write=*/true, counts);
  }
  void Audit(std::vector<std::string>* violations) const {
    cache_.Audit(violations);
    uint32_t resident = 0;
    for (BlockId block = 0; block < trace_.unique(); ++block) resident += cache_.resident(block);
    if (resident != places_.in_use())
      violations->push_back(fmt::format("{} blocks have {} places", resident, places_.in_use()));
  }

 private:
  bool Touch(BlockId block, bool write, SimCounts* counts) {
    const NearMemory::Outcome outcome = near_.Touch(places_.of(block), write);
    counts->demotions += outcome.wrote_back;
    if (outcome.wrote_back) counts->scm_written_units += charges_.of(block);  // its room is what was written
    return outcome.hit;
  }

  const BlockTrace& trace_;
  const Charges charges_;
  Dram cache_;
  NearMemory near_;
  Places places_;
};

template <typename Dram>
class Compressed final : PlaceholderTiers::Writes {
 public:
  Compressed(const BlockTrace& trace, const AlternativeOptions& o)
      : trace_(trace),
        options_(o),
        tiers_options_(TiersOptions(trace, o)),
        tiers_(trace.unique(), tiers_options_, this) {}

  void Access(BlockId block, SimCounts* counts) {
    counts_ = counts;
    switch (tiers_.Access(block, PriorityOf(trace_.role(block)))) {
      case PlaceholderTiers::Found::kFirst:
        ++counts->dram_hits;
        return;
      case PlaceholderTiers::Found::kSecondCopied:
        ++counts->scm_unpacked;
        return;
      case PlaceholderTiers::Found::kSecondMoved:
        ++counts->promotions;
        ++counts->packed_promotions;
        return;
      case PlaceholderTiers::Found::kMiss:
        ++counts->misses;
        return;
    }
  }
  void Audit(std::vector<std::string>* violations) const { tiers_.Audit(violations); }

 private:
  static PlaceholderTiers::Options TiersOptions(const BlockTrace& trace, const AlternativeOptions& o) {
    return {.first = o.dram,
            .first_charges = o.dram_charges.empty() ? std::vector<uint32_t>(trace.unique(), 1) : o.dram_charges,
            .second = {.capacity = o.second_bytes, .shards = o.second_shards, .seed = o.seed + 1},
            .second_charges = o.second_charges,
            .placeholder_charge = o.placeholder_bytes};
  }
  void OnWrite(BlockId block) override {
    ++counts_->demotions;
    counts_->scm_written_units += options_.second_charges[block];
    if (trace_.role(block) == BlockRole::kFilter) return;  // which it does not try to compress
    ++counts_->pack_tries;
    counts_->pack_rejected += !options_.second_packed[block];
    if (!options_.second_packed[block]) return;
    ++counts_->packed_writes;
    counts_->packed_bytes += options_.second_charges[block];
  }

  const BlockTrace& trace_;
  const AlternativeOptions& options_;
  const PlaceholderTiers::Options tiers_options_;
  CompressedSecondaryModel<Dram> tiers_;
  SimCounts* counts_ = nullptr;
};

template <typename Dram>
class PageCache {
 public:
  PageCache(const BlockTrace& trace, const AlternativeOptions& o)
      : trace_(trace),
        charges_(o.dram_charges),
        cache_(trace.unique(), charges_, o.dram),
        image_bytes_(o.second_charges),
        pages_(trace.unique(), image_bytes_, o.second_bytes, o.inactive_ratio) {}

  void Access(BlockId block, SimCounts* counts) {
    if (cache_.Hit(block)) {
      ++counts->dram_hits;
      return;
    }
    if (pages_.Read(block)) {
      ++counts->promotions;
    } else {
      ++counts->misses;
      ++counts->inserts_to_scm;
      counts->scm_written_units += image_bytes_.of(block);
    }
    cache_.Insert(block, PriorityOf(trace_.role(block)), [](BlockId, bool) {});
  }
  void Audit(std::vector<std::string>* violations) const {
    cache_.Audit(violations);
    pages_.Audit(violations);
  }

 private:
  const BlockTrace& trace_;
  const Charges charges_;
  Dram cache_;
  const Charges image_bytes_;
  PageCacheModel pages_;
};

template <typename Cache>
class AlternativeRun final : public TwoTierRun {
 public:
  template <typename... Arguments>
  explicit AlternativeRun(const BlockTrace& trace, const Arguments&... arguments)
      : trace_(trace), cache_(trace, arguments...) {}

  void Run(size_t from, size_t to) override {
    const std::vector<BlockId>& accesses = trace_.accesses();
    for (size_t at = from; at < to; ++at) {
      const uint64_t misses = counts_.misses, dram_hits = counts_.dram_hits;
      cache_.Access(accesses[at], &counts_);
      const Event event = counts_.misses != misses         ? Event::kMiss
                          : counts_.dram_hits != dram_hits ? Event::kDramHit
                                                           : Event::kServedInPlace;
      ++counts_.events.by_role[static_cast<size_t>(event)][static_cast<size_t>(trace_.role(accesses[at]))];
    }
    counts_.accesses += to - from;
  }
  void StartCounting() override { counts_ = {}; }
  SimCounts Counts() override { return counts_; }
  void Audit(std::vector<std::string>* violations) const override { cache_.Audit(violations); }

 private:
  const BlockTrace& trace_;
  Cache cache_;
  SimCounts counts_;
};

template <typename Dram>
std::unique_ptr<TwoTierRun> StartWith(Alternative alternative, const BlockTrace& trace, const AlternativeOptions& o) {
  switch (alternative) {
    case Alternative::kDramOnly:
      return std::make_unique<AlternativeRun<OneTier<Dram>>>(trace, o, /*on_scm=*/false);
    case Alternative::kNaiveScm:
      return std::make_unique<AlternativeRun<OneTier<LruModel>>>(trace, o, /*on_scm=*/true);
    case Alternative::kMemoryMode:
      return std::make_unique<AlternativeRun<MemoryMode<Dram>>>(trace, o);
    case Alternative::kCompressed:
      return std::make_unique<AlternativeRun<Compressed<Dram>>>(trace, o);
    case Alternative::kPageCache:
      return std::make_unique<AlternativeRun<PageCache<Dram>>>(trace, o);
    case Alternative::kInlineMemory:
      break;
  }
  assert(false);
  return nullptr;
}

}  // namespace

const std::vector<std::string_view>& AlternativeNames() {
  static const std::vector<std::string_view> names = {"dram_only",  "naive_scm",  "memory_mode",
                                                      "compressed", "page_cache", "inline_memory"};
  return names;
}

std::optional<Alternative> AlternativeOf(std::string_view name) {
  const auto found = std::ranges::find(AlternativeNames(), name);
  if (found == AlternativeNames().end()) return std::nullopt;
  return static_cast<Alternative>(found - AlternativeNames().begin());
}

bool Compresses(Alternative alternative) { return alternative >= Alternative::kCompressed; }

bool Compresses(std::string_view policy) {
  const std::optional<Alternative> alternative = AlternativeOf(policy);
  return alternative && Compresses(*alternative);
}

std::unique_ptr<TwoTierRun> StartAlternative(Alternative alternative, const BlockTrace& trace,
                                             const AlternativeOptions& options) {
  return options.dram_cache == DramCache::kLru ? StartWith<LruModel>(alternative, trace, options)
                                               : StartWith<HccModel>(alternative, trace, options);
}

SimCounts RunAlternative(Alternative alternative, const BlockTrace& trace, const AlternativeOptions& options,
                         std::vector<std::string>* violations) {
  const std::unique_ptr<TwoTierRun> run = StartAlternative(alternative, trace, options);
  const size_t accesses = trace.accesses().size();
  const size_t warmup = std::min<size_t>(options.warmup_accesses, accesses);
  run->Run(0, warmup);
  run->StartCounting();
  run->Run(warmup, accesses);
  run->Audit(violations);
  const SimCounts counts = run->Counts();
  if (counts.dram_hits + counts.scm_hits() + counts.misses != counts.accesses)
    violations->push_back("hits and misses are not the accesses");
  return counts;
}

AccessCosts AlternativeCostsOf(Alternative alternative, const MediumModel& model, double block_bytes,
                               double second_bytes, double flash_us) {
  AccessCosts costs = CostsOf(model, block_bytes, flash_us);
  const double lines = BlockSearchLines(static_cast<size_t>(block_bytes));
  const auto search = [&](double ns_per_line) {
    return std::max(lines * ns_per_line, lines * model.read_unit_bytes / model.read_bytes_per_ns);
  };
  const auto copy = [](double bytes) { return kCopyFixedNs + kCopyNsPerByte * bytes; };
  switch (alternative) {
    case Alternative::kDramOnly:
      break;
    case Alternative::kNaiveScm:
      costs.scm_hit_ns = search(model.random_read_ns);
      break;
    case Alternative::kMemoryMode:
      costs.promotion_ns = search(kDramRandomReadNs + model.random_read_ns);
      break;
    case Alternative::kCompressed:
      AddPackedCosts(model, block_bytes, Codec::kLz4, second_bytes, &costs);
      costs.unpack_ns = Lz4UnpackNs(block_bytes) + 2 * copy(block_bytes);
      costs.scm_write_ns = costs.packed_write_ns = 2 * copy(block_bytes);
      break;
    case Alternative::kPageCache:
      costs.promotion_ns = kSystemCallNs + copy(second_bytes) + Lz4UnpackNs(block_bytes);
      costs.scm_write_ns = 0;  // part of the read
      break;
    case Alternative::kInlineMemory:
      costs.scm_hit_ns =
          std::min(search(model.random_read_ns + kInlineUnpackNsPerLine), costs.promotion_ns + kInlineUnpackNsPerLine);
      costs.promotion_ns += kInlineUnpackNsPerLine;
      break;
  }
  return costs;
}

}  // namespace mezz::sim
