// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>

#include "cache/status.h"
#include "workloads/replay/progress.h"

namespace mezz {

// Stands for flash where there is no database: numbered blocks of one size, read past the page cache. A block's bytes
// follow from its number and position, so that each one that a cache hands out can be checked. The file depends on
// nothing else: it is kept, reused by every later run with blocks of this size, and grown when a trace has more.
//
// One process at a time; Read from any thread.
class BlockFile {
 public:
  // Makes or reuses FOLDER/mezz_blocks_UNIT with at least `blocks` blocks, written in full. Refuses a file of that name
  // that is no such file, one in use, too little space, and a file system without direct I/O. Setting *stop ends a long
  // fill soon; what was written is kept.
  static Status Open(const std::string& folder, uint32_t unit_bytes, uint64_t blocks, Progress* progress,
                     const std::atomic<bool>& stop, std::unique_ptr<BlockFile>* file);
  ~BlockFile();
  BlockFile(const BlockFile&) = delete;
  BlockFile& operator=(const BlockFile&) = delete;

  // `to` is a Buffer of at least a block.
  Status Read(uint64_t block, std::byte* to) const;

  static void Fill(uint64_t block, std::span<std::byte> to);
  static bool Matches(uint64_t block, std::span<const std::byte> bytes);

  // Memory that direct I/O takes.
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  using Buffer = std::unique_ptr<std::byte, Free>;
  static Buffer MakeBuffer(size_t bytes);

  static constexpr uint32_t kUnitBytesMin = 512;  // what direct I/O is aligned to
  static constexpr uint32_t kUnitBytesMax = 1 << 20;

 private:
  BlockFile(std::string path, uint32_t unit_bytes) : path_(std::move(path)), unit_bytes_(unit_bytes) {}
  Status OpenAndLock();
  Status CheckWhatIsThere(uint64_t* blocks) const;
  Status Extend(uint64_t from, uint64_t to, Progress* progress, const std::atomic<bool>& stop) const;
  Status Failed(const char* what) const;

  const std::string path_;
  const uint32_t unit_bytes_;
  int fd_ = -1;
};

}  // namespace mezz
