// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "cache/scm_tier.h"
#include "integration/fallback_memory.h"
#include "rocksdb/memory_allocator.h"

namespace mezz {

// The allocator that lets RocksDB build a block object around bytes that stay in SCM.
//
// RocksDB's create callbacks ask their allocator for memory of the payload's size and copy the payload there. While an
// Adoption is open on the calling thread, Allocate answers the first request of exactly that size with the payload's
// own address, so that the copy is onto itself, and the pin now belongs to the object: Deallocate releases it. Every
// other request is served, and returned, by the fallback: the user's allocator, or malloc. Blocks below
// kInPlaceBytesMin (serving.h) are not to be adopted.
//
// Objects keep a pointer to the allocator that made them, so it must outlive them; one per cache does, because RocksDB
// releases every handle before it destroys a cache. Thread-safe.
class AdoptingAllocator final : public rocksdb::MemoryAllocator {
 public:
  class Adoption;

  // `fallback` may be null and must outlive this.
  AdoptingAllocator(ScmTier& scm, rocksdb::MemoryAllocator* fallback) : scm_(scm), memory_(fallback) {}

  // Throws std::bad_alloc, as RocksDB's own allocation does, if the fallback has no memory.
  void* Allocate(size_t bytes) override;
  void Deallocate(void* address) override;
  // Adopted bytes take no DRAM: the object's charge is what it holds beside them.
  size_t UsableSize(void* address, size_t bytes) const override;

  const char* Name() const override { return "MezzanineAdoptingAllocator"; }

 private:
  ScmTier& scm_;
  const FallbackMemory memory_;
};

// The pin of one block, offered to whatever the calling thread allocates until this is destroyed. Owns the pin unless
// an object took it. Scopes nest; the inner one counts.
//
//   kOffered --Allocate of exactly this size--> kTaken --Deallocate of the address, by a callback that gives up-->
//   kReturned
//
// No other thread sees it: the object that could be freed elsewhere is not yet published.
class AdoptingAllocator::Adoption {
 public:
  Adoption(AdoptingAllocator& allocator, PinnedBlock block);
  ~Adoption();
  Adoption(const Adoption&) = delete;
  Adoption& operator=(const Adoption&) = delete;

  std::span<const std::byte> payload() const { return payload_; }
  // The object took the bytes, and the allocator was asked for nothing else: it lies in SCM and releases the pin.
  bool clean() const { return state_ == State::kTaken && other_requests_ == 0; }

 private:
  friend class AdoptingAllocator;
  enum class State : unsigned char { kOffered, kTaken, kReturned };

  AdoptingAllocator& allocator_;
  Adoption* const outer_;
  const std::span<const std::byte> payload_;
  unsigned other_requests_ = 0;
  State state_ = State::kOffered;
};

}  // namespace mezz
