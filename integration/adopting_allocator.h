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
// own address, so that the copy is onto itself, and the pin now belongs to the object: Deallocate releases it. The
// fallback (the user's allocator, or malloc) serves every other request, and takes its memory back. Do not adopt blocks
// below kInPlaceBytesMin (serving.h).
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
  // Returns 0 for adopted bytes, because they take no DRAM. The object is charged for what it holds beside them.
  size_t UsableSize(void* address, size_t bytes) const override;

  const char* Name() const override { return "MezzanineAdoptingAllocator"; }

 private:
  ScmTier& scm_;
  const FallbackMemory memory_;
};

// Offers the pin of one block to whatever the calling thread allocates, until this scope is destroyed. The scope owns
// the pin unless an object has taken it. Scopes nest, and the inner one counts.
//
//   kOffered --Allocate of exactly this size--> kTaken --Deallocate of the address, by a callback that gives up-->
//   kReturned
//
// No other thread sees the state, because an object that another thread could free is not yet published.
class AdoptingAllocator::Adoption {
 public:
  Adoption(AdoptingAllocator& allocator, PinnedBlock&& block);
  ~Adoption();
  Adoption(const Adoption&) = delete;
  Adoption& operator=(const Adoption&) = delete;

  std::span<const std::byte> payload() const { return payload_; }
  // True if the object took the bytes and the allocator was asked for nothing else. The object then lies in SCM, and
  // its destruction releases the pin.
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
