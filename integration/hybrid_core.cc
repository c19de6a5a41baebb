// SPDX-License-Identifier: Apache-2.0
#include "integration/hybrid_core.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "cache/base/text.h"
#include "cache/base/write_file.h"
#include "integration/compaction_thread.h"
#include "integration/heirs.h"
#include "integration/metrics_endpoint.h"
#include "integration/option_table.h"
#include "integration/serving.h"
#include "integration/tell.h"
#include "rocksdb/version.h"

namespace mezz {
namespace {

// How RocksDB derives the keys of a file's blocks: as it does since 7.6. Another number as soon as it does otherwise.
constexpr uint32_t kCacheKeyScheme = 2;

// One line, when nothing more will come back.
void TellOfRecovery(ScmOptions* scm) {
  scm->on_recovered = [user_callback = std::move(scm->on_recovered)](const RecoveryReport& report) {
    Tell(fmt::format("{} {}", report.medium, report.ToString()));
    if (user_callback) user_callback(report);
  };
}

void TellOfTrouble(const std::string& medium, ScmOptions* scm) {
  scm->on_trouble = [medium, user_callback = std::move(scm->on_trouble)](std::string_view why) {
    Tell(fmt::format("{} {}", medium, InKeys(why)));
    if (user_callback) user_callback(why);
  };
}

// The share of the SCM tier that lies on the fast ones of ordered media, as far as they are in use. 0: they are not
// ordered, or one level has gone.
double FastShareOf(const ScmTier& scm) {
  std::array<uint64_t, kLevels> bytes{};
  for (const MemberFigures& member : scm.figures().MembersNow())
    bytes[static_cast<size_t>(member.level)] += member.is_out ? 0 : member.bytes;
  const auto [fast, slow] = bytes;
  return fast == 0 || slow == 0 ? 0 : static_cast<double>(fast) / static_cast<double>(fast + slow);
}

}  // namespace

HybridCore::HybridCore(const HybridCacheOptions& options)
    : options_(options),
      policy_(options_,
              {.block_capacity = [this] { return BlockCapacity(); },
               .fits = [this](const Policy& made) { return Fits(made); },
               .chosen = [this](const Policy& policy) { scm_->SetRequeuePercent(policy.requeue_percent()); }}) {}

HybridCore::~HybridCore() {
  metrics_.reset();
  if (scm_ != nullptr && !scm_->in_child()) observers_.WriteLastCurve();
}

void HybridCore::OpenCurve() {
  if (!options_.curve) return;
  const auto now = [this]() -> CacheCurve::Cache::Now {
    // What the structures take moves the DRAM tier a little. Hosts of the same options shall have the same grid.
    const bool as_divided =
        options_.dram_bytes != 0 && dram_.budget().limited() && dram_.budget().total() == options_.dram_total_bytes;
    return {.policy = policy_name(),
            .dram_bytes = as_divided ? options_.dram_bytes : policy_.dram_bytes(),
            .scm_bytes = scm_->figures().capacity_bytes(),
            .codec = flow_.codec(),
            .fast_share = FastShareOf(*scm_)};
  };
  observers_.OpenCurve(
      {.now = now, .counters = [this] { return Snapshot(); }, .now_ns = [this] { return options_.NowNs(); }});
}

uint64_t HybridCore::OwnBytes() {
  return sizeof(HybridCore) + sizeof(MoveGate) + sizeof(DramHits) + DecisionCounters::dram_bytes();
}

DramUse HybridCore::dram_use() const {
  const ScmDram scm = scm_->figures().dram();
  return {.index = scm.index,
          .segments = scm.segments,
          .policies = policy_.bytes_of_all(),
          .hit_bits = hit_bits_bytes(),
          .packing = scm.packing,
          .curve = observers_.curve() == nullptr ? 0 : observers_.curve()->dram_bytes(),
          .rest = scm.rest + OwnBytes() + (options_.heirs ? Heirs::dram_bytes() : 0) +
                  (read_back_ == nullptr ? 0 : read_back_->dram_bytes()) +
                  (metrics_ == nullptr ? 0 : MetricsEndpoint::kDramBytes)};
}

Status HybridCore::Open(const HybridCacheOptions& options, std::unique_ptr<HybridCore>* core) {
  MEZZ_RETURN_IF_ERROR(options.ValidateScmSide());
  if (!options.curve_file.empty()) MEZZ_RETURN_IF_ERROR(CheckFileWritable("curve", options.curve_file));
  std::unique_ptr<HybridCore> opened(new HybridCore(options));
  MEZZ_RETURN_IF_ERROR(MetricsEndpoint::Open(options.metrics, &opened->metrics_));
  opened->options_.scm.host_version = ROCKSDB_MAJOR * 1'000'000 + ROCKSDB_MINOR * 1'000 + ROCKSDB_PATCH;
  opened->options_.scm.key_scheme = kCacheKeyScheme;
  opened->options_.scm.pack_stage_bytes = options.PackStageBytes();
  TellOfRecovery(&opened->options_.scm);
  TellOfTrouble(opened->options_.scm.ToString(), &opened->options_.scm);
  MEZZ_RETURN_IF_ERROR(ScmTier::Open(opened->options_.scm, &opened->scm_, opened.get()));
  opened->warm_.emplace(opened->options_, *opened->scm_, opened->dram_);
  const RecoveryReport recovery = opened->scm_->recovery();
  if (recovery.outcome == RecoveryReport::Outcome::kDiscarded && !recovery.asked)
    Tell(fmt::format("{} {}", opened->scm_->medium().info().description, recovery.ToString()));
  MEZZ_RETURN_IF_ERROR(opened->policy_.Use(options.policy));  // before the first put
  opened->policy_.OnScmOpened(opened->scm_->figures().capacity_bytes());
  opened->dram_.Open(opened->counters());
  opened->OpenCurve();
  *core = std::move(opened);
  return Status::Ok();
}

Status HybridCore::SetPolicy(std::string_view name) {
  MEZZ_RETURN_IF_ERROR(policy_.Use(name));
  FollowDram();
  return Status::Ok();
}

Status HybridCore::Fits(const Policy& made) const {
  if (dram_.budget().HasRoomFor(dram_use().total() + made.dram_bytes())) return Status::Ok();
  return Status::NoSpace(fmt::format("policy={} needs {} of DRAM, and dram_total={} has too little left: lower scm",
                                     made.name(), HumanBytes(made.dram_bytes()), SizeText(dram_.budget().total())));
}

std::unique_ptr<ReadBack> HybridCore::MakeReadBack(rocksdb::Cache* cache) {
  if (!options_.heirs) return nullptr;
  return std::make_unique<ReadBack>(
      ReadBack::Cache{.cache = cache,
                      .is_forgotten = [this](FileId file) { return scm_->IsForgotten(file); },
                      .blocks_offered = [this] { return offered_.by_compactions(); },
                      .counters = &read_back_counters_});
}

uint64_t HybridCore::BlockCapacity() const { return flow_.BlockCapacity(scm_->figures().capacity_bytes()); }

// A policy is made for the SCM tier's size at the opening, which is as large as it may become again.
Status HybridCore::SetScmCapacity(uint64_t bytes) {
  MEZZ_RETURN_IF_ERROR(scm_->SetCapacity(bytes));
  TellScmCapacity();
  return Status::Ok();
}

Status HybridCore::SetMediumCapacity(size_t number, uint64_t bytes) {
  MEZZ_RETURN_IF_ERROR(scm_->SetMemberCapacity(number - 1, bytes));
  TellScmCapacity();
  return Status::Ok();
}

void HybridCore::TellScmCapacity() {
  policy_.OnScmCapacity(scm_->figures().capacity_bytes(), [this] { flow_.OnScmGrown(); });
}

// What a compaction reads goes with its file. Where it offers what it writes, its heirs have the heat.
Heat HybridCore::HeatOfLookUp() const {
  if (!OnCompactionThread()) return Heat::kRaise;
  return options_.heirs && WarmsWithOutput() ? Heat::kHandOver : Heat::kKeep;
}

PinnedBlock HybridCore::Find(const BlockKey& key, BlockRole role_for_miss_counter) {
  flow_.OnDramMiss();
  return scm_->Find(key, role_for_miss_counter, HeatOfLookUp());
}

void HybridCore::OnDramEviction(const BlockKey& key, BlockRole role, size_t bytes, bool was_hit, BlockSource source,
                                ShareId share) {
  flow_.OnDramEviction({.key = key, .role = role, .bytes = bytes, .source = &source, .evicted = true, .share = share},
                       dram_.WasHit(key, was_hit));
}

Placement HybridCore::OnMiss(const BlockKey& key, BlockRole role, size_t bytes, BlockSource source, const Image* image,
                             bool warms, ShareId share) {
  // What a compaction reads it does not insert, but for its own output under paranoid_file_checks: nobody asked for
  // that either. What it has written RocksDB may want in the cache.
  return flow_.OnMiss({.key = key, .role = role, .bytes = bytes, .source = &source, .image = image, .share = share},
                      OnCompactionThread() && !warms);
}

HybridCore::Serve HybridCore::OnScmHit(const BlockKey& key, const PinnedBlock& block) {
  const size_t bytes = block.logical_bytes();
  observers_.NoteScmHit(key, block.role(), bytes);
  switch (flow_.OnScmHit({key, block.role(), bytes}, block.heat(), OnCompactionThread(), block.form())) {
    case Action::kPromote:
      return Serve::kPromote;
    case Action::kMove:
      return Serve::kMove;
    default:
      break;
  }
  if (warm_->BringsBack(block)) [[unlikely]]
    return Serve::kPromote;
  return IsServedInPlace(options_, *scm_, block) ? Serve::kInPlace : Serve::kCopy;
}

void HybridCore::OnPromoted(const BlockKey& key, BlockRole role, Serve serve) {
  flow_.OnPromoted({key, role, /*bytes=*/0}, serve == Serve::kMove ? Action::kMove : Action::kPromote);
}

}  // namespace mezz
