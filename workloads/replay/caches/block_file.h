// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>

#include "admission/curves/block_key.h"
#include "cache/status.h"
#include "workloads/replay/engine/flash.h"
#include "workloads/requests/progress.h"
#include "workloads/rocksdb/values.h"

namespace mezz {

// Stands for flash where there is no database: bytes that follow from their position, read past the page cache. A
// block's place follows from its key, so each one that a cache hands out can be checked without a table of places. The
// file depends on what its sectors hold and on nothing else: it is kept, reused by every later run with the same
// values, and grown when a trace needs more.
//
// Written by one process at a time; Read from any thread.
class BlockFile {
 public:
  // Claims FOLDER/mezz_blocks, which is to have at least `bytes` bytes; values other than the default add their name.
  // Refuses a file of that name that is no such file, one in use, too little space, and a file system without direct
  // I/O; with `flash`, which is to be its device, one that does not lie in memory.
  static Status Claim(const std::string& folder, const Values& values, uint64_t bytes, const FlashModel* flash,
                      std::unique_ptr<BlockFile>* file);
  // Writes what is missing. Setting *stop ends that soon; what was written is kept.
  Status Fill(Progress* progress, const std::atomic<bool>& stop);
  // What another process claimed and filled. `buffered`: read through the page cache, which forgets the file first.
  // `flash`: each Read takes as long as it says; outlives this. Null: as long as the disk does.
  static Status OpenToRead(const std::string& path, const Values& values, bool buffered, Flash* flash,
                           std::unique_ptr<BlockFile>* file);
  ~BlockFile();
  BlockFile(const BlockFile&) = delete;
  BlockFile& operator=(const BlockFile&) = delete;

  const std::string& path() const { return path_; }
  int fd() const { return fd_; }  // carries the claim
  bool whole() const { return sectors_ >= wanted_; }

  // Where the block of `bytes` bytes lies: at a sector that its key hashes to. Blocks may overlap; that two have the
  // same first or last sector, and so could be mistaken for each other, is as likely as one in the number of sectors.
  // REQUIRES: the file holds so many bytes.
  uint64_t PlaceOf(uint64_t key, uint64_t bytes) const {
    return MixWord(key) % (sectors_ - Sectors(bytes) + 1) * kSectorBytes;
  }
  // Reads from byte `at` on, `bytes` rounded up to whole sectors. `to` is a Buffer of so many; `at` starts a sector.
  Status Read(uint64_t at, size_t bytes, std::byte* to) const;

  // What the file holds from byte `at` on; `at` starts a sector.
  void Content(uint64_t at, std::span<std::byte> to) const;
  bool Matches(uint64_t at, std::span<const std::byte> bytes) const;

  static constexpr uint64_t kSectorBytes = Values::kSectorBytes;  // what direct I/O is aligned to
  static constexpr uint64_t Sectors(uint64_t bytes) { return (bytes + kSectorBytes - 1) / kSectorBytes; }

  // Memory that direct I/O takes.
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  using Buffer = std::unique_ptr<std::byte, Free>;
  static Buffer MakeBuffer(size_t bytes);

 private:
  BlockFile(std::string path, const Values& values) : path_(std::move(path)), values_(values) {}
  Status Open(int flags);
  Status Lock() const;
  Status Measure();
  Status CheckWhatIsThere() const;
  Status CheckSpace(const FlashModel* flash) const;
  Status Failed(const char* what) const;

  const std::string path_;
  const Values values_;
  Flash* flash_ = nullptr;
  int fd_ = -1;
  uint64_t sectors_ = 0;  // that are there
  uint64_t wanted_ = 0;
};

}  // namespace mezz
