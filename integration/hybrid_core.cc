// SPDX-License-Identifier: Apache-2.0
#include "integration/hybrid_core.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <iterator>
#include <new>
#include <span>
#include <utility>

#include "cache/base/if_memory.h"
#include "cache/base/text.h"
#include "cache/base/thread_buffer.h"
#include "cache/base/write_file.h"
#include "integration/compaction_thread.h"
#include "integration/heirs.h"
#include "integration/metrics_endpoint.h"
#include "integration/miss_timer.h"
#include "integration/option_table.h"
#include "integration/packing_advice.h"
#include "integration/tell.h"
#include "integration/warming.h"
#include "rocksdb/version.h"

namespace mezz {
namespace {

// How RocksDB derives the keys of a file's blocks: as it does since 7.6. Another number as soon as it does otherwise.
constexpr uint32_t kCacheKeyScheme = 2;

// Making a block of DRAM for a copy: allocation, and the store half of the copy. On memory of the same speed a copied
// hit of a 3.7 KB block costs 150 ns more than one in place.
constexpr double kCopyFixedNs = 40;
constexpr double kCopyNsPerByte = 0.03;

// What serve=auto weighs: the two charges of the model, and what a copy costs besides. In place, a search pays one
// dependent read of the medium for each line it touches, and what is read whole a stream. A copy pays one such read,
// streams the rest at the thread's bandwidth, and pays for the copy itself; its search is then free. So in place wins
// where few lines of a large block are read: filters, and data blocks from a size on that grows with the medium's
// latency over its bandwidth. Blobs are read whole either way: in place saves the copy. Dictionaries are read whole and
// then held for a table's life: a copy spares their segments that pin.
bool InPlaceIsCheaper(const MediumModel& model, BlockRole role, std::span<const std::byte> payload) {
  if (role == BlockRole::kDictionary) return false;
  const auto bytes = static_cast<double>(payload.size());
  const double copy_ns =
      OwnNs(model, {.lines = 1, .stream_bytes = payload.size()}) + kCopyFixedNs + kCopyNsPerByte * bytes;
  return OwnNs(model, HowReadInPlace(model, role, payload)) < copy_ns;
}

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

// One line, when nothing more will come back.
void TellOfRecovery(ScmOptions* scm) {
  scm->on_recovered = [told_too = std::move(scm->on_recovered)](const RecoveryReport& report) {
    Tell(fmt::format("{} {}", report.medium, report.ToString()));
    if (told_too) told_too(report);
  };
}

void TellOfTrouble(const std::string& medium, ScmOptions* scm) {
  scm->on_trouble = [medium, told_too = std::move(scm->on_trouble)](std::string_view why) {
    Tell(fmt::format("{} {}", medium, why));
    if (told_too) told_too(why);
  };
}

}  // namespace

HybridCore::HybridCore(const HybridCacheOptions& options)
    : options_(options),
      measures_misses_(options.scm.pack == PackMode::kAuto),
      machine_bytes_(std::max<uint64_t>(1, ThisMachine().memory_bytes)),
      policy_options_(PolicyOptionsOf(options)) {
  budget_.Open(options.dram_total_bytes, options.dram_bytes);
}

uint64_t HybridCore::OwnBytes() {
  return sizeof(HybridCore) + sizeof(MoveGate) + sizeof(DramHits) + DecisionCounters::dram_bytes();
}

DramUse HybridCore::dram_use() const {
  const ScmDram scm = scm_->dram();
  return {.index = scm.index,
          .segments = scm.segments,
          .policies = policies_bytes_.load(std::memory_order_relaxed),
          .hit_bits = hit_bits_bytes(),
          .packing = scm.packing,
          .curve = curve_ == nullptr ? 0 : curve_->dram_bytes(),
          .rest = scm.rest + OwnBytes() + (options_.heirs ? Heirs::dram_bytes() : 0) +
                  (read_back_ == nullptr ? 0 : read_back_->dram_bytes()) +
                  (metrics_ == nullptr ? 0 : MetricsEndpoint::kDramBytes)};
}

Status HybridCore::Open(const HybridCacheOptions& options, std::unique_ptr<HybridCore>* core) {
  MEZZ_RETURN_IF_ERROR(options.ValidateScmSide());
  if (!options.curve_file.empty()) MEZZ_RETURN_IF_ERROR(CheckFileWritable("curve_file", options.curve_file));
  std::unique_ptr<HybridCore> opened(new HybridCore(options));
  MEZZ_RETURN_IF_ERROR(MetricsEndpoint::Open(options.metrics, &opened->metrics_));
  opened->options_.scm.host_version = ROCKSDB_MAJOR * 1'000'000 + ROCKSDB_MINOR * 1'000 + ROCKSDB_PATCH;
  opened->options_.scm.key_scheme = kCacheKeyScheme;
  TellOfRecovery(&opened->options_.scm);
  TellOfTrouble(opened->options_.scm.ToString(), &opened->options_.scm);
  MEZZ_RETURN_IF_ERROR(ScmTier::Open(opened->options_.scm, &opened->scm_, opened.get()));
  const RecoveryReport recovery = opened->scm_->recovery();
  if (recovery.outcome == RecoveryReport::Outcome::kDiscarded && !recovery.asked)
    Tell(fmt::format("{} {}", opened->scm_->medium_info().description, recovery.ToString()));
  MEZZ_RETURN_IF_ERROR(opened->ChoosePolicy(options.policy));  // before the first put
  opened->told_scm_bytes_ = opened->scm_->capacity_bytes();
  opened->told_dram_bytes_ = opened->dram_tier_bytes_ = opened->policy_options_.dram_bytes;
  opened->told_block_capacity_.store(opened->told_scm_bytes_, std::memory_order_relaxed);
  opened->dram_hits_ = std::make_unique<DramHits>(opened->counters());
  opened->OpenCurve();
  *core = std::move(opened);
  return Status::Ok();
}

// Of what recovery finds, or is finding.
void HybridCore::OwnDramTier(std::function<void(uint64_t bytes)> resize) {
  resize_dram_ = std::move(resize);
  if (scm_->recovery().outcome == RecoveryReport::Outcome::kRecovered) warm_.Open(options_.WarmDramBytes());
}

Status HybridCore::SetPolicy(std::string_view name) {
  MEZZ_RETURN_IF_ERROR(ChoosePolicy(name));
  FollowDram();
  return Status::Ok();
}

Status HybridCore::ChoosePolicy(std::string_view name) {
  const std::lock_guard lock(policies_mutex_);
  auto found = std::find_if(policies_.begin(), policies_.end(), [&](const auto& kept) { return kept->name() == name; });
  if (found == policies_.end()) {
    try {
      std::unique_ptr<Policy> made;
      MEZZ_RETURN_IF_ERROR(options_.MakePolicy(name, policy_options_, &made));
      if (!budget_.HasRoomFor(dram_use().total() + made->dram_bytes()))
        return Status::NoSpace(
            fmt::format("policy={} needs {} of DRAM, and dram_total={} has too little left: lower scm", name,
                        HumanBytes(made->dram_bytes()), SizeText(budget_.total())));
      if (BlockCapacity() != policy_options_.scm_bytes) made->OnCapacity(policy_options_.dram_bytes, BlockCapacity());
      found = policies_.insert(policies_.end(), std::move(made));
      CountPoliciesLocked();
    } catch (const std::bad_alloc&) {
      return Status::NoSpace(fmt::format("no memory for policy={}", name));
    }
  }
  policy_.store(found->get(), std::memory_order_release);
  scm_->SetRequeuePercent((*found)->requeue_percent());
  return Status::Ok();
}

std::unique_ptr<ReadBack> HybridCore::MakeReadBack(rocksdb::Cache* cache) {
  if (!options_.heirs) return nullptr;
  auto made = std::make_unique<ReadBack>(
      ReadBack::Cache{.cache = cache,
                      .is_forgotten = [this](FileId file) { return scm_->IsForgotten(file); },
                      .blocks_offered = [this] { return offered_.by_compactions.load(std::memory_order_relaxed); }});
  read_back_ = made.get();
  return made;
}

void HybridCore::TellTooLarge(BlockRole role, size_t bytes) {
  if (told_too_large_.load(std::memory_order_relaxed) || told_too_large_.exchange(true, std::memory_order_relaxed))
    return;
  (void)IfThereIsMemory([&] {
    const ScmOptions& scm = scm_->options();
    const uint64_t segment = std::bit_ceil(bytes + bytes / 8);  // some more may come
    const bool can = segment <= kSegmentBytesMax && scm.capacity_bytes / kSegmentsMin >= segment;
    Tell(fmt::format(
        "{}: a block of {} ({}) fits no segment, which holds {}: such blocks stay in DRAM or are read from "
        "flash. {}",
        options_.scm.ToString(), HumanBytes(bytes), mezz::ToString(role), HumanBytes(scm_->max_block_bytes()),
        can ? fmt::format("Set segment={}, or partition filters and indexes", SizeText(segment))
            : "Partition filters and indexes, or give more scm and segment"));
  });
}

void HybridCore::SetDramCapacity(uint64_t bytes) {
  budget_.SetTier(bytes, dram_use().total(), [this](uint64_t tier_bytes) { ResizeDram(tier_bytes); });
}

void HybridCore::FollowTotal() {
  if (resize_dram_) budget_.Follow(dram_use().total(), [this](uint64_t bytes) { ResizeDram(bytes); });
}

void HybridCore::ResizeDram(uint64_t bytes) {
  (void)IfThereIsMemory([&] { OnDramCapacity(bytes); });  // else policies go on with the size that they know
  const MoveGate::Window window(*gate_);
  resize_dram_(bytes);
}

void HybridCore::OnDramCapacity(uint64_t bytes) {
  const std::lock_guard lock(policies_mutex_);
  dram_tier_bytes_ = bytes;
  // 0 would be "not known", and "no limit" no size to prepare for.
  policy_options_.dram_bytes = std::clamp<uint64_t>(bytes, 1, machine_bytes_);
  const uint64_t blocks = policy_options_.dram_bytes / std::max(1u, options_.scm.expected_block_bytes);
  if (hit_bits_ != nullptr) hit_bits_->Grow(blocks);
  // What they tune themselves by begins anew each time, and with dram_total the DRAM tier yields a little to each
  // growth of our structures.
  if (flow_.IsStep(told_dram_bytes_, policy_options_.dram_bytes)) TellCapacityLocked();
}

void HybridCore::TellCapacityLocked() {
  const uint64_t capacity = BlockCapacity();
  told_block_capacity_.store(capacity, std::memory_order_relaxed);
  told_dram_bytes_ = policy_options_.dram_bytes;
  for (const std::unique_ptr<Policy>& policy : policies_) policy->OnCapacity(policy_options_.dram_bytes, capacity);
  CountPoliciesLocked();
}

void HybridCore::CountPoliciesLocked() {
  uint64_t bytes = 0;
  for (const std::unique_ptr<Policy>& policy : policies_) bytes += policy->dram_bytes();
  policies_bytes_.store(bytes, std::memory_order_relaxed);
}

uint64_t HybridCore::BlockCapacity() const { return flow_.BlockCapacity(scm_->capacity_bytes()); }

void HybridCore::NotePacking() {
  if (!flow_.IsStep(told_block_capacity_.load(std::memory_order_relaxed), BlockCapacity())) return;
  const std::unique_lock lock(policies_mutex_, std::try_to_lock);
  if (lock.owns_lock()) TellCapacityLocked();
}

void HybridCore::KeepHitBits(uint64_t dram_bytes) {
  const uint64_t blocks = dram_bytes / std::max<uint64_t>(1, options_.scm.expected_block_bytes);
  hit_bits_ = std::make_unique<DramHitBits>(blocks, WatchedHashMax(options_));
  notes_dram_hits_ = true;
}

// A policy is made for the SCM tier's size at the opening, which is as large as it may become again.
Status HybridCore::SetScmCapacity(uint64_t bytes) {
  MEZZ_RETURN_IF_ERROR(scm_->SetCapacity(bytes));
  const std::lock_guard lock(policies_mutex_);
  const uint64_t scm_bytes = scm_->capacity_bytes();
  const uint64_t told = std::exchange(told_scm_bytes_, scm_bytes);
  if (scm_bytes > told) flow_.OnScmGrown();
  if (scm_bytes != told) TellCapacityLocked();
  return Status::Ok();
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

uint64_t HybridCore::NowNs() const {
  if (options_.now_ns) return options_.now_ns();
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
}

void HybridCore::StartMissTimer(const BlockKey& key) {
  if (!OnCompactionThread()) MissTimer::OnMiss(this, key, NowNs());
}

void HybridCore::StopMissTimer(const BlockKey& key) {
  if (const auto ns = MissTimer::OnInsert(this, key, [this] { return NowNs(); })) {
    flow_.OnFlashRead(*ns);
    miss_latency_.Add(*ns);
  }
}

void HybridCore::Tiers::UseCodec(std::optional<Codec> codec) {
  core_.counters().Add(Event::kPackCodecChanged, BlockRole::kOther);
  core_.scm_->UseCodec(codec);
}

void HybridCore::Refuse(Event reason, const Evicted& evicted) {
  counters().Add(reason, evicted.role);
  // What is refused may be a change that nobody told of.
  if (gate_ == nullptr && evicted.key.size() == BlockKey::kBytes) scm_->Erase(BlockKey::FromBytes(evicted.key.data()));
}

// Whether the SCM tier has these bytes already. Other bytes under this key are forgotten.
bool HybridCore::Tiers::NoteDramEviction(const Block& block) {
  ScmTier& scm = *core_.scm_;
  if (!scm.NoteDramEviction(block.key)) return false;
  if (core_.gate_ != nullptr) return true;  // whoever changed the bytes has erased the record
  if (scm.Compare(block.key, block.bytes, *block.source) == Held::kSame) return true;
  if (scm.Erase(block.key)) Count(Event::kChangedEviction, block.role);
  return false;
}

uint32_t HybridCore::Tiers::ImageBytes(const Block& block) const {
  if (block.image == nullptr || !core_.takes_images()) return 0;
  if (!ScmTier::ImagePays(block.role, block.bytes, *block.image)) return 0;
  return static_cast<uint32_t>(ScmTier::kImageOverheadBytes + block.image->bytes.size());
}

bool HybridCore::Tiers::Put(const Block& block, Generation generation, Form form) {
  assert(block.source != nullptr);
  if (packs()) core_.NotePacking();
  const bool as_image = form == Form::kPacked && ImageBytes(block) != 0;
  const auto put = [&] {
    if (as_image)
      return core_.scm_->PutImage(block.key, block.role, block.bytes, *block.image, generation) == PutResult::kStored;
    return core_.scm_->Put(block.key, block.role, block.bytes, *block.source, generation, form) == PutResult::kStored;
  };
  if (!block.evicted || core_.gate_ == nullptr) return put();
  const MoveGate::Move move(*core_.gate_, block.key);
  if (move) return put();
  Count(Event::kRefusedChanged, block.role);
  return false;
}

void HybridCore::OnDramEviction(const BlockKey& key, BlockRole role, size_t bytes, bool was_hit, BlockSource source) {
  if (hit_bits_ != nullptr) was_hit = hit_bits_->Take(BlockHash(key)) || was_hit;
  flow_.OnDramEviction({key, role, bytes, &source, /*image=*/nullptr, /*evicted=*/true}, was_hit);
}

Placement HybridCore::OnMiss(const BlockKey& key, BlockRole role, size_t bytes, BlockSource source, const Image* image,
                             bool warms) {
  // What a compaction reads it does not insert, but for its own output under paranoid_file_checks: nobody asked for
  // that either. What it has written RocksDB may want in the cache.
  return flow_.OnMiss({key, role, bytes, &source, image}, OnCompactionThread() && !warms);
}

// A block that the policy leaves in SCM goes to DRAM all the same: an earlier life had it there, or had no time to tell
// and it is of a kind that DRAM gains most by.
bool HybridCore::BringsBack(const PinnedBlock& block) {
  if (block.carried() == Carried::kNo || OnCompactionThread()) return false;
  if (block.carried() != Carried::kFromDram && !IsMetadata(block.role())) return false;
  if (block.role() == BlockRole::kBlob && options_.blobs == BlobPlacement::kScm) return false;
  return warm_.Take(block.logical_bytes());
}

HybridCore::Serve HybridCore::OnScmHit(const BlockKey& key, const PinnedBlock& block) {
  const size_t bytes = block.logical_bytes();
  if (curve_ != nullptr) curve_->NoteLookUp(BlockHash(key), block.role(), [bytes] { return bytes; });
  if (read_back_ != nullptr && !OnCompactionThread()) read_back_->NoteHit(key);
  switch (flow_.OnScmHit({key, block.role(), bytes}, block.heat(), OnCompactionThread(), block.form())) {
    case Action::kPromote:
      return Serve::kPromote;
    case Action::kMove:
      return Serve::kMove;
    default:
      break;
  }
  if (!warm_.used_up() && BringsBack(block)) [[unlikely]]
    return Serve::kPromote;
  if (options_.serve == ServeMode::kCopy || block.form() == Form::kPacked || block.staged() ||
      bytes < kInPlaceBytesMin || scm_->PinPressure())
    return Serve::kCopy;
  if (options_.serve == ServeMode::kInPlace || scm_->throttle() == nullptr) return Serve::kInPlace;
  return InPlaceIsCheaper(scm_->throttle()->model(), block.role(), block.payload()) ? Serve::kInPlace : Serve::kCopy;
}

std::optional<std::span<const std::byte>> HybridCore::BytesToCopy(const PinnedBlock& block) {
  scm_->ChargeCopy(block);
  if (block.form() == Form::kRaw) return block.SteadyBytes();
  if (block.image()) {
    counters().Add(Event::kScmImageUnread, block.role());
    return std::nullopt;
  }
  std::byte* const unpacked = ThreadBuffer<HybridCore>::AtLeast(block.logical_bytes());
  if (unpacked == nullptr) {
    counters().Add(Event::kAllocationFailed, block.role());
    return std::nullopt;
  }
  if (!block.Unpack(unpacked)) return std::nullopt;
  return std::span<const std::byte>(unpacked, block.logical_bytes());
}

// More than half of the SCM tier is not written over for it: that is warm by itself. A child stores nothing, and the
// DRAM tier's locks may be held by threads that it does not have.
bool HybridCore::StartSaving() {
  assert(gate_ != nullptr);
  if (options_.scm.scrub_on_close || scm_->is_closed() || scm_->in_child() || scm_->is_nameless()) return false;
  save_left_ = std::min(options_.WarmDramBytes(), scm_->capacity_bytes() / 2);
  if (!saves()) return false;
  save_until_ns_ = NowNs() + HybridCacheOptions::kWarmSaveSeconds * 1'000'000'000;
  scm_->NoteDramGoes();
  return true;
}

// False: it is not to be found again, or has a record, which is marked by now; or there is no more time, or room.
bool HybridCore::MaySave(const Evicted& block) {
  if (!saves() || !block.persistable || block.key.size() != BlockKey::kBytes) return false;
  const BlockKey key = BlockKey::FromBytes(block.key.data());
  if (key.file() == FileId{0} || scm_->IsForgotten(key.file())) return false;
  if (block.role == BlockRole::kBlob && options_.blobs == BlobPlacement::kScm) return false;
  if (scm_->NotePromoted(key)) return false;
  if (NowNs() >= save_until_ns_) save_left_ = 0;
  return saves();
}

// Raw: packing would take most of the time. Reclaim may pack it.
void HybridCore::WriteSaved(const Evicted& block, size_t bytes, BlockSource source) {
  if (bytes > save_left_) {
    save_left_ = 0;
    return;
  }
  const BlockKey key = BlockKey::FromBytes(block.key.data());
  const bool proven = block.was_hit || IsMetadata(block.role) || hit_bits_ == nullptr;
  const Generation generation = proven ? Generation::kProven : Generation::kYoung;
  if (scm_->Put(key, block.role, bytes, source, generation) != PutResult::kStored) return;
  save_left_ -= bytes;
  scm_->NotePromoted(key);
}

void HybridCore::OnPromoted(const BlockKey& key, BlockRole role, Serve serve) {
  flow_.OnPromoted({key, role, /*bytes=*/0}, serve == Serve::kMove ? Action::kMove : Action::kPromote);
}

CounterSnapshot HybridCore::Snapshot() const {
  CounterSnapshot sum = scm_->counters().Snapshot();
  dram_hits_->AddTo(sum);
  return sum;
}

// What the tier packed since it was opened: blocks' bytes over bytes stored.
std::string HybridCore::PackedText(const CounterSnapshot& counters) const {
  if (options_.scm.pack == PackMode::kOff) return "";
  const auto stored = static_cast<double>(std::max<uint64_t>(counters[Event::kScmPackedPutStored], 1));
  const auto hits = static_cast<double>(std::max<uint64_t>(counters[Event::kScmHit], 1));
  std::string text =
      fmt::format("pack.codec: {}\nscm.packed_ratio: {:.2f}\nscm.packed_hit_share: {:.3f}\n", ToString(flow_.codec()),
                  static_cast<double>(counters[Event::kScmPackedPutBytes]) / stored,
                  static_cast<double>(counters[Event::kScmPackedHit]) / hits);
  if (measures_misses_) {
    fmt::format_to(std::back_inserter(text), "flash.miss_ns: {}\npack.zstd_percent: {}\n", flow_.flash_read_ns(),
                   scm_->zstd_percent());
  }
  if (options_.scm.pack_stage_bytes != 0) {
    fmt::format_to(std::back_inserter(text), "pack.staged: {}\npack.stage_full: {}\n", scm_->staged_puts(),
                   scm_->unstaged_puts());
  }
  return text + PackingAdvice(options_.scm.medium, scm_->medium_info(), counters);
}

std::string HybridCore::DramText() const {
  uint64_t tier_bytes = 0;
  {
    const std::lock_guard lock(policies_mutex_);
    tier_bytes = dram_tier_bytes_;
  }
  const std::string total = budget_.limited() ? fmt::format("dram.total_bytes: {}\n", budget_.total()) : "";
  return fmt::format("{}dram.tier_bytes: {}\ndram.warmed_bytes: {}\n{}", total, tier_bytes, warm_.taken(),
                     dram_use().ToString());
}

std::string HybridCore::HeirsText(const CounterSnapshot& counters) const {
  const auto read = [](const std::atomic<uint64_t>& count) { return count.load(std::memory_order_relaxed); };
  return fmt::format("heirs: {}\n",
                     WarmingText({.heirs = options_.heirs,
                                  .flushed = read(offered_.by_flushes),
                                  .compacted = read(offered_.by_compactions),
                                  .read_by_compactions = read(offered_.read_by_compactions),
                                  .without_scm = counters.of(Event::kRefusedNotPersistable, BlockRole::kData),
                                  .read_back = read_back_counts()}));
}

std::string HybridCore::Report(UriKind uri, CurveIs curve_is) const {
  const MediumInfo& medium = scm_->medium_info();
  const Policy& policy = this->policy();
  HybridCacheOptions current = options_;
  current.policy = policy.name();
  const std::string name_trouble = scm_->name_trouble();
  std::string text = fmt::format(
      "options: {}\n"
      "policy: {}\n"
      "policy.dram_bytes: {}\n"
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
      "scm.dram_bytes: {}\n"
      "{}",
      uri == UriKind::kHybrid ? current.ToUri() : current.ToScmSecondaryUri(), policy.name(), policy.dram_bytes(),
      medium.description, name_trouble.empty() ? "" : ", which " + name_trouble, medium.emulated,
      ToString(medium.granularity), medium.persistent_memory, ToString(options_.scm.model), scm_->capacity_bytes(),
      scm_->usage_bytes(), scm_->faults(), scm_->bus_errors(), scm_->quarantined_bytes(), scm_->is_closed() ? 1 : 0,
      scm_->pinned_bytes(), scm_->PinPressure(), scm_->resident_blocks(), scm_->dram().total(), DramText());
  const CounterSnapshot counters = Snapshot();
  if (uri == UriKind::kHybrid) text += HeirsText(counters);
  text += PackedText(counters) + RecoveryText(scm_->recovery());
  AppendCounters(counters, &text);
  return text + Decisions().ToString() + CurveText(curve_is);
}

}  // namespace mezz
