// SPDX-License-Identifier: Apache-2.0
// RocksDB's traces, damaged anywhere and any number of times: requests or an error that names the file, never a crash,
// though RocksDB's own decoder crashes on much of it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "../unit/workloads/compress.h"
#include "../unit/workloads/rocksdb_records.h"
#include "rocksdb/write_batch.h"
#include "tests/support/seed.h"
#include "tests/support/temporary_folder.h"
#include "workloads/readers/open_trace.h"
#include "workloads/rocksdb/query_trace_reader.h"

namespace mezz {
namespace {

constexpr int kRounds = 600;

std::string BlockTrace(std::mt19937_64& random) {
  std::string content = BlockTraceHeader(6 + static_cast<uint32_t>(random() % 6), 8);
  for (uint64_t left = random() % 50; left > 0; --left) {
    content += BlockAccess{.type = static_cast<uint8_t>(7 + random() % 5),
                           .block_bytes = random() % 100'000,
                           .caller = static_cast<uint8_t>(1 + random() % 14)}
                   .Record();
  }
  return content;
}

std::string QueryPayload(std::mt19937_64& random, uint8_t type) {
  const std::string key(random() % 40, 'k');
  if (type == kRocksdbWrite) {
    rocksdb::WriteBatch batch;
    for (uint64_t left = random() % 4; left > 0; --left) {
      (void)batch.Put(key, "value");
      (void)batch.DeleteRange(key, "z");
    }
    return Fixed(uint64_t{2}) + LengthPrefixed(batch.Data());
  }
  if (type == kRocksdbMultiGet) {
    std::string families;
    std::string keys;
    const auto size = static_cast<uint32_t>(1 + random() % 4);
    for (uint32_t i = 0; i < size; ++i) {
      families += Fixed(i);
      keys += LengthPrefixed(key);
    }
    return Fixed(uint64_t{0b11100000000}) + Fixed(size) + LengthPrefixed(families) + LengthPrefixed(keys);
  }
  return Fixed(uint64_t{type == kRocksdbGet ? 0b1100u : 0b110000u}) + Fixed(0u) + LengthPrefixed(key);
}

std::string QueryTrace(std::mt19937_64& random) {
  constexpr uint8_t kTypes[] = {kRocksdbWrite, kRocksdbGet, kRocksdbSeek, kRocksdbSeekForPrev, kRocksdbMultiGet};
  std::string content = RocksdbRecord(1, kRocksdbBegin,
                                      "feedcafedeadbeef\tTrace Version: 0." + std::to_string(1 + random() % 2) +
                                          "\tRocksDB Version: 11.8\tFormat: Timestamp OpType Payload\n");
  for (uint64_t left = random() % 50; left > 0; --left) {
    const uint8_t type = kTypes[random() % std::size(kTypes)];
    content += RocksdbRecord(left, type, QueryPayload(random, type));
  }
  return content + RocksdbRecord(9, kRocksdbEnd, "");
}

void Damage(std::mt19937_64& random, std::string* bytes) {
  for (uint64_t left = random() % 4; left > 0 && !bytes->empty(); --left) {
    const size_t at = random() % bytes->size();
    switch (random() % 5) {
      case 0:
        bytes->resize(at);
        break;
      case 1:
        bytes->insert(at, std::string(random() % 20, static_cast<char>(random())));
        break;
      case 2:
        bytes->erase(at, random() % 20);
        break;
      default:
        (*bytes)[at] = static_cast<char>(random());
    }
  }
}

TEST(RocksdbTraceFuzz, GivesRequestsOrAnErrorThatNamesTheFile) {
  UseRocksdbQueryReader();
  const uint64_t seed = test::Seed();
  SCOPED_TRACE("replay with MEZZ_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  TemporaryFolder folder;
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    const bool is_query = random() % 2 == 0;
    std::string content = is_query ? QueryTrace(random) : BlockTrace(random);
    Damage(random, &content);
    const std::string path =
        folder.Write("fuzz", Compress(kCompressions[random() % std::size(kCompressions)], content));
    std::unique_ptr<RequestSource> source;
    const OpenOptions options{.format = is_query ? "rocksdb_query" : "rocksdb_block", .skip_bad = random() % 2 == 0};
    Status status = OpenTrace(path, options, &source);
    if (status.ok()) {
      uint64_t requests = 0;
      for (Request request; source->Next(&request); ++requests) {
      }
      ASSERT_LE(requests, content.size());
      status = source->status();
    }
    ASSERT_TRUE(status.ok() || status.message().find(path) != std::string::npos) << status.message();
  }
}

}  // namespace
}  // namespace mezz
