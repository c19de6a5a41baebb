// SPDX-License-Identifier: Apache-2.0
#include "integration/c/mezzanine_c.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "fmt/format.h"
#include "integration/c/open_cache.h"
#include "integration/hybrid_cache.h"
#include "integration/metrics.h"
#include "integration/operator_io.h"
#include "integration/rocksdb_release.h"
#include "integration/use_hybrid_cache.h"
#include "rocksdb/cache.h"
#include "rocksdb/options.h"

struct mezzanine_cache_t {
  std::shared_ptr<rocksdb::Cache> rep;
  mezz::HybridStats* stats;  // of rep
};

namespace mezz {

namespace {

using CachePtr = std::shared_ptr<rocksdb::Cache>;

char* TextOf(std::string_view text) {
  auto* const copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) return nullptr;
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  return copy;
}

void Tell(std::string_view sentence, char** error) {
  if (error == nullptr) return;
  std::free(*error);
  *error = TextOf(sentence);
}

// 0, or -1 and the sentence of what `work` returns or throws.
template <typename Work>
int Answer(char** error, const Work& work) {
  try {
    const Status status = NoThrow(work);
    if (status.ok()) return 0;
    Tell(status.message(), error);
  } catch (...) {  // no memory for the sentence
    Tell("no memory", error);
  }
  return -1;
}

template <typename Make>
char* TextFrom(const Make& make) {
  try {
    return TextOf(make());
  } catch (...) {  // no memory
    return nullptr;
  }
}

const void* ClassOf(const rocksdb::Cache* cache) { return *reinterpret_cast<void* const*>(cache); }

// RocksDB's C functions have a struct of their own around a shared_ptr, which no header shows: its first member in all
// releases so far. RocksDB makes one, so that it is as large as RocksDB believes, and may delete it; and before the
// pointer is replaced it must be one to a cache of the class that the C++ function makes.
Status NewHandle(const CachePtr& cache, rocksdb_cache_t** handle) {
  constexpr size_t kBytes = 1 << 20;
  const CachePtr known = rocksdb::NewLRUCache(kBytes);
  rocksdb_cache_t* const made = rocksdb_cache_create_lru(kBytes);
  auto* const rep = reinterpret_cast<CachePtr*>(made);
  if (known == nullptr || ClassOf(rep->get()) != ClassOf(known.get())) {
    rocksdb_cache_destroy(made);
    return Status::NotSupported("rocksdb_cache_t of this RocksDB is not the struct that this library knows");
  }
  *rep = cache;
  *handle = made;
  return Status::Ok();
}

// Likewise, around Options: two of them are read both ways first.
Status Use(const CachePtr& cache, rocksdb_options_t* handle) {
  if (handle == nullptr) return Status::InvalidArgument("there are no options: NULL was given");
  auto* const options = reinterpret_cast<rocksdb::Options*>(handle);
  if (options->write_buffer_size != rocksdb_options_get_write_buffer_size(handle) ||
      options->max_open_files != rocksdb_options_get_max_open_files(handle)) {
    return Status::NotSupported("rocksdb_options_t of this RocksDB is not the struct that this library knows");
  }
  return UseHybridCache(cache, options);
}

}  // namespace

}  // namespace mezz

extern "C" {

mezzanine_cache_t* mezzanine_cache_open(const char* uri, char** error) {
  std::unique_ptr<mezzanine_cache_t> cache;
  const int opened = mezz::Answer(error, [&] {
    if (uri == nullptr) return mezz::Status::InvalidArgument("there is no URI: NULL was given");
    cache = std::make_unique<mezzanine_cache_t>();
    std::string sentence;
    if (!mezz::OpenCache(uri, &cache->rep, &sentence)) return mezz::Status::InvalidArgument(sentence);
    cache->stats = mezz::GetHybridStats(cache->rep.get());
    return mezz::Status::Ok();
  });
  return opened == 0 ? cache.release() : nullptr;
}

void mezzanine_cache_close(mezzanine_cache_t* cache) { delete cache; }

int mezzanine_cache_use(const mezzanine_cache_t* cache, rocksdb_options_t* options, char** error) {
  return mezz::Answer(error, [&] { return mezz::Use(cache->rep, options); });
}

rocksdb_cache_t* mezzanine_cache_rocksdb(const mezzanine_cache_t* cache, char** error) {
  rocksdb_cache_t* handle = nullptr;
  mezz::Answer(error, [&] { return mezz::NewHandle(cache->rep, &handle); });
  return handle;
}

char* mezzanine_cache_report(const mezzanine_cache_t* cache) {
  return mezz::TextFrom([&] { return cache->stats->Report(); });
}

char* mezzanine_cache_metrics(const mezzanine_cache_t* cache) {
  return mezz::TextFrom([&] { return mezz::MetricsText(cache->stats->Metrics(), mezz::MetricsFormat::kOpenMetrics); });
}

char* mezzanine_cache_statistics(const mezzanine_cache_t* cache) {
  return mezz::TextFrom([&] { return mezz::StatisticsText(*cache->stats); });
}

int mezzanine_cache_counter(const mezzanine_cache_t* cache, const char* name, uint64_t* value) {
  const std::optional<uint64_t> counter = mezz::CounterNamed(*cache->stats, name);
  if (!counter.has_value()) return -1;
  *value = *counter;
  return 0;
}

uint64_t mezzanine_cache_dram_bytes(const mezzanine_cache_t* cache) { return cache->rep->GetCapacity(); }

int mezzanine_cache_set_dram_bytes(mezzanine_cache_t* cache, uint64_t bytes, char** error) {
  return mezz::Answer(error, [&] {
    cache->rep->SetCapacity(bytes);
    return mezz::Status::Ok();
  });
}

uint64_t mezzanine_cache_scm_bytes(const mezzanine_cache_t* cache) {
  return cache->stats->scm().figures().capacity_bytes();
}

int mezzanine_cache_set_scm_bytes(mezzanine_cache_t* cache, uint64_t bytes, char** error) {
  return mezz::Answer(error, [&] { return cache->stats->SetScmCapacity(bytes); });
}

int mezzanine_cache_set_medium_bytes(mezzanine_cache_t* cache, size_t number, uint64_t bytes, char** error) {
  return mezz::Answer(error, [&] { return cache->stats->SetMediumCapacity(number, bytes); });
}

char* mezzanine_cache_policy(const mezzanine_cache_t* cache) {
  return mezz::TextFrom([&] { return cache->stats->PolicyName(); });
}

int mezzanine_cache_set_policy(mezzanine_cache_t* cache, const char* name, char** error) {
  return mezz::Answer(error, [&] { return cache->stats->SetPolicy(name); });
}

const char* mezzanine_rocksdb_release(void) { return mezz::kRocksDbRelease; }

void mezzanine_free(char* text) { std::free(text); }

}  // extern "C"
