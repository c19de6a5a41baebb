// SPDX-License-Identifier: Apache-2.0
// Emulation of a device, which reports declare: it charges the device's latency and bandwidth to the threads that touch
// the medium.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "cache/options.h"
#include "cache/types.h"

namespace mezz {

// Constants of one device. Sources stand beside the presets in model.cc.
struct MediumModel {
  const char* name;
  double random_read_ns;            // one dependent cache line
  double write_ns;                  // the fixed part of one streamed write
  double thread_read_bytes_per_ns;  // of one thread that streams: its line-fill buffers / sequential latency
  double read_bytes_per_ns;         // shared by all threads
  double write_bytes_per_ns;        // shared by all threads
  unsigned read_unit_bytes;         // what a random line takes of the shared bandwidth
};
const MediumModel& GetMediumModel(MediumModelName name);  // kNone: all zero

// How many dependent line reads RocksDB needs to search a block where it lies. It reads the record header, the restart
// count at the block's end, a binary search over the restart array and the restart keys, and the lines of the entry
// found. docs/explanation/emulation.md derives it.
unsigned BlockSearchLines(size_t block_bytes);

// The reads of a block in place: `lines` dependent lines, then a stream of `stream_bytes`.
struct InPlaceRead {
  unsigned lines = 0;
  size_t stream_bytes = 0;
};
// The reads that RocksDB makes of a block of this role and these bytes. It reads blobs, dictionaries and `other` whole.
// It searches data and index blocks; of a data block it then streams the value, whose size the number of restart points
// tells roughly. It probes filters. docs/explanation/emulation.md derives it; the estimate is rather too slow.
InPlaceRead HowReadInPlace(const MediumModel& model, BlockRole role, std::span<const std::byte> payload);
// The time that these reads take on an idle device.
double OwnNs(const MediumModel& model, const InPlaceRead& read);

// Spins the calling thread for as long as the modelled device would have kept it waiting. A Throttle has one budget of
// bandwidth for each direction, which all its callers share. Thread-safe, lock-free.
//
// The two budget words hold "the device is busy until", in ns of a monotonic clock:
//   t --Charge: CAS max(t, now) + bytes / bandwidth--> t'
// The caller spins until t', or until now + its own latency where that is later.
// Relaxed order suffices: the words carry time, they publish nothing.
class Throttle {
 public:
  explicit Throttle(const MediumModel& model);

  // Charges a block that is read in place.
  void ChargeInPlace(const InPlaceRead& read);
  // Charges `lines` dependent reads of 64 bytes.
  void ChargeLines(unsigned lines) { ChargeInPlace({.lines = lines}); }
  // Charges a block that is copied out: one random read, then a stream.
  void ChargeStreamRead(size_t bytes);
  // Charges a streamed write.
  void ChargeWrite(size_t bytes);

  const MediumModel& model() const { return model_; }

 private:
  void Spend(std::atomic<uint64_t>& busy_until_ns, double bandwidth, size_t bytes, double own_ns);

  const MediumModel model_;
  alignas(64) std::atomic<uint64_t> read_busy_until_ns_{0};
  alignas(64) std::atomic<uint64_t> write_busy_until_ns_{0};
};

}  // namespace mezz
