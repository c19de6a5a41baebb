// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include "cache/counters.h"
#include "cache/status.h"
#include "integration/database_shares.h"
#include "integration/dram_hits.h"
#include "integration/hybrid_core.h"
#include "rocksdb/cache.h"

namespace mezz {

// Whose blocks an adapter brings, and where it counts: for the cache itself, the core's rest; for a database that
// shares the cache of another adapter, a share and counters of its own.
//
// Thread-safe once it is made. Open and Close are called by the adapter's constructor and destructor.
class DatabaseUser {
 public:
  // A database, or if `main` is null the cache itself, which owns the core. `main` is the cache whose core this is.
  DatabaseUser(HybridCore& core, std::shared_ptr<rocksdb::Cache> main)
      : core_(core),
        main_(std::move(main)),
        own_(main_ == nullptr ? nullptr : std::make_unique<Own>()),
        counters_(main_ == nullptr ? core.counters() : own_->counters),
        dram_hits_(main_ == nullptr ? core.dram_hits() : own_->dram_hits) {}
  ~DatabaseUser() { Close(); }
  DatabaseUser(const DatabaseUser&) = delete;
  DatabaseUser& operator=(const DatabaseUser&) = delete;

  bool is_main() const { return main_ == nullptr; }
  // Null for the cache itself.
  const std::shared_ptr<rocksdb::Cache>& main() const { return main_; }
  ShareId share() const { return share_; }
  Counters& counters() { return counters_; }
  void CountDramHit(BlockRole role) { dram_hits_.Add(role); }
  // The core knows the tier's hits, and must be told whose they were.
  void CountScmHit(BlockRole role) {
    if (is_main()) return core_.databases().CountScmHitOfRest(role);
    counters_.Add(Event::kScmHit, role);
  }

  // Enters the database. Before the first look-up.
  Status Open(std::string_view name, const DatabaseLimits& limits, DatabaseShares::DramPart dram);
  Status SetLimits(const DatabaseLimits& limits);
  // The user's DRAM tier, as the others that share the cache see it. `dram` must live until Close.
  template <typename Tier>
  DatabaseShares::DramPart DramPartOf(Tier& dram) {
    return {.resize =
                [this, &dram](uint64_t bytes) {
                  const MoveGate::Window window(core_.gate());
                  dram.Resize(bytes);
                  if (core_.databases().are_several()) dram.EvictToCapacity();
                },
            .bytes = [&dram] { return dram.usage(); },
            .pinned_bytes = [&dram] { return dram.pinned_usage(); },
            .capacity_bytes = [&dram] { return dram.capacity(); },
            .add_counters = [this](CounterSnapshot* sum) { *sum += Snapshot(); }};
  }
  // Before Close of a database: what only its DRAM tier holds goes where evictions go, so that it is there when the
  // database comes back.
  template <typename Tier>
  void EmptyIntoScm(Tier& dram) {
    if (core_.options().warm_dram_bytes == 0u) return;
    const MoveGate::Window window(core_.gate());
    dram.Resize(0);
    dram.EvictToCapacity();
  }
  // What was counted here.
  CounterSnapshot Snapshot() const;
  // Leaves. From now on no function of `dram` is called.
  void Close();

 private:
  struct Own {
    Counters counters;
    DramHits dram_hits{counters};
  };

  HybridCore& core_;
  const std::shared_ptr<rocksdb::Cache> main_;
  const std::unique_ptr<Own> own_;  // null for the cache itself
  Counters& counters_;
  DramHits& dram_hits_;
  ShareId share_ = kNoShare;
};

}  // namespace mezz
