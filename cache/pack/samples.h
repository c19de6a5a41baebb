// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "cache/base/atomic.h"
#include "cache/base/undumped_memory.h"
#include "cache/base/wakeup.h"
#include "cache/options.h"
#include "cache/types.h"

namespace mezz {

// Blocks of one role, one after another, as ZDICT takes them.
struct SampleSet {
  UndumpedBuffer bytes;
  size_t used = 0;
  std::vector<size_t> sizes;
};

// Collects blocks to train dictionaries from, and watches how well a dictionary still packs. A role's phases change
// under its mutex. Threads that pack only try to lock it, as one block more or less does not matter:
//
//   kCollecting --enough bytes: the trainer is woken--> kFull --Take--> kTraining --Rest--> kResting
//   kResting --rested, and the role's live dictionary, if any, packs a tenth worse than when it was trained-->
//   kCollecting
//   kCollecting, kFull --Collect(false)--> kCollecting, without what was collected
//
// Memory: DictionaryRules::sample_bytes_max for each role that packs, from its first sample until the trainer is done.
//
// Each role also has one atomic word: the number of its live dictionary, and the decayed share (in 1/65536) of their
// size that blocks took with it. It is changed by one CAS. Relaxed, as it is a hint.
//
// Thread-safe. Only the trainer calls Take and Rest.
class Samples {
 public:
  // `bytes` of samples, at least kSampleBytesMin, fill a set. `on_full` is called when a set is full. Not owned.
  Samples(const DictionaryRules& rules, size_t bytes, Wakeup* on_full)
      : rules_(rules), bytes_(bytes), on_full_(on_full) {}

  static constexpr uint32_t kWhole = 1 << 16;

  // Tells that `block` was packed with this dictionary, or with none (0), and takes `stored_bytes`. If it did not pack,
  // that is its own size.
  void Tried(BlockRole role, std::span<const std::byte> block, uint16_t dictionary, size_t stored_bytes);

  // Sets whether blocks that are tried are collected; at first they are. With false, samples that were not taken are
  // freed. Waits for threads that add a sample.
  void Collect(bool collects);

  // Takes a full set. Empty: there is none.
  SampleSet Take(BlockRole role);
  // Ends the training of the set that was taken and has been destroyed.
  void Rest(BlockRole role, bool useful);
  // Sets the role's live dictionary (0: none), and the share of their size that blocks should take with it.
  void Expect(BlockRole role, uint16_t dictionary, uint32_t share);

  uint64_t dram_bytes() const { return sizeof(*this) + held_bytes_.load(std::memory_order_relaxed); }

 private:
  enum class Phase : uint8_t { kCollecting, kFull, kTraining, kResting };
  struct Role {
    Atomic<uint64_t> tried{0};       // relaxed: a count
    Atomic<uint64_t> live_share{0};  // number << 32 | share
    Atomic<uint32_t> share_max{0};   // relaxed: with a larger share the dictionary is trained anew
    Mutex mutex;
    Phase phase = Phase::kCollecting;  // GUARDED_BY(mutex), and so are those below
    bool collects = true;
    SampleSet set;
    uint64_t rest_bytes = 0;   // bytes of samples still to rest for
    uint32_t rest_factor = 1;  // doubles with each useless training
  };
  Role& role(BlockRole role) { return roles_[static_cast<size_t>(role)]; }
  void NoteShare(Role& role, uint16_t dictionary, size_t stored_bytes, size_t bytes);
  void AddLocked(Role& role, std::span<const std::byte> block);
  bool AllocateLocked(Role& role);
  static bool DoesWorse(const Role& role);

  const DictionaryRules rules_;
  const size_t bytes_;
  Wakeup* const on_full_;
  std::array<Role, kBlockRoles> roles_;
  Atomic<uint64_t> held_bytes_{0};  // relaxed: a figure
};

}  // namespace mezz
