// SPDX-License-Identifier: Apache-2.0
// How blocks are packed and unpacked.
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

// What Packer made of a block. It holds a workspace, so keep it only as long as the bytes are read. It also holds its
// dictionary, so keep it until the record's segment does (KeptDictionaries).
class PackedBlock {
 public:
  PackedBlock() = default;

  enum class Outcome : uint8_t {
    kPacked,        // bytes() are a packed record's payload: the prefix, and the codec's output
    kRejected,      // packing would save too little; bytes() are the block's own
    kLeft,          // not tried: its role does not pack, it was skipped, or no memory; bytes() is empty
    kSourceFailed,  // bytes() is empty
  };

  Outcome outcome() const { return outcome_; }
  std::span<const std::byte> bytes() const { return bytes_; }
  // The number of the dictionary in the prefix; 0: none.
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

// Packs with one codec at a time, and unpacks all. A block is packed only if its record then takes an eighth less of
// the medium, with zstd a quarter. It finds out by trying some blocks which roles do not pack (AutoSkip), and leaves
// those alone. With zstd a block is packed with the live dictionary of its role, if there is one.
//
// Memory: a workspace for each thread that packs at the same time, at most twice the number of CPUs. A workspace has
// buffers of twice the largest block seen, kPackBytesMax at most, and zstd's states: 0.2 MB for blocks of 4 KiB, up to
// 1.2 MiB for larger ones. LZ4's state, 16 KiB, is on the stack. Once a workspace is warm nothing is allocated, with
// one exception: where codecs are compared and zstd is not in use, zstd's state is made for the comparison and freed
// after it. Without memory blocks are left raw.
//
// Thread-safe, without locks.
class Packer {
 public:
  // Owns none of its arguments. `dictionaries`, and `samples` of the blocks that are tried, are used with zstd only,
  // and may be null.
  Packer(Codec codec, Counters* counters, Dictionaries* dictionaries = nullptr, Samples* samples = nullptr);

  // Packs with this codec from now on; empty: leaves every block raw. Packing that runs meanwhile may use the former
  // codec. If the new one is not zstd, this frees the samples and zstd's states in the workspaces, and waits for
  // threads that add a sample.
  void UseCodec(std::optional<Codec> codec);

  // From now on one block in kComparedOneIn is packed with both codecs, whichever is in use. Call it before any is
  // packed.
  void CompareCodecs() { compares_ = true; }
  // Where codecs are compared: the size that zstd packs to of late, in percent of LZ4's. The first value favours zstd.
  unsigned zstd_percent() const { return zstd_percent_.load(std::memory_order_relaxed) / kPercentUnit; }
  static constexpr uint32_t kComparedOneIn = 32;

  // Larger blocks are left raw: a reader would have to wait until all of it is unpacked.
  static constexpr size_t kPackBytesMax = 256 << 10;
  // Smaller blocks are left raw: they cannot save a line in eight.
  static constexpr size_t kPackBytesMin = 512;
  static bool IsPackable(BlockRole role, size_t bytes) {
    return RolePacks(role) && bytes >= kPackBytesMin && bytes <= kPackBytesMax;
  }

  // The largest output of the codec for which a packed record is worth it.
  static uint64_t CodecBytesMax(Codec codec, size_t block_bytes);

  // Whether to try a block of this role and size. If the answer is no only for now (AutoSkip), it is counted.
  bool Wants(BlockRole role, size_t bytes);
  // Packs a block if Wants says so. Asks the source for the whole block at once.
  PackedBlock Pack(BlockRole role, size_t bytes, BlockSource source) {
    return Wants(role, bytes) ? PackWanted(role, bytes, source) : PackedBlock();
  }
  // Packs a block. REQUIRES: Wants said yes; it may say no by now.
  PackedBlock PackWanted(BlockRole role, size_t bytes, BlockSource source);
  // Packs a block whose bytes do not change meanwhile, and whose checksum is known (record::PayloadChecksum). REQUIRES:
  // Wants said yes; it may say no by now.
  PackedBlock Pack(BlockRole role, std::span<const std::byte> block, uint32_t checksum);

  // The prefix of a packed record's payload. Empty: it is none that Pack or PrefixOfImage makes.
  static std::optional<layout::PackedPrefix> ReadPrefix(std::span<const std::byte> payload);
  // That of a record, of which the first line is there. Empty also for a raw one.
  static std::optional<layout::PackedPrefix> PrefixOf(const record::Header& header) {
    return record::IsPacked(header) ? ReadPrefix(record::PayloadOf(header)) : std::nullopt;
  }
  // Unpacks such a payload to `to`, which has room for prefix.logical_bytes. kDamaged: it does not unpack to exactly
  // that size, and `to` may hold anything. kNoDictionary: it was packed with another dictionary than the prefix says,
  // or the dictionary is not here. REQUIRES: ReadPrefix returned `prefix`, which is not of an image, and its
  // dictionary, if any, is held.
  Unpacked Unpack(std::span<const std::byte> payload, const layout::PackedPrefix& prefix, std::byte* to);

  // Whether a record of a block's image takes an eighth less of the medium than a raw one.
  static bool ImagePays(BlockRole role, size_t bytes, const Image& image);
  // The prefix of a record with an image. It counts in mean_share(), and as a try of the role (AutoSkip).
  layout::PackedPrefix PrefixOfImage(BlockRole role, size_t bytes, const Image& image);

  // The unit of mean_share(), which is of packable blocks.
  static constexpr uint32_t kWhole = MeanShare::kWhole;
  uint32_t mean_share() const { return mean_share_.value(); }

  // The DRAM that a packer takes with one workspace for blocks of this size.
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
  // Both are changed by relaxed load and store: they are estimates, and a lost race loses a block.
  Atomic<uint32_t> until_compared_{0};
  Atomic<uint32_t> zstd_percent_{kZstdPercentAtFirst * kPercentUnit};  // in 1/kPercentUnit
  MeanShare mean_share_;
};

}  // namespace mezz
