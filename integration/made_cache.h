// SPDX-License-Identifier: Apache-2.0
// The caches that libmezzanine_preloaded.so has made, and which of them has the SCM tier.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "integration/hybrid_cache.h"
#include "integration/options.h"
#include "integration/tier_right.h"
#include "integration/warming.h"
#include "rocksdb/cache.h"

namespace mezz {

// Tells that a cache will never have an SCM tier. It ends a program that is to be strict.
using TellFailure = void (*)(const std::string& sentence);

// What the library keeps of a cache that it has made. The cache derives from this first, so that it is destroyed after
// the other bases, one of which closes the medium.
//
//   state_:  kNew --a block comes that SCM can hold--> kHas, kWithout or kNever
//            kWithout --the tier is to be had--> kHas     kWithout --it will not be--> kNever
//
// Relaxed, because the state publishes nothing. Thread-safe, except for the destructor.
class MadeCache {
 public:
  // `kind` is the kind of cache that the program asked for. `wanted` must outlive this.
  MadeCache(std::string_view kind, const HybridCacheOptions& wanted, std::chrono::milliseconds wait, TellFailure fail)
      : kind_(kind), wanted_(wanted), wait_(wait), fail_(fail) {}
  MadeCache(const MadeCache&) = delete;
  MadeCache& operator=(const MadeCache&) = delete;

  // Null as long as the cache has no SCM tier.
  virtual HybridStats* StatsIfArmed() = 0;
  // The cache as RocksDB knows it, by which MadeCaches finds it.
  virtual const rocksdb::Cache& rocksdb_cache() const = 0;

  bool without() const {
    const State state = this->state();
    return state == State::kWithout || state == State::kNever;
  }
  // Whether databases may be opened with options that heirs need.
  bool TakesHeirs() const { return wanted_.heirs && state() != State::kNever; }
  // A database whose program chose `chosen` is opened with more warming than that.
  void WarmingRaised(Warming chosen) { warming_.Raised(chosen); }
  // A database of that name uses the cache.
  void UsedBy(const std::string& database);

  // "LRUCache of 4 MiB of /var/db". REQUIRES: MadeCaches' lock.
  std::string DescriptionLocked() const;

 protected:
  // The warming that the program itself has asked RocksDB for. Its databases are opened with more, for the SCM tier.
  // While the cache has no SCM tier, blocks that the program did not ask for must not push others out of DRAM.
  //
  //   kAsAsked --Raised: CAS--> the most that one of these databases asks for --Raised: CAS--> more
  //
  // A factory that was raised before looks like one that asks for the best warming, so a request for the best is not
  // noted. Relaxed, because it publishes nothing.
  class ProgramsWarming {
   public:
    void Raised(Warming chosen);
    // Whether the program asked for this block, which RocksDB has written and offers. RocksDB gives blocks of flushes
    // LOW priority and those of compactions BOTTOM. Blobs are warmed by an option of their own.
    bool AskedFor(rocksdb::Cache::Priority priority, bool blob) const;

   private:
    static constexpr int kAsAsked = -1;
    std::atomic<int> asked_{kAsAsked};
  };

  ~MadeCache() { TierRight::Get().Free(this); }

  // WantsTier tells whether to call AskForTier when a block comes that SCM can hold. AskForTier does not wait for other
  // threads.
  bool WantsTier() const {
    const State state = this->state();
    return state == State::kNew || state == State::kWithout;
  }
  void AskForTier();

  // Opens the medium and puts the tier underneath. Called by one thread at a time.
  virtual Status OpenTier(const HybridCacheOptions& options) = 0;
  // The hybrid cache that OpenTier has made, for other caches of the process to share with share=*. Null if it cannot
  // be shared.
  virtual std::shared_ptr<rocksdb::Cache> SharedTier() const { return nullptr; }
  // Puts the tier of `main`, another cache's SharedTier(), underneath. Called by one thread at a time.
  virtual Status JoinTier(const std::shared_ptr<rocksdb::Cache>& /*main*/, const std::string& /*name*/,
                          const DatabaseLimits& /*limits*/) {
    return Status::NotSupported("share=* needs RocksDB 8.9 or later");
  }
  // True if somebody else's secondary cache is over or under this one.
  virtual bool HasSecondary() const { return false; }

  // To be called by the constructor and the destructor of the most derived class.
  void Enter();
  void Leave();

  ProgramsWarming warming_;

 private:
  enum class State { kNew, kWithout, kNever, kHas };

  void AskForRight();
  bool Join();
  Status JoinAs(const std::shared_ptr<rocksdb::Cache>& main, std::string* name);
  void HasJoined(const std::string& name);
  void HasNoShare(State to, const std::string& why);
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
  std::atomic<bool> asks_{false};  // with share=*, a thread does; exchange (acquire), release store
  uint64_t join_at_ns_ = 0;        // whoever asks uses it: not before then
  bool kept_ = false;              // by the reporter. Guarded by MadeCaches' lock, as all members below
  std::string why_;                // it has no tier
  std::string share_;              // the name under which it has the tier of another cache
  std::string database_;           // the first that uses the cache
  bool databases_ = false;         // others use it, too
};

// All caches that the library has made and that still exist.
class MadeCaches {
 public:
  // The cache that RocksDB knows by that address; null if the library did not make it. The caller keeps it alive.
  static MadeCache* Find(const rocksdb::Cache* address);
};

}  // namespace mezz
