// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cache/base/machine_memory.h"
#include "cache/media/medium.h"
#include "cache/options.h"
#include "cache/status.h"

namespace mezz {

// What a Preparer prepares, and how.
struct PreparePlan {
  std::byte* base = nullptr;
  uint64_t bytes = 0;
  uint64_t first_bytes = 0;  // prepared before the medium is handed out; at most `bytes`
  unsigned threads = 1;
  // Reserves the space of [offset, offset + bytes) on the file system, so that no store there can fail later. Returns 0
  // or an errno. Null where populating does that.
  std::function<int(uint64_t offset, uint64_t bytes)> reserve;
  std::vector<BadRange> bad{};  // not touched, but reported as ready
  std::function<void(const PrefaultProgress&)> on_progress;
  PromisedMemory promised{};  // the memory that is still to be taken; shrinks as it is taken
  std::string name;           // the beginning of error messages: "path=/mnt/pmem0/mezz"
};

// Makes the pages of a medium present and writable, from its start to its end, without changing a byte. The ready part
// is always [0, ready_bytes()), and only grows. A store there never fails for want of space. Pages of 2 MiB are asked
// for; where the kernel does not make them by itself, the time for that is bounded (collapse_budget.h).
//
// OpenMedium prepares the first part and hands out the Preparer; Start does the rest in the background. If space or
// memory runs out there, what was ready stays ready, and status() says why there is no more.
//
// Thread-safe, except that one thread at a time may call Start, Stop and the destructor, and that Wait may not run
// beside Start. Start may be called under a lock that on_ready takes; Stop may not. In a forked child Start, Stop, Wait
// and the destructor do nothing.
class Preparer {
 public:
  explicit Preparer(PreparePlan plan);
  // Of several media: does for all of them at once what each of these was to do, which has nothing to do then.
  explicit Preparer(std::span<const std::unique_ptr<Preparer>> members);
  ~Preparer();  // stops
  Preparer(const Preparer&) = delete;
  Preparer& operator=(const Preparer&) = delete;

  // Prepares the first part with all threads, the calling one included; blocks. For the functions behind OpenMedium.
  Status PrepareFirst();

  // Prepares the rest in threads of its own, and returns at once. They call `on_ready(ready_bytes)`, one at a time,
  // with growing values; the last is bytes() if all went well. It must neither throw nor call Stop. It is not called if
  // all is ready already. The medium must outlive the threads: call Stop, or destroy the Preparer, before it goes.
  void Start(std::function<void(uint64_t ready_bytes)> on_ready = {});
  // The same for several media: `ready_bytes` are those of a member, whose number comes first. Members call at the same
  // time. `on_end` is called once for each member whose preparation ends early, with the reason. It may throw and call
  // as little as `on_ready` may.
  void StartMembers(const std::function<void(size_t member, uint64_t ready_bytes)>& on_ready,
                    const std::function<void(const Status& why)>& on_end = {});

  // Ends the background threads, each after its present chunk of 2 MiB. The part that is not ready by then stays so.
  void Stop();

  // Waits until all is ready, or will not be, and returns status(). Without Start there is nothing to wait for.
  Status Wait() const;

  // How many bytes are ready; of several media, of all together, or of one. Acquire: a thread that sees n of one medium
  // may write to its [0, n).
  uint64_t ready_bytes() const;
  uint64_t ready_bytes(size_t member) const;
  uint64_t bytes() const;
  // How many of them came as huge pages. Huge pages may be split later, which this does not tell.
  uint64_t huge_bytes() const;
  // Why the preparation ended early. Ok while it goes on, and if it was stopped or is done.
  Status status() const;

 private:
  class Work;
  uint64_t SumOf(uint64_t (Work::*figure)() const) const;

  std::vector<std::unique_ptr<Work>> works_;  // one for each medium
};

}  // namespace mezz
