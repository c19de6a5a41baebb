#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# DB::Flush waits for the listeners of its flush, unless another background job of the database ends meanwhile.
#
# Expected: a flush that is waited for ends either before its OnFlushCompleted or after it, always the same. Alone it
#   ends after it, so a program that counts in a listener, or asks what a listener has set, reads it after Flush.
# So it is: the memtable counts as flushed before the listeners are called, and whatever wakes the waiting thread lets
#   it go. A flush of another column family does, and a compaction; with one thread, the compaction that the flush
#   itself made due is enough, now and then. Then Flush returns while its listener runs, or has yet to.
# Seen: 30 November 2026, RocksDB 7.8.3, 8.10.0, 10.4.2 and 11.8.1, all alike: after its listener alone, before it
#   beside a flush or a compaction of another family.
# Why it matters to a cache: what a listener tells it of files that are new or gone is not known once Flush returns. A
#   test that flushes and then looks at what its listener did fails now and then.
# Needs: mvn, cargo, unzip, g++, apt-get, dpkg.
source "$(dirname "${BASH_SOURCE[0]}")/lib/rocksdb.sh"

cat >"$work/try.cc" <<'EOF'
#include "probe.h"

#include <atomic>
#include <chrono>
#include <thread>

#include "rocksdb/listener.h"

using namespace std::chrono_literals;

// Stays in OnFlushCompleted of the family "held" until it is let go, or for two seconds.
struct Held : EventListener {
  std::atomic<bool> entered{false}, let_go{false}, left{false};
  void OnFlushCompleted(DB*, const FlushJobInfo& info) override {
    if (info.cf_name != "held") return;
    entered = true;
    for (int i = 0; i < 200 && !let_go; ++i) std::this_thread::sleep_for(10ms);
    left = true;
  }
};

enum class Beside { kNothing, kFlush, kCompaction };

// Whether Flush returned while its listener ran.
bool ReturnsEarly(Beside beside, const std::string& path) {
  const auto held = std::make_shared<Held>();
  Options options;
  options.create_if_missing = true;
  options.create_missing_column_families = true;
  options.max_background_jobs = 8;
  options.disable_auto_compactions = true;
  options.listeners = {held};
  const std::vector<ColumnFamilyDescriptor> all = {{"default", options}, {"held", options}, {"other", options}};
  std::vector<ColumnFamilyHandle*> families;
#if ROCKSDB_MAJOR >= 11
  std::unique_ptr<DB> db;
  Must(DB::Open(options, path, all, &families, &db));
#else
  DB* opened = nullptr;
  Must(DB::Open(options, path, all, &families, &opened));
  const std::unique_ptr<DB> db(opened);
#endif
  for (int i = 0; i < 2; ++i) {
    Must(db->Put({}, families[2], "key", "value"));
    Must(db->Flush({}, families[2]));
  }
  Must(db->Put({}, families[1], "key", "value"));
  if (beside == Beside::kFlush) Must(db->Put({}, families[2], "key", "another"));
  std::atomic<bool> early{false};
  std::thread waits([&] {
    Must(db->Flush({}, families[1]));
    early = !held->left;
    held->let_go = true;
  });
  while (!held->entered) std::this_thread::sleep_for(1ms);
  if (beside == Beside::kFlush) Must(db->Flush({}, families[2]));
  if (beside == Beside::kCompaction) Must(db->CompactRange({}, families[2], nullptr, nullptr));
  waits.join();
  while (!held->left) std::this_thread::sleep_for(1ms);
  for (ColumnFamilyHandle* family : families) Must(db->DestroyColumnFamilyHandle(family));
  return early;
}

int main(int, char** argv) {
  const std::string path = argv[1];
  const bool alone = ReturnsEarly(Beside::kNothing, path + "-1"), flush = ReturnsEarly(Beside::kFlush, path + "-2"),
             compaction = ReturnsEarly(Beside::kCompaction, path + "-3");
  const auto text = [](bool early) { return early ? "before its listener has" : "after its listener"; };
  printf("RocksDB %d.%d.%d: Flush returns %s alone, %s beside a flush, %s beside a compaction\n", ROCKSDB_MAJOR,
         ROCKSDB_MINOR, ROCKSDB_PATCH, text(alone), text(flush), text(compaction));
  Claim(!alone, "alone it waits");
  Claim(flush, "another flush lets it go");
  Claim(compaction, "a compaction lets it go");
  return so ? 0 : 1;
}
EOF

run_debian 7.8.3-2
run 8.10.0
run 10.4.2
run 11.8.1
echo "still so"
