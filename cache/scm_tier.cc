// SPDX-License-Identifier: Apache-2.0
#include "cache/scm_tier.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <unordered_set>

#include "cache/index.h"
#include "cache/layout.h"
#include "cache/reclaimer.h"
#include "cache/segment_log.h"
#include "cache/superblock.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace mezz {
namespace {

// A record is written from a buffer on the stack, so that RocksDB copies into L1 and the medium sees only streamed,
// whole lines. One buffer holds the usual 4 to 8 KiB block with its header.
constexpr size_t kWriteBufferBytes = 8192 + kLineBytes;

// How often a look-up reads a slot again that changed under it: the record is being moved by reclaim, once per pass.
constexpr int kSlotRetriesMax = 3;

uint64_t RandomWord() {
  uint64_t word = 0;
  if (getrandom(&word, sizeof(word), 0) != sizeof(word)) word = reinterpret_cast<uintptr_t>(&word);
  return word;
}

}  // namespace

class ScmTier::Impl {
 public:
  Impl(const ScmTier& tier, Counters* counters, SurvivorJudge* judge, uint64_t hash_seed, uint64_t format_id)
      : medium_(*tier.medium_),
        counters_(counters),
        throttle_(tier.throttle_.get()),
        verify_hits_(tier.options_.verify_hits),
        index_(tier.options_.capacity_bytes / layout::RecordBytes(tier.options_.expected_block_bytes), hash_seed),
        log_(medium_, tier.options_.capacity_bytes, tier.options_.EffectiveSegmentBytes(), format_id, counters),
        reclaimer_(medium_, &log_, &index_, counters, throttle_, &resident_blocks_, judge) {}

  PutResult Put(const BlockKey& key, BlockRole role, size_t bytes, BlockSource source, Generation generation);
  bool Find(const BlockKey& key, BlockRole role, Heat heat, PinnedBlock* found);
  bool Contains(const BlockKey& key) const;
  bool SetDram(const BlockKey& key, bool dram);
  bool Erase(const BlockKey& key);
  void EraseAll();
  Status SetCapacity(uint64_t bytes);
  void SetYoungPercent(unsigned percent) { log_.SetYoungPercent(percent); }
  void ForEach(const std::function<void(const BlockKey&, size_t, BlockRole)>& visit);
  ScmAudit Audit();

  std::byte* At(uint64_t offset) const { return medium_.base() + offset; }
  const layout::RecordHeader* HeaderAt(IndexWord word) const {
    return reinterpret_cast<const layout::RecordHeader*>(At(word.line() * kLineBytes));
  }
  SegmentId SegmentOf(IndexWord word) const { return log_.SegmentAt(word.line() * kLineBytes); }
  SegmentId SegmentOf(const std::byte* address) const {
    return log_.SegmentAt(static_cast<uint64_t>(address - medium_.base()));
  }

  const Medium& medium_;
  Counters* const counters_;
  Throttle* const throttle_;
  const bool verify_hits_;
  std::atomic<int64_t> resident_blocks_{0};
  Index index_;
  mutable SegmentLog log_;
  Reclaimer reclaimer_;

 private:
  std::optional<SegmentLog::Reservation> Reserve(uint64_t bytes, Generation generation);
  bool Write(const SegmentLog::Reservation& where, const BlockKey& key, BlockRole role, size_t bytes,
             BlockSource source);
  void Publish(const BlockKey& key, BlockRole role, uint64_t offset);
  void SettleDuplicates(const KeyHash& hash, const BlockKey& key, uint64_t line);
  bool HoldsKey(IndexWord word, const Index::Slot& slot, const BlockKey& key) const;
  bool Remove(Index::Slot& slot, IndexWord word);
  bool Damaged(const layout::RecordHeader& header, IndexWord word) const;
  IndexWord Touch(Index::Slot& slot, IndexWord word, Heat heat);
  void AuditWord(Index::Slot& slot, ScmAudit* audit, std::unordered_set<std::string>* keys);
};

// --- put -------------------------------------------------------------------------------------------------------------

PutResult ScmTier::Impl::Put(const BlockKey& key, BlockRole role, size_t bytes, BlockSource source,
                             Generation generation) {
  const auto refuse = [&](Event event, PutResult result) {
    counters_->Add(event, role);
    return result;
  };
  if (bytes > UINT32_MAX || layout::RecordBytes(bytes) > layout::SegmentPayloadBytes(log_.segment_bytes()))
    return refuse(Event::kRefusedTooLarge, PutResult::kTooLarge);
  if (log_.limit() == 0) return refuse(Event::kRefusedNoSpace, PutResult::kNoSpace);
  const uint64_t record_bytes = layout::RecordBytes(bytes);
  reclaimer_.Step(record_bytes);
  const auto where = Reserve(record_bytes, generation);
  if (!where) {
    return log_.limit() == 0 ? refuse(Event::kRefusedNoSpace, PutResult::kNoSpace)
                             : refuse(Event::kRefusedAllPinned, PutResult::kAllPinned);
  }
  const bool written = Write(*where, key, role, bytes, source);
  if (throttle_ != nullptr) throttle_->ChargeWrite(record_bytes);
  counters_->Add(Event::kScmWrittenBytes, role, record_bytes);
  if (written) Publish(key, role, where->offset);
  log_.Unpin(where->segment);
  if (!written) return refuse(Event::kRefusedFillFailed, PutResult::kFillFailed);
  counters_->Add(Event::kScmPut, role);
  counters_->Add(Event::kScmPutBytes, role, bytes);
  return PutResult::kStored;
}

std::optional<SegmentLog::Reservation> ScmTier::Impl::Reserve(uint64_t bytes, Generation generation) {
  const unsigned lane = generation == Generation::kProven ? log_.proven_lane() : log_.LaneOfThisThread();
  for (;;) {
    if (auto where = log_.Reserve(lane, bytes)) return where;
    if (!log_.Advance(lane, bytes, SegmentLog::For::kWriter) && !reclaimer_.MakeRoom()) return std::nullopt;
    if (log_.limit() == 0) return std::nullopt;
  }
}

// Streams header and payload. The first line goes last: it holds the payload's checksum.
bool ScmTier::Impl::Write(const SegmentLog::Reservation& where, const BlockKey& key, BlockRole role, size_t bytes,
                          BlockSource source) {
  alignas(kLineBytes) std::byte buffer[kWriteBufferBytes];
  alignas(kLineBytes) std::byte first_line[kLineBytes];
  std::byte* const to = At(where.offset);
  layout::RecordHeader header{};
  header.key = key;
  header.payload_bytes = static_cast<uint32_t>(bytes);
  header.sequence = where.sequence;
  header.role = role;

  const uint64_t record_bytes = layout::RecordBytes(bytes);
  const bool one_piece = record_bytes <= sizeof(buffer);
  XXH3_state_t checksum;
  XXH3_INITSTATE(&checksum);
  if (!one_piece) XXH3_64bits_reset_withSeed(&checksum, layout::kChecksumSeed);
  bool filled = true;
  uint64_t done = 0;           // bytes of the record that are final, header included
  size_t at = sizeof(header);  // where the next payload byte goes in the buffer
  while (done < record_bytes && filled) {
    const uint64_t piece = std::min<uint64_t>(sizeof(buffer), record_bytes - done);
    const uint64_t payload_done = done == 0 ? 0 : done - sizeof(header);
    const size_t payload = std::min<uint64_t>(piece - at, bytes - payload_done);
    filled = payload == 0 || source(payload_done, payload, buffer + at);
    std::memset(buffer + at + payload, 0, piece - at - payload);
    if (one_piece) {
      header.payload_checksum = PayloadChecksum(buffer + at, payload);
    } else {
      XXH3_64bits_update(&checksum, buffer + at, payload);
    }
    if (done == 0) std::memcpy(first_line, buffer, kLineBytes);
    const size_t skip = done == 0 ? kLineBytes : 0;
    if (piece > skip && filled) medium_.Stream(to + done + skip, buffer + skip, piece - skip);
    done += piece;
    at = 0;
  }
  if (!one_piece) header.payload_checksum = static_cast<uint32_t>(XXH3_64bits_digest(&checksum));
  if (!filled) header.flags = layout::kRecordVoid;
  SealRecordHeader(&header);
  std::memcpy(first_line, &header, sizeof(header));
  medium_.Stream(to, first_line, kLineBytes);
  medium_.Drain();
  return filled;
}

void ScmTier::Impl::Publish(const BlockKey& key, BlockRole role, uint64_t offset) {
  const KeyHash hash = index_.Hash(key);
  const uint64_t line = offset / kLineBytes;
  const IndexWord fresh = IndexWord::Make(hash.tag, line, /*dram=*/false, /*heat=*/0);
  const bool replaced = index_.FindTag(hash, [&](Index::Slot& slot, IndexWord word) {
    if (!HoldsKey(word, slot, key)) return false;
    uint64_t expected = word.raw();
    return slot.compare_exchange_strong(expected, fresh.raw(), std::memory_order_seq_cst, std::memory_order_relaxed);
  });
  if (replaced) {
    counters_->Add(Event::kScmReplaced, role);
  } else {
    const auto age = [this](IndexWord word) { return log_.Sequence(SegmentOf(word)); };
    Index::Slot* slot = nullptr;
    if (index_.Insert(hash, fresh, age, &slot).empty()) {
      resident_blocks_.fetch_add(1, std::memory_order_relaxed);
    } else {
      counters_->Add(Event::kScmDisplaced, role);
    }
  }
  SettleDuplicates(hash, key, line);
}

// Two threads that put one key at once may have used two slots. Each inserted before it scans (both seq_cst), so at
// least one sees the other and removes it; if both do, the block is forgotten.
void ScmTier::Impl::SettleDuplicates(const KeyHash& hash, const BlockKey& key, uint64_t line) {
  index_.FindTag<std::memory_order_seq_cst>(hash, [&](Index::Slot& slot, IndexWord word) {
    if (word.line() != line && HoldsKey(word, slot, key)) Remove(slot, word);
    return false;
  });
}

// Whether the record of `word` carries `key`. False too when the record is gone meanwhile.
bool ScmTier::Impl::HoldsKey(IndexWord word, const Index::Slot& slot, const BlockKey& key) const {
  const SegmentId segment = SegmentOf(word);
  if (!log_.Pin(segment)) return false;
  const bool holds = IndexWord(slot.load(std::memory_order_acquire)).SameRecord(word) && HeaderAt(word)->key == key;
  log_.Unpin(segment);
  return holds;
}

// --- find ------------------------------------------------------------------------------------------------------------

bool ScmTier::Impl::Find(const BlockKey& key, BlockRole role, Heat heat, PinnedBlock* found) {
  const KeyHash hash = index_.Hash(key);
  const bool hit = index_.FindTag(hash, [&](Index::Slot& slot, IndexWord word) {
    for (int tries = 0; tries < kSlotRetriesMax; ++tries) {
      const layout::RecordHeader* header = HeaderAt(word);
      __builtin_prefetch(header);
      const SegmentId segment = SegmentOf(word);
      if (log_.Pin(segment)) {
        if (IndexWord(slot.load(std::memory_order_acquire)).SameRecord(word)) {
          if (header->key == key && !Damaged(*header, word)) {
            found->payload_ = {reinterpret_cast<const std::byte*>(header + 1), header->payload_bytes};
            // A search starts at the block's end; the line arrives while the caller builds its object.
            if (header->payload_bytes > kLineBytes) __builtin_prefetch(&found->payload_.back());
            found->role_ = header->role;
            found->heat_ = static_cast<uint8_t>(Touch(slot, word, heat).heat());
            return true;  // the pin goes to the caller
          }
          if (header->key == key) Remove(slot, word);
          log_.Unpin(segment);
          return false;
        }
        log_.Unpin(segment);
      }
      // The word changed: moved by reclaim, replaced or erased. Its slot tells.
      word = IndexWord(slot.load(std::memory_order_acquire));
      if (word.empty() || word.tag() != hash.tag) return false;
    }
    counters_->Add(Event::kScmPinRace, role);
    return false;
  });
  counters_->Add(hit ? Event::kScmHit : Event::kScmMiss, hit ? found->role_ : role);
  return hit;
}

// A record that fails its checksum, or whose length leaves its segment, is never served.
bool ScmTier::Impl::Damaged(const layout::RecordHeader& header, IndexWord word) const {
  const uint64_t offset = word.line() * kLineBytes;
  const bool fits = offset + layout::RecordBytes(header.payload_bytes) <= log_.Tail(SegmentOf(word));
  if (!fits) {
    counters_->Add(Event::kScmDamagedHeader, BlockRole::kOther);
    return true;
  }
  if (!verify_hits_ || PayloadChecksum(&header + 1, header.payload_bytes) == header.payload_checksum) return false;
  counters_->Add(Event::kScmChecksumMismatch, header.role);
  return true;
}

// A hit that reached us missed the DRAM tier, so the block is not there, whatever we were told before.
IndexWord ScmTier::Impl::Touch(Index::Slot& slot, IndexWord word, Heat heat) {
  const unsigned raised = std::min(word.heat() + 1, IndexWord::kHeatMax);
  const IndexWord touched = word.with(/*dram=*/false, heat == Heat::kRaise ? raised : word.heat());
  if (touched.raw() != word.raw()) {
    uint64_t expected = word.raw();  // losing to another hit costs one count of heat, no more
    slot.compare_exchange_strong(expected, touched.raw(), std::memory_order_relaxed, std::memory_order_relaxed);
  }
  return touched;
}

bool ScmTier::Impl::Contains(const BlockKey& key) const {
  return index_.FindTag(index_.Hash(key), [&](Index::Slot& slot, IndexWord word) { return HoldsKey(word, slot, key); });
}

// Judges by tag alone, to spare the medium a read: a stranger with the same 25-bit tag in the same two buckets (1 in
// a million look-ups of a full tier) makes a block count as resident that is not, and be forgotten; never the reverse.
bool ScmTier::Impl::SetDram(const BlockKey& key, bool dram) {
  return index_.FindTag(index_.Hash(key), [&](Index::Slot& slot, IndexWord word) {
    uint64_t expected = word.raw();
    slot.compare_exchange_strong(expected, word.with(dram, word.heat()).raw(), std::memory_order_relaxed,
                                 std::memory_order_relaxed);
    return true;
  });
}

// --- forget ----------------------------------------------------------------------------------------------------------

bool ScmTier::Impl::Remove(Index::Slot& slot, IndexWord word) {
  uint64_t expected = word.raw();
  while (IndexWord(expected).SameRecord(word)) {
    if (slot.compare_exchange_weak(expected, 0, std::memory_order_seq_cst, std::memory_order_relaxed)) {
      resident_blocks_.fetch_sub(1, std::memory_order_relaxed);
      return true;
    }
  }
  return false;
}

bool ScmTier::Impl::Erase(const BlockKey& key) {
  bool erased = false;
  const KeyHash hash = index_.Hash(key);
  index_.FindTag(hash, [&](Index::Slot& slot, IndexWord word) {
    // The slot may change while the record moves: look again until it is gone or another's.
    for (; !word.empty() && word.tag() == hash.tag; word = IndexWord(slot.load(std::memory_order_acquire))) {
      const SegmentId segment = SegmentOf(word);
      if (!log_.Pin(segment)) continue;
      const bool same = IndexWord(slot.load(std::memory_order_acquire)).SameRecord(word);
      const bool holds = same && HeaderAt(word)->key == key;
      if (holds && Remove(slot, word)) {
        counters_->Add(Event::kScmErase, HeaderAt(word)->role);
        erased = true;
      }
      log_.Unpin(segment);
      if (same && !holds) break;
    }
    return false;
  });
  return erased;
}

void ScmTier::Impl::EraseAll() {
  for (uint64_t i = 0; i < index_.slots(); ++i) {
    if (index_.slot(i).load(std::memory_order_relaxed) == 0) continue;
    if (index_.slot(i).exchange(0, std::memory_order_seq_cst) != 0)
      resident_blocks_.fetch_sub(1, std::memory_order_relaxed);
  }
}

Status ScmTier::Impl::SetCapacity(uint64_t bytes) {
  const uint64_t wanted = bytes / log_.segment_bytes();
  if (wanted > log_.segments())
    return Status::InvalidArgument(
        fmt::format("SCM capacity {} is more than the {} the tier was opened with; reopen it", bytes,
                    log_.segments() * log_.segment_bytes()));
  if (wanted != 0 && wanted < kSegmentsMin)
    return Status::InvalidArgument(fmt::format("SCM capacity {} is less than {} segments of {}; use 0 to switch it off",
                                               bytes, kSegmentsMin, log_.segment_bytes()));
  reclaimer_.ShrinkTo(static_cast<uint32_t>(wanted));
  return Status::Ok();
}

// --- watch -----------------------------------------------------------------------------------------------------------

void ScmTier::Impl::ForEach(const std::function<void(const BlockKey&, size_t, BlockRole)>& visit) {
  for (uint64_t i = 0; i < index_.slots(); ++i) {
    Index::Slot& slot = index_.slot(i);
    const IndexWord word(slot.load(std::memory_order_acquire));
    if (word.empty() || !log_.Pin(SegmentOf(word))) continue;
    if (IndexWord(slot.load(std::memory_order_acquire)).SameRecord(word)) {
      const layout::RecordHeader* header = HeaderAt(word);
      visit(header->key, header->payload_bytes, header->role);
    }
    log_.Unpin(SegmentOf(word));
  }
}

ScmAudit ScmTier::Impl::Audit() {
  ScmAudit audit;
  std::unordered_set<std::string> keys;
  for (uint64_t i = 0; i < index_.slots(); ++i) AuditWord(index_.slot(i), &audit, &keys);
  for (uint32_t i = 0; i < log_.segments(); ++i) audit.live_pins += log_.pins(SegmentId{i});
  log_.Audit(&audit.violations);
  if (static_cast<int64_t>(audit.resident_blocks) != resident_blocks_.load(std::memory_order_relaxed))
    audit.violations.push_back(fmt::format("{} blocks in the index, {} counted", audit.resident_blocks,
                                           resident_blocks_.load(std::memory_order_relaxed)));
  return audit;
}

void ScmTier::Impl::AuditWord(Index::Slot& slot, ScmAudit* audit, std::unordered_set<std::string>* keys) {
  const IndexWord word(slot.load(std::memory_order_acquire));
  if (word.empty()) return;
  ++audit->resident_blocks;
  const auto violation = [&](std::string_view what) {
    audit->violations.push_back(fmt::format("word of line {}: {}", word.line(), what));
  };
  const uint64_t offset = word.line() * kLineBytes;
  if (offset >= medium_.bytes()) return violation("points past the medium");
  const SegmentId segment = SegmentOf(word);
  const auto state = log_.state(segment);
  if (state != SegmentLog::State::kOpen && state != SegmentLog::State::kSealed)
    return violation("points into a segment that holds no records");
  if (offset < log_.FirstRecord(segment) || offset >= log_.Tail(segment)) return violation("points outside the log");
  const auto header = ReadRecordHeader(medium_, offset, static_cast<uint32_t>(log_.Sequence(segment)));
  if (!header) return violation("points to a damaged header");
  if (offset + layout::RecordBytes(header->payload_bytes) > log_.Tail(segment)) return violation("record is too long");
  if ((header->flags & layout::kRecordVoid) != 0) violation("points to a void record");
  if (PayloadChecksum(At(offset) + sizeof(*header), header->payload_bytes) != header->payload_checksum)
    violation("payload does not match its checksum");
  if (index_.Hash(header->key).tag != word.tag()) violation("tag is not its key's");
  IndexWord found;
  if (index_.FindRecord(index_.Hash(header->key), word.line(), &found) != &slot) violation("is in a wrong bucket");
  if (!keys->emplace(header->key.bytes()).second) violation("is the second one of its key");
  audit->resident_payload_bytes += header->payload_bytes;
}

// --- facade ----------------------------------------------------------------------------------------------------------

ScmTier::ScmTier(const ScmOptions& options) : options_(options) {}
ScmTier::~ScmTier() = default;

Status ScmTier::Open(const ScmOptions& options, std::unique_ptr<ScmTier>* tier, SurvivorJudge* judge) {
  MEZZ_RETURN_IF_ERROR(options.Validate());
  std::unique_ptr<ScmTier> opened(new (std::nothrow) ScmTier(options));
  if (opened == nullptr) return Status::NoSpace("no memory for the SCM tier");
  ScmOptions& effective = opened->options_;
  const uint64_t segment_bytes = options.EffectiveSegmentBytes();
  effective.capacity_bytes = options.capacity_bytes / segment_bytes * segment_bytes;
  effective.segment_bytes = segment_bytes;
  bool existing = false;  // what an earlier life left is discarded: docs/media_format.md, "Restart"
  MEZZ_RETURN_IF_ERROR(OpenMedium(effective, &opened->medium_, &existing));
  if (effective.model != MediumModelName::kNone)
    opened->throttle_ = std::make_unique<Throttle>(GetMediumModel(effective.model));
  const uint64_t hash_seed = RandomWord();
  const uint64_t format_id = RandomWord() | 1;  // 0 is a medium that was never formatted
  const layout::Superblock superblock =
      MakeSuperblock(effective.capacity_bytes, segment_bytes, hash_seed, format_id, effective.host_version);
  static_assert(sizeof(superblock) % kLineBytes == 0);
  opened->medium_->Stream(opened->medium_->base(), &superblock, sizeof(superblock));
  opened->medium_->Drain();
  opened->impl_ = std::make_unique<Impl>(*opened, &opened->counters_, judge, hash_seed, format_id);
  if (!opened->impl_->index_.ok())
    return Status::NoSpace(fmt::format("no memory for the index of {} bytes of SCM; raise expected_block_bytes ({})",
                                       effective.capacity_bytes, effective.expected_block_bytes));
  *tier = std::move(opened);
  return Status::Ok();
}

PutResult ScmTier::Put(const BlockKey& key, BlockRole role, size_t bytes, BlockSource source, Generation generation) {
  return impl_->Put(key, role, bytes, source, generation);
}

PutResult ScmTier::Put(const BlockKey& key, BlockRole role, std::span<const std::byte> payload, Generation generation) {
  const auto copy = [payload](size_t offset, size_t bytes, std::byte* to) {
    std::memcpy(to, payload.data() + offset, bytes);
    return true;
  };
  return impl_->Put(key, role, payload.size(), copy, generation);
}

PinnedBlock ScmTier::Find(const BlockKey& key, BlockRole role_for_miss_counter, Heat heat) {
  PinnedBlock found;
  if (impl_->Find(key, role_for_miss_counter, heat, &found)) found.tier_ = this;
  return found;
}

void ScmTier::ChargeInPlace(size_t payload_bytes) {
  if (throttle_ != nullptr) throttle_->ChargeLines(BlockSearchLines(payload_bytes));
}
void ScmTier::ChargeCopy(size_t payload_bytes) {
  if (throttle_ != nullptr) throttle_->ChargeStreamRead(payload_bytes);
}
void ScmTier::Prefetch(const BlockKey& key) const { impl_->index_.Prefetch(impl_->index_.Hash(key)); }
bool ScmTier::Contains(const BlockKey& key) { return impl_->Contains(key); }
void ScmTier::NotePromoted(const BlockKey& key) { impl_->SetDram(key, true); }
bool ScmTier::NoteDramEviction(const BlockKey& key) { return impl_->SetDram(key, false); }
bool ScmTier::Erase(const BlockKey& key) { return impl_->Erase(key); }
void ScmTier::EraseAll() { impl_->EraseAll(); }
void ScmTier::Unpin(const std::byte* payload) { impl_->log_.Unpin(impl_->SegmentOf(payload)); }
Status ScmTier::SetCapacity(uint64_t bytes) { return impl_->SetCapacity(bytes); }
void ScmTier::SetYoungPercent(unsigned percent) { impl_->SetYoungPercent(percent); }
uint64_t ScmTier::capacity_bytes() const { return impl_->log_.limit() * impl_->log_.segment_bytes(); }
uint64_t ScmTier::usage_bytes() const {
  const SegmentLog& log = impl_->log_;
  const uint32_t unused = log.free_segments() + log.parked_segments();
  return (log.segments() - std::min(unused, log.segments())) * log.segment_bytes();
}
uint64_t ScmTier::pinned_bytes() const { return impl_->log_.PinnedSegments() * impl_->log_.segment_bytes(); }
bool ScmTier::PinPressure() { return impl_->reclaimer_.PinPressure(); }
void ScmTier::ForEach(const std::function<void(const BlockKey&, size_t, BlockRole)>& visit) { impl_->ForEach(visit); }
size_t ScmTier::max_block_bytes() const {
  return layout::SegmentPayloadBytes(impl_->log_.segment_bytes()) - sizeof(layout::RecordHeader);
}
uint64_t ScmTier::resident_blocks() const {
  return static_cast<uint64_t>(std::max<int64_t>(0, impl_->resident_blocks_.load(std::memory_order_relaxed)));
}
uint64_t ScmTier::dram_bytes() const {
  return sizeof(*this) + sizeof(Impl) + impl_->index_.bytes() + impl_->log_.dram_bytes() + Counters::kBytes;
}

ScmAudit ScmTier::Audit() {
  ScmAudit audit = impl_->Audit();
  audit.medium_bytes = capacity_bytes();
  audit.dram_bytes = dram_bytes();
  return audit;
}

// --- PinnedBlock -----------------------------------------------------------------------------------------------------

PinnedBlock& PinnedBlock::operator=(PinnedBlock&& other) noexcept {
  if (this != &other) {
    Release();
    tier_ = std::exchange(other.tier_, nullptr);
    payload_ = other.payload_;
    role_ = other.role_;
    heat_ = other.heat_;
  }
  return *this;
}

void PinnedBlock::Release() {
  if (tier_ != nullptr) std::exchange(tier_, nullptr)->Unpin(payload_.data());
}

const std::byte* PinnedBlock::Detach() {
  tier_ = nullptr;
  return payload_.data();
}

}  // namespace mezz
