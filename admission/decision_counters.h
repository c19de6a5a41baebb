// SPDX-License-Identifier: Apache-2.0
// What the policy answered, how often, why, and for which kind of block.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "admission/policy.h"
#include "cache/counters.h"
#include "cache/types.h"

namespace mezz {

// Where a policy is asked; kForm: where FormRule is.
enum class DecisionPoint : uint8_t { kMiss, kDramEviction, kScmHit, kReclaim, kForm, kWarm, kCount };
inline constexpr size_t kDecisionPoints = static_cast<size_t>(DecisionPoint::kCount);
std::string_view ToString(DecisionPoint point);
// Whether a policy may answer so there.
bool IsAllowed(DecisionPoint point, Action action);

// The answers that each point allows, and one place for all that no point does.
inline constexpr size_t kAnswers = 19;
inline constexpr size_t kNoSuchAnswer = kAnswers - 1;

// A sum at one moment.
struct DecisionSnapshot {
  std::array<std::array<std::array<uint64_t, kBlockRoles>, kReasons>, kAnswers> counts{};

  uint64_t of(DecisionPoint point, Action action, Reason reason, BlockRole role) const;
  uint64_t of(DecisionPoint point, Action action, Reason reason) const;
  uint64_t of(DecisionPoint point, Action action) const;
  uint64_t invalid() const;          // answers that their point does not allow: a mistake of the policy
  uint64_t of(Reason reason) const;  // wherever it was given
  DecisionSnapshot operator-(const DecisionSnapshot& earlier) const;
  // For who counts alone; else DecisionCounters.
  void Add(DecisionPoint point, const Decision& decision, BlockRole role);
  // "decision.POINT.ACTION.REASON: COUNT (ROLE COUNT, ...)", a line each; what never happened is left out.
  std::string ToString() const;
};

// Counts without contention, as Counters does: each thread adds to one of a few stripes. Relaxed order: counts publish
// nothing. Allocates when it is made only.
//
// Few of the pairs of an answer and a reason are ever given (adaptive's are 36), so a stripe has a row of counts for
// those only that its threads have counted. The shared stripe has all, and takes what finds no row in another.
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
    std::array<std::array<std::atomic<uint8_t>, kReasons>, kAnswers> row_of;  // relaxed: a fresh row is zero
    std::array<Row, kRows> rows{};
    uint8_t used = 0;  // rows; of the thread that has the stripe
  };
  struct Stripes {
    std::array<Stripe, kSharedStripe> own;
    std::array<std::array<Row, kReasons>, kAnswers> shared{};
  };

  const std::unique_ptr<Stripes> stripes_;
};

}  // namespace mezz
