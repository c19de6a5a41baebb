#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# RocksDB's PersistentCache deletes what it kept when it is opened again.
#
# Expected: a cache on a persistent medium, with keys that hold over restarts, as its header has it, is warm after one.
# So it is: blocks lie in its folder after a clean close. NewPersistentCache over that folder empties it, without a
#   word, and all first reads miss.
# Seen: 27 November 2026, RocksDB 8.10.0 and 11.8.1, alike:
#   opened for the first time: 0 bytes in its folder, 0 afterwards
#     1000 blocks, pass 1: 0 found in it
#     1000 blocks, pass 2: 1000 found in it
#   opened for the second time: 3145728 bytes in its folder, 0 afterwards
#     1000 blocks, pass 1: 0 found in it
#     1000 blocks, pass 2: 1000 found in it
# Why it matters to a cache: persistent memory or a local drive below this class buys no warm restart.
# Needs: mvn, cargo, unzip, g++.
source "$(dirname "${BASH_SOURCE[0]}")/lib/rocksdb.sh"

cat >"$work/try.cc" <<'EOF'
#include <filesystem>
#include <thread>

#include "probe.h"
#include "rocksdb/persistent_cache.h"

size_t Bytes(const std::string& folder) {
  size_t bytes = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder)) {
    if (file.is_regular_file()) bytes += file.file_size();
  }
  return bytes;
}

int main(int, char** argv) {
  printf("RocksDB %d.%d.%d\n", ROCKSDB_MAJOR, ROCKSDB_MINOR, ROCKSDB_PATCH);
  const std::string folder = std::string(argv[1]) + ".cache";
  std::filesystem::create_directories(folder);
  for (int opened = 1; opened <= 2; ++opened) {
    const size_t found = Bytes(folder);
    std::shared_ptr<PersistentCache> persistent;
    Must(NewPersistentCache(Env::Default(), folder, 256 << 20, nullptr, false, &persistent));
    printf("  opened for the %s time: %zu bytes in its folder, %zu afterwards\n", opened == 1 ? "first" : "second",
           found, Bytes(folder));
    Options options = With(NewLRUCache(1 << 20, 0));
    options.table_factory->GetOptions<BlockBasedTableOptions>()->persistent_cache = persistent;
    const auto db = Open(options, argv[1]);
    if (opened == 1) Fill(db.get(), 4000);
    for (int pass = 1; pass <= 2; ++pass) {
      options.statistics->Reset();
      Read(db.get(), 0, 4000);
      const auto hits = Ticks(options, PERSISTENT_CACHE_HIT);
      printf("    1000 blocks, pass %d: %llu found in it\n", pass, hits);
      Claim(pass == 1 ? hits == 0 : hits >= 900, "blocks found");
      std::this_thread::sleep_for(std::chrono::seconds(2));  // its writer is a thread of its own
    }
    Claim((found > 1000000) == (opened == 2), "the first cache left its blocks in the folder");
  }
  return so ? 0 : 1;
}
EOF

run 8.10.0
run 11.8.1
echo "still so"
