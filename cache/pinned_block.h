// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "cache/types.h"

namespace mezz {

class BlockReader;

// Where a block that an earlier life left comes from, as its first hit in this life reports it.
enum class Carried : uint8_t {
  kNo,        // it was stored in this life, or was already hit in it
  kFromScm,   // the SCM tier alone held it; or that is not known, because the tier was not closed
  kFromDram,  // the DRAM tier held its block too when the tier was closed
};

// A block found in the SCM tier: raw, to be read where it lies, or packed. It pins its segment against reclaim, so hold
// it only as long as the bytes are read. Move-only; the destructor releases the pin. It must not outlive the tier.
class PinnedBlock {
 public:
  PinnedBlock() = default;
  PinnedBlock(PinnedBlock&& other) noexcept { *this = std::move(other); }
  PinnedBlock& operator=(PinnedBlock&& other) noexcept;
  ~PinnedBlock() { Release(); }

  explicit operator bool() const { return reader_ != nullptr; }
  Form form() const { return form_; }
  // The block is raw and lies in DRAM, where it waits to be packed. That DRAM is small, so copy the block. A staged
  // block cannot be detached.
  bool staged() const { return slot_ >= 0; }
  // The bytes as stored.
  std::span<const std::byte> stored() const { return stored_; }
  // The bytes as stored, for code that a bus error must not interrupt, such as the host's. If bus errors are contained,
  // this is a copy in memory of this thread, valid until the thread's next call. Empty, a counted miss: the medium
  // failed, and the record is forgotten; or there was no memory (allocation.failed).
  std::optional<std::span<const std::byte>> SteadyBytes() const;
  // The block's bytes. REQUIRES: form() == Form::kRaw.
  std::span<const std::byte> payload() const {
    assert(form_ == Form::kRaw);
    return stored_;
  }
  // The size of the block when it is unpacked.
  size_t logical_bytes() const { return form_ == Form::kRaw ? stored_.size() : logical_bytes_; }
  // The block as the host compressed it. The host must unpack it, and check that the result has logical_bytes(). Empty:
  // the record is raw, or Unpack() unpacks it.
  std::optional<Image> image() const;
  // Forgets and counts the record. Call it if the host could not make the block of the image, though its checksum was
  // right.
  void RejectImage() const;
  // Writes the block, which has logical_bytes(), to `to`. Reads stored() as one stream. Returns false, and the hit
  // becomes a miss, if the block could not be unpacked: the record is forgotten and counted, or there was no memory
  // (allocation.failed). REQUIRES: image() is empty.
  bool Unpack(std::byte* to) const;
  BlockRole role() const { return role_; }
  // The record's heat as the look-up found it, 0 to 3: the hits since it was written (a proven record starts with one),
  // less one for each time that reclaim spared it. This hit is included if it was found with Heat::kRaise.
  uint8_t heat() const { return heat_; }
  // A hit with Heat::kKeep does not count as the block's first hit in this life.
  Carried carried() const { return carried_; }

  void Release();
  // Gives the pin to the caller, who must pass the address to ScmTier::Unpin exactly once. REQUIRES: not staged().
  const std::byte* Detach();

 private:
  friend class BlockReader;
  BlockReader* reader_ = nullptr;
  std::span<const std::byte> stored_;
  uint32_t logical_bytes_ = 0;  // of a packed one
  Codec codec_ = Codec::kLz4;   // of a packed one
  uint8_t image_type_ = 0;
  BlockRole role_ = BlockRole::kOther;
  uint8_t heat_ = 0;
  Form form_ = Form::kRaw;
  Carried carried_ = Carried::kNo;
  int8_t slot_ = -1;  // of PackStage; -1: the block lies on the medium
};

}  // namespace mezz
