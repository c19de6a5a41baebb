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
// and Ahmad, FAST'15, section 3.2). The sample has the keys whose hash lies below a threshold. The threshold starts at
// `rate_max`. Whenever more than `blocks_max` blocks are in the sample, it falls to the greatest hash among them. So a
// block that is in the sample at the end was in it from its first request on.
//
// The requests for the sampled blocks are kept in a log of at most `log_max` entries. If there are more, only the
// blocks are kept, and the requests must be read again (ReadAgain, seed_run.h). Or the owner keeps a window of the
// requests (Mark, DropToMark).
class Sampler {
 public:
  struct Options {
    double rate_max = 1;
    uint32_t blocks_max = 1 << 13;
    uint32_t log_max = 1 << 20;   // entries of four bytes
    uint32_t block_bytes = 4096;  // of blocks whose size the trace does not tell
    uint64_t seed = 1;
    // Whether the keys are good hashes themselves, and how large a share of all keys this sample is offered.
    bool hashed = false;
    double share = 1;
    uint32_t left_max = 3;  // for each block in the sample, how many that left it may still have numbers
  };
  explicit Sampler(const Options& options);

  // The greatest hash in a share of `rate` of the keys.
  static uint64_t ThresholdOf(double rate);

  bool Keeps(uint64_t key) const { return Hash(key) <= threshold_; }
  // Adds a request. `bytes`: of its block; 0: not known yet. REQUIRES: Keeps(key).
  void Add(uint64_t key, BlockRole role, uint32_t bytes);
  // Sets the size of a block outside of a request. Ignored if there was no request for the block.
  void SetBytes(uint64_t key, uint32_t bytes);

  // Mark: the requests so far lie before the mark. DropToMark drops them, except the last one for each block, which
  // stay at the front of the log, in order. So a tier that runs the rest begins with what it would hold. A block that
  // nobody asked for between kAgeMax drops leaves the sample.
  static constexpr uint8_t kAgeMax = 8;
  void Mark() { mark_ = log_.size(); }
  void DropToMark();
  size_t kept_front() const { return front_; }        // requests at the front of the log that stand for dropped ones
  uint32_t active_blocks() const { return active_; }  // blocks that were asked for between the last two drops
  // Removes requests for blocks that have left the sample from the log.
  void Compact();
  size_t log_size() const { return log_.size(); }
  uint64_t threshold() const { return threshold_; }

  double rate() const;  // share of all keys that are in the sample
  uint32_t blocks() const { return static_cast<uint32_t>(heap_.size()); }
  // The number of requests so far for blocks that are still in the sample. Calls Compact first.
  uint64_t requests();
  uint64_t footprint_bytes();  // of the blocks in the sample
  uint64_t request_bytes();    // of their requests
  uint64_t resized();          // blocks whose requests tell several sizes; the first size that is not 0 counts
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
    uint8_t age;  // drops since the last request for it
    bool resized = false;
  };

  uint64_t Hash(uint64_t key) const { return options_.hashed ? key : MixWord(key ^ salt_); }
  void Lower();

  Options options_;
  uint64_t salt_;
  uint64_t threshold_;
  KeyMap numbers_;
  std::vector<Block> blocks_;   // by number; until Compact, blocks above the threshold too
  std::vector<uint64_t> heap_;  // hashes of those in the sample, greatest first
  std::vector<uint32_t> log_;   // numbers
  size_t mark_ = 0;             // a place in the log
  size_t front_ = 0;            // of the log
  uint32_t active_ = 0;
  bool overflown_ = false;
};

}  // namespace mezz::plan
