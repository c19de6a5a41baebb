// SPDX-License-Identifier: Apache-2.0
#include "integration/scm_secondary_cache.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <span>
#include <utility>

#include "cache/base/text.h"
#include "fmt/format.h"
#include "integration/cached_object.h"
#include "integration/core_stats.h"
#include "integration/evictions.h"
#include "integration/hybrid_core.h"
#include "integration/hybrid_registry.h"
#include "integration/option_table.h"
#include "integration/reporter.h"
#include "integration/serving.h"
#include "integration/tell.h"
#include "rocksdb/version.h"

namespace mezz {

namespace {

using rocksdb::Slice;
using Helper = rocksdb::Cache::CacheItemHelper;
using Result = rocksdb::SecondaryCacheResultHandle;

using Object = void*;

rocksdb::Status ToRocksDB(const Status& status) {
  return status.ok() ? rocksdb::Status::OK() : rocksdb::Status::InvalidArgument(status.message());
}

// The hit is complete when Lookup returns: a copy out of memory has nothing to wait for.
class ReadyResult final : public Result {
 public:
  void Set(Object object, size_t charge) {
    object_ = object;
    charge_ = charge;
  }
  bool IsReady() override { return true; }
  void Wait() override {}
  Object Value() override { return object_; }
  size_t Size() override { return charge_; }

 private:
  Object object_ = nullptr;
  size_t charge_ = 0;
};

// The SCM tier as RocksDB's own second tier.
//
// RocksDB asks a secondary cache two things that decide what happens after a hit.
//
// "Is it kept?" The record stays, yet the answer is no. After a yes RocksDB never offers the block again, and the
// record may be reclaimed while the block is in DRAM: it would be lost from both. After a no its eviction comes back
// to us, and costs nothing while the record is still valid.
//
// "SupportForceErase?" After a no each hit moves into the DRAM tier at once. After a yes the first hit is served as a
// standalone object and leaves a placeholder in the DRAM tier, and only a second hit moves in (`advise_erase` tells
// which it is). So policies that promote get a no, and those that serve from SCM a yes: one answer for all blocks, by
// what the policy says of a block that was hit once. On 7.8 the answer is always no: there, a yes crashes LRUCache when
// a strict capacity limit is reached.
class ScmSecondaryCache final : public rocksdb::SecondaryCache, public CoreStats {
 public:
  explicit ScmSecondaryCache(std::unique_ptr<HybridCore> core)
      : core_(std::move(core)),
        capacity_(core_->scm().figures().capacity_bytes()),
        moves_each_hit_(MovesEachHit(core_->options(), core_->policy_name())),
        registration_(static_cast<const rocksdb::SecondaryCache*>(this), this) {}
  ~ScmSecondaryCache() override { ReportAtEnd(*this); }

  const char* Name() const override { return "ScmSecondaryCache"; }

#if ROCKSDB_MAJOR < 8
  rocksdb::Status Insert(const Slice& key, void* value, const Helper* helper) override {
    return Demote(key, value, helper, /*was_hit=*/false);
  }
  std::unique_ptr<Result> Lookup(const Slice& key, const rocksdb::Cache::CreateCallback& create, bool /*wait*/,
                                 bool /*advise_erase*/, bool& is_in_sec_cache) override {
    is_in_sec_cache = false;
    return Find(key, BlockRole::kOther, /*moves=*/true,
                [&](std::span<const std::byte> payload, Object* object, size_t* charge) {
                  return create(payload.data(), payload.size(), object, charge).ok();
                });
  }
#else
  rocksdb::Status Insert(const Slice& key, Object object, const Helper* helper, bool force_insert) override {
    return Demote(key, object, helper, /*was_hit=*/force_insert);
  }
  rocksdb::Status InsertSaved(const Slice& key, const Slice& saved, rocksdb::CompressionType type,
                              rocksdb::CacheTier /*source*/) override;
#if MEZZ_ROCKSDB_VERSION < 81000
  std::unique_ptr<Result> Lookup(const Slice& key, const Helper* helper, rocksdb::Cache::CreateContext* context,
                                 bool /*wait*/, bool advise_erase, bool& kept_in_sec_cache) override {
#else
  std::unique_ptr<Result> Lookup(const Slice& key, const Helper* helper, rocksdb::Cache::CreateContext* context,
                                 bool /*wait*/, bool advise_erase, rocksdb::Statistics* /*stats*/,
                                 bool& kept_in_sec_cache) override {
#endif
    kept_in_sec_cache = false;
    return Find(key, CachedObject::RoleOf(helper), /*moves=*/moves_each_hit() || advise_erase,
                [&](std::span<const std::byte> payload, Object* object, size_t* charge) {
                  const Slice bytes(reinterpret_cast<const char*>(payload.data()), payload.size());
                  return helper
                      ->create_cb(bytes, rocksdb::kNoCompression, kCreateSource, context, /*allocator=*/nullptr, object,
                                  charge)
                      .ok();
                });
  }
  // Ours is not RAM, yet whoever counts both tiers against one budget expects the tier to shrink.
  rocksdb::Status Deflate(size_t decrease) override {
    const std::lock_guard lock(mutex_);
    return ToRocksDB(ResizeLocked(capacity_, deflated_ + std::min(decrease, SIZE_MAX - deflated_)));
  }
  rocksdb::Status Inflate(size_t increase) override {
    const std::lock_guard lock(mutex_);
    return ToRocksDB(ResizeLocked(capacity_, deflated_ - std::min(deflated_, increase)));
  }
#endif

  bool SupportForceErase() const override { return ROCKSDB_MAJOR >= 8 && !moves_each_hit(); }
  void Erase(const Slice& key) override {
    if (key.size() == BlockKey::kBytes) core_->scm().Erase(BlockKey::FromBytes(key.data()));
  }
  void WaitAll(std::vector<Result*>) override {}
  rocksdb::Status SetCapacity(size_t capacity) override { return ToRocksDB(SetScmCapacity(capacity)); }
  rocksdb::Status GetCapacity(size_t& capacity) override;
  std::string GetPrintableOptions() const override { return Report(); }

  Status SetPolicy(std::string_view name) override;
  bool TakesHeirs() const override { return false; }
  std::string Report() const override { return core_->Report(UriKind::kScmSecondary); }
  Status SetScmCapacity(uint64_t bytes) override;

 private:
  HybridCore& stats_core() const override { return *core_; }
  static bool MovesEachHit(const HybridCacheOptions& options, std::string_view policy);
  bool moves_each_hit() const { return moves_each_hit_.load(std::memory_order_relaxed); }
  rocksdb::Status Demote(const Slice& key, Object object, const Helper* helper, bool was_hit);
  // `create(payload, &object, &charge)` makes the object. `moves`: RocksDB will put it into the DRAM tier.
  template <typename Create>
  std::unique_ptr<Result> Find(const Slice& key, BlockRole role, bool moves, Create create);
  Status ResizeLocked(size_t capacity, size_t deflated);

  const std::unique_ptr<HybridCore> core_;
  std::mutex mutex_;
  size_t capacity_;                              // as configured; guarded by mutex_
  size_t deflated_ = 0;                          // given up for a while; guarded by mutex_
  std::atomic<bool> told_of_compressed_{false};  // relaxed: false -> true, once; publishes nothing
  std::atomic<bool> moves_each_hit_;  // of the latest policy; a look-up that runs meanwhile may go by the former
  const HybridRegistration registration_;
};

// Asks a policy of its own, because to be asked may change one.
bool ScmSecondaryCache::MovesEachHit(const HybridCacheOptions& options, std::string_view policy) {
  std::unique_ptr<Policy> scratch;
  if (!options.MakePolicy(policy, {}, &scratch).ok()) return false;
  const BlockFacts warm{.key = {}, .bytes = 4096, .in_scm = true, .scm_heat = 1};
  const Action action = scratch->OnScmHit(warm).action;
  return action == Action::kPromote || action == Action::kMove;
}

Status ScmSecondaryCache::SetPolicy(std::string_view name) {
  const std::lock_guard lock(mutex_);
  MEZZ_RETURN_IF_ERROR(core_->SetPolicy(name));
  moves_each_hit_.store(MovesEachHit(core_->options(), name), std::memory_order_relaxed);
  return Status::Ok();
}

rocksdb::Status ScmSecondaryCache::Demote(const Slice& key, Object object, const Helper* helper, bool was_hit) {
  OnEviction(*core_, {.key = key, .object = {object, helper}, .was_hit = was_hit});
  return rocksdb::Status::OK();
}

template <typename Create>
std::unique_ptr<Result> ScmSecondaryCache::Find(const Slice& key, BlockRole role, bool moves, Create create) {
  if (key.size() != BlockKey::kBytes) return nullptr;
  const BlockKey name = BlockKey::FromBytes(key.data());
  PinnedBlock block = core_->Find(name, role);
  if (!block) {
    core_->counters().Add(Event::kMiss, role);
    return nullptr;
  }
  const HybridCore::Serve serve = core_->OnScmHit(name, block);  // the policy learns of the hit, whoever has decided
  const auto bytes = BytesToCopy(core_->scm(), block);
  if (!bytes) {
    core_->counters().Add(Event::kMiss, role);
    return nullptr;
  }
  std::unique_ptr<ReadyResult> result;
  Object object = nullptr;
  try {
    result = std::make_unique<ReadyResult>();
    size_t charge = 0;
    if (create(*bytes, &object, &charge)) result->Set(object, charge);
  } catch (...) {
    core_->counters().Add(Event::kAllocationFailed, role);
  }
  if (object == nullptr) {
    core_->counters().Add(Event::kCreateFailed, role);
    return nullptr;
  }
  if (moves) {
    core_->OnPromoted(name, role, serve);
  } else {
    core_->counters().Add(Event::kServedCopied, role);
  }
  return result;
}

#if ROCKSDB_MAJOR >= 8
// A record has no place for a compression type, so only what create_cb takes as it is can be stored.
rocksdb::Status ScmSecondaryCache::InsertSaved(const Slice& key, const Slice& saved, rocksdb::CompressionType type,
                                               rocksdb::CacheTier /*source*/) {
  if (type != rocksdb::kNoCompression) {
    core_->counters().Add(Event::kRefusedCompressed, BlockRole::kOther);
    if (!told_of_compressed_.exchange(true, std::memory_order_relaxed)) {
      Tell(
          "mezzanine_scm://: a tiered cache hands down compressed blocks as their files hold them, and none of them is "
          "stored: use mezzanine://, or make this the secondary cache of an LRUCache or HyperClockCache");
    }
    return rocksdb::Status::NotSupported("ScmSecondaryCache keeps blocks uncompressed");
  }
  if (key.size() != BlockKey::kBytes) {
    core_->counters().Add(Event::kRefusedKeySize, BlockRole::kOther);
    return rocksdb::Status::OK();
  }
  if (saved.empty()) return rocksdb::Status::OK();
  const BlockKey name = BlockKey::FromBytes(key.data());
  const SpanSource copy{std::as_bytes(std::span(saved.data(), saved.size()))};
  if (core_->scm().Compare(name, saved.size(), copy) != Held::kSame) {
    core_->scm().Erase(name);  // a put may be refused, and must not leave other bytes behind
    core_->scm().Put(name, BlockRole::kOther, saved.size(), copy, Generation::kYoung, core_->FormOf(BlockRole::kOther));
  }
  return rocksdb::Status::OK();
}
#endif

// What is configured is judged by the tier. What is given up for a while is bounded by what the tier can do: it keeps
// its smallest size until all of it is given up, and the books keep the whole sum, so that Inflate finds its way back.
Status ScmSecondaryCache::ResizeLocked(size_t capacity, size_t deflated) {
  size_t left = capacity - std::min(capacity, deflated);
  const size_t smallest = kSegmentsMin * core_->scm().options().segment_bytes;
  if (deflated != 0 && left != 0) left = std::max(left, std::min(capacity, smallest));
  MEZZ_RETURN_IF_ERROR(core_->SetScmCapacity(left));
  capacity_ = capacity;
  deflated_ = deflated;
  return Status::Ok();
}

rocksdb::Status ScmSecondaryCache::GetCapacity(size_t& capacity) {
  const std::lock_guard lock(mutex_);
  capacity = capacity_;
  return rocksdb::Status::OK();
}

Status ScmSecondaryCache::SetScmCapacity(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  return ResizeLocked(bytes, deflated_);
}

}  // namespace

Status MakeScmSecondaryCache(const HybridCacheOptions& options, std::unique_ptr<rocksdb::SecondaryCache>* cache) {
  if (options.dram_total_bytes != 0) {
    return Status::InvalidArgument(
        fmt::format("dram_total={} is for hybrid caches: the DRAM tier over this one is not ours to resize, so give it "
                    "what the report's dram.beside_tier_bytes leaves",
                    SizeText(options.dram_total_bytes)));
  }
  MEZZ_RETURN_IF_ERROR(options.ValidateScmSecondary());
  HybridCacheOptions effective = options;
  effective.scm.pack_stage_bytes = 0;  // RocksDB offers a secondary cache nothing but what leaves DRAM
  std::unique_ptr<HybridCore> core;
  MEZZ_RETURN_IF_ERROR(HybridCore::Open(effective, &core));
  core->ServeMetrics();
  *cache = std::make_unique<ScmSecondaryCache>(std::move(core));
  return Status::Ok();
}

Status NewScmSecondaryCache(const HybridCacheOptions& options, std::shared_ptr<rocksdb::SecondaryCache>* cache) {
  std::unique_ptr<rocksdb::SecondaryCache> made;
  MEZZ_RETURN_IF_ERROR(MakeScmSecondaryCache(options, &made));
  *cache = std::move(made);
  return Status::Ok();
}

}  // namespace mezz
