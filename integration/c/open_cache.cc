// SPDX-License-Identifier: Apache-2.0
#include "integration/c/open_cache.h"

#include <iterator>

#include "fmt/format.h"
#include "integration/operator_io.h"
#include "integration/option_table.h"

namespace mezz {

bool OpenCache(std::string_view uri, std::shared_ptr<rocksdb::Cache>* cache, std::string* error, LanguagesJudge judge) {
  const Status status = NoThrow([&] {
    // Classes of another release have another layout.
    if (const std::string other = OtherRocksDB(); !other.empty()) return Status::NotSupported(other);
    // Paths would end there.
    if (uri.find('\0') != std::string_view::npos) return Status::InvalidArgument("the URI has a NUL in it");
    HybridCacheOptions options;
    MEZZ_RETURN_IF_ERROR(ParseHybridUri(uri, &options));
    if (judge != nullptr) MEZZ_RETURN_IF_ERROR(judge(options));
    return NewHybridCache(options, cache);
  });
  if (!status.ok()) *error = InKeys(status.message());
  return status.ok();
}

std::string StatisticsText(const HybridStats& stats) {
  const CounterSnapshot counters = stats.Counters();
  std::string text;
  for (size_t i = 0; i < kEvents; ++i) {
    const auto event = static_cast<Event>(i);
    fmt::format_to(std::back_inserter(text), "{}: {}\n", ToString(event), counters[event]);
  }
  return text;
}

std::optional<uint64_t> CounterNamed(const HybridStats& stats, std::string_view name) {
  for (size_t i = 0; i < kEvents; ++i) {
    const auto event = static_cast<Event>(i);
    if (ToString(event) == name) return stats.Counters()[event];
  }
  return std::nullopt;
}

}  // namespace mezz
