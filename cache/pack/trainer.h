// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

#include "cache/base/atomic.h"
#include "cache/base/fork_guard.h"
#include "cache/base/wakeup.h"
#include "cache/counters.h"
#include "cache/options.h"
#include "cache/pack/dictionaries.h"
#include "cache/pack/samples.h"

namespace mezz {

// The dictionaries of one tier, and the thread that makes and destroys them. No request waits for a training, which
// takes 0.1 to 0.2 s of one CPU for 2 MiB of samples, and none takes a lock of it.
//
// Of a role's full set of samples seven eighths train a dictionary. The last eighth is packed with the new dictionary,
// with the live one, and with none. The new one becomes live if its output has at most 19/20 of the size that the
// better of the others gives, not counting blocks that pack with none of the three. A live one that is no better than
// none is retired. The live one's result there is what it is measured by from then on (Samples).
//
// Memory: DictionaryRules::sample_bytes_max for a role while it samples, and about 0.6 MiB for a dictionary, most of it
// zstd's tables. There are at most Dictionaries::kSlots dictionaries; while all are in use none is trained. ZDICT takes
// about 6 MiB more for the tenth of a second that a training lasts; dram_bytes does not include that.
//
// Thread-safe. In a child made by fork() nothing runs and nothing blocks.
class Trainer {
 public:
  // `segment_bytes` bounds the size of dictionaries. `counters` and `guard` are not owned.
  Trainer(const DictionaryRules& rules, uint64_t segment_bytes, Counters* counters, const ForkGuard& guard);
  ~Trainer();  // calls Stop
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  // A function that writes a dictionary's record to the medium, and sets its place before reclaim may meet it. False:
  // there is no room.
  using Store = std::function<bool(const Dictionary&)>;
  // Starts the thread, which calls `store` until Stop. Call it once. False: no thread could be started.
  bool Start(Store store);
  // Makes the thread do nothing until LetGo: a recovery uses the dictionaries meanwhile. REQUIRES: before Start.
  void Hold() { leash_.store(Leash::kHeld, std::memory_order_relaxed); }
  // Ends Hold. If the numbers are unknown, no new one is given out in this life.
  void LetGo(Dictionaries::Numbers numbers) {
    assert(leash_.load(std::memory_order_relaxed) == Leash::kHeld);
    leash_.store(numbers == Dictionaries::Numbers::kKnown ? Leash::kNone : Leash::kTrainsNone,
                 std::memory_order_release);
    Wake();
  }
  // False: records on the medium may have numbers that this life has not seen.
  bool KnowsNumbers() const { return leash_.load(std::memory_order_acquire) == Leash::kNone; }
  // Ends the thread after its present training. Threads that pack go on with the dictionaries that there are.
  void Stop();
  // Wakes the thread: a dictionary lost its place on the medium, or there is room again.
  void Wake() { state_->wakeup.Call(); }
  // Waits until the thread has done what it was woken for. For tests and audits.
  void Settle() const;

  Dictionaries& dictionaries() { return state_->dictionaries; }
  Samples& samples() { return state_->samples; }
  uint64_t dram_bytes() const;

 private:
  // What the thread and its callers share. A forked child leaks it when it ends, as threads of its parent may hold
  // parts.
  struct State {
    State(const DictionaryRules& rules, size_t sample_bytes)
        : dictionaries(&wakeup), samples(rules, sample_bytes, &wakeup) {}
    Wakeup wakeup;
    Dictionaries dictionaries;
    Samples samples;
    std::thread thread;
  };

  // What the thread may do.
  enum class Leash : uint8_t { kNone, kHeld, kTrainsNone };

  void Run();
  void Work();
  void TrainDue();
  void Collect();
  void StoreMissing();
  bool Train(BlockRole role, const SampleSet& set);

  const size_t dictionary_bytes_;
  Counters* const counters_;
  const ForkGuard& guard_;
  std::unique_ptr<State> state_;
  Store store_;
  // kNone --Hold, before Start--> kHeld --LetGo: release store, which hands the dictionaries over--> kNone or
  // kTrainsNone
  Atomic<Leash> leash_{Leash::kNone};
};

}  // namespace mezz
