// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "cache/base/atomic.h"
#include "cache/base/wakeup.h"
#include "cache/options.h"
#include "cache/types.h"

namespace mezz {

// Blocks of one role, one after another, as ZDICT wants them.
struct SampleSet {
  std::unique_ptr<std::byte[]> bytes;
  size_t used = 0;
  std::vector<size_t> sizes;
};

// Collects blocks to train dictionaries from, and watches how well a dictionary still does. A role's phases, under its
// mutex, which those who pack only try (a block more or less is nothing):
//
//   kCollecting --enough bytes: the trainer is woken--> kFull --Take--> kTraining --Rest--> kResting --rested, and the
//   role's live dictionary, if it has one, does a tenth worse than when it was trained--> kCollecting
//   kCollecting, kFull --Collect(false)--> kCollecting, without what was collected
//
// Memory: the samples of each role that packs, DictionaryRules::sample_bytes_max, from the first one until the trainer
// is done with them.
//
// One atomic word a role beside: the number of its live dictionary, and the decayed share (1/65536) of their size that
// blocks took with it. Changed by CAS, tried once; relaxed: it is advice.
//
// Thread-safe. Take and Rest are the trainer's.
class Samples {
 public:
  // `bytes` of samples fill a set; at least kSampleBytesMin. `on_full` is called when one is; not owned.
  Samples(const DictionaryRules& rules, size_t bytes, Wakeup* on_full)
      : rules_(rules), bytes_(bytes), on_full_(on_full) {}

  static constexpr uint32_t kWhole = 1 << 16;

  // `block` was packed with that dictionary, or with none (0), and takes `stored_bytes` now; its own size, if it did
  // not pack.
  void Tried(BlockRole role, std::span<const std::byte> block, uint16_t dictionary, size_t stored_bytes);

  // Whether what is tried is collected, as it is at first. False: from now on nothing is, and what was collected and
  // not taken is given back. Waits for whoever adds a sample.
  void Collect(bool collects);

  // A full set; empty: there is none.
  SampleSet Take(BlockRole role);
  // The set that was taken is destroyed.
  void Rest(BlockRole role, bool useful);
  // The role's live dictionary, and the share it is to be measured by; 0: it has none.
  void Expect(BlockRole role, uint16_t dictionary, uint32_t share);

  uint64_t dram_bytes() const { return sizeof(*this) + held_bytes_.load(std::memory_order_relaxed); }

 private:
  enum class Phase : uint8_t { kCollecting, kFull, kTraining, kResting };
  struct Role {
    Atomic<uint64_t> tried{0};       // relaxed: a count
    Atomic<uint64_t> live_share{0};  // number << 32 | share
    Atomic<uint32_t> share_max{0};   // relaxed: worse, and the dictionary is trained anew
    Mutex mutex;
    Phase phase = Phase::kCollecting;  // GUARDED_BY(mutex), and so are those below
    bool collects = true;
    SampleSet set;
    uint64_t rest_bytes = 0;   // of samples
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
