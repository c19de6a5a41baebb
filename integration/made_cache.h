// SPDX-License-Identifier: Apache-2.0
// What libmezzanine_preloaded.so knows of the caches it has made, and which of them has the SCM tier.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "integration/hybrid_cache.h"
#include "integration/options.h"
#include "integration/warming.h"
#include "rocksdb/cache.h"

namespace mezz {

// What MEZZANINE_WAIT says: for how long a medium that others hold is asked for. "0", or a whole number with s or ms,
// of a day at most; refuses others.
Status ParseWait(std::string_view text, std::chrono::milliseconds* wait);
inline constexpr std::chrono::milliseconds kWaitDefault = std::chrono::minutes(5);

// How the library tells that a cache has no SCM tier for good: it ends a strict program.
using TellFailure = void (*)(const std::string& sentence);

// The right to the SCM tier, one to a process. Each cache that holds blocks asks for it, and asks again when a block
// comes, until it has the tier: at once when the cache that had it has gone; from time to time while another process
// has the medium, or its memory. That is how a process that starts before its predecessor has ended gets a tier.
//
//   holder_:    null --Take: CAS, acq_rel--> the cache that asks or has it --Free: release store--> null
//   ask_at_ns_: 0 --Postpone: relaxed store--> not before then --a cache has got the tier--> 0
//
// Taking it acquires, so that the next owner opens a medium that the last one has closed.
class TierRight {
 public:
  static TierRight& Get();

  // Cheap: no clock is read while somebody has it.
  bool MayAsk(const void* who) const;
  bool Take(const void* who);
  void Free(const void* who);
  const void* holder() const { return holder_.load(std::memory_order_relaxed); }

  // By the holder, whom the medium was refused: a later time is told. False: the time is over. `first` begins anew.
  bool Postpone(bool first, std::chrono::milliseconds wait);
  // By the holder, who has the tier: how long the process has waited for it.
  std::chrono::milliseconds EndWait();

 private:
  std::atomic<const void*> holder_{nullptr};
  std::atomic<int64_t> ask_at_ns_{0};
  // Of the holder alone:
  int64_t waits_since_ns_ = 0;  // 0: nobody waits
  int64_t pause_ns_ = 0;
};

// A cache that this library has made, beside what it is to RocksDB. Base class of that: it outlives the other bases,
// one of which closes the medium.
//
//   state_:  kNew --a block comes that SCM can hold--> kHas, kWithout or kNever
//            kWithout --the tier is to be had--> kHas     kWithout --it will not be--> kNever
//
// Relaxed: publishes nothing. Thread-safe, but for the destructor.
class MadeCache {
 public:
  // `kind`: what the program believes it is. `wanted` outlives it.
  MadeCache(std::string_view kind, const HybridCacheOptions& wanted, std::chrono::milliseconds wait, TellFailure fail)
      : kind_(kind), wanted_(wanted), wait_(wait), fail_(fail) {}
  MadeCache(const MadeCache&) = delete;
  MadeCache& operator=(const MadeCache&) = delete;

  // Null: it has no SCM tier, now.
  virtual HybridStats* StatsIfArmed() = 0;
  // As RocksDB has it: what finds it in MadeCaches.
  virtual const rocksdb::Cache& rocksdb_cache() const = 0;

  bool without() const {
    const State state = this->state();
    return state == State::kWithout || state == State::kNever;
  }
  // Whether databases may be opened for the sake of the SCM tier.
  bool TakesHeirs() const { return wanted_.heirs && state() != State::kNever; }
  // A database that asks for `chosen` by itself is opened with more.
  void WarmingRaised(Warming chosen) { warming_.Raised(chosen); }
  // A database of that name has it.
  void UsedBy(const std::string& database);

  // "LRUCache of 4 MiB of /var/db". REQUIRES: MadeCaches' lock.
  std::string DescriptionLocked() const;

 protected:
  // What the program itself has asked RocksDB to warm a cache with. Its databases are opened with more, for the SCM
  // tier's sake; where the cache has none, what the program did not ask for must not push its blocks out of DRAM.
  //
  //   kAsAsked --Raised: CAS--> the most that one of these databases asks for --Raised: CAS--> more
  //
  // A factory that was raised before shows as one that asks for the best, so what asks for the best is not noted.
  // Relaxed: publishes nothing.
  class ProgramsWarming {
   public:
    void Raised(Warming chosen);
    // RocksDB offers a block that it has written: with LOW priority what a flush has, with BOTTOM what a compaction
    // has, or a blob, which is warmed by an option of its own.
    bool AskedFor(rocksdb::Cache::Priority priority, bool blob) const;

   private:
    static constexpr int kAsAsked = -1;
    std::atomic<int> asked_{kAsAsked};
  };

  ~MadeCache() { TierRight::Get().Free(this); }

  // A block that SCM can hold has come, and the cache has no tier. Does not wait for others.
  bool WantsTier() const {
    const State state = this->state();
    return state == State::kNew || state == State::kWithout;
  }
  void AskForTier();

  // Opens the medium and puts the tier underneath. By one thread at a time.
  virtual Status OpenTier(const HybridCacheOptions& options) = 0;
  // Somebody else's secondary cache is over or under it.
  virtual bool HasSecondary() const { return false; }

  // To be called by the constructor and the destructor of the class that is whole.
  void Enter();
  void Leave();

  ProgramsWarming warming_;

 private:
  enum class State { kNew, kWithout, kNever, kHas };

  State state() const { return state_.load(std::memory_order_relaxed); }
  void Open(bool first);
  void GoWithout(State to, const std::string& why);
  void Refused(const Status& status, bool first);
  std::string Report();

  const std::string kind_;
  const HybridCacheOptions& wanted_;
  const std::chrono::milliseconds wait_;
  const TellFailure fail_;
  std::atomic<State> state_{State::kNew};
  bool kept_ = false;       // by the reporter. GUARDED_BY MadeCaches' lock, as all below
  std::string why_;         // it has no tier
  std::string database_;    // the first that has it
  bool databases_ = false;  // others do, too
};

// Those that live.
class MadeCaches {
 public:
  // The cache that RocksDB knows by that address, which lives as long as the caller has it. Null: not ours.
  static MadeCache* Find(const rocksdb::Cache* address);
};

}  // namespace mezz
