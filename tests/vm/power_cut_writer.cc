// SPDX-License-Identifier: Apache-2.0
// The guest's part of power_cut.py: a database whose logs lie on a DAX file, written until the power goes.
//
//   power_cut_writer FOLDER MODE TOLD...
//
//   TOLD   for each writer, how many of its writes it had told to be durable before the cut: as many writers as numbers
//   MODE   scm       the logs on SCM
//          unsynced  RocksDB's own logs, told as durable without a sync: what the test must find lacking
//          check     as scm, and ends after the check
//
// Prints "opening", "kept WRITER COUNT" for each, "checked ENTRIES", then "told WRITER COUNT" after each synced write.
// Status 3: a write that was told is lost, or an entry is there that nobody wrote.
#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/support/wal_db.h"
#include "tests/vm/guest.h"

namespace mezz::test {
namespace {

constexpr uint64_t kMediumBytes = 8 << 20;
constexpr uint64_t kWriterKeys = 1'000'000;  // a writer's own

// Small, so that logs are created, recycled and dropped, and tables written, all the time.
rocksdb::Options DbOptions() {
  rocksdb::Options options;
  options.write_buffer_size = 96 << 10;
  options.recycle_log_file_num = 2;
  options.avoid_flush_during_recovery = true;
  return options;
}

// Each writer's entries are its first ones without a gap: those told, and one more at most.
bool Check(const WalDb& db, const std::vector<uint64_t>& told, std::vector<uint64_t>* found) {
  found->assign(told.size(), 0);
  uint64_t entries = 0;
  const std::unique_ptr<rocksdb::Iterator> all(db->NewIterator({}));
  for (all->SeekToFirst(); all->Valid(); all->Next(), ++entries) {
    const uint64_t n = std::strtoull(all->key().ToString().c_str() + 3, nullptr, 10);
    const uint64_t writer = n / kWriterKeys;
    if (writer >= told.size() || n % kWriterKeys != (*found)[writer] || all->key() != WalKey(n) ||
        all->value() != WalValue(n)) {
      Say(fmt::format("wrong: {} of {} B, not its writer's number {}\n", all->key().ToString(), all->value().size(),
                      writer < told.size() ? (*found)[writer] : 0));
      return false;
    }
    ++(*found)[writer];
  }
  if (!all->status().ok()) {
    Say(fmt::format("wrong: {}\n", all->status().ToString()));
    return false;
  }
  for (size_t writer = 0; writer < told.size(); ++writer) {
    if ((*found)[writer] == told[writer] || (*found)[writer] == told[writer] + 1) continue;
    Say(fmt::format("wrong: writer {} told {} writes and {} are there\n", writer, told[writer], (*found)[writer]));
    return false;
  }
  // What came back is durable, also the write that was under way.
  for (size_t writer = 0; writer < told.size(); ++writer) Say(fmt::format("kept {} {}\n", writer, (*found)[writer]));
  Say(fmt::format("checked {}\n", entries));
  return true;
}

void WriteForEver(const WalDb& db, size_t writer, uint64_t from, bool sync) {
  rocksdb::WriteOptions options;
  options.sync = sync;
  for (uint64_t count = from;; ++count) {
    const uint64_t n = writer * kWriterKeys + count;
    const rocksdb::Status status = db->Put(options, WalKey(n), WalValue(n));
    if (!status.ok()) return Say(fmt::format("wrong: {}\n", status.ToString()));
    Say(fmt::format("told {} {}\n", writer, count + 1));
  }
}

int Run(const std::string& folder, std::string_view mode, const std::vector<uint64_t>& told) {
  const bool scm = mode != "unsynced";
  const std::string medium = folder + "/logs";
  std::shared_ptr<rocksdb::FileSystem> fs = rocksdb::FileSystem::Default();
  Say("opening\n");
  if (scm) {
    const Status status =
        NewWalFileSystem({.medium = {.path = medium, .size = kMediumBytes}, .fallback = false}, nullptr, &fs);
    if (!status.ok()) return Say(fmt::format("wrong: {}\n", status.message())), 2;
    if (!MappedSynchronously(medium)) return Say("wrong: no MAP_SYNC\n"), 2;
  }
  const WalDb db(fs, DbOptions(), folder + "/db");
  if (!db.status().ok()) return Say(fmt::format("wrong: {}\n", db.status().ToString())), 3;
  std::vector<uint64_t> found;
  if (!Check(db, told, &found)) return 3;
  if (mode == "check") return 0;
  std::vector<std::thread> writers;
  for (size_t i = 0; i < told.size(); ++i) writers.emplace_back([&, i] { WriteForEver(db, i, found[i], scm); });
  for (std::thread& writer : writers) writer.join();
  return 4;
}

}  // namespace
}  // namespace mezz::test

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  std::vector<uint64_t> told;
  for (int i = 3; i < argc; ++i) told.push_back(std::strtoull(argv[i], nullptr, 10));
  return mezz::test::Run(argv[1], argv[2], told);
}
