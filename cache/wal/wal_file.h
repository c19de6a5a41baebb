// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace mezz {

class WalStore;

// A file of a WalStore. Kept alive by who reads or writes it, with its store.
//
// length_ is stored by the writer once the bytes are drained, and loaded by readers: release and acquire, so who sees a
// length sees the bytes and the extents they lie in.
class WalFile {
 public:
  ~WalFile();
  WalFile(const WalFile&) = delete;
  WalFile& operator=(const WalFile&) = delete;

  uint64_t length() const { return length_.load(std::memory_order_acquire); }
  uint64_t modified_seconds() const { return modified_seconds_.load(std::memory_order_relaxed); }
  // The medium lost some of it: what is there ends at length(), and there was more.
  bool damaged() const { return damaged_; }

  // Where a reader was: the next read finds its place at once if it goes on from there.
  struct Cursor {
    size_t ordinal = 0;
    uint64_t at = 0;        // of a chunk, in the extent; 0: nowhere yet
    uint64_t position = 0;  // of that chunk's first byte, in the file
  };
  // Copies up to `bytes` bytes from `position` on to `to`; fewer only at the end. False if a chunk is none any more.
  bool Read(uint64_t position, size_t bytes, char* to, size_t* got, Cursor* cursor) const;

 private:
  friend class WalStore;
  friend class WalRecoverer;
  struct Extent {
    uint32_t number = 0;
    uint64_t generation = 0;
    uint64_t start = 0;  // position in the file of its first byte
  };
  static constexpr uint32_t kNoSlot = ~uint32_t{0};

  WalFile(WalStore* store, uint64_t id) : store_(store), id_(id) {}
  // The extent that holds `position`, and where the next begins.
  std::pair<Extent, uint64_t> ExtentOf(uint64_t position, uint64_t length, size_t* ordinal) const;

  WalStore* const store_;
  const uint64_t id_;
  bool damaged_ = false;  // not changed once the store is open
  std::atomic<uint64_t> length_{0};
  std::atomic<uint64_t> modified_seconds_{0};

  std::string name_;         // guarded by the store's mutex, as the next two
  uint32_t slot_ = kNoSlot;  // kNoSlot: not in the directory, now or any more

  // The writer's alone: bytes used of the last extent; all of it if the next append has to begin another, because what
  // lies behind the end may be of an append that a crash cut short.
  uint64_t tail_used_ = 0;

  mutable std::mutex mutex_;
  std::vector<Extent> extents_;                       // guarded by mutex_, changed by the writer only
  std::vector<std::pair<uint64_t, uint64_t>> dirty_;  // guarded by mutex_: what a page cache may hold back
  std::mutex sync_mutex_;  // taken before mutex_: a sync waits for the one that took its bytes from dirty_
};

}  // namespace mezz
