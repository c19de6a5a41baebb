#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The URI of a registered cache, given as block_cache= in an options string, is taken for settings of the default cache.
#
# Expected: block_cache= takes what Cache::CreateFromString takes: a size, or a URI that the object registry knows.
# So it is: CreateFromString asks the registry. In table options a URI that has a "=" in it is not asked for. The table
#   gets the default cache of 32 MiB, and the status is OK, unless ignore_unsupported_options is set to false. Then the
#   error names the default cache, and not the URI. A URI without a "=" is asked for, and so is {id=URI}. A URI with a
#   ";" needs a second pair of braces. 11.8.1 leaves these in the name that it asks for, 10.4.2 takes them away. In
#   8.10.0 each of these is an error.
# Seen: 28 November 2026, RocksDB 8.10.0, 10.4.2 and 11.8.1, a cache of 5 MiB registered for probe://; of 11.8.1
#   (strict: an error with ignore_unsupported_options=false):
#   Cache::CreateFromString(probe://size=5M): OK, Probe of 5 MiB, the registry was asked for probe://size=5M
#   block_cache=probe://5: OK, Probe of 5 MiB, the registry was asked for probe://5
#   block_cache=probe://size=5M: OK, AutoHyperClockCache of 32 MiB, the registry was not asked
#     strict: Invalid argument: Could not load Cache: AutoHyperClockCache
#   block_cache={probe://size=5M;more=1}: OK, AutoHyperClockCache of 32 MiB, the registry was not asked
#     strict: Invalid argument: Could not load Cache: AutoHyperClockCache
#   block_cache={id=probe://size=5M}: OK, Probe of 5 MiB, the registry was asked for probe://size=5M
#   block_cache={id={probe://size=5M;more=1}}: OK, Probe of 5 MiB, the registry was asked for {probe://size=5M;more=1}
# Why it matters to a cache: whoever names a cache in an options string has 32 MiB of another one, and nothing says so.
#   Its factory must know its name with and without braces.
# Needs: mvn, cargo, unzip, g++.
source "$(dirname "${BASH_SOURCE[0]}")/lib/rocksdb.sh"

cat >"$work/try.cc" <<'EOF'
#include "probe.h"
#include "rocksdb/convenience.h"
#include "rocksdb/utilities/object_registry.h"

std::string asked;  // of the registry

#if ROCKSDB_MAJOR >= 10
struct Probe : CacheWrapper {
  using CacheWrapper::CacheWrapper;
  const char* Name() const override { return "Probe"; }
};

void Register() {
  for (const char* scheme : {"probe", "{probe"}) {
    ObjectLibrary::Default()->AddFactory<Cache>(
        ObjectLibrary::PatternEntry(scheme, false).AddSeparator("://"),
        [](const std::string& uri, std::unique_ptr<Cache>* owner, std::string*) {
          asked = uri;
          owner->reset(new Probe(NewLRUCache(5 << 20, 0)));
          return owner->get();
        });
  }
}
#else
void Register() {}  // Caches are no kind of object there yet.
#endif

std::string Shown(const Cache* cache) {
  return std::string(cache->Name()) + " of " + std::to_string(cache->GetCapacity() >> 20) + " MiB, the registry was " +
         (asked.empty() ? "not asked" : "asked for " + asked);
}

void Direct(const std::string& uri) {
  std::shared_ptr<Cache> cache;
  asked.clear();
  const Status status = Cache::CreateFromString(ConfigOptions(), uri, &cache);
  printf("  Cache::CreateFromString(%s): %s%s\n", uri.c_str(), status.ToString().c_str(),
         cache == nullptr ? "" : (", " + Shown(cache.get())).c_str());
  Claim(ROCKSDB_MAJOR >= 10 ? status.ok() && asked == uri : status.IsInvalidArgument(), "what a URI alone makes");
}

// `asks` is the registry's, or empty. `strict` is the error that is told when unsupported options are not ignored.
void Table(const std::string& text, const std::string& asks, const std::string& strict) {
  Options options;
  ConfigOptions config;
  asked.clear();
  const std::string all = "block_based_table_factory={block_cache=" + text + "}";
  const Status status = GetOptionsFromString(config, Options(), all, &options);
  printf("  block_cache=%s: %s", text.c_str(), status.ToString().c_str());
  if (ROCKSDB_MAJOR < 10) {
    printf("\n");
    Claim(status.IsInvalidArgument(), "a URI is an error");
    return;
  }
  Must(status);
  const auto cache = options.table_factory->GetOptions<BlockBasedTableOptions>()->block_cache;
  printf(", %s\n", Shown(cache.get()).c_str());
  Claim(asked == asks, "what the registry is asked for");
  Claim(cache->GetCapacity() == (asks.empty() ? 32 << 20 : 5 << 20), "which cache the table has");
  config.ignore_unsupported_options = false;
  const std::string told = GetOptionsFromString(config, Options(), all, &options).ToString();
  if (told != "OK") printf("    strict: %s\n", told.c_str());
  Claim(told == (strict.empty() ? "OK" : strict), "what is told if unsupported options are not ignored");
}

int main() {
  printf("RocksDB %d.%d.%d\n", ROCKSDB_MAJOR, ROCKSDB_MINOR, ROCKSDB_PATCH);
  Register();
  const std::string usual = ROCKSDB_MAJOR >= 11 ? "AutoHyperClockCache" : "LRUCache";
  const std::string none = "Invalid argument: Could not load Cache: " + usual;
  const std::string two = "probe://size=5M;more=1";
  Direct("probe://size=5M");
  Table("probe://5", "probe://5", "");
  Table("probe://size=5M", "", none);
  Table("{" + two + "}", "", none);
  Table("{id=probe://size=5M}", "probe://size=5M", "");
  Table("{id={" + two + "}}", ROCKSDB_MAJOR >= 11 ? "{" + two + "}" : two, "");
  return so ? 0 : 1;
}
EOF

run 8.10.0
run 10.4.2
run 11.8.1
echo "still so"
