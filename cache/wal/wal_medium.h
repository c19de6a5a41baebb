// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "cache/base/words.h"
#include "cache/media/medium.h"
#include "cache/media/model.h"
#include "cache/wal/wal_file.h"
#include "cache/wal/wal_layout.h"

namespace mezz {

enum class WalOutcome { kOk, kNotFound, kFull, kDirectoryFull, kNameTooLong, kIoError };
template <>
inline constexpr Words<6> kWordsOf<WalOutcome> = {"ok",
                                                  "no such log",
                                                  "the medium is full",
                                                  "the medium's directory is full",
                                                  "the log's path is too long",
                                                  "the kernel could not write to the medium"};

using WalUuid = std::array<uint64_t, 2>;
std::string ToString(const WalUuid& uuid);  // 32 hexadecimal digits

// The medium of a WalStore: what is written there, made durable, and whether the medium still takes it. Thread-safe,
// except for Format and Identify, which come first; callers write to disjoint places.
class WalMedium {
 public:
  struct Settings {
    MediumModelName model = MediumModelName::kNone;
    // Null: drained bytes are durable. Otherwise they lie in a page cache, and this asks the kernel to write some pages
    // back. It returns 0, or another value if the kernel cannot.
    int (*write_back)(void* pages, size_t bytes) = nullptr;
  };

  WalMedium(std::unique_ptr<Medium> medium, const wal_layout::Geometry& geometry, const Settings& settings);

  // Formats the medium. Nothing is there before the last step: older bytes are not valid under the new UUID.
  void Format();
  // Takes the UUID that the superblock has.
  void Identify(const WalUuid& uuid);

  const Medium& memory() const { return *medium_; }
  void WatchName(const std::function<void(std::string_view trouble)>& told) { medium_->WatchName(told); }
  const wal_layout::Geometry& geometry() const { return geometry_; }
  const WalUuid& uuid() const { return uuid_; }
  uint64_t seed() const { return seed_; }  // of checksums, derived from the UUID
  // Whether drained bytes lie in a page cache until they are flushed.
  bool has_page_cache() const { return settings_.write_back != nullptr; }

  // Streams a multiple of 64 bytes.
  void Put(uint64_t at, const void* from, size_t bytes);
  // Puts a chunk at this place of the extent, or the extent's header.
  void PutChunk(const WalFile::Extent& extent, uint64_t at, std::span<const std::byte> bytes);
  void PutExtentHeader(const WalFile::Extent& extent, uint64_t file, uint32_t ordinal);
  // Makes the bytes of all Puts durable and visible.
  void Drain() { medium_->Drain(); }
  // Writes these bytes back, where the medium's bytes lie in a page cache.
  void Flush(uint64_t at, uint64_t bytes);
  void DrainAndFlush(uint64_t at, uint64_t bytes);
  void ChargeWrite(uint64_t bytes) {
    if (throttle_ != nullptr) throttle_->ChargeWrite(bytes);
  }
  // The outcome of an operation, if all else went well.
  WalOutcome Health() const { return broken_.load(std::memory_order_acquire) ? WalOutcome::kIoError : WalOutcome::kOk; }

 private:
  const std::unique_ptr<Medium> medium_;
  const BusErrorWatch watch_;  // of the medium's memory; reads of it are not contained
  const wal_layout::Geometry geometry_;
  const Settings settings_;
  std::unique_ptr<Throttle> throttle_;  // null: no model
  WalUuid uuid_{};
  uint64_t seed_ = 0;
  // false --a write-back failed, or the memory did not take a store: release--> true; loaded with acquire
  std::atomic<bool> broken_{false};
};

}  // namespace mezz
