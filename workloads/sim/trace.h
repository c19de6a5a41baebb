// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cache/status.h"
#include "cache/types.h"
#include "workloads/request.h"

namespace mezz::sim {

// A block of a loaded trace: 0 to unique() - 1, in the order of first access.
using BlockId = uint32_t;
inline constexpr BlockId kNoBlock = UINT32_MAX;

inline constexpr uint32_t kUnitBytesMin = 64, kUnitBytesMax = 16 << 20;

struct LoadOptions {
  uint32_t unit_bytes = 4096;  // extents are cut into blocks of this size; blocks of traces without sizes have it
  // Keep the accesses to this share of the blocks, chosen by a hash of the key (Waldspurger et al., FAST'15): the
  // miss ratio at a share of the footprint is that of the whole trace, with an error that grows as the sample shrinks.
  double sample = 1.0;
  uint64_t seed = 1;                              // of that hash
  uint64_t memory_bytes_max = uint64_t{8} << 30;  // refuse what does not fit
};

// A trace in memory, as the simulator runs it: dense block numbers instead of keys.
class LoadedTrace {
 public:
  // Reads `source` to its end. Refuses a trace without requests, one that does not fit, and one without reuse: no cache
  // helps there.
  static Status Load(RequestSource* source, const LoadOptions& options, LoadedTrace* trace);

  const std::string& name() const { return name_; }
  const std::vector<BlockId>& accesses() const { return accesses_; }
  uint32_t unique() const { return static_cast<uint32_t>(keys_.size()); }
  uint64_t key(BlockId block) const { return keys_[block]; }
  const std::vector<uint64_t>& keys() const { return keys_; }
  uint32_t bytes(BlockId block) const { return bytes_.empty() ? unit_bytes_ : bytes_[block]; }
  BlockRole role(BlockId block) const { return roles_.empty() ? BlockRole::kData : roles_[block]; }
  bool has_time() const { return !time_us_.empty(); }
  const std::vector<uint64_t>& time_us() const { return time_us_; }  // by access; empty where the trace has none
  uint32_t unit_bytes() const { return unit_bytes_; }
  double sample() const { return sample_; }
  uint64_t footprint_bytes() const { return footprint_bytes_; }  // of the sampled blocks
  uint64_t skipped_accesses() const { return skipped_; }         // by sampling
  uint64_t damaged_records() const { return damaged_; }          // left out by the source
  double mean_access_bytes() const;

 private:
  void Append(const Request& request, BlockId block, bool fresh);
  uint64_t memory_bytes() const;

  std::string name_;
  std::vector<BlockId> accesses_;
  std::vector<uint64_t> keys_;
  std::vector<uint32_t> bytes_;
  std::vector<BlockRole> roles_;
  std::vector<uint64_t> time_us_;
  uint32_t unit_bytes_ = 0;
  double sample_ = 1.0;
  uint64_t footprint_bytes_ = 0;
  uint64_t skipped_ = 0;
  uint64_t damaged_ = 0;
};

}  // namespace mezz::sim
