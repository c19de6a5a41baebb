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

// Everything about the dictionaries of one tier, and the thread that makes and destroys them: no request waits for a
// training (0.1 to 0.2 s of one CPU for 2 MiB of samples), and none takes a lock of it.
//
// From a role's full set of samples seven eighths train a dictionary; the last eighth is packed with the new one, with
// the live one and with none. The new one becomes the live one if what is packed with it takes at most 19/20 of what it
// takes with the better of the others, not counting what packs with none of them; a live one that does no better than
// none is retired. How well the live one does there is what it is measured by from then on (Samples).
//
// Memory: DictionaryRules::sample_bytes_max a role while it samples; some 0.6 MiB a dictionary (zstd's tables, most of
// it), of which there are Dictionaries::kSlots at most: where all are in use none is trained. ZDICT takes some 6 MiB
// more for the tenth of a second that a training lasts; that is no part of dram_bytes.
//
// Thread-safe. In a child made by fork() nothing runs and nothing blocks.
class Trainer {
 public:
  // `segment_bytes` bounds the dictionaries. `counters` and `guard` are not owned.
  Trainer(const DictionaryRules& rules, uint64_t segment_bytes, Counters* counters, const ForkGuard& guard);
  ~Trainer();  // Stop
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  // Writes a dictionary's record to the medium and sets its place before reclaim may meet it. False: no room.
  using Store = std::function<bool(const Dictionary&)>;
  // Call it once. `store` is called by the thread, until Stop. False: there is no thread to be had.
  bool Start(Store store);
  // Until LetGo is called the thread does nothing: who takes a medium over uses the dictionaries in its stead.
  // REQUIRES: before Start.
  void Hold() { leash_.store(Leash::kHeld, std::memory_order_relaxed); }
  // With numbers unknown none is given out in this life.
  void LetGo(Dictionaries::Numbers numbers) {
    assert(leash_.load(std::memory_order_relaxed) == Leash::kHeld);
    leash_.store(numbers == Dictionaries::Numbers::kKnown ? Leash::kNone : Leash::kTrainsNone,
                 std::memory_order_release);
    Wake();
  }
  // False: what the medium holds may have numbers that nobody here has seen.
  bool KnowsNumbers() const { return leash_.load(std::memory_order_acquire) == Leash::kNone; }
  // Ends the thread, after the training it is at. Who packs goes on with what there is.
  void Stop();
  // A dictionary lost its place on the medium, or there is room again.
  void Wake() { state_->wakeup.Call(); }
  // Until what the thread was woken for is done; for tests and audits.
  void Settle() const;

  Dictionaries& dictionaries() { return state_->dictionaries; }
  Samples& samples() { return state_->samples; }
  uint64_t dram_bytes() const;

 private:
  // What the thread and its callers share. A child that leaves leaves it behind: its parent's threads may hold parts.
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
