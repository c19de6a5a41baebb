// SPDX-License-Identifier: Apache-2.0
// Declared emulation: charges a device's latency and bandwidth to the threads that touch the medium.
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
  double write_ns;                  // fixed part of one streamed write
  double thread_read_bytes_per_ns;  // what one thread gets when it streams: its line-fill buffers / sequential latency
  double read_bytes_per_ns;         // shared by all threads
  double write_bytes_per_ns;        // shared by all threads
  unsigned read_unit_bytes;         // of the shared budget, a random line costs this much
};
const MediumModel& GetMediumModel(MediumModelName name);  // kNone: all zero

// How many dependent line reads RocksDB's search of a block costs when the block is read where it lies: the record
// header, the restart count at the block's end, a binary search over the restart array and the restart keys, and the
// lines of the entry found. docs/explanation/emulation.md derives it.
unsigned BlockSearchLines(size_t block_bytes);

// What reading a block where it lies asks of the medium: `lines` dependent lines, then a stream of `stream_bytes`.
struct InPlaceRead {
  unsigned lines = 0;
  size_t stream_bytes = 0;
};
// What RocksDB does with a block of this role and these bytes. Read whole: blobs, dictionaries, `other`. Searched: data
// and index blocks, and of a data block the value found is streamed, as long as its number of restart points lets one
// guess it. Probed: filters. docs/explanation/emulation.md derives it; the estimate errs on the slow side.
InPlaceRead HowReadInPlace(const MediumModel& model, BlockRole role, std::span<const std::byte> payload);
// What that costs the thread on an idle device.
double OwnNs(const MediumModel& model, const InPlaceRead& read);

// Spins the calling thread for as long as the modelled device would have kept it waiting. All media share one budget
// of bandwidth per direction per Throttle. Thread-safe, lock-free.
//
// The two budget words hold "the device is busy until", in ns of a monotonic clock:
//   t --Charge: CAS max(t, now) + bytes / bandwidth--> t'
// The caller spins until t', or until now + its own latency where that is later.
// Relaxed order suffices: the words carry time, they publish nothing.
class Throttle {
 public:
  explicit Throttle(const MediumModel& model);

  // A block read in place.
  void ChargeInPlace(const InPlaceRead& read);
  // `lines` dependent reads of 64 bytes.
  void ChargeLines(unsigned lines) { ChargeInPlace({.lines = lines}); }
  // A block copied out: one random read, then a stream.
  void ChargeStreamRead(size_t bytes);
  // A streamed write.
  void ChargeWrite(size_t bytes);

  const MediumModel& model() const { return model_; }

 private:
  void Spend(std::atomic<uint64_t>& busy_until_ns, double bandwidth, size_t bytes, double own_ns);

  const MediumModel model_;
  alignas(64) std::atomic<uint64_t> read_busy_until_ns_{0};
  alignas(64) std::atomic<uint64_t> write_busy_until_ns_{0};
};

}  // namespace mezz
