// SPDX-License-Identifier: Apache-2.0
// The real ScmTier, small enough to be explored: segments of 8 KiB that hold one or two records, all index words in one
// bucket, one lane of writers and one of the proven. Records tell their key and their version.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "cache/scm_tier.h"

namespace mezz::check {

inline constexpr uint64_t kTinySegmentBytes = 8192;
inline constexpr size_t kWhole = 4000;  // payload of a record that fills a segment
inline constexpr size_t kHalf = 1952;   // two fit
inline constexpr size_t kTiny = 32;     // one line

class TinyTier {
 public:
  explicit TinyTier(uint32_t segments = kSegmentsMin, SurvivorJudge* judge = nullptr);

  // False: refused.
  bool Put(uint64_t key, uint64_t version, size_t bytes = kWhole, Generation generation = Generation::kYoung);
  // The version found; empty: a miss. Reads every byte while the pin is held. Fails the run where the bytes are
  // another key's, a mixture, or raced.
  std::optional<uint64_t> Find(uint64_t key, Heat heat = Heat::kRaise);
  bool Contains(uint64_t key) { return tier_->Contains(Key(key)); }
  bool Erase(uint64_t key) { return tier_->Erase(Key(key)); }
  // Reads every byte of a pinned block; its version.
  static uint64_t Read(uint64_t key, const PinnedBlock& block);
  static BlockKey Key(uint64_t key);

  // After the threads: every invariant of the audit, no pins.
  void ExpectSound();

  ScmTier& operator*() { return *tier_; }
  ScmTier* operator->() { return tier_.get(); }

 private:
  std::unique_ptr<ScmTier> tier_;
};

}  // namespace mezz::check
