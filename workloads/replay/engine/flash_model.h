// SPDX-License-Identifier: Apache-2.0
// Devices that stand for flash under --flash, and the arithmetic of when their reads and writes are done. No clock, no
// files, no RocksDB: time is what the caller says it is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cache/status.h"

namespace mezz {

// Of the reads, this share takes at most so long.
struct LatencyPoint {
  double share;
  double us;
};

// Constants of one device. Their sources stand beside the presets in flash_model.cc.
struct FlashModel {
  std::string_view name;    // of --flash
  std::string_view device;  // what it is modelled on
  // Of a read of 4 KiB that waits for no other, its transfer included: from share 0 to share 1, both ascending, linear
  // in between.
  std::array<LatencyPoint, 5> latency;
  unsigned queue_depth;  // reads in flight at most; more wait their turn
  double bytes_per_ns;   // shared by all reads
  // Of a write of 4 KiB that waits for no other, until the device has taken it, and what a sync adds to the writes that
  // it waits for. 0: none.
  double write_us = 0;
  double sync_us = 0;
  double write_bytes_per_ns = 0;  // shared by all writes; 0: writes and syncs take no time

  bool writes_wait() const { return write_bytes_per_ns > 0; }
  // The latency that a share of `share` of the reads does not exceed. REQUIRES: 0 <= share <= 1.
  double LatencyNs(double share) const;
  double MeanLatencyNs() const;
};

// "disk" is no model: the device that the folder --db lies on; *model is then null.
Status ParseFlash(const std::string& name, const FlashModel** model);
std::string_view FlashName(const FlashModel* model);
// With its constants and that it is emulated; of a null model, that it is not.
nlohmann::json ToJson(const FlashModel* model);
std::string Describe(const FlashModel& model);

// When reads and writes are done. A read takes one of the device's slots, in the order of the calls; holds it for a
// latency drawn from the model, and for as long as its bytes beyond 4 KiB take; and ends no earlier than the device
// could have moved all bytes asked for so far. The n-th read of a queue takes the n-th draw of its seed, whoever asks.
// Thread-safe.
//
// So one reader alone waits for the latency; N readers that never pause get N / mean latency a second, up to
// queue_depth / mean latency and to bytes_per_ns.
//
// Writes are taken one after the other, at write_bytes_per_ns. A read that begins while the device is busy with them
// takes twice its latency: half of the device's time is the writes'.
class FlashQueue {
 public:
  FlashQueue(const FlashModel& model, uint64_t seed);

  // When a read of `bytes` is done that is asked for at `now_ns`. Threads may lag behind each other a little.
  uint64_t Submit(uint64_t now_ns, size_t bytes);
  // When a write is taken. REQUIRES: model().writes_wait().
  uint64_t SubmitWrite(uint64_t now_ns, size_t bytes);

  const FlashModel& model() const { return model_; }

 private:
  double Draw();

  const FlashModel model_;
  const uint64_t seed_;

  std::mutex mutex_;             // held for some tens of ns; guards what follows
  std::vector<double> free_at_;  // when each slot is free: a heap, the soonest in front
  double moved_at_ = 0;          // when the device has moved all bytes asked for
  uint64_t reads_ = 0;
  double written_at_ = 0;  // when the device has taken all bytes written
};

}  // namespace mezz
