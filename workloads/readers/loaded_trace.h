// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "admission/curves/block_trace.h"
#include "admission/curves/key_map.h"
#include "cache/status.h"
#include "cache/types.h"
#include "workloads/requests/request.h"

namespace mezz {

inline constexpr uint32_t kUnitBytesMin = 64, kUnitBytesMax = 16 << 20;

struct LoadOptions {
  uint32_t unit_bytes = 4096;  // extents are cut into blocks of this size; blocks of traces without sizes have it
  // Keep the accesses to this share of the blocks, chosen by a hash of the key (Waldspurger et al., FAST'15): the
  // miss ratio at a share of the footprint is that of the whole trace, with an error that grows as the sample shrinks.
  double sample = 1.0;
  uint64_t seed = 1;                              // of that hash
  uint64_t memory_bytes_max = uint64_t{8} << 30;  // refuse what does not fit
};

// A trace, or a sample of one, read into memory. A block has the first size that is not 0 of those that its requests
// tell; if all are 0, that of a unit.
class LoadedTrace : public BlockTrace {
 public:
  // Reads `source` to its end, with its events. Refuses a trace without requests, one that does not fit, one without
  // reuse, where no cache helps, and a sample of one with events: its blocks would lack their parents.
  static Status Load(RequestSource* source, const LoadOptions& options, LoadedTrace* trace);

  double sample() const { return sample_; }
  double source_rate() const { return source_rate_; }     // RequestSource::sample_rate(), before `sample`
  uint64_t skipped_accesses() const { return skipped_; }  // by sampling
  uint64_t damaged_records() const { return damaged_; }   // left out by the source
  double mean_access_bytes() const;
  const std::vector<std::string>& remarks() const { return remarks_; }  // of the source, and on sizes

 private:
  void AppendBlock(uint64_t key, BlockRole role);
  void Append(const Request& request, BlockId block);
  void AppendEvent(const BlockEvent& event, KeyMap* map);
  void NoteBytes(uint32_t bytes, BlockId block);
  void FinishBytes();
  uint64_t memory_bytes() const;

  double sample_ = 1.0, source_rate_ = 1.0;
  uint64_t skipped_ = 0;
  uint64_t damaged_ = 0;
  std::vector<bool> resized_;  // by block; empty while no size has changed
  std::vector<std::string> remarks_;
};

}  // namespace mezz
