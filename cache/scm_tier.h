// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cache/base/fork_guard.h"
#include "cache/block_source.h"
#include "cache/counters.h"
#include "cache/media/bus_errors.h"
#include "cache/media/medium.h"
#include "cache/media/model.h"
#include "cache/media/preparer.h"
#include "cache/options.h"
#include "cache/recoverer.h"
#include "cache/status.h"
#include "cache/superblock.h"
#include "cache/survivor_judge.h"
#include "cache/types.h"

namespace mezz {

class Authenticator;
class ErasedKeys;
class ScmTier;

// What an earlier life of the medium left, as its first hit in this one finds it.
enum class Carried : uint8_t {
  kNo,        // it was stored in this life, or was hit in it before
  kFromScm,   // the SCM tier held it alone, or nobody knows: the tier was not closed
  kFromDram,  // the DRAM tier held its block too when the tier was closed
};

// A block found in the SCM tier: readable where it lies, or packed. While it lives, its segment cannot be reclaimed:
// hold it for as long as the bytes are read, no longer. Move-only; the destructor releases the pin. Must not outlive
// the tier.
class PinnedBlock {
 public:
  PinnedBlock() = default;
  PinnedBlock(PinnedBlock&& other) noexcept { *this = std::move(other); }
  PinnedBlock& operator=(PinnedBlock&& other) noexcept;
  ~PinnedBlock() { Release(); }

  explicit operator bool() const { return tier_ != nullptr; }
  Form form() const { return form_; }
  // It lies in DRAM, and waits to be packed: raw, and there is little room there, so copy it. Never detached.
  bool staged() const { return slot_ >= 0; }
  // The bytes as they lie there.
  std::span<const std::byte> stored() const { return stored_; }
  // The same; or, if bus errors are contained, a copy in memory of this thread, good until its next call: for code that
  // may not be interrupted by them, as a host's. Nothing, a counted miss: they are not there any more, and the record
  // is forgotten; or there was no memory (allocation.failed).
  std::optional<std::span<const std::byte>> SteadyBytes() const;
  // The block. REQUIRES: form() == Form::kRaw.
  std::span<const std::byte> payload() const {
    assert(form_ == Form::kRaw);
    return stored_;
  }
  // Of the block, unpacked.
  size_t logical_bytes() const { return form_ == Form::kRaw ? stored_.size() : logical_bytes_; }
  // As the host compressed it, who must unpack it, and check that logical_bytes() come of it. Nothing: it is raw, or
  // Unpack does it.
  std::optional<Image> image() const;
  // The image is whole, and the host made no such block of it: forgets and counts the record.
  void RejectImage() const;
  // Writes the block, logical_bytes() long, to `to`. REQUIRES: no image(). False: it could not be unpacked, and this is
  // a miss: the record is forgotten and counted, or there was no memory (allocation.failed). Reads stored() as one
  // stream.
  bool Unpack(std::byte* to) const;
  BlockRole role() const { return role_; }
  // 0..3: as it was found: hits since the record was written (proven ones start with one), less one for each time it
  // was spared. This one is included if it was found with Heat::kRaise.
  uint8_t heat() const { return heat_; }
  // A hit that is found with Heat::kKeep is not the first one: the next may be.
  Carried carried() const { return carried_; }

  void Release();
  // Gives the pin to the caller, who must pass the address to ScmTier::Unpin exactly once. REQUIRES: not staged().
  const std::byte* Detach();

 private:
  friend class ScmTier;
  ScmTier* tier_ = nullptr;
  std::span<const std::byte> stored_;
  uint32_t logical_bytes_ = 0;  // of a packed one
  Codec codec_ = Codec::kLz4;   // of a packed one
  uint8_t image_type_ = 0;
  BlockRole role_ = BlockRole::kOther;
  uint8_t heat_ = 0;
  Form form_ = Form::kRaw;
  Carried carried_ = Carried::kNo;
  int8_t slot_ = -1;  // of PackStage; -1: it lies on the medium
};

// What a hit does to the record's heat.
enum class Heat : uint8_t {
  kRaise,     // it is evidence that the block is wanted
  kKeep,      // it is none
  kHandOver,  // another block inherits the heat, and the record keeps none: reclaim lets it go
};

// What a key's record holds, compared with bytes at hand.
enum class Held : uint8_t { kNothing, kSame, kOther };

enum class PutResult : uint8_t { kStored, kTooLarge, kAllPinned, kNoSpace, kFillFailed, kDeadFile };

// DRAM that a tier takes, in bytes; while it recovers, 4 MiB more.
struct ScmDram {
  uint64_t index = 0;
  uint64_t segments = 0;  // the segment table
  uint64_t packing = 0;
  uint64_t rest = 0;  // counters, the object itself

  uint64_t total() const { return index + segments + packing + rest; }
};

// What Audit() re-derived from the index and the medium. The tier must be quiescent while it runs.
struct ScmAudit {
  uint64_t resident_blocks = 0;
  uint64_t resident_payload_bytes = 0;  // as stored
  uint64_t resident_logical_bytes = 0;  // of the blocks, unpacked
  uint64_t packed_blocks = 0;
  uint64_t live_pins = 0;
  uint64_t medium_bytes = 0;            // capacity in use
  uint64_t dram_bytes = 0;              // every structure of the tier
  std::vector<std::string> violations;  // empty: index, segments and counters agree
};

// A store of immutable blocks in slow byte-addressable memory: appended to segments, found by a compact index in
// DRAM, served in place under a pin, reclaimed oldest first with a second chance for what was hit.
//
// Thread-safe: every method may be called from any thread, except where noted. Find, Contains, Prefetch, Unpin,
// Erase (but for erase=durable) and the Note* calls take no lock, unless their block is staged. Put takes none unless
// it opens a segment or stages its block. None of them allocates. docs/explanation/synchronization.md has each
// atomic word as states and transitions.
//
// Errors: Open judges everything and says what is wrong. Afterwards nothing fails: a look-up misses, a put is refused,
// and a counter says why.
//
// Order: what a thread put and nobody put or erased since is found, or forgotten; an older record of the key never
// comes back. After Erase the key is a miss until it is put again, with erase=durable in every later life too. Of puts
// of one key at the same time either, or none, stays.
//
// Of what an earlier life left (ScmOptions::recovery) the blocks come back while the tier serves already, the youngest
// first, or, by a snapshot, in no order; until then they are misses. None of them comes back once its key was put or
// erased, or after EraseAll; where room is wanted meanwhile, those that did not come back yet go first; but as long as
// a snapshot is read nothing goes, and puts have what was free. As long as that lasts a put and an Erase take a short
// lock, and SetCapacity to less waits for a snapshot. Of two records that an earlier life left of one key the younger
// is found, or none; but if the younger one is not taken back, it may be the older: if it lies behind a damaged header
// or in a segment that is given up, has a form that `pack` does not read or a dictionary that is gone, or no room in
// the index.
//
// A block that is staged (ScmOptions::pack_stage_bytes) is found, compared, erased and replaced as if it were stored,
// and no call waits until it is. It may miss once, in the moment when it is stored; it is not in resident_blocks() and
// usage_bytes() before; and if it can then not be stored, it is forgotten.
//
// A medium that fails more often than ScmOptions::faults_max allows closes the tier for good: from the return of the
// call that met the last fault every look-up misses and every put is refused (refused.no_space); if a thread of the
// tier's own met it, from the next call on that misses, or stores or erases something. Pinned bytes stay
// readable. That one call walks the index.
//
// In a child made by fork() every look-up misses and every put is refused; the parent never notices. Bytes that were
// pinned before may change under the child: docs/reference/limitations.md.
class ScmTier {
 public:
  // `judge` decides what survives a reclaim; null: what was hit and is not in DRAM. Not owned; outlives the tier.
  // `wrap`, for tests, is given the medium that was opened, and gives what the tier is to use.
  using WrapMedium = std::function<std::unique_ptr<Medium>(std::unique_ptr<Medium>)>;
  static Status Open(const ScmOptions& options, std::unique_ptr<ScmTier>* tier, SurvivorJudge* judge = nullptr,
                     const WrapMedium& wrap = {});
  // REQUIRES: no PinnedBlock and no detached pin is left. Blocks for long with scrub_on_close.
  ~ScmTier();

  // Stores `bytes` bytes under `key`, replacing what the key named before, also if it is just being moved by reclaim.
  // The source is called in order of offset, in pieces of at most a few KiB, or for the whole block at once; if it
  // fails or throws, the put is refused.
  //
  // `wanted`: kPacked is a wish. The record is raw where ScmOptions::pack is off, where packing would save less than an
  // eighth of it, and where Packer says so (cache/pack/packer.h); each reason has its counter. kStored: or staged,
  // where kScmPut and what comes with it are counted once it is stored.
  PutResult Put(const BlockKey& key, BlockRole role, size_t bytes, BlockSource source,
                Generation generation = Generation::kYoung, Form wanted = Form::kRaw);
  PutResult Put(const BlockKey& key, BlockRole role, std::span<const std::byte> payload,
                Generation generation = Generation::kYoung, Form wanted = Form::kRaw);

  // As Put of a block of `bytes` bytes, packed; `image` holds it. REQUIRES: TakesImages(options().pack), and
  // ImagePays.
  PutResult PutImage(const BlockKey& key, BlockRole role, size_t bytes, const Image& image,
                     Generation generation = Generation::kYoung);
  // Whether a record of the image saves what a packed record must save.
  static bool ImagePays(BlockRole role, size_t bytes, const Image& image);
  static constexpr size_t kImageOverheadBytes = 16;  // of a record's payload, beside the image

  // Finds, pins and counts a hit or a miss; an empty result is a miss. The caller charges the model for what it
  // then reads: ChargeInPlace for what RocksDB reads of a block of that role where it lies, ChargeCopy for a copy,
  // which unpacking is of the bytes stored; what is staged lies in DRAM. A packed record's checksum is checked here,
  // whatever `verify` says.
  PinnedBlock Find(const BlockKey& key, BlockRole role_for_miss_counter = BlockRole::kOther, Heat heat = Heat::kRaise);
  void ChargeInPlace(BlockRole role, std::span<const std::byte> payload);
  void ChargeCopy(const PinnedBlock& block);

  // Brings the index lines of `key` towards this CPU; a hint that costs a hash.
  void Prefetch(const BlockKey& key) const;

  // As Find, without a pin, heat or a count.
  bool Contains(const BlockKey& key);

  // The DRAM tier now holds this block too, so reclaim need not spare the record. False: there is none.
  bool NotePromoted(const BlockKey& key);
  // The block leaves the DRAM tier. True: a valid record is here, nothing need be written.
  bool NoteDramEviction(const BlockKey& key);
  // The tier is about to be closed, and the DRAM tier with it: from now on reclaim spares what that holds, and the next
  // life finds those records marked (Carried::kFromDram), if the tier is closed and has room for its snapshot.
  void NoteDramGoes();

  // Whether the record of `key` was written from these bytes, by length and checksum: of changed bytes one in four
  // billion passes for the same. kOther too if the source fails. Reads one line of the medium, and the source as Put
  // does.
  Held Compare(const BlockKey& key, size_t bytes, BlockSource source);

  // Forgets `key`, also while reclaim moves it; true if it was resident. Bytes already pinned stay readable. Costs
  // about what a miss costs where there is nothing to forget. With erase=durable (ScmOptions): a line of the medium and
  // a drain, resident or not, as an older record may lie there all the same; it waits for what reclaim is at, and where
  // there is no room, for a victim.
  bool Erase(const BlockKey& key);
  // Forgets everything, in every later life too. Pinned bytes stay readable; the space comes back as reclaim reaches
  // it.
  void EraseAll();

  // A hint: no block of `file` will be asked for again, because the file is deleted. From now on its records leave the
  // index, a few with each put; none of them survives a reclaim; segments that were full of them are reclaimed first;
  // and puts of its blocks are refused. Wrong advice costs misses, nothing else: the first look-up that misses a block
  // of the file takes it back. The latest thousand hints or so are kept. Takes a short lock. Does nothing for
  // FileId{0}.
  void ForgetFile(FileId file);
  // Such a hint is kept. Two cache lines at most.
  bool IsForgotten(FileId file) const;
  // Segments wait to be reclaimed of which most was of forgotten files: what is put now displaces little that lives.
  bool IsHollow() const;

  // `payload` must be an address that PinnedBlock::Detach returned.
  void Unpin(const std::byte* payload);
  bool Owns(const void* address) const {
    return address >= medium_->base() && address < medium_->base() + medium_->bytes();
  }

  // Uses at most `bytes` of the medium from now on; 0 stops admission and empties the tier. Segments that are pinned
  // now are given up as soon as they are released. Puts go on meanwhile, and wait for one segment's reclaim at most.
  // Refuses more than the capacity at Open, and anything once the tier has closed itself.
  Status SetCapacity(uint64_t bytes);

  // New records are packed with this from now on, and those that reclaim packs; nothing: none is. What is packed is
  // unpacked with what it was packed with. REQUIRES: options().pack == PackMode::kAuto.
  void UseCodec(std::optional<Codec> codec);

  // Of the records of a proven segment that reclaim has reached, how many percent must be worth sparing for it to be
  // queued again as it is, and nothing written; 0, until it is set: that is never done. A smaller one saves writes, and
  // keeps what else the segment holds.
  void SetRequeuePercent(unsigned percent);
  // Without what is out of use because its memory failed; 0 if the tier is closed.
  uint64_t capacity_bytes() const;
  // This is a forked child of the process that opened it.
  bool in_child() const { return !guard_.InParent(); }
  // The tier has closed itself, or is about to: ScmOptions::faults_max.
  bool is_closed() const;
  // Of the medium, since it was opened: what was whole in this life and is not any more.
  uint32_t faults() const;
  // Of those: that were bus errors, contained.
  uint64_t bus_errors() const;
  // Of segments that are out of use, because their memory failed or holds bad blocks.
  uint64_t quarantined_bytes() const;
  // Bytes of segments that hold records. Cheap.
  uint64_t usage_bytes() const;
  // Bytes of segments that are pinned now. Walks the segment table: tens of microseconds per 10,000 segments.
  uint64_t pinned_bytes() const;
  // Pins keep reclaim from its segments: the caller should copy rather than pin. Cheap; ends soon after the pins, if it
  // is asked at every hit.
  bool PinPressure();

  // Checks header and payload of the next records that hold `bytes` payload bytes together, and forgets the damaged
  // ones (counted). Returns the bytes checked. ScmOptions::scrub_bytes_per_second does so in the background.
  uint64_t Scrub(uint64_t bytes);

  // Of one stay of a thread in reclaim, the most records it settled since the last call: what a put may have waited
  // for.
  uint64_t TakeLongestReclaim();

  // Calls `visit(key, bytes of the block, role)` for resident blocks; concurrent changes may be seen or not, and a
  // block may be met twice while the index grows.
  void ForEach(const std::function<void(const BlockKey&, size_t, BlockRole)>& visit) const;
  // What resident blocks of such files take of the medium: their records, as stored. Staged blocks take nothing yet.
  uint64_t RecordBytesOf(const std::function<bool(FileId)>& such) const;

  // The medium's pages are made ready in the background (ScmOptions::prepare): so far, from its start. The tier uses
  // what is ready; if space runs out meanwhile it stays with that, and PrepareStatus says why.
  uint64_t ready_bytes() const { return preparer_->ready_bytes(); }
  Status PrepareStatus() const { return preparer_->status(); }
  Status WaitUntilPrepared() { return preparer_->Wait(); }

  // What becomes of what an earlier life left (ScmOptions::recovery): as far as it has come.
  RecoveryReport recovery() const;
  // Until nothing more comes back.
  void WaitUntilRecovered() const;

  size_t max_block_bytes() const;
  // What a block of `bytes` would take packed, as others did of late.
  uint32_t PackedBytesExpected(uint32_t bytes) const;
  // What zstd makes of late of what LZ4 makes 100 bytes of. REQUIRES: options().pack == PackMode::kAuto.
  unsigned zstd_percent() const;
  uint64_t resident_blocks() const;
  ScmDram dram() const;
  // What a tier of these options takes once it is open, with one workspace if it packs. REQUIRES: they are valid.
  static ScmDram DramNeeded(const ScmOptions& options);
  const ScmOptions& options() const { return options_; }
  const MediumInfo& medium_info() const { return medium_->info(); }
  // Of the file that the medium lies in: Medium::NameTrouble, and IsNameless.
  std::string name_trouble() const { return medium_->NameTrouble(); }
  bool is_nameless() const { return medium_->IsNameless(); }
  Counters& counters() { return counters_; }
  const Throttle* throttle() const { return throttle_.get(); }

  // Until nothing is staged: what is put meanwhile is waited for too.
  void Drain() const;
  // Puts that were left to the stage; and that packed, because it was full.
  uint64_t staged_puts() const;
  uint64_t unstaged_puts() const;
  // By erase=durable, since Open.
  uint64_t tombstones_written() const;
  // Drains. Until the dictionaries that were due are trained, and those that no record carries any more are gone; for
  // tests.
  void SettleDictionaries() const;
  // REQUIRES: no other call runs. Waits for the recovery, and settles the dictionaries, first.
  ScmAudit Audit() const;

 private:
  friend class PinnedBlock;
  class Impl;
  explicit ScmTier(const ScmOptions& options);
  bool TakeErasedKeys(const layout::Superblock& superblock, std::span<const SegmentId> bad);
  layout::Superblock TakeOver(std::span<const std::byte> head, std::span<const SegmentId> bad, bool existing,
                              bool* keep);
  Status FindBadSegments(std::vector<SegmentId>* bad) const;
  Status ForgetBeyond(const layout::Superblock& found);
  Status TakeSuperblock(bool existing);
  void StartPreparer();
  void Close();
  bool WipeSegments(const std::vector<uint32_t>& held, uint64_t ready_bytes);
  Status StartThreads();

  ScmOptions options_;
  ForkGuard guard_;
  std::unique_ptr<Medium> medium_;
  std::unique_ptr<BusErrorWatch> watch_;  // as long as the medium is read
  std::unique_ptr<Throttle> throttle_;    // null without a model
  Counters counters_;
  std::unique_ptr<Authenticator> authenticator_;  // null without verify=keyed
  RecoveryReport recovery_;                       // unless there is a recoverer
  std::shared_ptr<const ErasedKeys> erased_;      // of an earlier life, until the recovery has it; null: none
  bool leftovers_ = false;                        // an earlier life's records may lie anywhere
  std::unique_ptr<SuperblockKeeper> keeper_;
  std::unique_ptr<Impl> impl_;
  bool opened_ = false;                 // Open has returned it
  std::unique_ptr<Preparer> preparer_;  // last: its threads end before what they tell
};

}  // namespace mezz
