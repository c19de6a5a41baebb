// SPDX-License-Identifier: Apache-2.0
#include "cache/scm_tier.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <new>
#include <unordered_set>
#include <utility>

#include "cache/dead_files.h"
#include "cache/index.h"
#include "cache/layout.h"
#include "cache/log_reader.h"
#include "cache/pack/packer.h"
#include "cache/pack/trainer.h"
#include "cache/reclaimer.h"
#include "cache/scrubber.h"
#include "cache/segment_log.h"
#include "cache/superblock.h"

namespace mezz {
namespace {

// verify=sampled reads about four bytes of payload a hit, whatever the blocks' size: all of one hit in 1024 at 4 KiB,
// of one in 8192 at 32 KiB. Small blocks are checked at one hit in 256.
constexpr uint32_t kSampleBytesPerHit = 4;
constexpr uint32_t kSampleOneInMin = 256;

// True about once in so many calls on a thread, by chance, so that no pattern of accesses is always spared.
bool TimeToVerify(uint32_t payload_bytes) {
  thread_local constinit uint32_t state = 1;
  state = state * 1664525u + 1013904223u;  // Numerical Recipes' generator: its upper bits are good
  // Mostly settled before the header with the size has arrived.
  if (state >= UINT32_MAX / kSampleOneInMin) [[likely]]
    return false;
  return uint64_t{state} * std::max(kSampleOneInMin, payload_bytes / kSampleBytesPerHit) >> 32 == 0;
}

std::unique_ptr<Trainer> MakeTrainer(const ScmOptions& options, Counters* counters, const ForkGuard& guard) {
  const bool may_use_zstd = options.pack == PackMode::kZstd || options.pack == PackMode::kAuto;
  if (!may_use_zstd || options.dictionaries.sample_every == 0) return nullptr;
  return std::make_unique<Trainer>(options.dictionaries, options.EffectiveSegmentBytes(), counters, guard);
}

Dictionaries* DictionariesOf(Trainer* trainer) { return trainer != nullptr ? &trainer->dictionaries() : nullptr; }

std::unique_ptr<Packer> MakePacker(PackMode mode, Counters* counters, Trainer* trainer) {
  const auto codec = CodecOf(mode);
  if (!codec) return nullptr;
  auto packer = std::make_unique<Packer>(*codec, counters, DictionariesOf(trainer),
                                         trainer != nullptr ? &trainer->samples() : nullptr);
  if (mode == PackMode::kAuto) packer->CompareCodecs();
  return packer;
}

uint64_t ExpectedRecords(const ScmOptions& options) {
  const auto raw = static_cast<double>(options.capacity_bytes / layout::RecordBytes(options.expected_block_bytes));
  return static_cast<uint64_t>(raw * ExpectedPackRatio(options.pack));
}

Event EventOf(Unpacked failure) {
  return failure == Unpacked::kNoMemory       ? Event::kAllocationFailed
         : failure == Unpacked::kNoDictionary ? Event::kScmNoDictionary
                                              : Event::kScmUnpackFailed;
}

uint64_t RandomWord() {
  uint64_t word = 0;
  if (getrandom(&word, sizeof(word), 0) != sizeof(word)) word = reinterpret_cast<uintptr_t>(&word);
  return word;
}

}  // namespace

class ScmTier::Impl {
 public:
  Impl(const ScmTier& tier, Counters* counters, SurvivorJudge* judge, uint64_t hash_seed, uint64_t format_id)
      : guard_(tier.guard_),
        medium_(*tier.medium_),
        counters_(counters),
        throttle_(tier.throttle_.get()),
        verify_(tier.options_.verify),
        trainer_(MakeTrainer(tier.options_, counters, guard_)),
        packer_(MakePacker(tier.options_.pack, counters, trainer_.get())),
        index_(ExpectedRecords(tier.options_), hash_seed),
        log_(medium_, tier.options_.capacity_bytes, tier.options_.EffectiveSegmentBytes(), format_id, counters, guard_,
             DictionariesOf(trainer_.get())),
        reader_(medium_, &log_, counters),
        dead_(&index_, reader_, &log_, counters, throttle_),
        reclaimer_(medium_, &log_, &index_, counters, throttle_, judge, packer_.get(), DictionariesOf(trainer_.get()),
                   &dead_),
        scrubber_(&index_, reader_, counters, guard_) {}
  ~Impl() {
    if (trainer_ != nullptr) trainer_->Stop();  // before what it stores dictionaries with
  }

  bool StartTrainer() {
    return trainer_ == nullptr || trainer_->Start([this](const Dictionary& dictionary) { return Store(dictionary); });
  }

  PutResult Put(const BlockKey& key, BlockRole role, size_t bytes, BlockSource source, Generation generation,
                Form wanted);
  PutResult PutImage(const BlockKey& key, BlockRole role, size_t bytes, const Image& image, Generation generation);
  bool Unpack(const PinnedBlock& block, std::byte* to);
  void RejectImage(const PinnedBlock& block);
  bool Find(const BlockKey& key, BlockRole role, Heat heat, PinnedBlock* found);
  bool Contains(const BlockKey& key);
  Held Compare(const BlockKey& key, size_t bytes, BlockSource source);
  bool SetDram(const BlockKey& key, bool dram) { return index_.SetDram(index_.Hash(key), dram); }
  bool Erase(const BlockKey& key);
  Status SetCapacity(uint64_t bytes);
  void ForEach(const std::function<void(const BlockKey&, size_t, BlockRole)>& visit);
  ScmAudit Audit();

  SegmentId SegmentOf(const std::byte* address) const {
    return log_.SegmentAt(static_cast<uint64_t>(address - medium_.base()));
  }

  const ForkGuard& guard_;
  const Medium& medium_;
  Counters* const counters_;
  Throttle* const throttle_;
  const VerifyMode verify_;
  const std::unique_ptr<Trainer> trainer_;  // null: no dictionaries
  const std::unique_ptr<Packer> packer_;    // null: pack=off
  Index index_;
  SegmentLog log_;
  LogReader reader_;
  DeadFiles dead_;
  Reclaimer reclaimer_;
  Scrubber scrubber_;  // last: its thread ends before what it reads

 private:
  std::optional<SegmentLog::Reservation> Reserve(uint64_t bytes, Generation generation);
  void Publish(const BlockKey& key, BlockRole role, uint64_t offset, Generation generation);
  PutResult Refused(BlockRole role, Event reason, PutResult result);
  std::optional<PutResult> RefusedAtOnce(const BlockKey& key, BlockRole role, size_t bytes);
  void CountPut(BlockRole role, size_t bytes, std::optional<size_t> packed_bytes);
  PutResult Store(const BlockKey& key, BlockRole role, size_t bytes, BlockSource source, Generation generation,
                  uint8_t flags, uint16_t dictionary = 0);
  bool Store(const Dictionary& dictionary);
  bool HasDictionaryOf(const layout::PackedPrefix& prefix, const record::Header& header) const;
  bool PayloadFails(const record::Header& header);
  bool TakePacked(const record::Header& header, PinnedBlock* found);
  void ForgetRecord(const record::Header& header);
  void AuditWord(Index::Entry entry, ScmAudit* audit, std::unordered_set<std::string>* keys);
  void AuditPacked(const record::Header& header, ScmAudit* audit,
                   const std::function<void(std::string_view)>& violation);
};

// --- put -------------------------------------------------------------------------------------------------------------

PutResult ScmTier::Impl::Put(const BlockKey& key, BlockRole role, size_t bytes, BlockSource source,
                             Generation generation, Form wanted) {
  if (const auto refused = RefusedAtOnce(key, role, bytes)) return *refused;
  const PackedBlock packed =
      wanted == Form::kPacked && packer_ != nullptr ? packer_->Pack(role, bytes, source) : PackedBlock();
  if (packed.outcome() == PackedBlock::Outcome::kSourceFailed)
    return Refused(role, Event::kRefusedFillFailed, PutResult::kFillFailed);
  PutResult result = PutResult::kStored;
  const bool is_packed = packed.outcome() == PackedBlock::Outcome::kPacked;
  if (packed.outcome() == PackedBlock::Outcome::kLeft) {
    result = Store(key, role, bytes, source, generation, /*flags=*/0);
  } else {
    result = Store(key, role, packed.bytes().size(), SpanSource{packed.bytes()}, generation,
                   is_packed ? layout::kRecordPacked : layout::kRecordRejected, packed.dictionary());
  }
  if (result != PutResult::kStored) return result;
  CountPut(role, bytes, is_packed ? std::optional(packed.bytes().size()) : std::nullopt);
  return PutResult::kStored;
}

PutResult ScmTier::Impl::PutImage(const BlockKey& key, BlockRole role, size_t bytes, const Image& image,
                                  Generation generation) {
  static_assert(kImageOverheadBytes == sizeof(layout::PackedPrefix));
  if (const auto refused = RefusedAtOnce(key, role, bytes)) return *refused;
  const layout::PackedPrefix prefix = packer_->PrefixOfImage(role, bytes, image);
  const auto prefix_then_image = [&](size_t offset, size_t count, std::byte* to) {
    const size_t of_prefix = offset < sizeof(prefix) ? std::min(count, sizeof(prefix) - offset) : 0;
    if (of_prefix != 0) std::memcpy(to, reinterpret_cast<const std::byte*>(&prefix) + offset, of_prefix);
    if (of_prefix != count)
      std::memcpy(to + of_prefix, image.bytes.data() + (offset + of_prefix - sizeof(prefix)), count - of_prefix);
    return true;
  };
  const size_t stored_bytes = sizeof(prefix) + image.bytes.size();
  const PutResult result = Store(key, role, stored_bytes, prefix_then_image, generation, layout::kRecordPacked);
  if (result != PutResult::kStored) return result;
  CountPut(role, bytes, stored_bytes);
  counters_->Add(Event::kScmImagePut, role);
  return PutResult::kStored;
}

// Before any lock and any byte of the medium, which a child shares with its parent.
std::optional<PutResult> ScmTier::Impl::RefusedAtOnce(const BlockKey& key, BlockRole role, size_t bytes) {
  if (!guard_.InParent()) return Refused(role, Event::kRefusedForked, PutResult::kNoSpace);
  if (bytes > UINT32_MAX || layout::RecordBytes(bytes) > layout::SegmentPayloadBytes(log_.segment_bytes()))
    return Refused(role, Event::kRefusedTooLarge, PutResult::kTooLarge);
  if (log_.limit() == 0) return Refused(role, Event::kRefusedNoSpace, PutResult::kNoSpace);
  if (dead_.Has(key.file())) return Refused(role, Event::kRefusedDeadFile, PutResult::kDeadFile);
  return std::nullopt;
}

void ScmTier::Impl::CountPut(BlockRole role, size_t bytes, std::optional<size_t> packed_bytes) {
  counters_->Add(Event::kScmPut, role);
  counters_->Add(Event::kScmPutBytes, role, bytes);
  if (!packed_bytes) return;
  counters_->Add(Event::kScmPackedPut, role);
  counters_->Add(Event::kScmPackedPutBytes, role, bytes);
  counters_->Add(Event::kScmPackedPutStored, role, *packed_bytes);
}

PutResult ScmTier::Impl::Refused(BlockRole role, Event reason, PutResult result) {
  counters_->Add(reason, role);
  return result;
}

// Writes and publishes a record of `bytes` payload bytes; a refusal is counted.
PutResult ScmTier::Impl::Store(const BlockKey& key, BlockRole role, size_t bytes, BlockSource source,
                               Generation generation, uint8_t flags, uint16_t dictionary) {
  const uint64_t record_bytes = layout::RecordBytes(bytes);
  reclaimer_.Step(record_bytes);
  dead_.Step();
  const auto where = Reserve(record_bytes, generation);
  if (!where) {
    return log_.limit() == 0 ? Refused(role, Event::kRefusedNoSpace, PutResult::kNoSpace)
                             : Refused(role, Event::kRefusedAllPinned, PutResult::kAllPinned);
  }
  const bool written = record::Write(medium_, where->place, key, role, bytes, source, flags);
  if (throttle_ != nullptr) throttle_->ChargeWrite(record_bytes);
  counters_->Add(Event::kScmWrittenBytes, role, record_bytes);
  if (dictionary != 0) log_.KeepDictionary(where->segment, dictionary);
  if (written) Publish(key, role, where->place.offset, generation);
  log_.Leave(*where);
  if (!written) return Refused(role, Event::kRefusedFillFailed, PutResult::kFillFailed);
  return PutResult::kStored;
}

// Called by the trainer's thread.
bool ScmTier::Impl::Store(const Dictionary& dictionary) {
  const auto where = log_.limit() != 0 ? Reserve(dictionary.record_bytes(), Generation::kProven) : std::nullopt;
  if (!where) return false;
  dictionary.Write(medium_, where->place);
  trainer_->dictionaries().SetPlace(Dictionaries::SlotOf(dictionary.number()), where->place.offset);
  log_.Leave(*where);
  if (throttle_ != nullptr) throttle_->ChargeWrite(dictionary.record_bytes());
  counters_->Add(Event::kDictionaryWritten, dictionary.role());
  counters_->Add(Event::kScmWrittenBytes, dictionary.role(), dictionary.record_bytes());
  return true;
}

std::optional<SegmentLog::Reservation> ScmTier::Impl::Reserve(uint64_t bytes, Generation generation) {
  const unsigned lane = generation == Generation::kProven ? log_.proven_lane() : log_.LaneOfThisThread();
  for (;;) {
    if (auto where = log_.Reserve(lane, bytes)) return where;
    if (!log_.Advance(lane, bytes, SegmentLog::For::kWriter) && !reclaimer_.MakeRoom()) return std::nullopt;
    if (log_.limit() == 0) return std::nullopt;
  }
}

void ScmTier::Impl::Publish(const BlockKey& key, BlockRole role, uint64_t offset, Generation generation) {
  const KeyHash hash = index_.Hash(key);
  const IndexWord fresh = IndexWord::Make(hash.tag, offset / kLineBytes, /*dram=*/false, HeatOfNew(generation));
  const auto age = [this](IndexWord word) { return log_.Sequence(reader_.SegmentOf(word)); };
  KeyReader reader(reader_, key);
  switch (index_.Publish(hash, fresh, reader, age)) {
    case Index::Published::kInserted:
      return;
    case Index::Published::kReplaced:
      return counters_->Add(Event::kScmReplaced, role);
    case Index::Published::kDisplaced:
      return counters_->Add(Event::kScmDisplaced, role);
  }
}

// --- find ------------------------------------------------------------------------------------------------------------

bool ScmTier::Impl::Find(const BlockKey& key, BlockRole role, Heat heat, PinnedBlock* found) {
  KeyReader reader(reader_, key);
  const Index::Entry entry = index_.Find(index_.Hash(key), reader);
  if (!entry) {
    if (dead_.Has(key.file())) [[unlikely]]
      dead_.Revive(key.file());
    counters_->Add(Event::kScmMiss, role);
    return false;
  }
  const record::Header& header = reader.HeaderOf(entry.word);
  const bool packed = record::IsPacked(header);
  if (packed ? !TakePacked(header, found) : PayloadFails(header)) [[unlikely]] {
    index_.RemoveRecord(entry);
    reader.Unpin(entry.word);
    counters_->Add(Event::kScmMiss, role);
    return false;
  }
  found->stored_ = record::PayloadOf(header);
  // A search starts at the block's end; the line arrives while the caller builds its object.
  if (!packed && header.payload_bytes > kLineBytes) __builtin_prefetch(&found->stored_.back());
  found->role_ = header.role;
  const unsigned raised = std::min(entry.word.heat() + 1, IndexWord::kHeatMax);
  // A hit that reached us missed the DRAM tier, so the block is not there, whatever we were told before.
  found->heat_ = static_cast<uint8_t>(index_.Touch(entry, heat == Heat::kRaise ? raised : entry.word.heat()).heat());
  counters_->Add(Event::kScmHit, header.role);
  return true;  // the pin goes to the caller
}

bool ScmTier::Impl::PayloadFails(const record::Header& header) {
  const bool verify =
      verify_ == VerifyMode::kAlways || (verify_ == VerifyMode::kSampled && TimeToVerify(header.payload_bytes));
  if (!verify || record::PayloadIsWhole(header)) [[likely]]
    return false;
  counters_->Add(Event::kScmChecksumMismatch, header.role);
  return true;
}

// A packed record, checked whole: what unpacks damaged bytes gives wrong ones without a word.
bool ScmTier::Impl::TakePacked(const record::Header& header, PinnedBlock* found) {
  const bool whole = record::PayloadIsWhole(header);
  const auto prefix = whole && packer_ != nullptr ? Packer::ReadPrefix(record::PayloadOf(header)) : std::nullopt;
  if (!prefix) {
    counters_->Add(whole ? Event::kScmUnpackFailed : Event::kScmChecksumMismatch, header.role);
    return false;
  }
  if (!HasDictionaryOf(*prefix, header)) {
    counters_->Add(Event::kScmNoDictionary, header.role);
    return false;
  }
  found->form_ = Form::kPacked;
  found->logical_bytes_ = prefix->logical_bytes;
  found->codec_ = prefix->codec;
  found->image_type_ = prefix->type;
  counters_->Add(Event::kScmPackedHit, header.role);
  if (prefix->codec == Codec::kImage) counters_->Add(Event::kScmImageHit, header.role);
  return true;
}

// REQUIRES: the record is pinned.
bool ScmTier::Impl::HasDictionaryOf(const layout::PackedPrefix& prefix, const record::Header& header) const {
  if (prefix.dictionary == 0) return true;
  return log_.KeepsDictionary(SegmentOf(reinterpret_cast<const std::byte*>(&header)), prefix.dictionary);
}

bool ScmTier::Impl::Unpack(const PinnedBlock& block, std::byte* to) {
  const record::Header& header = *(reinterpret_cast<const record::Header*>(block.stored_.data()) - 1);
  const auto prefix = Packer::ReadPrefix(block.stored_);
  Unpacked unpacked = Unpacked::kDamaged;
  MEZZ_READS_MEDIUM(block.stored_.data(), block.stored_.size());
  if (prefix && prefix->logical_bytes == block.logical_bytes_) {
    unpacked = HasDictionaryOf(*prefix, header) ? packer_->Unpack(block.stored_, *prefix, to) : Unpacked::kNoDictionary;
  }
  if (unpacked == Unpacked::kDone && verify_ == VerifyMode::kAlways &&
      record::PayloadChecksum({to, prefix->logical_bytes}) != prefix->logical_checksum)
    unpacked = Unpacked::kDamaged;
  if (unpacked == Unpacked::kDone) return true;
  counters_->Add(EventOf(unpacked), block.role_);
  if (unpacked != Unpacked::kNoMemory) ForgetRecord(header);
  return false;
}

void ScmTier::Impl::RejectImage(const PinnedBlock& block) {
  counters_->Add(Event::kScmImageFailed, block.role_);
  ForgetRecord(*(reinterpret_cast<const record::Header*>(block.stored_.data()) - 1));
}

// REQUIRES: the record is pinned.
void ScmTier::Impl::ForgetRecord(const record::Header& header) {
  const auto offset = static_cast<uint64_t>(reinterpret_cast<const std::byte*>(&header) - medium_.base());
  if (const auto entry = index_.FindLine(index_.Hash(header.key), offset / kLineBytes)) index_.RemoveRecord(entry);
}

bool ScmTier::Impl::Contains(const BlockKey& key) {
  KeyReader reader(reader_, key);
  const Index::Entry entry = index_.Find(index_.Hash(key), reader);
  if (entry) reader.Unpin(entry.word);
  return static_cast<bool>(entry);
}

// The header alone is compared, and a packed record's prefix, which shares its line; not the payload: that would read
// all of it from the medium. A damaged prefix compares as other bytes, and so does an image.
Held ScmTier::Impl::Compare(const BlockKey& key, size_t bytes, BlockSource source) {
  KeyReader reader(reader_, key);
  const Index::Entry entry = index_.Find(index_.Hash(key), reader);
  if (!entry) return Held::kNothing;
  const record::Header& header = reader.HeaderOf(entry.word);
  size_t held_bytes = header.payload_bytes;
  uint32_t held_checksum = header.payload_checksum;
  if (record::IsPacked(header)) {
    const auto prefix = Packer::ReadPrefix(record::PayloadOf(header));
    held_bytes = prefix && prefix->codec != Codec::kImage ? prefix->logical_bytes : SIZE_MAX;
    held_checksum = prefix ? prefix->logical_checksum : 0;
  }
  reader.Unpin(entry.word);
  if (held_bytes != bytes) return Held::kOther;
  return record::SourceChecksum(bytes, source) == held_checksum ? Held::kSame : Held::kOther;
}

// --- forget ----------------------------------------------------------------------------------------------------------

bool ScmTier::Impl::Erase(const BlockKey& key) {
  KeyReader reader(reader_, key);
  return index_.Erase(index_.Hash(key), reader,
                      [&](IndexWord word) { counters_->Add(Event::kScmErase, reader.HeaderOf(word).role); });
}

Status ScmTier::Impl::SetCapacity(uint64_t bytes) {
  if (!guard_.InParent())
    return Status::NotSupported(fmt::format("SCM capacity {} is asked for in a forked child: ask the parent", bytes));
  const uint64_t wanted = bytes / log_.segment_bytes();
  if (wanted > log_.segments())
    return Status::InvalidArgument(
        fmt::format("SCM capacity {} is more than the {} the tier was opened with; reopen it", bytes,
                    log_.segments() * log_.segment_bytes()));
  if (wanted != 0 && wanted < kSegmentsMin)
    return Status::InvalidArgument(fmt::format("SCM capacity {} is less than {} segments of {}; use 0 to switch it off",
                                               bytes, kSegmentsMin, log_.segment_bytes()));
  reclaimer_.ShrinkTo(static_cast<uint32_t>(wanted));
  if (trainer_ != nullptr) trainer_->Wake();  // what found no room on the medium may find it now
  return Status::Ok();
}

// --- watch -----------------------------------------------------------------------------------------------------------

void ScmTier::Impl::ForEach(const std::function<void(const BlockKey&, size_t, BlockRole)>& visit) {
  for (uint64_t slot = 0; slot < index_.slots(); ++slot) {
    index_.VisitPinned(slot, reader_, [&](IndexWord word) {
      const record::Header& header = reader_.HeaderOf(word);
      const auto prefix = record::IsPacked(header) ? Packer::ReadPrefix(record::PayloadOf(header)) : std::nullopt;
      visit(header.key, prefix ? prefix->logical_bytes : header.payload_bytes, header.role);
    });
  }
}

ScmAudit ScmTier::Impl::Audit() {
  ScmAudit audit;
  std::unordered_set<std::string> keys;
  for (uint64_t slot = 0; slot < index_.slots(); ++slot) AuditWord(index_.At(slot), &audit, &keys);
  for (uint32_t i = 0; i < log_.segments(); ++i) audit.live_pins += log_.pins(SegmentId{i});
  log_.Audit(&audit.violations);
  if (!std::cmp_equal(audit.resident_blocks, index_.counted()))
    audit.violations.push_back(
        fmt::format("{} blocks in the index, {} counted", audit.resident_blocks, index_.counted()));
  return audit;
}

void ScmTier::Impl::AuditWord(Index::Entry entry, ScmAudit* audit, std::unordered_set<std::string>* keys) {
  const IndexWord word = entry.word;
  if (word.empty()) return;
  ++audit->resident_blocks;
  const auto violation = [&](std::string_view what) {
    audit->violations.push_back(fmt::format("word of line {}: {}", word.line(), what));
  };
  const uint64_t offset = word.line() * kLineBytes;
  if (offset >= medium_.bytes()) return violation("points past the medium");
  const SegmentId segment = reader_.SegmentOf(word);
  const auto state = log_.state(segment);
  if (state != SegmentLog::State::kOpen && state != SegmentLog::State::kSealed)
    return violation("points into a segment that holds no records");
  if (offset < log_.FirstRecord(segment) || offset >= log_.Tail(segment)) return violation("points outside the log");
  const auto header = record::ReadHeader(medium_, {offset, static_cast<uint32_t>(log_.Sequence(segment))});
  if (!header) return violation("points to a damaged header");
  if (offset + layout::RecordBytes(header->payload_bytes) > log_.Tail(segment)) return violation("record is too long");
  if ((header->flags & layout::kRecordVoid) != 0) violation("points to a void record");
  if (!record::PayloadIsWhole(record::HeaderAt(medium_, offset))) violation("payload does not match its checksum");
  if (index_.Hash(header->key).tag != word.tag()) violation("tag is not its key's");
  const Index::Entry found = index_.FindLine(index_.Hash(header->key), word.line());
  if (!found || found.slot != entry.slot) violation("is in a wrong bucket");
  if (!keys->emplace(header->key.bytes()).second) violation("is the second one of its key");
  audit->resident_payload_bytes += header->payload_bytes;
  if (record::IsPacked(*header)) return AuditPacked(record::HeaderAt(medium_, offset), audit, violation);
  audit->resident_logical_bytes += header->payload_bytes;
}

void ScmTier::Impl::AuditPacked(const record::Header& header, ScmAudit* audit,
                                const std::function<void(std::string_view)>& violation) {
  const auto payload = record::PayloadOf(header);
  const auto prefix = Packer::ReadPrefix(payload);
  if (!prefix || packer_ == nullptr) return violation("is packed as nothing is");
  ++audit->packed_blocks;
  audit->resident_logical_bytes += prefix->logical_bytes;
  if (!Packer::IsPackable(header.role, prefix->logical_bytes)) violation("is packed and should not be");
  if (8 * layout::RecordBytes(payload.size()) > 7 * layout::RecordBytes(prefix->logical_bytes))
    violation("is packed and saves less than an eighth");
  if (prefix->codec == Codec::kImage) return;  // the host's to unpack
  std::vector<std::byte> block(prefix->logical_bytes);
  if (!HasDictionaryOf(*prefix, header)) {
    violation("was packed with a dictionary that is gone");
  } else if (packer_->Unpack(payload, *prefix, block.data()) != Unpacked::kDone) {
    violation("does not unpack");
  } else if (record::PayloadChecksum(block) != prefix->logical_checksum) {
    violation("unpacks to other bytes");
  }
}

// --- facade ----------------------------------------------------------------------------------------------------------

ScmTier::ScmTier(const ScmOptions& options) : options_(options) {}
ScmTier::~ScmTier() = default;

Status ScmTier::Open(const ScmOptions& options, std::unique_ptr<ScmTier>* tier, SurvivorJudge* judge) {
  MEZZ_RETURN_IF_ERROR(options.Validate());
  std::unique_ptr<ScmTier> opened(new (std::nothrow) ScmTier(options));
  if (opened == nullptr) return Status::NoSpace("no memory for the SCM tier");
  if (!opened->guard_.ok())
    return Status::NotSupported("this kernel does not tell forked children from their parent: use Linux 4.14 or newer");
  ScmOptions& effective = opened->options_;
  const uint64_t segment_bytes = options.EffectiveSegmentBytes();
  effective.capacity_bytes = options.capacity_bytes / segment_bytes * segment_bytes;
  effective.segment_bytes = segment_bytes;
  bool existing = false;  // what an earlier life left is discarded: docs/media_format.md, "Restart"
  MEZZ_RETURN_IF_ERROR(OpenMedium(effective, &opened->medium_, &existing, &opened->preparer_));
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
  SegmentLog* const log = &opened->impl_->log_;
  const auto provide = [log](uint64_t ready_bytes) {
    log->Provide(static_cast<uint32_t>(ready_bytes / log->segment_bytes()));
  };
  provide(opened->preparer_->ready_bytes());
  opened->preparer_->Start(provide);
  if (effective.scrub_bytes_per_second != 0 && !opened->impl_->scrubber_.Start(effective.scrub_bytes_per_second))
    return Status::NoSpace(fmt::format("no thread for scrub_bytes_per_second={}: set it to 0, or allow more threads",
                                       effective.scrub_bytes_per_second));
  if (!opened->impl_->StartTrainer())
    return Status::NoSpace("no thread to train dictionaries for pack=zstd: allow more threads, or use pack=lz4");
  *tier = std::move(opened);
  return Status::Ok();
}

PutResult ScmTier::Put(const BlockKey& key, BlockRole role, size_t bytes, BlockSource source, Generation generation,
                       Form wanted) {
  return impl_->Put(key, role, bytes, source, generation, wanted);
}

PutResult ScmTier::Put(const BlockKey& key, BlockRole role, std::span<const std::byte> payload, Generation generation,
                       Form wanted) {
  return impl_->Put(key, role, payload.size(), SpanSource{payload}, generation, wanted);
}

PutResult ScmTier::PutImage(const BlockKey& key, BlockRole role, size_t bytes, const Image& image,
                            Generation generation) {
  assert(TakesImages(options_.pack) && ImagePays(role, bytes, image));
  return impl_->PutImage(key, role, bytes, image, generation);
}
bool ScmTier::ImagePays(BlockRole role, size_t bytes, const Image& image) {
  return Packer::ImagePays(role, bytes, image);
}

PinnedBlock ScmTier::Find(const BlockKey& key, BlockRole role_for_miss_counter, Heat heat) {
  PinnedBlock found;
  if (impl_->Find(key, role_for_miss_counter, heat, &found)) found.tier_ = this;
  return found;
}

void ScmTier::ChargeInPlace(BlockRole role, std::span<const std::byte> payload) {
  if (throttle_ != nullptr) throttle_->ChargeInPlace(HowReadInPlace(throttle_->model(), role, payload));
}
void ScmTier::ChargeCopy(size_t stored_bytes) {
  if (throttle_ != nullptr) throttle_->ChargeStreamRead(stored_bytes);
}
void ScmTier::Prefetch(const BlockKey& key) const { impl_->index_.Prefetch(impl_->index_.Hash(key)); }
bool ScmTier::Contains(const BlockKey& key) { return impl_->Contains(key); }
Held ScmTier::Compare(const BlockKey& key, size_t bytes, BlockSource source) {
  return impl_->Compare(key, bytes, source);
}
void ScmTier::NotePromoted(const BlockKey& key) { impl_->SetDram(key, true); }
bool ScmTier::NoteDramEviction(const BlockKey& key) { return impl_->SetDram(key, false); }
bool ScmTier::Erase(const BlockKey& key) { return impl_->Erase(key); }
void ScmTier::EraseAll() { impl_->index_.Clear(); }
void ScmTier::ForgetFile(FileId file) {
  if (guard_.InParent()) impl_->dead_.Add(file);  // a child's index is empty, and its parent's lock may be held
}
bool ScmTier::IsHollow() const { return impl_->log_.hollow_segments() != 0; }
bool ScmTier::IsForgotten(FileId file) const { return impl_->dead_.Has(file); }
void ScmTier::Unpin(const std::byte* payload) { impl_->log_.Unpin(impl_->SegmentOf(payload)); }
Status ScmTier::SetCapacity(uint64_t bytes) { return impl_->SetCapacity(bytes); }
void ScmTier::UseCodec(std::optional<Codec> codec) {
  assert(options_.pack == PackMode::kAuto);
  impl_->packer_->UseCodec(codec);
}
void ScmTier::SetYoungPercent(unsigned percent) { impl_->log_.SetYoungPercent(percent); }
void ScmTier::SetRequeuePercent(unsigned percent) { impl_->reclaimer_.SetRequeuePercent(percent); }
uint64_t ScmTier::capacity_bytes() const { return impl_->log_.limit() * impl_->log_.segment_bytes(); }
uint64_t ScmTier::usage_bytes() const {
  const SegmentLog& log = impl_->log_;
  return (log.segments() - std::min(log.unused_segments(), log.segments())) * log.segment_bytes();
}
uint64_t ScmTier::pinned_bytes() const { return impl_->log_.PinnedSegments() * impl_->log_.segment_bytes(); }
bool ScmTier::PinPressure() { return impl_->reclaimer_.PinPressure(); }
void ScmTier::ForEach(const std::function<void(const BlockKey&, size_t, BlockRole)>& visit) const {
  impl_->ForEach(visit);
}
size_t ScmTier::max_block_bytes() const {
  return layout::SegmentPayloadBytes(impl_->log_.segment_bytes()) - sizeof(layout::RecordHeader);
}
uint32_t ScmTier::PackedBytesExpected(uint32_t bytes) const {
  const uint64_t share = impl_->packer_ == nullptr ? Packer::kWhole : impl_->packer_->mean_share();
  return static_cast<uint32_t>(bytes * share / Packer::kWhole);
}
unsigned ScmTier::zstd_percent() const { return impl_->packer_->zstd_percent(); }
uint64_t ScmTier::resident_blocks() const { return impl_->index_.blocks(); }
uint64_t ScmTier::Scrub(uint64_t bytes) { return impl_->scrubber_.Scrub(bytes); }
uint64_t ScmTier::TakeLongestReclaim() { return impl_->reclaimer_.TakeLongestStay(); }
ScmDram ScmTier::dram() const {
  return {.index = impl_->index_.bytes(),
          .segments = impl_->log_.dram_bytes(),
          .packing = (impl_->packer_ == nullptr ? 0 : impl_->packer_->dram_bytes()) +
                     (impl_->trainer_ == nullptr ? 0 : impl_->trainer_->dram_bytes()),
          .rest = sizeof(*this) + sizeof(Impl) + Counters::kBytes};
}

ScmDram ScmTier::DramNeeded(const ScmOptions& options) {
  const uint64_t segment_bytes = options.EffectiveSegmentBytes();
  // Of the codec that takes the most.
  const auto codec = options.pack == PackMode::kAuto ? Codec::kZstd : CodecOf(options.pack);
  return {.index = Index::BytesFor(ExpectedRecords(options)),
          .segments = SegmentLog::DramBytesFor(static_cast<uint32_t>(options.capacity_bytes / segment_bytes)),
          .packing = codec ? Packer::DramBytesFor(*codec, options.expected_block_bytes) : 0,
          .rest = sizeof(ScmTier) + sizeof(Impl) + Counters::kBytes};
}

void ScmTier::SettleDictionaries() const {
  if (impl_->trainer_ != nullptr) impl_->trainer_->Settle();
}

ScmAudit ScmTier::Audit() const {
  SettleDictionaries();
  ScmAudit audit = impl_->Audit();
  audit.medium_bytes = capacity_bytes();
  audit.dram_bytes = dram().total();
  return audit;
}

// --- PinnedBlock -----------------------------------------------------------------------------------------------------

PinnedBlock& PinnedBlock::operator=(PinnedBlock&& other) noexcept {
  if (this != &other) {
    Release();
    tier_ = std::exchange(other.tier_, nullptr);
    stored_ = other.stored_;
    logical_bytes_ = other.logical_bytes_;
    codec_ = other.codec_;
    image_type_ = other.image_type_;
    role_ = other.role_;
    heat_ = other.heat_;
    form_ = other.form_;
  }
  return *this;
}

std::optional<Image> PinnedBlock::image() const {
  if (form_ != Form::kPacked || codec_ != Codec::kImage) return std::nullopt;
  return Image{.bytes = stored_.subspan(ScmTier::kImageOverheadBytes), .type = image_type_};
}

void PinnedBlock::RejectImage() const {
  assert(image());
  tier_->impl_->RejectImage(*this);
}

bool PinnedBlock::Unpack(std::byte* to) const {
  assert(!image());
  if (form_ == Form::kPacked) return tier_->impl_->Unpack(*this, to);
  if (!stored_.empty()) std::memcpy(to, stored_.data(), stored_.size());
  return true;
}

void PinnedBlock::Release() {
  if (tier_ != nullptr) std::exchange(tier_, nullptr)->Unpin(stored_.data());
}

const std::byte* PinnedBlock::Detach() {
  tier_ = nullptr;
  return stored_.data();
}

}  // namespace mezz
