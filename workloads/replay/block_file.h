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

// Stands for flash where there is no database: bytes that follow from their position, read past the page cache. A block
// of a trace has a place of its own in it, at a sector, so each one that a cache hands out can be checked. The file
// depends on nothing else: it is kept, reused by every later run, and grown when a trace needs more.
//
// One process at a time; Read from any thread.
class BlockFile {
 public:
  // Makes or reuses FOLDER/mezz_blocks with at least `bytes` bytes, written in full. Refuses a file of that name that
  // is no such file, one in use, too little space, and a file system without direct I/O. Setting *stop ends a long fill
  // soon; what was written is kept.
  static Status Open(const std::string& folder, uint64_t bytes, Progress* progress, const std::atomic<bool>& stop,
                     std::unique_ptr<BlockFile>* file);
  ~BlockFile();
  BlockFile(const BlockFile&) = delete;
  BlockFile& operator=(const BlockFile&) = delete;

  // Reads from byte `at` on, `bytes` rounded up to whole sectors. `to` is a Buffer of so many; `at` starts a sector.
  Status Read(uint64_t at, size_t bytes, std::byte* to) const;

  // What the file holds from byte `at` on; `at` starts a sector.
  static void Fill(uint64_t at, std::span<std::byte> to);
  static bool Matches(uint64_t at, std::span<const std::byte> bytes);

  static constexpr uint64_t kSectorBytes = 512;  // what direct I/O is aligned to
  static constexpr uint64_t Sectors(uint64_t bytes) { return (bytes + kSectorBytes - 1) / kSectorBytes; }

  // Memory that direct I/O takes.
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  using Buffer = std::unique_ptr<std::byte, Free>;
  static Buffer MakeBuffer(size_t bytes);

 private:
  explicit BlockFile(std::string path) : path_(std::move(path)) {}
  Status OpenAndLock();
  Status CheckWhatIsThere(uint64_t* sectors) const;
  Status Extend(uint64_t from, uint64_t to, Progress* progress, const std::atomic<bool>& stop) const;
  Status Failed(const char* what) const;

  const std::string path_;
  int fd_ = -1;
};

}  // namespace mezz
