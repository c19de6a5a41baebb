// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "cache/base/fork_guard.h"
#include "cache/block_source.h"
#include "cache/counters.h"
#include "cache/media/medium.h"
#include "cache/media/model.h"
#include "cache/media/preparer.h"
#include "cache/options.h"
#include "cache/pinned_block.h"
#include "cache/put.h"
#include "cache/recovery_report.h"
#include "cache/scm_figures.h"
#include "cache/scm_shares.h"
#include "cache/status.h"
#include "cache/survivor_judge.h"
#include "cache/types.h"

namespace mezz {

struct TierRooms;

// A store of immutable blocks in byte-addressable memory. Blocks are appended to segments, a compact index in DRAM
// finds them, and hits are served in place under a pin. Reclaim empties the oldest segment, and gives records that were
// hit a second chance.
//
// Thread-safe: every method may be called from any thread, except where noted. Find, Contains, Prefetch, Unpin,
// Erase (but for erase=durable) and the Note* calls take no lock, unless their block is staged. Put takes none unless
// it opens a segment or stages its block. None of them allocates. docs/explanation/synchronization.md has each
// atomic word as states and transitions.
//
// Errors: Open checks everything, and its Status says what is wrong. Afterwards nothing fails: a look-up misses or a
// put is refused, and a counter says why.
//
// Order: a look-up finds the bytes that were put last under the key, or nothing; an older record of the key never comes
// back. After Erase the key is a miss until it is put again; with erase=durable that holds in every later life too. If
// several threads put one key at the same time, one of the blocks stays, or none.
//
// Recovery (ScmOptions::recovery): the blocks that an earlier life left come back while the tier already serves, and
// are misses until then. A snapshot brings them back in no order; without one the youngest come first. No block comes
// back once its key was put or erased, or after EraseAll. If puts need room meanwhile, blocks that are not back yet go
// first; but while a snapshot is read nothing goes, and puts have only the free space. During the recovery Put and
// Erase take a short lock, and a SetCapacity to less waits until the snapshot is read. Where an earlier life left two
// records of one key, the younger is found, or none. The older can be found only if the younger is not taken back: it
// lies behind a damaged header or in a segment that is given up, its form is one that `pack` does not read, its
// dictionary is gone, or the index has no room.
//
// Staging (ScmOptions::pack_stage_bytes): a staged block is found, compared, erased and replaced as if it were stored,
// and no call waits for the packing. It may miss once, in the moment when it is stored. resident_blocks() and
// usage_bytes() do not include it. If it cannot be stored, it is forgotten.
//
// Faults: a medium that fails more often than ScmOptions::faults_max allows closes the tier for good. From the return
// of the call that met the last fault every look-up misses, and every put is refused (refused.no_space). If a thread of
// the tier met that fault, this holds from the next call on that misses, stores or erases something. The call that
// closes the tier walks the index. Pinned bytes stay readable.
//
// In a child made by fork() every look-up misses and every put is refused; the parent never notices. Bytes that were
// pinned before may change under the child: docs/reference/limitations.md.
class ScmTier {
 public:
  // `judge` decides which records survive a reclaim. It is not owned and must outlive the tier. If it is null, those
  // survive that were hit and are not in DRAM.
  static Status Open(const ScmOptions& options, std::unique_ptr<ScmTier>* tier, SurvivorJudge* judge = nullptr,
                     const WrapMedium& wrap = {});
  // Closes the tier. With scrub_on_close this blocks for long. REQUIRES: no PinnedBlock and no detached pin is left.
  ~ScmTier();

  // Stores `bytes` bytes under `key`, and replaces what the key named before, also while reclaim moves that. The source
  // is called in the order of offsets, in pieces of a few KiB at most, or once for the whole block. If it fails or
  // throws, the put is refused.
  //
  // `wanted`: kPacked is a wish. The record is raw if ScmOptions::pack is off, if packing would save less than an
  // eighth, or if Packer says so (cache/pack/packer.h); each reason has its counter. With `by` kStage a result of
  // kStored may mean that the block is staged: kScmPut and the counters beside it then count it once it is stored.
  PutResult Put(const BlockKey& key, BlockRole role, size_t bytes, BlockSource source,
                Generation generation = Generation::kYoung, Form wanted = Form::kRaw, PackedBy by = PackedBy::kStage,
                ShareId share = kNoShare);
  PutResult Put(const BlockKey& key, BlockRole role, std::span<const std::byte> payload,
                Generation generation = Generation::kYoung, Form wanted = Form::kRaw, PackedBy by = PackedBy::kStage,
                ShareId share = kNoShare);

  // Puts a block of `bytes` bytes that the host has packed: `image` holds it. REQUIRES: TakesImages(options().pack),
  // and ImagePays.
  PutResult PutImage(const BlockKey& key, BlockRole role, size_t bytes, const Image& image,
                     Generation generation = Generation::kYoung, ShareId share = kNoShare);
  // Whether a record of the image is as much smaller than a raw one as a packed record must be.
  static bool ImagePays(BlockRole role, size_t bytes, const Image& image);
  static constexpr size_t kImageOverheadBytes = 16;  // of a record's payload, beside the image

  // Finds and pins a block, and counts a hit or a miss; an empty result is a miss. A packed record's checksum is
  // checked here, whatever `verify` says. The caller charges the model for what it then reads: ChargeInPlace where
  // RocksDB reads the block in place, ChargeCopy where it is copied. Unpacking counts as a copy of the stored bytes. A
  // staged block lies in DRAM and is not charged.
  PinnedBlock Find(const BlockKey& key, BlockRole role_for_miss_counter = BlockRole::kOther, Heat heat = Heat::kRaise);
  void ChargeInPlace(BlockRole role, std::span<const std::byte> payload);
  void ChargeCopy(const PinnedBlock& block);

  // Prefetches the index lines of `key` into the caches of this CPU. A hint; it costs a hash.
  void Prefetch(const BlockKey& key) const;

  // Whether Find would find the block; without a pin, heat or a count.
  bool Contains(const BlockKey& key);

  // Tells that the DRAM tier now holds this block too, so reclaim need not spare the record. False: the key has none.
  bool NotePromoted(const BlockKey& key);
  // Tells that the block leaves the DRAM tier. True: the tier has a valid record of it, so nothing need be written.
  // False also if the record lies on the slow media and was hit there so often that it should be put anew: the fast
  // ones take it then. If it is not put, the record stays.
  bool NoteDramEviction(const BlockKey& key);
  // Tells that the tier is about to be closed, and the DRAM tier with it. From now on reclaim spares the blocks that
  // the DRAM tier holds. The next life finds their records marked (Carried::kFromDram), if the tier is closed and has
  // room for its snapshot.
  void NoteDramGoes();

  // Whether the record of `key` was written from these bytes, judged by length and checksum: one change in four billion
  // passes for the same. kOther is also the answer if the source fails. Reads one line of the medium, and calls the
  // source as Put does.
  Held Compare(const BlockKey& key, size_t bytes, BlockSource source);

  // Forgets `key`, also while reclaim moves it. True: it was resident. Bytes that are pinned stay readable. Where there
  // is nothing to forget, it costs about as much as a miss. With erase=durable (ScmOptions) it writes a line of the
  // medium and drains, resident or not, as an older record may lie there all the same. It then waits for the reclaim
  // that is running, and without room until a segment is emptied.
  bool Erase(const BlockKey& key);
  // Forgets everything, in every later life too. Pinned bytes stay readable. The space comes back as reclaim reaches
  // it.
  void EraseAll();

  // A hint that `file` is deleted, so none of its blocks will be asked for again. From now on:
  // - its records leave the index, a few with each put, and none of them survives a reclaim;
  // - segments that were full of them are reclaimed first;
  // - puts of its blocks are refused.
  // A wrong hint costs misses, nothing else: the first look-up that misses a block of the file takes the hint back.
  // About the latest thousand hints are kept. Takes a short lock. Does nothing for FileId{0}.
  void ForgetFile(FileId file);
  // Whether such a hint is kept for `file`. Reads two cache lines at most.
  bool IsForgotten(FileId file) const;
  // Whether segments wait for reclaim that mostly held blocks of forgotten files. A put then displaces few live blocks.
  bool IsSparse() const;

  // `payload` must be an address that PinnedBlock::Detach returned.
  void Unpin(const std::byte* payload);
  bool Owns(const void* address) const {
    return address >= medium_.base() && address < medium_.base() + medium_.bytes();
  }

  // Uses at most `bytes` of the medium from now on; 0 stops admission and empties the tier. Segments that are pinned
  // now are given up as soon as they are released. Puts go on meanwhile, and wait at most for the reclaim of one
  // segment. An error: more than the capacity at Open, or any value once the tier has closed itself.
  Status SetCapacity(uint64_t bytes);
  // Uses at most `bytes` of one of several media (the first is 0) from now on. What lies behind them moves to the other
  // media while these have free segments; without, what reclaim would spare does, and what a share reserves. After 0
  // nothing is written there but the superblock. Tombstones that lie there stay, until newer ones push them out. The
  // memory stays taken, and an opening uses all of it again. Waits until the recovery is over, and otherwise as
  // SetCapacity does. Errors: as there; a medium that is not there or has failed; too little left of a level of ordered
  // media, but not nothing.
  Status SetMemberCapacity(size_t member, uint64_t bytes);

  // Parts of the tier for several users of it.
  ScmShares& shares();

  // Sets the codec of new records, and of those that reclaim packs; empty: none is packed. Records that are packed
  // already are unpacked with their own codec. REQUIRES: options().pack == PackMode::kAuto.
  void UseCodec(std::optional<Codec> codec);

  // Sets when reclaim queues a proven segment again as it is, instead of copying its survivors: if at least `percent`
  // of its records are worth sparing. A smaller value saves writes, and keeps the segment's other records too. 0, until
  // it is set: never.
  void SetRequeuePercent(unsigned percent);
  // Whether this process is a forked child of the one that opened the tier.
  bool in_child() const { return !guard_.InParent(); }
  // Whether pins get in the way of reclaim, so that the caller should copy rather than pin. Cheap. It becomes false
  // soon after the pins are released, if it is asked at every hit.
  bool PinPressure();

  // Checks header and payload of the next records, `bytes` of payload in all, and forgets and counts the damaged ones.
  // Returns the bytes checked. ScmOptions::scrub_bytes_per_second does so in the background.
  uint64_t Scrub(uint64_t bytes);

  // What makes the medium's pages present in the background (ScmOptions::prepare). The tier uses what is ready. If
  // space runs out meanwhile, it stays with that.
  const Preparer& preparer() const;

  // How far the recovery of an earlier life's blocks has come (ScmOptions::recovery).
  RecoveryReport recovery() const;
  // Waits until the recovery is over.
  void WaitUntilRecovered() const;

  // The DRAM that a tier of these options takes once it is open, with one workspace if it packs. REQUIRES: the options
  // are valid.
  static ScmDram DramNeeded(const ScmOptions& options);
  const ScmOptions& options() const { return options_; }
  const Medium& medium() const { return medium_; }
  // Of its size, its use, its faults.
  const ScmFigures& figures() const;
  Counters& counters() { return counters_; }
  // The model of the medium that the block lies on; null: it is not emulated.
  const MediumModel* ModelOf(const PinnedBlock& block) const;

  // Waits until nothing is staged, including what is put meanwhile.
  void Drain() const;
  // For tests. Drains, and waits until the dictionaries that were due are trained and those that no record uses any
  // more are gone.
  void SettleDictionaries() const;
  // Waits for the recovery, settles the dictionaries, and then checks everything. REQUIRES: no other call runs.
  ScmAudit Audit() const;

 private:
  explicit ScmTier(std::unique_ptr<TierRooms> rooms);

  const std::unique_ptr<TierRooms> rooms_;
  // Of the rooms, for what is inlined.
  const ScmOptions& options_;
  const ForkGuard& guard_;
  const Medium& medium_;
  Counters& counters_;
};

}  // namespace mezz
