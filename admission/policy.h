// SPDX-License-Identifier: Apache-2.0
// What moves, decided by pure logic: facts in, a decision with a named reason out. No bytes, no blocking, no
// allocation. The live cache, the simulator and the planner run the same objects.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cache/status.h"
#include "cache/types.h"

namespace mezz {

// What is known of a block at the moment of a decision.
struct BlockFacts {
  BlockKey key;
  BlockRole role = BlockRole::kOther;
  uint32_t bytes = 0;
  bool was_hit_in_dram = false;  // since it entered the DRAM tier; false where RocksDB cannot tell (7.8)
  bool in_scm = false;           // the SCM tier holds a valid record
  uint8_t scm_heat = 0;          // 0..3: hits of the record since it was written or last spared
};

enum class Action : uint8_t {
  kToDram,   // OnMiss: into the DRAM tier
  kToScm,    // OnMiss: into the SCM tier.  OnDramEviction: demote
  kDrop,     // OnDramEviction: forget
  kKeep,     // OnDramEviction: the SCM tier has it already; nothing is written
  kInPlace,  // OnScmHit: serve where it lies
  kPromote,  // OnScmHit: copy to the DRAM tier; the record stays
};

// Why. One counter each; append only.
enum class Reason : uint8_t { kPolicyDefault, kClean, kCount };
std::string_view ToString(Action action);
std::string_view ToString(Reason reason);

struct Decision {
  Action action;
  Reason reason;
};

// Thread-safe: every method may be called from any thread at any time.
class Policy {
 public:
  virtual ~Policy() = default;
  virtual std::string_view name() const = 0;

  // Whether OnMiss may ever answer kToScm; constant. Callers that hear no need not ask it.
  virtual bool may_send_misses_to_scm() const = 0;
  // A block was read from flash and is about to enter the cache.  -> kToDram | kToScm
  virtual Decision OnMiss(const BlockFacts& block) = 0;
  // A block leaves the DRAM tier.  -> kToScm | kKeep | kDrop
  virtual Decision OnDramEviction(const BlockFacts& block) = 0;
  // A look-up missed the DRAM tier and found the block in the SCM tier.  -> kInPlace | kPromote
  virtual Decision OnScmHit(const BlockFacts& block) = 0;
};

// The names MakePolicy knows, in the order they are shown.
const std::vector<std::string_view>& PolicyNames();

// Refuses an unknown name, listing the known.
Status MakePolicy(std::string_view name, std::unique_ptr<Policy>* policy);

}  // namespace mezz
