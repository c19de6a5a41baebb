// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "admission/block_hash.h"
#include "cache/types.h"

namespace mezz {

// Decides whether it pays to read back a database's heirs, by the share of the blocks read back that somebody has asked
// for. If a database's files are compacted again before their blocks are asked for, these are read, packed and written
// for nothing.
//
// One block in kSampledOneIn is remembered until it is asked for. A file is judged when it is deleted, or when kFiles
// others have been read back since. A block that nobody has asked for by then counts as wasted.
//
//   the thread that reads back   BeginFile, NoteBlock for each block that the SCM tier took
//   users' look-ups              NoteHit for each hit in the SCM tier
//   a compaction's thread        Pays, once for each compaction
//   who learns of deletions      OnFileDeleted
//
// Each sample is one atomic word: tag << 8 | the file's place in files_. 0: none.
//   any --NoteBlock, by the one thread that reads back: store--> a sample --NoteHit, one of them: CAS--> 0
// Relaxed, because a word is complete in itself and publishes nothing.
//
// Takes kBytes from the first BeginFile on. Thread-safe, if each function is called by the threads named above.
class ReadBackWorth {
 public:
  // Measured on five loads (results/written): a load in which 11 blocks in 100 are asked for loses by reading back, and
  // one with 23 in 100 gains.
  static constexpr uint64_t kAskedPercentMin = 15;
  static constexpr uint64_t kSampledOneIn = 64;
  static constexpr uint32_t kSamplesToJudgeMin = 128;  // 8,192 blocks
  static constexpr uint32_t kSamplesToForget = 1024;   // then the counts so far are halved
  // If it does not pay, one compaction in so many is read back nevertheless, because the load may have changed.
  static constexpr uint32_t kProbedOneIn = 8;
  static constexpr size_t kFiles = 255;

  // What is known of one database. The caller owns it; only ReadBackWorth reads and writes it, under its mutex.
  struct Score {
    uint32_t sampled = 0, asked = 0;  // blocks of files that were judged
    uint32_t left_out = 0;            // compactions since the last one that was read back
  };

  ReadBackWorth() = default;
  ReadBackWorth(const ReadBackWorth&) = delete;
  ReadBackWorth& operator=(const ReadBackWorth&) = delete;

  // Whether to read back the compaction for which the caller asks.
  bool Pays(Score* database);
  // The calling thread reads blocks of this file from now on. If there is no memory, the file is not judged.
  void BeginFile(FileId file, std::shared_ptr<Score> database) noexcept;
  void NoteBlock(const BlockKey& key) noexcept;
  void NoteHit(const BlockKey& key) noexcept {
    Samples* const samples = samples_.load(std::memory_order_acquire);
    if (samples == nullptr) return;
    const uint64_t hash = BlockHash(key);
    if (hash % kSampledOneIn == 0) [[unlikely]]
      NoteSampledHit(hash, samples);
  }
  void OnFileDeleted(FileId file) noexcept;

  size_t dram_bytes() const { return samples_.load(std::memory_order_acquire) == nullptr ? 0 : kBytes; }

 private:
  static constexpr size_t kSamples = 16384;  // enough for a million blocks
  static constexpr unsigned kTagShift = 8;   // the bits below hold a place in files_, plus one
  using Samples = std::array<std::atomic<uint32_t>, kSamples>;
  static constexpr size_t kBytes = sizeof(Samples);

  struct File {
    FileId id{0};
    std::shared_ptr<Score> database;  // null if the place is free
    uint32_t sampled = 0;
    std::atomic<uint32_t> hits{0};  // of its samples, each counted once; relaxed, because it is a figure only
  };

  // The upper bits of a key's word; the lower ones name its file.
  static uint32_t TagOf(uint64_t hash) { return static_cast<uint32_t>(hash >> 32) & ~((1u << kTagShift) - 1); }
  static size_t PlaceOf(uint64_t hash) { return hash / kSampledOneIn % kSamples; }
  void NoteSampledHit(uint64_t hash, Samples* samples) noexcept;
  void JudgeLocked(File* file);

  std::mutex mutex_;
  std::array<File, kFiles> files_;  // guarded by mutex_, but for `hits`
  size_t next_ = 0;                 // guarded by mutex_: the oldest place in files_
  size_t reading_ = kFiles;         // guarded by mutex_: a place in files_, or kFiles for none
  std::unique_ptr<Samples> owner_;  // guarded by mutex_
  // null --BeginFile: release store--> owner_'s, for good.
  std::atomic<Samples*> samples_{nullptr};
};

}  // namespace mezz
