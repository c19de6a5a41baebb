// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "admission/curves/block_key.h"
#include "admission/curves/block_trace.h"
#include "admission/curves/key_map.h"

namespace mezz::plan {

// One spatial sample of a trace of any length in bounded memory: SHARDS of fixed size (Waldspurger, Park, Garthwaite
// and Ahmad, FAST'15, section 3.2). Looked at are the keys whose hash lies below a threshold. It starts at `rate_max`,
// and falls to the greatest hash of all whenever more than `blocks_max` are; so whoever is in the sample at the end was
// in it from its first request on.
//
// The requests for the sampled blocks are kept as a log of at most `log_max`. A sample that has more is remembered as
// blocks alone: its requests must be read again (ReadAgain, seed_run.h), unless whoever has it keeps a window of them
// (Mark, DropToMark).
class Sampler {
 public:
  struct Options {
    double rate_max = 1;
    uint32_t blocks_max = 1 << 13;
    uint32_t log_max = 1 << 20;   // entries of four bytes
    uint32_t block_bytes = 4096;  // of blocks of which the trace does not say it
    uint64_t seed = 1;
    // The keys are good hashes themselves, of which this sample is offered so large a share.
    bool hashed = false;
    double share = 1;
    uint32_t left_max = 3;  // blocks that left the sample and are still numbered, for each one in it
  };
  explicit Sampler(const Options& options);

  // The greatest hash of so large a share of the keys.
  static uint64_t ThresholdOf(double rate);

  bool Keeps(uint64_t key) const { return Hash(key) <= threshold_; }
  // A request. `bytes` of its block; 0: not known, now. REQUIRES: Keeps(key).
  void Add(uint64_t key, BlockRole role, uint32_t bytes);
  // What is known of a block outside of a request; forgotten of one that nothing was asked for.
  void SetBytes(uint64_t key, uint32_t bytes);

  // The requests so far lie before the mark, until these are dropped. Of each block the last of them stays, in their
  // order, at the front of the log: so a tier that the rest is run through begins with what it would hold. Blocks that
  // nobody asked for between so many drops leave.
  static constexpr uint8_t kAgeMax = 8;
  void Mark() { mark_ = log_.size(); }
  void DropToMark();
  size_t kept_front() const { return front_; }        // requests at the front of the log that stand for the dropped
  uint32_t active_blocks() const { return active_; }  // at the last drop: asked for since the one before
  // Leaves requests for blocks that have left the sample out of the log.
  void Compact();
  size_t log_size() const { return log_.size(); }
  uint64_t threshold() const { return threshold_; }

  double rate() const;  // share of all keys that are in the sample
  uint32_t blocks() const { return static_cast<uint32_t>(heap_.size()); }
  // Of the requests so far, those for the blocks that are still in the sample. Sorts out the rest first.
  uint64_t requests();
  uint64_t footprint_bytes();  // of these blocks
  uint64_t request_bytes();    // of these requests
  uint64_t resized();          // of these blocks: their requests tell several sizes; the first that is not 0 counts
  uint64_t memory_bytes() const;
  uint32_t log_max() const { return options_.log_max; }
  bool has_log() const { return !overflown_; }
  // The sampled blocks, numbered by first request, and the log as their requests; empty if !has_log().
  BlockTrace Take(const std::string& name);

 private:
  struct Block {
    uint64_t key;
    uint64_t requests;
    uint32_t bytes;  // 0: not known
    BlockRole role;
    uint8_t age;  // drops since it was asked for
    bool resized = false;
  };

  uint64_t Hash(uint64_t key) const { return options_.hashed ? key : MixWord(key ^ salt_); }
  void Lower();

  Options options_;
  uint64_t salt_;
  uint64_t threshold_;
  KeyMap numbers_;
  std::vector<Block> blocks_;   // by number; those above the threshold too, until Compact
  std::vector<uint64_t> heap_;  // hashes of those in the sample, greatest first
  std::vector<uint32_t> log_;   // numbers
  size_t mark_ = 0;             // a place in the log
  size_t front_ = 0;            // of the log
  uint32_t active_ = 0;
  bool overflown_ = false;
};

}  // namespace mezz::plan
