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

// A file of a WalStore. Readers and writers keep it and its store alive.
//
// The writer stores length_ (release) once the bytes are drained, and readers load it (acquire). So a reader that sees
// a length sees the bytes and the extents that they lie in.
class WalFile {
 public:
  ~WalFile();
  WalFile(const WalFile&) = delete;
  WalFile& operator=(const WalFile&) = delete;

  uint64_t length() const { return length_.load(std::memory_order_acquire); }
  uint64_t modified_seconds() const { return modified_seconds_.load(std::memory_order_relaxed); }
  // Whether the medium lost a part of the file: it had more than the length() that is left.
  bool damaged() const { return damaged_; }

  // Where a reader stopped. A read that goes on from there finds its place at once.
  struct Cursor {
    size_t ordinal = 0;
    uint64_t at = 0;        // where a chunk lies in the extent; 0: nowhere yet
    uint64_t position = 0;  // of that chunk's first byte, in the file
  };
  // Copies up to `bytes` bytes from `position` on to `to`, fewer only at the end of the file. False: a chunk is
  // damaged.
  bool Read(uint64_t position, size_t bytes, char* to, size_t* got, Cursor* cursor) const;

 private:
  friend class WalMedium;
  friend class WalStore;
  friend class WalRecoverer;
  struct Extent {
    uint32_t number = 0;
    uint64_t generation = 0;
    uint64_t start = 0;  // the position of its first byte in the file
  };
  static constexpr uint32_t kNoSlot = ~uint32_t{0};

  WalFile(WalStore* store, uint64_t id) : store_(store), id_(id) {}
  // The extent that holds `position`, and the position where the next one begins.
  std::pair<Extent, uint64_t> ExtentOf(uint64_t position, uint64_t length, size_t* ordinal) const;

  WalStore* const store_;
  const uint64_t id_;
  bool damaged_ = false;  // constant once the store is open
  std::atomic<uint64_t> length_{0};
  std::atomic<uint64_t> modified_seconds_{0};

  std::string name_;         // guarded by the store's mutex, as the next two
  uint32_t slot_ = kNoSlot;  // kNoSlot: not in the directory yet, or not any more

  // The bytes used of the last extent; only the writer uses this. It is the whole extent if the next append must begin
  // another one, because an append that a crash cut short may have left bytes after the end.
  uint64_t tail_used_ = 0;

  mutable std::mutex mutex_;
  std::vector<Extent> extents_;  // guarded by mutex_, changed by the writer only
  // Guarded by mutex_: ranges that a page cache may not have written back.
  std::vector<std::pair<uint64_t, uint64_t>> dirty_;
  std::mutex sync_mutex_;  // taken before mutex_: a Sync waits for the Sync that took its bytes from dirty_
};

}  // namespace mezz
