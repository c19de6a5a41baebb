// SPDX-License-Identifier: Apache-2.0
// What the bindings for other languages share.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cache/status.h"
#include "integration/hybrid_cache.h"
#include "integration/options.h"
#include "rocksdb/cache.h"

namespace mezz {

// What a language refuses beside what HybridCacheOptions does.
using LanguagesJudge = Status (*)(const HybridCacheOptions& options);

// NewHybridCache of a URI. Refuses a RocksDB that this is not built for. False: *error is a sentence that spells keys
// as the URI does. Throws std::bad_alloc only if there is no memory for the sentence.
bool OpenCache(std::string_view uri, std::shared_ptr<rocksdb::Cache>* cache, std::string* error,
               LanguagesJudge judge = nullptr);

// A line a counter, "scm.hit: 3".
std::string StatisticsText(const HybridStats& stats);

// Nothing: no counter has that name.
std::optional<uint64_t> CounterNamed(const HybridStats& stats, std::string_view name);

}  // namespace mezz
