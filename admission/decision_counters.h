// SPDX-License-Identifier: Apache-2.0
// Counts what the policy answered, for which reason, and for which role of block.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "admission/policy.h"
#include "cache/base/words.h"
#include "cache/counters.h"
#include "cache/types.h"

namespace mezz {

// Where a policy is asked. At kForm, FormRule is asked instead.
enum class DecisionPoint : uint8_t { kMiss, kDramEviction, kScmHit, kReclaim, kForm, kWarm, kCount };
inline constexpr size_t kDecisionPoints = static_cast<size_t>(DecisionPoint::kCount);
template <>
inline constexpr Words<kDecisionPoints> kWordsOf<DecisionPoint> = {"miss",    "dram_eviction", "scm_hit",
                                                                   "reclaim", "form",          "warm"};
// Whether a policy may answer `action` at this point.
bool IsAllowed(DecisionPoint point, Action action);

// The number of answers that the points allow, and one for all answers that are not allowed.
inline constexpr size_t kAnswers = 20;
inline constexpr size_t kNoSuchAnswer = kAnswers - 1;

// The sums at one moment.
struct DecisionSnapshot {
  std::array<std::array<std::array<uint64_t, kBlockRoles>, kReasons>, kAnswers> counts{};

  uint64_t of(DecisionPoint point, Action action, Reason reason, BlockRole role) const;
  uint64_t of(DecisionPoint point, Action action, Reason reason) const;
  uint64_t of(DecisionPoint point, Action action) const;
  uint64_t invalid() const;          // answers that their point does not allow: a mistake of the policy
  uint64_t of(Reason reason) const;  // at all points
  DecisionSnapshot operator-(const DecisionSnapshot& earlier) const;
  // For a single thread. Several threads use DecisionCounters.
  void Add(DecisionPoint point, const Decision& decision, BlockRole role);
  // A line for each count that is not 0: "decision.POINT.ACTION.REASON: COUNT (ROLE COUNT, ...)".
  std::string ToString() const;
};

// Counts without contention, as Counters does: each thread adds to one of a few stripes. Relaxed, as counts publish
// nothing. Only the constructor allocates.
//
// Few pairs of an answer and a reason are ever given (36 by adaptive). So a stripe has a row of counts only for the
// pairs that its threads have counted. The shared stripe has rows for all, and takes what finds no row in another.
//
//   number of a pair's row in a stripe: kNoRow --Add, by the thread that has the stripe--> a row, for good
class DecisionCounters {
 public:
  DecisionCounters();

  void Add(DecisionPoint point, const Decision& decision, BlockRole role);
  DecisionSnapshot Snapshot() const;

  static size_t dram_bytes();

 private:
  static constexpr uint8_t kRows = 40, kNoRow = kRows;
  using Row = std::array<std::atomic<uint64_t>, kBlockRoles>;
  struct alignas(kLineBytes) Stripe {
    Stripe();
    std::array<std::array<std::atomic<uint8_t>, kReasons>, kAnswers> row_of;  // relaxed: a new row is zero
    std::array<Row, kRows> rows{};
    uint8_t used = 0;  // rows in use; changed by the thread that has the stripe
  };
  struct Stripes {
    std::array<Stripe, kSharedStripe> own;
    std::array<std::array<Row, kReasons>, kAnswers> shared{};
  };

  const std::unique_ptr<Stripes> stripes_;
};

}  // namespace mezz
