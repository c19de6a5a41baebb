// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "compress.h"
#include "rocksdb_records.h"
#include "trace_files.h"

namespace mezz {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class RocksdbBlockTrace : public TraceFiles {
 protected:
  // Reads `content` to its end; what went wrong, or "".
  std::string Read(const std::string& content, std::string_view format = "") {
    const RequestsRead read = ReadAs(content, {.format = std::string(format)});
    requests_ = read.requests;
    return read.status.message();
  }

  std::vector<Request> requests_;
};

TEST_F(RocksdbBlockTrace, GivesWhatARecordSays) {
  EXPECT_EQ(Read(BlockTraceHeader() + BlockAccess{}.Record() +
                 BlockAccess{.time_us = 8,
                             .type = 8,
                             .block_bytes = 70000,
                             .family = 3,
                             .level = 0,
                             .caller = 3,
                             .is_hit = 1,
                             .no_insert = 1}
                     .Record()),
            "");
  ASSERT_EQ(requests_.size(), 2u);
  const uint64_t key = requests_[0].key;  // both have the same block key
  EXPECT_EQ(requests_[0],
            (Request{.key = key, .value_bytes = 4096, .time_us = 7, .level = 6, .recorded = Recorded::kMiss}));
  EXPECT_EQ(requests_[1], (Request{.key = key,
                                   .value_bytes = 70000,
                                   .time_us = 8,
                                   .role = BlockRole::kFilter,
                                   .column_family = 3,
                                   .level = 0,
                                   .recorded = Recorded::kHit,
                                   .no_insert = true}));
}

TEST_F(RocksdbBlockTrace, KnowsEveryTypeOfBlockAndEveryCaller) {
  constexpr BlockRole kRoles[] = {BlockRole::kIndex, BlockRole::kFilter, BlockRole::kData, BlockRole::kDictionary,
                                  BlockRole::kOther};
  for (uint8_t type = 7; type <= 11; ++type) {
    for (uint8_t caller = 1; caller <= 14; ++caller) {
      ASSERT_EQ(Read(BlockTraceHeader(7, 8) + BlockAccess{.type = type, .caller = caller}.Record()), "");
      ASSERT_EQ(requests_.size(), 1u);
      EXPECT_EQ(requests_[0].role, kRoles[type - 7]);
    }
  }
}

TEST_F(RocksdbBlockTrace, LetsABlockChangeItsSizeAndKeepsOtherBlocksApart) {
  ASSERT_EQ(
      Read(BlockTraceHeader() + BlockAccess{.block_bytes = 100}.Record() + BlockAccess{.block_bytes = 200}.Record() +
           BlockAccess{.block_key = "another"}.Record() + BlockAccess{.level = UINT32_MAX}.Record()),
      "");
  ASSERT_EQ(requests_.size(), 4u);
  EXPECT_EQ(requests_[0].key, requests_[1].key);
  EXPECT_EQ(requests_[1].value_bytes, 200u);
  EXPECT_NE(requests_[1].key, requests_[2].key);
  EXPECT_EQ(requests_[3].level, -1) << "RocksDB did not know it";
}

TEST_F(RocksdbBlockTrace, ReadsCompressedTracesByTheirContent) {
  std::string content = BlockTraceHeader();
  for (int i = 0; i < 10000; ++i) content += BlockAccess{.block_key = std::to_string(i % 100)}.Record();
  for (Compression how : kCompressions) {
    EXPECT_EQ(Read(Compress(how, content)), "");
    EXPECT_EQ(requests_.size(), 10000u);
  }
}

TEST_F(RocksdbBlockTrace, SaysWhatIsNoBlockCacheTrace) {
  constexpr char kFormat[] = "rocksdb_block";
  EXPECT_THAT(Read("hello, this is text", kFormat), HasSubstr("no RocksDB trace"));
  EXPECT_THAT(Read("short", kFormat), HasSubstr("the header is cut short: 5 of 13 bytes"));
  EXPECT_THAT(Read(RocksdbRecord(1, kRocksdbBegin, "feedcafedeadbeef\tTrace Version: 0.2\t"), kFormat),
              HasSubstr("--format=rocksdb_query"));
  EXPECT_THAT(Read(RocksdbRecord(1, kRocksdbBegin, LengthPrefixed("feedcafedeadbeer")), kFormat),
              HasSubstr("field magic"));
  EXPECT_THAT(Read(BlockTraceHeader(5, 9)), HasSubstr("RocksDB 5.9"));
  std::string swapped = BlockTraceHeader();
  std::reverse(swapped.begin() + 9, swapped.begin() + 13);
  EXPECT_THAT(Read(swapped, kFormat), HasSubstr("byte order"));
  EXPECT_THAT(Read(BlockTraceHeader() + RocksdbRecord(1, kRocksdbIo, "x")), HasSubstr("I/O trace"));
}

TEST_F(RocksdbBlockTrace, NamesFileOffsetAndFieldOfDamage) {
  const std::string header = BlockTraceHeader();
  const std::string good = BlockAccess{}.Record();
  EXPECT_THAT(Read(header + good + BlockAccess{.caller = 99}.Record()),
              AllOf(HasSubstr(folder_.Path("trace")), HasSubstr("at byte"), HasSubstr("caller is 99")));
  EXPECT_EQ(requests_.size(), 1u);
  EXPECT_THAT(Read(header + BlockAccess{.is_hit = 2}.Record()), HasSubstr("is_cache_hit is 2"));
  EXPECT_THAT(Read(header + BlockAccess{.no_insert = 2}.Record()), HasSubstr("no_insert is 2"));
  EXPECT_THAT(Read(header + BlockAccess{.block_bytes = 1ull << 32}.Record()), HasSubstr("block size is 4294967296"));
  EXPECT_THAT(Read(header + BlockAccess{.type = 3}.Record()), HasSubstr("type is 3"));
  EXPECT_THAT(Read(header + RocksdbRecord(1, 9, BlockAccess{}.Payload() + "?")), HasSubstr("1 bytes follow"));
  EXPECT_THAT(Read(header + RocksdbRecord(1, 9, LengthPrefixed("key") + "12345")),
              AllOf(HasSubstr("block size is cut short"), HasSubstr("RocksDB 11.8")));
  EXPECT_THAT(Read(header + RocksdbRecord(1, 9, std::string(6, '\xff'))), HasSubstr("block key is cut short"));
}

TEST_F(RocksdbBlockTrace, SaysThatARecordingWasNotFinishedWhereverItWasCut) {
  const std::string record = BlockAccess{}.Record();
  for (size_t kept = 1; kept < record.size(); ++kept) {
    ASSERT_THAT(Read(BlockTraceHeader() + record + record.substr(0, kept)), HasSubstr("unfinished recording"));
    ASSERT_EQ(requests_.size(), 1u) << "what came before it is there";
  }
}

TEST_F(RocksdbBlockTrace, SurvivesEveryFlippedByte) {
  std::string content = BlockTraceHeader();
  for (int i = 0; i < 3; ++i) content += BlockAccess{.caller = static_cast<uint8_t>(1 + i)}.Record();
  for (size_t at = 0; at < content.size(); ++at) {
    for (int flip : {0x01, 0x80, 0xff}) {
      std::string damaged = content;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      const std::string error = Read(damaged, "rocksdb_block");
      ASSERT_LE(requests_.size(), 3u);
      ASSERT_TRUE(requests_.size() == 3 || error.find(folder_.Path("trace")) != std::string::npos) << error;
    }
  }
}

}  // namespace
}  // namespace mezz
