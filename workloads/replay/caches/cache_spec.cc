// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/caches/cache_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "admission/policy.h"
#include "cache/base/text.h"

namespace mezz {
namespace {

enum class Policies { kNone, kOurs, kTiered };

struct NamedKind {
  std::string_view name;
  CacheKind kind;
  Policies policies;
  std::optional<PackMode> pack = std::nullopt;
  bool keep_dead = false;
  bool pack_stage = true;
  bool heirs = true;
  OfSeveral media = OfSeveral::kAll;
};
constexpr NamedKind kKinds[] = {
    {"hcc", CacheKind::kHcc, Policies::kNone},
    {"lru", CacheKind::kLru, Policies::kNone},
    {"hcc+compressed", CacheKind::kHccCompressed, Policies::kNone},
    {"lru+compressed", CacheKind::kLruCompressed, Policies::kNone},
    {"hcc+compressed_lz4", CacheKind::kHccCompressedLz4, Policies::kNone},
    {"lru+compressed_lz4", CacheKind::kLruCompressedLz4, Policies::kNone},
    {"hcc+compressed_zstd", CacheKind::kHccCompressedZstd, Policies::kNone},
    {"lru+compressed_zstd", CacheKind::kLruCompressedZstd, Policies::kNone},
    {"tiered", CacheKind::kTiered, Policies::kTiered},
    {"naive_scm", CacheKind::kNaiveScm, Policies::kNone},
    {"all_dram", CacheKind::kAllDram, Policies::kNone},
    {"all_dram_lru", CacheKind::kAllDramLru, Policies::kNone},
    {"hybrid", CacheKind::kHybrid, Policies::kOurs},
    {"hybrid+raw", CacheKind::kHybrid, Policies::kOurs, PackMode::kOff},
    {"hybrid+lz4", CacheKind::kHybrid, Policies::kOurs, PackMode::kLz4},
    {"hybrid+zstd", CacheKind::kHybrid, Policies::kOurs, PackMode::kZstd},
    {"hybrid+image", CacheKind::kHybrid, Policies::kOurs, PackMode::kImage},
    {"hybrid+auto", CacheKind::kHybrid, Policies::kOurs, PackMode::kAuto},
    {.name = "hybrid+keep_dead", .kind = CacheKind::kHybrid, .policies = Policies::kOurs, .keep_dead = true},
    {.name = "hybrid+nostage", .kind = CacheKind::kHybrid, .policies = Policies::kOurs, .pack_stage = false},
    {.name = "hybrid+noheirs", .kind = CacheKind::kHybrid, .policies = Policies::kOurs, .heirs = false},
    {.name = "hybrid+striped", .kind = CacheKind::kHybrid, .policies = Policies::kOurs, .media = OfSeveral::kStriped},
    {.name = "hybrid+first_medium",
     .kind = CacheKind::kHybrid,
     .policies = Policies::kOurs,
     .media = OfSeveral::kFirst},
    {.name = "hybrid+last_medium", .kind = CacheKind::kHybrid, .policies = Policies::kOurs, .media = OfSeveral::kLast},
    {"scm_secondary+lru", CacheKind::kScmSecondaryLru, Policies::kOurs},
    {"scm_secondary+hcc", CacheKind::kScmSecondaryHcc, Policies::kOurs},
    {"page_cache", CacheKind::kPageCache, Policies::kNone},
};

constexpr std::string_view kTieredPolicies[] = {"placeholder", "three_queue", "all"};

std::string KnownCaches() {
  const auto text_of = [](const NamedKind& kind) {
    return fmt::format("{}{}", kind.name,
                       kind.policies == Policies::kNone   ? ""
                       : kind.policies == Policies::kOurs ? "[:POLICY]"
                                                          : "[:placeholder|three_queue|all]");
  };
  return Listed(kKinds, text_of) +
         "; each may be followed by +warm, +warmflush or +nowarm, and by @DRAM or @DRAM+SCM, its own sizes";
}

// What follows the "@": DRAM, or DRAM+SCM for a cache with a second tier.
Status ParseSizes(const std::string& name, std::string_view text, CacheSpec* spec) {
  const std::string flag = fmt::format("--caches={}", name);
  const size_t plus = text.find('+');
  const bool one_tier = spec->kind == CacheKind::kHcc || spec->kind == CacheKind::kLru;
  if (one_tier == (plus != std::string_view::npos)) {
    return Status::InvalidArgument(fmt::format(
        "{} needs {} after the \"@\"", flag, one_tier ? "one size, as it has no second tier" : "two sizes, DRAM+SCM"));
  }
  MEZZ_RETURN_IF_ERROR(ParseBytes(flag, text.substr(0, plus), &spec->dram_bytes));
  if (!one_tier) MEZZ_RETURN_IF_ERROR(ParseBytes(flag, text.substr(plus + 1), &spec->scm_bytes));
  if (spec->dram_bytes > 0 && (one_tier || spec->scm_bytes > 0)) return Status::Ok();
  return Status::InvalidArgument(fmt::format("{}: a tier of no bytes; name a size (K, M, G, T)", flag));
}

struct WarmingSuffix {
  std::string_view text;
  Warming warming;
};
constexpr WarmingSuffix kWarmings[] = {
    {"+warm", Warming::kFlushAndCompaction}, {"+warmflush", Warming::kFlush}, {"+nowarm", Warming::kNone}};

// Takes the suffix off.
std::optional<Warming> TakeWarming(std::string_view* name) {
  for (const auto& [text, warming] : kWarmings) {
    if (!name->ends_with(text)) continue;
    name->remove_suffix(text.size());
    return warming;
  }
  return std::nullopt;
}

Status ParseCache(const std::string& name, const std::string& default_policy, CacheSpec* spec) {
  const size_t sizes_at = std::min(name.find('@'), name.size());
  std::string_view named = std::string_view(name).substr(0, sizes_at);
  const std::optional<Warming> warming = TakeWarming(&named);
  const size_t at = named.size();
  const size_t colon = std::min(named.find(':'), at);
  const std::string_view base = named.substr(0, colon);
  const auto* kind =
      std::find_if(std::begin(kKinds), std::end(kKinds), [&](const NamedKind& k) { return k.name == base; });
  if (kind == std::end(kKinds) || (colon != at && kind->policies == Policies::kNone)) {
    return Status::InvalidArgument(
        fmt::format("--caches names \"{}\", which is not known; the known caches are {}", name, KnownCaches()));
  }
  *spec = {.name = name,
           .kind = kind->kind,
           .policy = default_policy,
           .pack = kind->pack,
           .keep_dead = kind->keep_dead,
           .pack_stage = kind->pack_stage,
           .heirs = kind->heirs,
           .media = kind->media,
           .warming = warming.value_or(kind->kind == CacheKind::kHybrid ? Warming::kBest : Warming::kNone)};
  if (colon != at) spec->policy = named.substr(colon + 1);
  if (sizes_at != name.size())
    MEZZ_RETURN_IF_ERROR(ParseSizes(name, std::string_view(name).substr(sizes_at + 1), spec));
  if (kind->policies == Policies::kTiered) {
    if (colon == at) spec->policy = "all";
    const bool known =
        std::find(std::begin(kTieredPolicies), std::end(kTieredPolicies), spec->policy) != std::end(kTieredPolicies);
    if (known) return Status::Ok();
    return Status::InvalidArgument(fmt::format(
        "--caches names \"{}\", but tiered has no such policy; it has placeholder, three_queue and all", name));
  }
  std::unique_ptr<Policy> policy;
  return MakePolicy(spec->policy, {}, &policy);
}

}  // namespace

Status ParseCaches(const std::string& text, const std::string& default_policy, std::vector<CacheSpec>* caches) {
  std::vector<CacheSpec> parsed;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    CacheSpec spec;
    MEZZ_RETURN_IF_ERROR(ParseCache(text.substr(at, comma - at), default_policy, &spec));
    const auto same = std::count_if(parsed.begin(), parsed.end(), [&](const CacheSpec& earlier) {
      return earlier.name == spec.name || earlier.name.starts_with(spec.name + "#");
    });
    if (same > 0) spec.name += fmt::format("#{}", same + 1);
    parsed.push_back(std::move(spec));
    at = comma + 1;
  }
  *caches = std::move(parsed);
  return Status::Ok();
}

}  // namespace mezz
