// SPDX-License-Identifier: Apache-2.0
// Blocks made smaller, and made whole again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "cache/counters.h"
#include "cache/layout.h"
#include "cache/pack/auto_skip.h"
#include "cache/pack/dictionaries.h"
#include "cache/pack/mean_share.h"
#include "cache/pack/workspaces.h"
#include "cache/record.h"
#include "cache/types.h"

namespace mezz {

class Samples;

// A block after Packer looked at it. Holds a workspace until it goes, so keep it only as long as the bytes are read;
// and its dictionary, so keep it until the record's segment does (SegmentLog::KeepDictionary).
class PackedBlock {
 public:
  PackedBlock() = default;

  enum class Outcome : uint8_t {
    kPacked,        // bytes() are a packed record's payload: the prefix, then what the codec made
    kRejected,      // packing would have saved too little; bytes() are the block's own
    kLeft,          // not tried: no kind of block to pack, skipped, or no memory; bytes() is empty
    kSourceFailed,  // bytes() is empty
  };

  Outcome outcome() const { return outcome_; }
  std::span<const std::byte> bytes() const { return bytes_; }
  // That of the prefix; 0: none.
  uint16_t dictionary() const { return dictionary_ ? dictionary_->number() : 0; }

 private:
  friend class Packer;
  explicit PackedBlock(Outcome outcome) : outcome_(outcome) {}
  PackedBlock(Outcome outcome, std::span<const std::byte> bytes, Workspaces::Lease workspace)
      : outcome_(outcome), bytes_(bytes), workspace_(std::move(workspace)) {}

  Outcome outcome_ = Outcome::kLeft;
  std::span<const std::byte> bytes_;
  Workspaces::Lease workspace_;
  Dictionaries::Lease dictionary_;
};

enum class Unpacked : uint8_t { kDone, kDamaged, kNoDictionary, kNoMemory };

// Packs with one codec at a time, unpacks every one. A block is packed only if its record then takes an eighth less of
// the medium, with zstd a quarter; which roles' blocks do not pack is found out by trying some (AutoSkip), and those
// are left alone. With zstd, and where the role has a live dictionary, a block is packed with that.
//
// Memory: a workspace for each thread that packs at the same time, twice the CPUs at most: its buffers (twice the
// largest block seen, kPackBytesMax at most) and zstd's states, 0.2 MB for blocks of 4 KiB and up to 1.2 MiB for larger
// ones. LZ4's state, 16 KiB, is on the stack. Nothing is allocated once these are warm, but for zstd's state where
// codecs are compared and zstd is not the one in use: made for the comparison, and given back after it. Without memory
// blocks are left as they are.
//
// Thread-safe, without locks.
class Packer {
 public:
  // None is owned. `dictionaries` and `samples` (of the blocks that are tried) may be null; they are for zstd only.
  Packer(Codec codec, Counters* counters, Dictionaries* dictionaries = nullptr, Samples* samples = nullptr);

  // Packs with this from now on; nothing: every block is left. Packing that runs meanwhile may go by the former. Where
  // that is not zstd, gives back the samples, and what the workspaces have of zstd; waits for whoever adds a sample.
  void UseCodec(std::optional<Codec> codec);

  // From now on one block in kComparedOneIn is packed with both codecs, whichever is in use. Before any is packed.
  void CompareCodecs() { compares_ = true; }
  // Where they are compared: what zstd makes of late of what LZ4 makes 100 bytes of. At first it is taken to pay.
  unsigned zstd_percent() const { return zstd_percent_.load(std::memory_order_relaxed) / kPercentUnit; }
  static constexpr uint32_t kComparedOneIn = 32;

  // Larger blocks are left: a reader would wait for all of it to be unpacked.
  static constexpr size_t kPackBytesMax = 256 << 10;
  // Smaller ones cannot save a line in eight.
  static constexpr size_t kPackBytesMin = 512;
  static bool IsPackable(BlockRole role, size_t bytes) {
    return RolePacks(role) && bytes >= kPackBytesMin && bytes <= kPackBytesMax;
  }

  // The most that the codec may make of a block for its packed record to be worth it.
  static uint64_t CodecBytesMax(Codec codec, size_t block_bytes);

  // Whether to try a block of this role and size. A no is counted if it is only for now (AutoSkip).
  bool Wants(BlockRole role, size_t bytes);
  // Asks the source for the whole block at once, if Wants says so.
  PackedBlock Pack(BlockRole role, size_t bytes, BlockSource source) {
    return Wants(role, bytes) ? PackWanted(role, bytes, source) : PackedBlock();
  }
  // REQUIRES: Wants said so (it may say no since).
  PackedBlock PackWanted(BlockRole role, size_t bytes, BlockSource source);
  // Of bytes that stay where they are meanwhile, and of which the checksum is known (record::PayloadChecksum).
  // REQUIRES: Wants said so (it may say no since).
  PackedBlock Pack(BlockRole role, std::span<const std::byte> block, uint32_t checksum);

  // The prefix of a packed record's payload; nothing if it is none that Pack or PrefixOfImage makes.
  static std::optional<layout::PackedPrefix> ReadPrefix(std::span<const std::byte> payload);
  // Unpacks such a payload into `to`, prefix.logical_bytes long. kDamaged: it does not unpack to exactly so much; `to`
  // then holds anything. kNoDictionary: it was packed with another dictionary than the prefix says, or that is not
  // here. REQUIRES: ReadPrefix gave `prefix`, it is not of an image, and its dictionary, if any, is held.
  Unpacked Unpack(std::span<const std::byte> payload, const layout::PackedPrefix& prefix, std::byte* to);

  // Whether a record of a block's image takes an eighth less of the medium than a raw one.
  static bool ImagePays(BlockRole role, size_t bytes, const Image& image);
  // The prefix of such a record. Counts in mean_share(), and as a try for those who would skip the role.
  layout::PackedPrefix PrefixOfImage(BlockRole role, size_t bytes, const Image& image);

  // Of packable blocks, in 1/kWhole.
  static constexpr uint32_t kWhole = MeanShare::kWhole;
  uint32_t mean_share() const { return mean_share_.value(); }

  // With one workspace for blocks of this size.
  static uint64_t DramBytesFor(Codec codec, size_t block_bytes);
  uint64_t dram_bytes() const { return sizeof(*this) - sizeof(workspaces_) + workspaces_.dram_bytes(); }

 private:
  std::optional<Codec> codec() const;
  void CompareSometimes(Workspace& workspace, BlockRole role, std::span<const std::byte> block,
                        std::span<std::byte> scratch);
  PackedBlock PackIn(Workspaces::Lease workspace, BlockRole role, std::span<const std::byte> block, uint32_t checksum);
  PackedBlock LeftForMemory(BlockRole role);
  Unpacked UnpackZstd(std::span<const std::byte> packed, const layout::PackedPrefix& prefix, std::byte* to);

  Atomic<uint8_t> codec_;  // a Codec, or 0; relaxed: each block names its own
  Counters* const counters_;
  Dictionaries* const dictionaries_;
  Samples* const samples_;
  Workspaces workspaces_;
  std::array<AutoSkip, kBlockRoles> auto_skip_;
  static constexpr uint32_t kPercentUnit = 256, kZstdPercentAtFirst = 60;
  bool compares_ = false;  // constant once blocks are packed
  // Relaxed load and store, both: estimates, a lost race loses a block.
  Atomic<uint32_t> until_compared_{0};
  Atomic<uint32_t> zstd_percent_{kZstdPercentAtFirst * kPercentUnit};  // in 1/kPercentUnit
  MeanShare mean_share_;
};

}  // namespace mezz
