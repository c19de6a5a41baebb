// SPDX-License-Identifier: Apache-2.0
// The guest's part of cache_power_cut.py: a database behind a hybrid cache whose medium is a DAX file, read and written
// until the power goes.
//
//   cache_cut_writer FOLDER MODE OPTIONS TOLD WRITES
//
//   MODE     load     reads and writes
//            check    ends after the check
//            cold     as load, and forgets what the cache held: what the test must find lacking
//            forged   as load, after each block on the medium was changed and its checksums made anew: what the test
//                     must find wrong
//   OPTIONS  of the cache, key=value;key=value
//   TOLD     so many writes it had told to be durable before the cut
//   WRITES   after so many more it closes database and cache, and ends; 0: it never does
//
// The n-th write is known, its key and its value: so the state after n writes is too, and the database says of itself
// how many it holds. Prints "opening", "recovered RECORDS from_snapshot|from_headers|nothing",
// "checked WRITES HITS MISSES DAMAGED", "loading", "told WRITES" now and then, "closing". Status 3, and a line that
// begins with "wrong: ": a read failed or gave what it must not.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "cache/record.h"
#include "cache/recovery_report.h"
#include "integration/hybrid_cache.h"
#include "rocksdb/db.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/table.h"
#include "rocksdb/write_batch.h"
#include "tests/support/open_db.h"
#include "tests/support/random.h"
#include "tests/support/record_medium.h"
#include "tests/vm/guest.h"

namespace mezz::test {
namespace {

constexpr uint64_t kKeys = 2000;  // 1.6 MB; the cache holds them and some that are dead
constexpr uint64_t kDramBytes = 128 << 10;
constexpr uint64_t kScmBytes = 4 << 20;
constexpr uint64_t kTellEvery = 16;
constexpr int kGetsAWrite = 8;
constexpr const char kCountKey[] = "count";

[[noreturn]] void Fail(const std::string& why) {
  Say("wrong: " + why + "\n");
  _exit(3);
}

// Which key the n-th write is to, from 1; the first ones fill the database.
uint64_t IdOf(uint64_t n) { return n <= kKeys ? n - 1 : Mix(n) % kKeys; }
std::string KeyName(uint64_t id) { return fmt::format("key{:07}", id); }
// A third of it is drawn, the rest is what every value has: it packs.
std::string ValueOf(uint64_t n) {
  std::string value(500 + Mix(n) % 600, '.');
  for (size_t at = 0; at + 8 <= value.size(); at += 24) {
    const uint64_t drawn = Mix(n * 1000 + at);
    std::memcpy(value.data() + at, &drawn, sizeof(drawn));
  }
  return value;
}

// Changes a byte of each block that lies there, and seals it again.
void Forge(const std::string& path) {
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  struct stat info {};
  if (file < 0 || fstat(file, &info) != 0) Fail("no medium to forge");
  const auto bytes = static_cast<uint64_t>(info.st_size);
  void* const base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (base == MAP_FAILED) Fail("the medium cannot be mapped");
  const RecordMedium medium(static_cast<std::byte*>(base));
  uint64_t forged = 0;
  for (uint64_t segment = 0; segment < bytes; segment += kSegmentBytesMin) {
    uint64_t at = segment == 0 ? layout::kSuperblockSpace : segment;
    layout::SegmentHeader header;
    std::memcpy(&header, medium.base() + at, sizeof(header));
    if (header.magic != layout::kSegmentMagic) continue;
    const auto sequence = static_cast<uint32_t>(header.sequence);
    at += sizeof(header);
    while (at < segment + kSegmentBytesMin) {
      const auto record = record::ReadHeader(medium, {at, sequence});
      if (!record) break;
      const auto stored = record::PayloadOf(record::HeaderAt(medium, at));
      std::vector<std::byte> payload(stored.begin(), stored.end());
      if (payload.size() > 2000) payload[payload.size() / 2] ^= std::byte{1};
      if (!record::Write(medium, {at, sequence}, record->key, record->role, payload.size(), SpanSource{payload},
                         record->flags))
        Fail("a record cannot be written");
      forged += payload.size() > 2000;
      at += layout::RecordBytes(record->payload_bytes);
    }
  }
  munmap(base, bytes);
  close(file);
  Say(fmt::format("forged {}\n", forged));
}

class CachedDb {
 public:
  CachedDb(const std::string& folder, std::string_view mode, std::string_view options) {
    const std::string medium = folder + "/cache";
    if (mode == "forged") Forge(medium);
    Say("opening\n");
    HybridCacheOptions cache;
    Status made = ParseHybridUri(
        fmt::format("mezzanine://dram={};scm={}@{};segment={};policy=dram_first;"
                    "recovery={};{}",
                    kDramBytes, kScmBytes, medium, kSegmentBytesMin, mode == "cold" ? "discard" : "warm", options),
        &cache);
    cache.dram_shard_bits = 0;
    if (made.ok()) made = NewHybridCache(cache, &cache_);
    if (!made.ok()) Fail(std::string(made.message()));
    if (!MappedSynchronously(medium)) Fail("no MAP_SYNC");
    rocksdb::BlockBasedTableOptions table;
    table.block_cache = cache_;
    table.cache_index_and_filter_blocks = true;
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
    rocksdb::Options all;  // small: tables are written and merged, and their blocks die, all the time
    all.create_if_missing = true;
    all.write_buffer_size = 128 << 10;
    all.target_file_size_base = 256 << 10;
    all.compression = rocksdb::kNoCompression;
    all.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    const rocksdb::Status opened =
        OpenDb(rocksdb::DBOptions(all), folder + "/db",
               {{rocksdb::kDefaultColumnFamilyName, rocksdb::ColumnFamilyOptions(all)}}, &handles_, &db_);
    if (!opened.ok()) Fail(opened.ToString());
  }

  // All of it, beside the recovery, and again after it.
  void Check(uint64_t told) {
    std::string count;
    const rocksdb::Status found = db_->Get({}, kCountKey, &count);
    if (!found.ok() && !found.IsNotFound()) Fail(found.ToString());
    if (found.ok()) std::from_chars(count.data(), count.data() + count.size(), writes_);
    if (writes_ < told) Fail(fmt::format("{} writes were told and {} are there", told, writes_));
    for (uint64_t n = 1; n <= writes_; ++n) started_[IdOf(n)] = done_[IdOf(n)] = n;
    for (uint64_t i = 0; i < kKeys; ++i) Get(i * 7919 % kKeys);
    const ScmTier& tier = GetHybridStats(cache_.get())->scm();
    tier.WaitUntilRecovered();
    const RecoveryReport report = tier.recovery();
    const bool came_back = report.outcome == RecoveryReport::Outcome::kRecovered;
    Say(fmt::format("recovered {} {}\n", report.records,
                    !came_back             ? "nothing"
                    : report.from_snapshot ? "from_snapshot"
                                           : "from_headers"));
    for (uint64_t i = 0; i < kKeys; ++i) Get(i * 7919 % kKeys);
    const CounterSnapshot counters = GetHybridStats(cache_.get())->Counters();
    Say(fmt::format("checked {} {} {} {}\n", writes_, counters[Event::kScmHit], counters[Event::kMiss],
                    counters[Event::kScmChecksumMismatch] + counters[Event::kScmDamagedHeader]));
  }

  // Ends after so many writes, or never.
  void Load(uint64_t writes) {
    std::atomic<bool> stop{false};
    std::thread reader([&] {
      for (Random random(writes_); !stop.load(std::memory_order_relaxed);) Get(random.Below(kKeys));
    });
    Random random(~writes_);
    const uint64_t end = writes == 0 ? UINT64_MAX : writes_ + writes;
    while (writes_ < end) {
      Write();
      for (int i = 0; i < kGetsAWrite; ++i) Get(random.Below(kKeys));
    }
    stop.store(true, std::memory_order_relaxed);
    reader.join();
  }

  // Until the first write to each key.
  void Fill() {
    while (writes_ < kKeys) Write();
  }

  void Close() {
    Say("closing\n");
    if (!CloseDb(&handles_, &db_).ok()) Fail("not closed");
    cache_.reset();
  }

 private:
  void Write() {
    const uint64_t n = writes_ + 1;
    rocksdb::WriteBatch batch;
    rocksdb::Status s = batch.Put(KeyName(IdOf(n)), ValueOf(n));
    if (s.ok()) s = batch.Put(kCountKey, std::to_string(n));
    rocksdb::WriteOptions options;
    options.sync = n % kTellEvery == 0;
    started_[IdOf(n)].store(n, std::memory_order_release);
    if (s.ok()) s = db_->Write(options, &batch);
    if (!s.ok()) Fail(s.ToString());
    done_[IdOf(n)].store(n, std::memory_order_release);
    writes_ = n;
    if (options.sync) Say(fmt::format("told {}\n", n));
  }

  void Get(uint64_t id) {
    const uint64_t least = done_[id].load(std::memory_order_acquire);
    std::string value;
    const rocksdb::Status s = db_->Get({}, KeyName(id), &value);
    const uint64_t most = started_[id].load(std::memory_order_acquire);
    if (s.IsNotFound() && least == 0) return;
    if (!s.ok()) Fail(fmt::format("{}: {}", KeyName(id), s.ToString()));
    for (uint64_t n = least; n <= most; ++n) {
      if (n != 0 && IdOf(n) == id && value == ValueOf(n)) return;
    }
    Fail(fmt::format("{} is none of the values of writes {} to {}", KeyName(id), least, most));
  }

  std::shared_ptr<rocksdb::Cache> cache_;
  std::unique_ptr<rocksdb::DB> db_;
  Handles handles_;
  uint64_t writes_ = 0;  // of the writer
  // The last write to each key that was begun, and that is done. Release and acquire: a reader who sees a value that
  // was begun later than what it saw done before has read a wrong one.
  std::atomic<uint64_t> started_[kKeys] = {}, done_[kKeys] = {};
};

uint64_t Number(std::string_view text) { return std::strtoull(text.data(), nullptr, 10); }

int Run(const std::string& folder, std::string_view mode, std::string_view options, uint64_t told, uint64_t writes) {
  CachedDb db(folder, mode, options);
  db.Check(told);
  if (mode == "check") return db.Close(), 0;
  Say("loading\n");
  db.Fill();
  db.Load(writes);
  db.Close();
  return 0;
}

}  // namespace
}  // namespace mezz::test

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  return mezz::test::Run(argv[1], argv[2], argv[3], mezz::test::Number(argv[4]), mezz::test::Number(argv[5]));
}
