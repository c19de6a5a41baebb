// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cache/base/machine_memory.h"
#include "cache/media/medium.h"
#include "cache/options.h"
#include "cache/status.h"

namespace mezz {

// What is to be prepared, and how.
struct PreparePlan {
  std::byte* base = nullptr;
  uint64_t bytes = 0;
  uint64_t first_bytes = 0;  // what the maker of the medium prepares before it returns; at most `bytes`
  unsigned threads = 1;
  // Gives [offset, offset + bytes) its space on the file system, so that no store to it can fail later: 0 or an errno.
  // Null where populating does that.
  std::function<int(uint64_t offset, uint64_t bytes)> reserve;
  std::vector<BadRange> bad{};  // not touched, though told as ready
  std::function<void(const PrefaultProgress&)> on_progress;
  PromisedMemory promised{};  // what of it takes memory that is not taken yet; shrinks as it is
  std::string name;           // begins the message of an error: "path=/mnt/pmem0/mezz"
};

// Makes the pages of a medium present and writable, from its start to its end, without changing a byte: what is ready
// is always [0, ready_bytes()), and only grows. No store to what is ready faults for want of space. Pages of 2 MiB are
// asked for; making them where the kernel does not by itself is bounded in time (collapse_budget.h).
//
// OpenMedium prepares the first part and hands out the Preparer; Start does the rest in the background. If space or
// memory run out there, what was ready stays ready, and status() says why there is no more.
//
// Thread-safe, except that Start, Stop and the destructor are called by one thread at a time, and Wait not beside
// Start. Start may be called under a lock that on_ready takes; Stop may not. In a forked child nothing runs, nothing
// blocks: Start, Stop, Wait and the destructor do nothing there.
class Preparer {
 public:
  explicit Preparer(PreparePlan plan);
  ~Preparer();  // stops
  Preparer(const Preparer&) = delete;
  Preparer& operator=(const Preparer&) = delete;

  // Prepares the first part with all threads, the caller's among them; blocks. For the maker of the medium.
  Status PrepareFirst();

  // Prepares the rest in threads of its own and returns at once. `on_ready(ready_bytes)` is called by one of them at a
  // time, with growing values, the last one bytes() if all went well; it must not throw, nor call Stop. Not called if
  // all is ready already. The medium must outlive the threads: Stop, or destroy the Preparer, before it.
  void Start(std::function<void(uint64_t ready_bytes)> on_ready = {});

  // Ends the background threads, each after the chunk it is at (2 MiB). What is not ready by then stays so.
  void Stop();

  // Until all is ready, or will not be: returns status(). Without Start there is nothing to wait for.
  Status Wait();

  // Acquire: who sees n may write to [0, n).
  uint64_t ready_bytes() const;
  uint64_t bytes() const;
  // Why the preparation ended early; ok while it goes on, was stopped, or is done.
  Status status() const;

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

}  // namespace mezz
