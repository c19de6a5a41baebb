// SPDX-License-Identifier: Apache-2.0
#include "integration/hybrid_core.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "rocksdb/version.h"

namespace mezz {
namespace {

// Making a block of DRAM for a copy: allocation, and the store half of the copy. On memory of the same speed a copied
// hit of a 3.7 KB block costs 150 ns more than one in place.
constexpr double kCopyFixedNs = 40;
constexpr double kCopyNsPerByte = 0.03;

// A filter probe reads the header's line, the parameters at the filter's end, and one line of bits.
constexpr unsigned kFilterProbeLines = 3;

// Below this a copy costs less than a pin, on every medium, and may not be adopted (AdoptingAllocator).
constexpr size_t kInPlaceBytesMin = 1024;

// What serve=auto weighs. In place, the search pays one dependent read of the medium for each line it touches. A copy
// pays one such read, streams the rest at the thread's bandwidth, and pays for the copy itself; its search is then
// free. So in place wins where few lines of a large block are read: filters, and data blocks from a size on that grows
// with the medium's latency over its bandwidth. Blobs are read whole either way: in place saves the copy. Dictionaries
// are read whole and then held for a table's life: a copy spares their segments that pin.
bool InPlaceIsCheaper(const MediumModel& model, BlockRole role, size_t bytes) {
  const double stream_ns = model.random_read_ns + static_cast<double>(bytes) / model.thread_read_bytes_per_ns;
  const double copy_ns = stream_ns + kCopyFixedNs + kCopyNsPerByte * static_cast<double>(bytes);
  switch (role) {
    case BlockRole::kFilter:
      return kFilterProbeLines * model.random_read_ns < copy_ns;
    case BlockRole::kBlob:
      return true;
    case BlockRole::kDictionary:
      return false;
    default:
      return BlockSearchLines(bytes) * model.random_read_ns < copy_ns;
  }
}

void AppendCounters(const CounterSnapshot& counters, std::string* text) {
  for (size_t e = 0; e < kEvents; ++e) {
    const auto event = static_cast<Event>(e);
    fmt::format_to(std::back_inserter(*text), "{}: {}", ToString(event), counters[event]);
    const char* separator = " (";
    for (size_t r = 0; r < kBlockRoles; ++r) {
      const auto role = static_cast<BlockRole>(r);
      if (counters.of(event, role) == 0) continue;
      fmt::format_to(std::back_inserter(*text), "{}{} {}", separator, ToString(role), counters.of(event, role));
      separator = ", ";
    }
    *text += counters[event] == 0 ? "\n" : ")\n";
  }
}

}  // namespace

Status HybridCore::Open(const HybridCacheOptions& options, std::unique_ptr<HybridCore>* core) {
  MEZZ_RETURN_IF_ERROR(options.ValidateScmSide());
  std::unique_ptr<HybridCore> opened(new HybridCore(options));
  opened->options_.scm.host_version = ROCKSDB_MAJOR * 1'000'000 + ROCKSDB_MINOR * 1'000 + ROCKSDB_PATCH;
  MEZZ_RETURN_IF_ERROR(MakePolicy(options.policy, &opened->policy_));
  opened->wants_misses_ = opened->policy_->may_send_misses_to_scm();
  MEZZ_RETURN_IF_ERROR(ScmTier::Open(opened->options_.scm, &opened->scm_));
  opened->dram_hits_ = std::make_unique<DramHits>(opened->counters());
  *core = std::move(opened);
  return Status::Ok();
}

void HybridCore::OnDramEviction(const BlockKey& key, BlockRole role, size_t bytes, bool was_hit, BlockSource source) {
  counters().Add(Event::kDramEviction, role);
  const BlockFacts facts{.key = key,
                         .role = role,
                         .bytes = static_cast<uint32_t>(bytes),
                         .was_hit_in_dram = was_hit,
                         .in_scm = scm_->NoteDramEviction(key)};
  switch (policy_->OnDramEviction(facts).action) {
    case Action::kKeep:
      return counters().Add(Event::kCleanEviction, role);
    case Action::kToScm:
      if (scm_->Put(key, role, bytes, source) == PutResult::kStored) {
        counters().Add(Event::kDemotion, role);
      }
      return;
    default:
      return counters().Add(Event::kRefusedPolicy, role);
  }
}

bool HybridCore::StoreMiss(const BlockKey& key, BlockRole role, size_t bytes, BlockSource source) {
  const BlockFacts facts{.key = key, .role = role, .bytes = static_cast<uint32_t>(bytes)};
  if (policy_->OnMiss(facts).action != Action::kToScm) return false;
  if (scm_->Put(key, role, bytes, source) != PutResult::kStored) return false;
  counters().Add(Event::kInsertToScm, role);
  return true;
}

HybridCore::Serve HybridCore::OnScmHit(const BlockKey& key, const PinnedBlock& block) {
  const size_t bytes = block.payload().size();
  const BlockFacts facts{.key = key,
                         .role = block.role(),
                         .bytes = static_cast<uint32_t>(bytes),
                         .in_scm = true,
                         .scm_heat = block.heat()};
  if (policy_->OnScmHit(facts).action == Action::kPromote) return Serve::kPromote;
  if (options_.serve == ServeMode::kCopy || bytes < kInPlaceBytesMin || scm_->pin_pressure()) return Serve::kCopy;
  if (options_.serve == ServeMode::kInPlace || scm_->throttle() == nullptr) return Serve::kInPlace;
  return InPlaceIsCheaper(scm_->throttle()->model(), block.role(), bytes) ? Serve::kInPlace : Serve::kCopy;
}

CounterSnapshot HybridCore::Snapshot() const {
  CounterSnapshot sum = scm_->counters().Snapshot();
  dram_hits_->AddTo(sum);
  return sum;
}

std::string HybridCore::Report() const {
  const MediumInfo& medium = scm_->medium_info();
  std::string text = fmt::format(
      "options: {}\n"
      "policy: {}\n"
      "medium: {}\n"
      "medium.emulated: {}\n"
      "medium.store_granularity: {}\n"
      "medium.persistent_memory: {}\n"
      "medium.model: {}\n"
      "scm.capacity_bytes: {}\n"
      "scm.usage_bytes: {}\n"
      "scm.pinned_bytes: {}\n"
      "scm.pin_pressure: {}\n"
      "scm.resident_blocks: {}\n"
      "scm.dram_bytes: {}\n",
      options_.ToUri(), policy_->name(), medium.description, medium.emulated, ToString(medium.granularity),
      medium.persistent_memory, ToString(options_.scm.model), scm_->capacity_bytes(), scm_->usage_bytes(),
      scm_->pinned_bytes(), scm_->pin_pressure(), scm_->resident_blocks(), scm_->dram_bytes());
  AppendCounters(Snapshot(), &text);
  return text;
}

}  // namespace mezz
