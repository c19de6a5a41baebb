// SPDX-License-Identifier: Apache-2.0
// What the hybrid caches of every RocksDB release share: the SCM tier, the policy, and the steps between the tiers that
// need no RocksDB type.
#pragma once

#include <memory>
#include <string>

#include "admission/policy.h"
#include "cache/scm_tier.h"
#include "integration/dram_hits.h"
#include "integration/options.h"

namespace mezz {

// Thread-safe like its parts. No exception leaves it.
class HybridCore {
 public:
  // Judges the SCM side of the options only: who brings the DRAM tier judges that.
  static Status Open(const HybridCacheOptions& options, std::unique_ptr<HybridCore>* core);

  // A block leaves the DRAM tier: asks the policy, writes if told so, counts. `source` copies the block's bytes.
  void OnDramEviction(const BlockKey& key, BlockRole role, size_t bytes, bool was_hit, BlockSource source);

  // A block came from flash. True: the policy sent it to SCM and it is stored there.
  bool StoreMiss(const BlockKey& key, BlockRole role, size_t bytes, BlockSource source);

  // What to do with an SCM hit.
  enum class Serve { kInPlace, kCopy, kPromote };
  Serve OnScmHit(const BlockKey& key, const PinnedBlock& block);

  // True if a policy may send blocks to SCM at a miss; saves StoreMiss's call where none does.
  bool wants_misses() const { return wants_misses_; }

  ScmTier& scm() { return *scm_; }
  Policy& policy() { return *policy_; }
  Counters& counters() { return scm_->counters(); }
  // As counters().Add(Event::kDramHit, role), at a fraction of its cost.
  void CountDramHit(BlockRole role) { dram_hits_->Add(role); }
  // All of it: what both have counted.
  CounterSnapshot Snapshot() const;
  const HybridCacheOptions& options() const { return options_; }

  // Counters and configuration as text, one "name: value" a line: for GetPrintableOptions and ReportProblems.
  std::string Report() const;

 private:
  HybridCore(const HybridCacheOptions& options) : options_(options) {}

  HybridCacheOptions options_;
  std::unique_ptr<ScmTier> scm_;
  std::unique_ptr<DramHits> dram_hits_;
  std::unique_ptr<Policy> policy_;
  bool wants_misses_ = false;
};

}  // namespace mezz
