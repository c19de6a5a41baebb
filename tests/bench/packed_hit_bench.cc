// SPDX-License-Identifier: Apache-2.0
// SCM hits through the hybrid cache's own look-up, find to release, over a real database: in place, packed by us, and
// as images of LZ4 and zstd SSTs, which RocksDB's own callbacks unpack. The DRAM tier is asked first and misses;
// nothing is promoted. The blocks pack to less than half.
//   stored_bytes   of a block, in the SCM tier
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "integration/hybrid_cache.h"
#include "rocksdb/advanced_cache.h"
#include "rocksdb/db.h"
#include "rocksdb/table.h"
#include "tests/support/bench_main.h"
#include "tests/support/open_db.h"
#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

using rocksdb::Cache;
using rocksdb::Slice;

constexpr uint64_t kDramBytes = 2 << 20;
constexpr uint64_t kScmBytes = 128 << 20;
constexpr uint64_t kDatabaseBytes = 64 << 20;  // fits raw, beside what made the tier pack
constexpr size_t kValueBytes = 1000;
constexpr uint64_t kValues = kDatabaseBytes / kValueBytes;

struct Kind {
  const char* name;
  PackMode pack;
  rocksdb::CompressionType compression;  // of the SST
  Event served;                          // counted once a hit
};
constexpr Kind kKinds[] = {
    {"in place", PackMode::kOff, rocksdb::kNoCompression, Event::kServedInPlace},
    {"packed: LZ4", PackMode::kLz4, rocksdb::kNoCompression, Event::kScmPackedHit},
    {"packed: zstd", PackMode::kZstd, rocksdb::kNoCompression, Event::kScmPackedHit},
    {"image: LZ4", PackMode::kImage, rocksdb::kLZ4Compression, Event::kScmImageHit},
    {"image: zstd", PackMode::kImage, rocksdb::kZSTD, Event::kScmImageHit},
};

// Every block of the database goes to SCM, as an image where there is one, and stays.
class AllToScm final : public Policy {
 public:
  std::string_view name() const override { return "all_to_scm"; }
  bool may_divert_misses() const override { return true; }
  Decision OnMiss(const BlockFacts& block) override {
    return {block.image_bytes != 0 ? Action::kToBoth : Action::kToDram, Reason::kPolicyDefault, /*proven=*/true};
  }
  Decision OnDramEviction(const BlockFacts& block) override {
    if (block.in_scm) return {Action::kKeep, Reason::kClean};
    return {Action::kToScm, Reason::kPolicyDefault, /*proven=*/true};
  }
  Decision OnScmHit(const BlockFacts&) override { return {Action::kInPlace, Reason::kPolicyDefault}; }
  Decision OnReclaim(const BlockFacts&) override { return {Action::kDrop, Reason::kNoEvidence}; }
  size_t dram_bytes() const override { return sizeof(*this); }
};

// Stands between RocksDB and the cache, to learn what RocksDB looks data blocks up with.
class Listener final : public rocksdb::CacheWrapper {
 public:
  struct Call {
    Slice key;
    const CacheItemHelper* helper;
    CreateContext* context;  // good while RocksDB waits for the call
  };
  // Of this thread's next look-up of a data block: called before it.
  static thread_local std::function<void(const Call&)> on_next;

  explicit Listener(std::shared_ptr<Cache> target) : CacheWrapper(std::move(target)) {
    if (target_->memory_allocator() != nullptr) memory_allocator_ = {target_, target_->memory_allocator()};
  }
  const char* Name() const override { return "Listener"; }
  Handle* Lookup(const Slice& key, const CacheItemHelper* helper, CreateContext* context, Priority priority,
                 rocksdb::Statistics* stats) override {
    if (on_next && helper != nullptr && helper->role == rocksdb::CacheEntryRole::kDataBlock)
      std::exchange(on_next, nullptr)({key, helper, context});
    return target_->Lookup(key, helper, context, priority, stats);
  }
};
thread_local std::function<void(const Listener::Call&)> Listener::on_next;

// A database of one file, all of whose blocks lie in the SCM tier of its cache. ok() is false after an error.
class Hits {
 public:
  Hits(const Kind& kind, size_t block_bytes);
  ~Hits() {
    (void)test::CloseDb(&handles_, &db_);
    std::filesystem::remove_all(folder_);
  }
  Hits(const Hits&) = delete;
  Hits& operator=(const Hits&) = delete;

  // Calls `use` with what RocksDB looks blocks of the file up with. By any thread.
  bool WithCall(const std::function<void(const Listener::Call&)>& use) const { return Get(0, use); }
  // True: it is a hit.
  bool LookUp(const Slice& key, const Listener::Call& call) const {
    Cache::Handle* const handle = cache_->Lookup(key, call.helper, call.context);
    if (handle == nullptr) return false;
    benchmark::DoNotOptimize(cache_->Value(handle));
    cache_->Release(handle);
    return true;
  }
  // Of blocks that such a look-up serves from SCM as the kind says.
  const std::vector<std::string>& keys() const { return keys_; }
  bool ok() const { return ok_; }
  double StoredBytes() const;
  uint64_t Served() const { return stats_->Counters()[kind_.served]; }
  const Kind& kind() const { return kind_; }

 private:
  void OpenCache();
  void FillScm();
  void FillDatabase(size_t block_bytes);
  void FindKeys();
  void Check(bool done) { ok_ = ok_ && done; }
  bool Get(uint64_t value, const std::function<void(const Listener::Call&)>& use) const {
    std::string read;
    Listener::on_next = use;
    const bool found = db_->Get({}, Name(value), &read).ok() && read.size() == kValueBytes;
    return std::exchange(Listener::on_next, nullptr) == nullptr && found;
  }
  static std::string Name(uint64_t value) { return "key" + std::to_string(100'000'000 + value); }

  const Kind& kind_;
  bool ok_ = true;
  std::shared_ptr<Cache> cache_;
  HybridStats* stats_ = nullptr;
  std::filesystem::path folder_;
  std::unique_ptr<rocksdb::DB> db_;
  test::Handles handles_;
  std::vector<std::string> keys_;
};

Hits::Hits(const Kind& kind, size_t block_bytes)
    : kind_(kind),
      folder_(std::filesystem::temp_directory_path() / ("mezz_packed_hit_bench_" + std::to_string(getpid()))) {
  OpenCache();
  if (!ok_) return;
  FillScm();
  FillDatabase(block_bytes);
  if (ok_) FindKeys();
}

void Hits::OpenCache() {
  HybridCacheOptions options;
  options.dram_bytes = kDramBytes;
  options.scm = test::AnonymousOptions(kScmBytes, /*segment_bytes=*/0);
  options.scm.pack = kind_.pack;
  options.policy = "all_to_scm";
  options.policy_maker = [](std::string_view, const PolicyOptions&, std::unique_ptr<Policy>* policy) {
    *policy = std::make_unique<AllToScm>();
    return Status::Ok();
  };
  Check(NewHybridCache(options, &cache_).ok());
  if (ok_) stats_ = GetHybridStats(cache_.get());
}

// Until reclaim begins: from then on records are packed.
void Hits::FillScm() {
  auto& scm = const_cast<ScmTier&>(stats_->scm());
  const std::vector<std::byte> junk(16 << 10);
  for (uint64_t n = 1; ok_ && scm.counters().Snapshot()[Event::kScmDropped] == 0; ++n)
    Check(scm.Put(test::Key(n), BlockRole::kOther, junk) == PutResult::kStored);
}

void Hits::FillDatabase(size_t block_bytes) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = std::make_shared<Listener>(cache_);
  table.block_size = block_bytes;
  rocksdb::DBOptions options;
  options.create_if_missing = true;
  rocksdb::ColumnFamilyOptions family;
  family.compression = kind_.compression;
  family.write_buffer_size = 4 * kDatabaseBytes;  // all of it is one file, so that one context unpacks it
  family.target_file_size_base = 4 * kDatabaseBytes;
  family.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  std::filesystem::remove_all(folder_);
  Check(test::OpenDb(options, folder_.string(), {{"default", family}}, &handles_, &db_).ok());
  rocksdb::WriteOptions unlogged;
  unlogged.disableWAL = true;
  for (uint64_t n = 0; ok_ && n < kValues; ++n) {
    const std::vector<std::byte> value = test::PackablePayload(n, 0, kValueBytes);
    Check(db_->Put(unlogged, Name(n), Slice(reinterpret_cast<const char*>(value.data()), value.size())).ok());
  }
  if (!ok_) return;
  Check(db_->Flush({}).ok());
  std::vector<rocksdb::LiveFileMetaData> files;
  db_->GetLiveFilesMetaData(&files);
  Check(files.size() == 1);
}

// Reads all of the database. Blocks that the DRAM tier still has by then are left out.
void Hits::FindKeys() {
  std::vector<std::string> all;
  for (uint64_t n = 0; ok_ && n < kValues; ++n) {
    Check(Get(n, [&](const Listener::Call& call) {
      if (all.empty() || call.key != all.back()) all.push_back(call.key.ToString());
    }));
  }
  const_cast<ScmTier&>(stats_->scm()).SettleDictionaries();
  Check(WithCall([&](const Listener::Call& call) {
    for (const std::string& key : all) {
      const uint64_t before = Served();
      if (LookUp(key, call) && Served() == before + 1) keys_.push_back(key);
    }
  }));
  Check(!all.empty() && keys_.size() > all.size() / 2);
}

double Hits::StoredBytes() const {
  auto& scm = const_cast<ScmTier&>(stats_->scm());
  uint64_t bytes = 0;
  for (const std::string& key : keys_) bytes += scm.Find(BlockKey::FromBytes(key.data())).stored().size();
  return static_cast<double>(bytes) / static_cast<double>(keys_.size());
}

// Made once for all repetitions and numbers of threads that follow each other.
std::unique_ptr<Hits> hits;
size_t hits_block_bytes = 0;

void MakeHits(const benchmark::State& state) {
  const Kind& kind = kKinds[state.range(0)];
  const auto block_bytes = static_cast<size_t>(state.range(1));
  if (hits != nullptr && &hits->kind() == &kind && hits_block_bytes == block_bytes) return;
  hits.reset();
  hits = std::make_unique<Hits>(kind, block_bytes);
  hits_block_bytes = block_bytes;
}

// Arguments: which of kKinds, also the label; the database's block_size.
void BM_ScmHit(benchmark::State& state) {
  state.SetLabel(hits->kind().name);
  if (!hits->ok()) return state.SkipWithError("the database could not be brought into the SCM tier");
  std::mt19937_64 random(state.thread_index() + 1);
  const std::vector<std::string>& keys = hits->keys();
  const uint64_t served_before = hits->Served();
  uint64_t found = 0;
  const bool read = hits->WithCall([&](const Listener::Call& call) {
    for (auto _ : state) found += hits->LookUp(keys[random() % keys.size()], call) ? 1 : 0;
  });
  if (!read || std::cmp_not_equal(found, state.iterations()) || hits->Served() - served_before < found)
    state.SkipWithError("not all were hits");
  if (state.thread_index() == 0) state.counters["stored_bytes"] = hits->StoredBytes();
}
BENCHMARK(BM_ScmHit)
    ->ArgNames({"kind", "bytes"})
    ->ArgsProduct({{0, 1, 2, 3, 4}, {4096, 16384}})
    ->Setup(MakeHits)
    ->Threads(1)
    ->Threads(2)
    ->UseRealTime();

}  // namespace
}  // namespace mezz

int main(int argc, char** argv) {
  const int status = mezz::test::BenchMain(argc, argv, "anonymous memory (emulated SCM)");
  mezz::hits.reset();
  return status;
}
