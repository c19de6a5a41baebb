// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "cache/status.h"
#include "workloads/replay/engine/counts.h"
#include "workloads/replay/engine/flash_model.h"

namespace mezz {

// The time that reads wait in.
class FlashClock {
 public:
  virtual ~FlashClock() = default;
  virtual uint64_t NowNs() = 0;
  virtual void SleepUntilNs(uint64_t ns) = 0;
  // The machine's monotonic one. A sleeping thread takes no processor; it is woken some 5 to 30 us late.
  static FlashClock* Machine();
};

// What waits for reads were to take, and took. Reads that a thread began together are one wait.
struct FlashCounts {
  uint64_t reads = 0;
  uint64_t waits = 0;
  uint64_t asked_ns = 0;  // as the device would have
  uint64_t took_ns = 0;

  double asked_us() const { return Mean(asked_ns); }  // a wait
  double took_us() const { return Mean(took_ns); }

 private:
  double Mean(uint64_t ns) const { return waits == 0 ? 0 : static_cast<double>(ns) / static_cast<double>(waits) / 1e3; }
};
template <>
inline constexpr std::array<CountOf<FlashCounts>, 4> kCountsOf<FlashCounts> = {{{"reads", &FlashCounts::reads},
                                                                                {"waits", &FlashCounts::waits},
                                                                                {"asked_ns", &FlashCounts::asked_ns},
                                                                                {"took_ns", &FlashCounts::took_ns}}};

// Makes reads of memory take as long as those of a device. The waiting thread sleeps. One that was woken late asks for
// its next read as if it had been woken in time, so that reads take on average what the device's would, whatever the
// machine's timers do: up to kLateMaxNs, which is more than a timer is late; what is beyond that, other work on the
// processors, is not made up for. A single read is off by as much as two wake-ups differ, and where the machine wakes
// later than the device takes (optane_ssd), some reads do not wait at all. Thread-safe.
class Flash {
 public:
  static constexpr uint64_t kLateMaxNs = 1'000'000;

  // `clock` outlives this.
  Flash(const FlashModel& model, uint64_t seed, FlashClock* clock = FlashClock::Machine());

  // A read that is on its way, of the thread that began it.
  struct InFlight {
    uint64_t begun_ns = 0;
    uint64_t asked_ns = 0;  // earlier by what the thread was late
    uint64_t done_ns = 0;
  };
  // Before the memory is read, so that this counts as part of the wait.
  InFlight Begin(size_t bytes);
  // Returns when all of `reads`, one at least and the last that the thread began, are done.
  void Await(std::span<const InFlight> reads);
  void Await(const InFlight& read) { Await({&read, 1}); }

  // A write that the device is given now; its memory may be written before or after. When it is taken.
  uint64_t Write(size_t bytes);
  // Returns no sooner than `done_ns`, as of Write. Not counted.
  void AwaitUntil(uint64_t done_ns);
  // For what was written until `done_ns`.
  void AwaitSync(uint64_t done_ns);
  bool writes_wait() const { return queue_.model().writes_wait(); }

  const FlashModel& model() const { return queue_.model(); }
  FlashCounts Counts() const;

 private:
  uint64_t AsIfInTime(uint64_t now_ns) const;

  FlashQueue queue_;
  FlashClock* const clock_;
  const uint64_t number_;  // tells this from any other Flash that the thread waited for
  // Sums; relaxed, they order nothing.
  std::atomic<uint64_t> reads_{0};
  std::atomic<uint64_t> waits_{0};
  std::atomic<uint64_t> asked_ns_{0};
  std::atomic<uint64_t> took_ns_{0};
};

// Refuses a folder, there or to be made, whose files do not lie in memory: a disk's own time would come on top.
Status CheckInMemory(const std::string& folder, const FlashModel& model);
// What files in a folder that is there can still take, of --flash=`model`: in memory no more than is free of that,
// whatever the size of the file system promises. Nothing: the file system does not tell, and errno says why.
std::optional<uint64_t> RoomIn(const std::string& folder, const FlashModel* model);

}  // namespace mezz
