// SPDX-License-Identifier: Apache-2.0
// Two real databases of several column families share one hybrid cache far smaller than their data, while readers,
// writers, long-held iterators, compactions and cache resizes run. Every value read is checked.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "integration/dead_file_listener.h"
#include "rocksdb/db.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/table.h"
#include "rocksdb/version.h"
#include "rocksdb/write_buffer_manager.h"
#include "tests/support/flash_clock.h"
#include "tests/support/hybrid_fixture.h"
#include "tests/support/open_db.h"
#include "tests/support/random.h"
#include "tests/support/seed.h"
#if ROCKSDB_MAJOR >= 8
#include "rocksdb/advanced_cache.h"
#endif

namespace mezz::test {
namespace {

using rocksdb::Slice;
using rocksdb::Status;

constexpr uint64_t kDramBytes = 3 << 20;
constexpr uint64_t kScmBytes = 24 << 20;
constexpr uint32_t kKeys = 4000;  // of each column family
constexpr int kReaders = 3;
#ifdef __SANITIZE_THREAD__
constexpr int kReadsPerReader = 800;  // a read costs twenty times as much there
#else
constexpr int kReadsPerReader = 2500;
#endif
constexpr int kCalmReads = 2000;  // of the phases with one thread
constexpr int kCalmRoundsMax = 20;

enum Family { kPartitioned, kLargeBlocks, kBlobs, kFamilies };
#if ROCKSDB_MAJOR < 8
constexpr BlockRole kRoles[] = {BlockRole::kOther};
#else
constexpr BlockRole kRoles[] = {BlockRole::kData, BlockRole::kIndex, BlockRole::kFilter, BlockRole::kDictionary,
                                BlockRole::kBlob};
#endif
constexpr const char* kFamilyNames[] = {"default", "large_blocks", "blobs"};

std::string KeyName(uint32_t id) {
  char text[32];
  const int bytes = std::snprintf(text, sizeof(text), "key%09u", id);
  return {text, static_cast<size_t>(bytes)};
}

// Version 0 is "never written"; every seventh is a delete.
bool IsDelete(uint32_t version) { return version % 7 == 0; }

// A value names its key and version, and its bytes follow from them. Half of it compresses, so that dictionaries pay.
std::string ValueOf(uint64_t key_seed, uint32_t version) {
  const uint64_t seed = Mix(key_seed * 1000003 + version);
  std::string value(200 + seed % 1200, '\0');
  std::memcpy(value.data(), &key_seed, 8);
  std::memcpy(value.data() + 8, &version, 4);
  for (size_t at = 12; at < value.size();) {  // rows of 64 bytes, half of them the phrase
    constexpr char kPhrase[] = "a common phrase of every value. ";
    const size_t column = at % 64;
    const uint64_t word = Mix(seed + at / 8);
    const char* const from = column < 32 ? kPhrase + column : reinterpret_cast<const char*>(&word) + at % 8;
    const size_t bytes = std::min(column < 32 ? 32 - column : 8 - at % 8, value.size() - at);
    std::memcpy(value.data() + at, from, bytes);
    at += bytes;
  }
  return value;
}

// What a key may hold: a writer (one per key) raises `started`, writes, and raises `done`.
struct KeyState {
  std::atomic<uint32_t> started{0};
  std::atomic<uint32_t> done{0};
};

// Drops the blocks of deleted files, where the release can.
template <typename Options>
void DropBlocksOfDeletedFiles(Options* options) {
  if constexpr (requires { options->uncache_aggressiveness; }) options->uncache_aggressiveness = 100;
}

struct Span {
  uint32_t first;
  uint32_t last;
};

// One database and what it should hold.
class Store : private ScratchDb {
 public:
  Store(unsigned number, std::shared_ptr<rocksdb::Cache> cache) : number_(number), cache_(std::move(cache)) {
    for (auto& family : states_) family = std::make_unique<KeyState[]>(kKeys);
    options_.create_missing_column_families = true;
    options_.max_background_jobs = 2;
  }

  void Open() {
    options_.write_buffer_manager = std::make_shared<rocksdb::WriteBufferManager>(1 << 20, cache_);
    if (number_ == 0) {  // the other tells by uncache_aggressiveness alone
      std::shared_ptr<rocksdb::EventListener> listener;
      ASSERT_TRUE(NewDeadFileListener(cache_, &listener).ok());
      options_.listeners = {std::move(listener)};
    }
    Families families;
    for (int f = 0; f < kFamilies; ++f) families.emplace_back(kFamilyNames[f], FamilyOptions(static_cast<Family>(f)));
    ScratchDb::Open(families);
  }
  using ScratchDb::Close;

  rocksdb::DB* db() { return db_.get(); }
  rocksdb::ColumnFamilyHandle* handle(int family) { return handles_[family]; }
  uint64_t Seed(int family, uint32_t id) const { return (uint64_t{number_} * kFamilies + family) << 32 | id; }

  Status Write(int family, uint32_t id) {
    KeyState& state = states_[family][id];
    const uint32_t version = state.started.load(std::memory_order_relaxed) + 1;
    state.started.store(version, std::memory_order_release);
    const std::string key = KeyName(id);
    Status s = IsDelete(version) ? db_->Delete({}, handles_[family], key)
                                 : db_->Put({}, handles_[family], key, ValueOf(Seed(family, id), version));
    if (s.ok()) state.done.store(version, std::memory_order_release);
    return s;
  }

  uint32_t Done(int family, uint32_t id) const { return states_[family][id].done.load(std::memory_order_acquire); }
  uint32_t Started(int family, uint32_t id) const {
    return states_[family][id].started.load(std::memory_order_acquire);
  }

  // True if `value` is what some version in `span` wrote.
  bool ValueFits(int family, uint32_t id, Span span, const Slice& value) const {
    uint32_t version = 0;
    if (value.size() < 12) return false;
    std::memcpy(&version, value.data() + 8, 4);
    return version >= span.first && version <= span.last && !IsDelete(version) &&
           value == Slice(ValueOf(Seed(family, id), version));
  }
  static bool AbsenceFits(Span span) {
    for (uint32_t version = span.first; version <= span.last; ++version) {
      if (IsDelete(version)) return true;
    }
    return false;
  }

 private:
  rocksdb::ColumnFamilyOptions FamilyOptions(Family family) const {
    rocksdb::ColumnFamilyOptions options;
    options.write_buffer_size = 256 << 10;
    options.target_file_size_base = 512 << 10;
    options.max_bytes_for_level_base = 1 << 20;
    DropBlocksOfDeletedFiles(&options);
    rocksdb::BlockBasedTableOptions table;
    table.block_cache = cache_;
    table.cache_index_and_filter_blocks = true;
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(32));  // so that filters are large enough to serve in place
    options.compression = rocksdb::kNoCompression;
    switch (family) {
      case kPartitioned:
        table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
        table.partition_filters = true;
        table.metadata_block_size = 2048;
        options.compression = rocksdb::kZSTD;
        options.compression_opts.max_dict_bytes = 8 << 10;
        options.compression_opts.zstd_max_train_bytes = 128 << 10;
        break;
      case kLargeBlocks:
        table.block_size = 32 << 10;
        table.optimize_filters_for_memory = true;
        break;
      default:
        options.enable_blob_files = true;
        options.min_blob_size = 512;
        options.blob_file_size = 1 << 20;
        options.enable_blob_garbage_collection = true;
        options.blob_cache = cache_;
        break;
    }
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    return options;
  }

  const unsigned number_;
  const std::shared_ptr<rocksdb::Cache> cache_;
  std::array<std::unique_ptr<KeyState[]>, kFamilies> states_;
};

// Reads at random in every way RocksDB has, and checks what comes.
class Reader {
 public:
  Reader(std::vector<Store*> stores, uint64_t seed) : stores_(std::move(stores)), random_(seed) {}

  void Run(int reads) {
    for (int i = 0; i < reads && wrong_.empty(); ++i) ReadOnce();
    DropHeld();
  }
  void AskSingly() { batches_ = false; }
  const std::string& wrong() const { return wrong_; }
  uint64_t refused() const { return refused_; }
  uint64_t values() const { return values_; }

 private:
  struct HeldIterator {
    std::unique_ptr<rocksdb::Iterator> iterator;
    std::string value;
  };

  void ReadOnce() {
    Store& store = *stores_[random_.Below(stores_.size())];
    const int family = static_cast<int>(random_.Below(kFamilies));
    const uint64_t roll = random_.Below(100);
    if (roll < 70) return Get(store, family, RandomId());
    if (roll < 85 && batches_) return MultiGet(store, family);
    Scan(store, family);
  }

  // A third of the keys are hot.
  uint32_t RandomId() {
    return static_cast<uint32_t>(random_.OneIn(2) ? random_.Below(kKeys / 3) : random_.Below(kKeys));
  }

  void Get(Store& store, int family, uint32_t id) {
    const uint32_t first = store.Done(family, id);
    rocksdb::PinnableSlice value;
    const Status s = store.db()->Get({}, store.handle(family), KeyName(id), &value);
    Judge(store, family, id, {first, store.Started(family, id)}, s, value);
  }

  void MultiGet(Store& store, int family) {
    constexpr size_t kBatch = 16;
    uint32_t ids[kBatch];
    uint32_t first[kBatch];
    std::string names[kBatch];
    Slice keys[kBatch];
    const uint32_t start = RandomId();
    for (size_t i = 0; i < kBatch; ++i) {
      ids[i] = i % 2 == 0 ? (start + static_cast<uint32_t>(i)) % kKeys : RandomId();
      first[i] = store.Done(family, ids[i]);
      names[i] = KeyName(ids[i]);
      keys[i] = names[i];
    }
    rocksdb::PinnableSlice values[kBatch];
    Status statuses[kBatch];
    rocksdb::ReadOptions options;
    options.async_io = random_.OneIn(2);
    store.db()->MultiGet(options, store.handle(family), kBatch, keys, values, statuses);
    for (size_t i = 0; i < kBatch; ++i) {
      Judge(store, family, ids[i], {first[i], store.Started(family, ids[i])}, statuses[i], values[i]);
    }
  }

  void Scan(Store& store, int family) {
    rocksdb::ReadOptions options;
    options.async_io = random_.OneIn(2);
    options.pin_data = random_.OneIn(2);
    options.readahead_size = random_.OneIn(4) ? 64 << 10 : 0;
    const uint32_t start = RandomId();
    std::unique_ptr<rocksdb::Iterator> iterator(store.db()->NewIterator(options, store.handle(family)));
    const bool backwards = random_.OneIn(4);
    backwards ? iterator->SeekForPrev(KeyName(start)) : iterator->Seek(KeyName(start));
    for (int i = 0; i < 20 && iterator->Valid(); ++i, backwards ? iterator->Prev() : iterator->Next()) {
      JudgeEntry(store, family, *iterator);
    }
    if (!iterator->status().ok()) return JudgeError(iterator->status());
    if (iterator->Valid() && random_.OneIn(2)) Hold(std::move(iterator));
  }

  void JudgeEntry(Store& store, int family, rocksdb::Iterator& iterator) {
    const auto id = static_cast<uint32_t>(std::stoul(iterator.key().ToString().substr(3)));
    ++values_;
    if (!store.ValueFits(family, id, {0, store.Started(family, id)}, iterator.value())) {
      wrong_ = "iterator at " + iterator.key().ToString();
    }
  }

  // Its blocks stay pinned until many reads later, and must not have changed then.
  void Hold(std::unique_ptr<rocksdb::Iterator> iterator) {
    std::string value = iterator->value().ToString();
    held_.push_back({std::move(iterator), std::move(value)});
    if (held_.size() > 12) DropHeld();
  }
  void DropHeld() {
    for (const HeldIterator& held : held_) {
      if (held.iterator->value() != Slice(held.value)) wrong_ = "a pinned block changed";
    }
    held_.clear();
  }

  void Judge(Store& store, int family, uint32_t id, Span span, const Status& s, const Slice& value) {
    if (s.ok()) {
      ++values_;
      if (!store.ValueFits(family, id, span, value)) wrong_ = "value of " + KeyName(id);
    } else if (s.IsNotFound()) {
      if (!Store::AbsenceFits(span)) wrong_ = "lost " + KeyName(id);
    } else {
      JudgeError(s);
    }
  }
  // A cache at its strict limit may refuse a block that flash gave; nothing else may fail.
  void JudgeError(const Status& s) {
    if (!s.IsMemoryLimit() && !s.IsIncomplete()) wrong_ = s.ToString();
    ++refused_;
  }

  const std::vector<Store*> stores_;
  Random random_;
  std::vector<HeldIterator> held_;
  std::string wrong_;
  bool batches_ = true;
  uint64_t refused_ = 0;
  uint64_t values_ = 0;
};

struct Config {
  DramCacheKind dram;
  const char* policy;
  ServeMode serve;
  PackMode pack = PackMode::kOff;
  BlobPlacement blobs = BlobPlacement::kBoth;
};

class RocksDbStress : public HybridTest, public ::testing::WithParamInterface<Config> {
 protected:
  // While everything fits, nothing is packed.
  RocksDbStress() : scm_bytes_(GetParam().pack == PackMode::kOff ? kScmBytes : kScmBytes / 4), seed_(Seed()) {
    HybridCacheOptions options = SmallOptions(MediumKind::kFile, file_, kDramBytes, scm_bytes_);
    options.dram_cache = GetParam().dram;
    options.policy = GetParam().policy;
    options.serve = GetParam().serve;
    options.scm.pack = GetParam().pack;
    options.blobs = GetParam().blobs;
    options.now_ns = ChangingFlashClock();
    Make(options);
    for (unsigned n = 0; n < 2; ++n) stores_.push_back(std::make_unique<Store>(n, cache_));
  }
  void TearDown() override {
    stores_.clear();
    ExpectSound(cache_.get());
    EXPECT_EQ(cache_->GetPinnedUsage(), EmptyPinnedUsage());
    HybridTest::TearDown();
  }

  // HyperClockCache counts its table as pinned.
  size_t EmptyPinnedUsage() {
    cache_->EraseUnRefEntries();
    return cache_->GetPinnedUsage();
  }

  void OpenAll() {
    for (auto& store : stores_) ASSERT_NO_FATAL_FAILURE(store->Open());
  }
  std::vector<Store*> Stores() const {
    std::vector<Store*> stores;
    for (const auto& store : stores_) stores.push_back(store.get());
    return stores;
  }

  void Fill() {
    for (auto& store : stores_) {
      for (int family = 0; family < kFamilies; ++family) {
        for (uint32_t id = 0; id < kKeys; ++id) ASSERT_TRUE(store->Write(family, id).ok());
      }
    }
  }

  void WriteUntil(Store& store, const std::atomic<bool>& stop, uint64_t seed) {
    Random random(seed);
    while (!stop.load(std::memory_order_acquire)) {
      const Status s =
          store.Write(static_cast<int>(random.Below(kFamilies)), static_cast<uint32_t>(random.Below(kKeys)));
      if (!s.ok()) return ADD_FAILURE() << s.ToString(), void();
      if (random.OneIn(64)) std::this_thread::yield();
    }
  }

  // Resizes both tiers, flushes and compacts.
  void DisturbUntil(const std::atomic<bool>& stop, uint64_t seed) {
    Random random(seed);
    while (!stop.load(std::memory_order_acquire)) {
      Store& store = *stores_[random.Below(stores_.size())];
      rocksdb::ColumnFamilyHandle* family = store.handle(static_cast<int>(random.Below(kFamilies)));
      switch (random.Below(4)) {
        case 0:
          cache_->SetCapacity(kDramBytes / (1 + random.Below(4)));
          break;
        case 1: {
          const uint64_t halves[] = {0, 1, 2, 2};
          EXPECT_TRUE(stats_->SetScmCapacity(halves[random.Below(4)] * scm_bytes_ / 2).ok());
          break;
        }
        case 2:
          EXPECT_TRUE(store.db()->Flush({}, family).ok());
          break;
        default:
          EXPECT_TRUE(store.db()->CompactRange({}, family, nullptr, nullptr).ok());
      }
    }
  }

  void ReadFrom(int reads, uint64_t seed) {
    Reader reader(Stores(), seed);
    reader.Run(reads);
    EXPECT_EQ(reader.wrong(), "");
    EXPECT_EQ(reader.refused(), 0u);
    EXPECT_GT(reader.values(), 0u);
  }

  void Storm() {
    std::atomic<bool> stop{false};
    std::vector<std::thread> others;
    for (size_t i = 0; i < stores_.size(); ++i) {
      others.emplace_back([&, i] { WriteUntil(*stores_[i], stop, seed_ + i); });
    }
    others.emplace_back([&] { DisturbUntil(stop, seed_ + 10); });
    std::vector<std::thread> readers;
    for (int i = 0; i < kReaders; ++i) {
      readers.emplace_back([&, i] { ReadFrom(kReadsPerReader, Mix(seed_ + 20 + i)); });
    }
    for (std::thread& reader : readers) reader.join();
    stop.store(true, std::memory_order_release);
    for (std::thread& other : others) other.join();
    cache_->SetCapacity(kDramBytes);
    EXPECT_TRUE(stats_->SetScmCapacity(scm_bytes_).ok());
  }

  // Blocks of every role went to the SCM tier, and came back from there as the policy and the serve mode ask (7.8 tells
  // no roles and serves copies). While iterators pin the reclaimer's segments hits are copied, so how often a role is
  // served in place is up to chance: this is asked again until it holds.
  bool EveryRoleTravelled() const {
    const CounterSnapshot counters = stats_->Counters();
    const bool in_place = GetParam().serve == ServeMode::kInPlace && std::string(GetParam().policy) == "dram_first";
    for (const BlockRole role : kRoles) {
      if (counters.of(Event::kDemotion, role) + counters.of(Event::kInsertToScm, role) == 0) return false;
      const uint64_t adopted = counters.of(Event::kServedInPlace, role);
      if (adopted + counters.of(Event::kServedCopied, role) + counters.of(Event::kPromotion, role) == 0) return false;
      if (in_place && role != BlockRole::kIndex && adopted == 0) return false;
    }
    return true;
  }

  // Even the hottest dictionary then comes from SCM. What memtables and table readers hold stays room for them: a cache
  // that they alone overfill evicts nothing, so nothing would reach SCM.
  void LeaveNextToNoDram() { cache_->SetCapacity(cache_->GetPinnedUsage() + kDramBytes / 16); }

  void ExpectEveryRoleTravels() {
    for (int round = 0; round < kCalmRoundsMax && !EveryRoleTravelled() && !HasFailure(); ++round) {
      LeaveNextToNoDram();
      ReadFrom(kCalmReads, Mix(seed_ + 40 + round));
    }
    EXPECT_TRUE(EveryRoleTravelled()) << stats_->Report();
    const CounterSnapshot counters = stats_->Counters();
    EXPECT_EQ(counters[Event::kAdoptionFailed], 0u) << "RocksDB's callbacks no longer adopt";
    EXPECT_EQ(counters[Event::kCreateFailed], 0u);
    EXPECT_EQ(counters[Event::kScmImageFailed] + counters[Event::kScmUnpackFailed], 0u);
    if (GetParam().pack == PackMode::kImage) {
      EXPECT_GT(counters[Event::kScmImageHit], 100u);
    }
  }

  const uint64_t scm_bytes_;
  const uint64_t seed_;
  std::vector<std::unique_ptr<Store>> stores_;
};

TEST_P(RocksDbStress, EveryValueIsRight) {
  SCOPED_TRACE("MEZZ_SEED=" + std::to_string(seed_));
  ASSERT_NO_FATAL_FAILURE(OpenAll());
  ASSERT_NO_FATAL_FAILURE(Fill());
  Storm();

  // The same files under new table readers: their blocks are found under the same keys.
  for (auto& store : stores_) store->Close();
  ASSERT_NO_FATAL_FAILURE(OpenAll());
  LeaveNextToNoDram();
  ReadFrom(kCalmReads, seed_ + 1);
  ExpectEveryRoleTravels();

  // A full strict cache may refuse blocks, never falsify them.
  cache_->SetStrictCapacityLimit(true);
  cache_->SetCapacity(64 << 10);
  Reader reader(Stores(), seed_ + 2);
  // There a MultiGet whose block the cache refuses reads the block after it was freed, with RocksDB's LRUCache as well.
  if (ROCKSDB_MAJOR < 8) reader.AskSingly();
  reader.Run(kCalmReads / 4);
  EXPECT_EQ(reader.wrong(), "");
  cache_->SetStrictCapacityLimit(false);
}

constexpr Config kConfigs[] = {
#if ROCKSDB_MAJOR < 8
    {DramCacheKind::kLru, "dram_first", ServeMode::kCopy},
    {DramCacheKind::kLru, "scm_first", ServeMode::kCopy},
    {DramCacheKind::kLru, "bidirectional", ServeMode::kCopy},
    {DramCacheKind::kLru, "adaptive", ServeMode::kCopy},
    {DramCacheKind::kLru, "adaptive", ServeMode::kCopy, PackMode::kAuto},
#else
    {DramCacheKind::kHyperClock, "dram_first", ServeMode::kInPlace},
    {DramCacheKind::kLru, "dram_first", ServeMode::kInPlace},
    {DramCacheKind::kHyperClock, "scm_first", ServeMode::kAuto},
    {DramCacheKind::kLru, "bidirectional", ServeMode::kAuto},
    {DramCacheKind::kHyperClock, "dram_first", ServeMode::kCopy},
    {DramCacheKind::kHyperClock, "scm_first", ServeMode::kAuto, PackMode::kImage},
    {DramCacheKind::kHyperClock, "adaptive", ServeMode::kAuto, PackMode::kAuto},
    {DramCacheKind::kHyperClock, "dram_first", ServeMode::kInPlace, PackMode::kOff, BlobPlacement::kScm},
#endif
};
std::string ConfigName(const ::testing::TestParamInfo<Config>& info) {
  const auto [dram, policy, serve, pack, blobs] = info.param;
  std::string name = NameOf(dram);
  name.append("_").append(policy).append(serve == ServeMode::kCopy ? "_copy" : "");
  if (pack != PackMode::kOff) name.append("_").append(ToString(pack));
  if (blobs == BlobPlacement::kScm) name.append("_blobs_in_scm");
  return name;
}
INSTANTIATE_TEST_SUITE_P(All, RocksDbStress, ::testing::ValuesIn(kConfigs), ConfigName);

}  // namespace
}  // namespace mezz::test
