// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compress.h"
#include "trace_files.h"
#include "workloads/requests/cut_extents.h"

namespace mezz {
namespace {

using ::testing::HasSubstr;

class SkipBad : public TraceFiles {
 protected:
  // Keys of what is left, and that so many records were left out.
  std::vector<uint64_t> KeysLeft(const std::string& content, const std::string& format, uint64_t skipped) {
    EXPECT_NE(Refused(content, format), "") << "there is nothing to skip";
    const RequestsRead read = ReadAs(content, {.format = format, .skip_bad = true});
    EXPECT_TRUE(read.status.ok()) << read.status.message();
    EXPECT_EQ(read.skipped, skipped);
    std::vector<uint64_t> keys;
    for (const Request& request : read.requests) keys.push_back(request.key);
    return keys;
  }
};

using Keys = std::vector<uint64_t>;

TEST_F(SkipBad, LeavesOutDamagedLines) {
  EXPECT_EQ(KeysLeft("1\nx\n2\n\n3 4\n5", "text", 2), (Keys{1, 2, 5}));
  EXPECT_EQ(KeysLeft("x\ny\n", "text", 2), Keys{});
  EXPECT_EQ(KeysLeft("key,op\n1,get\n2\n3,peek\n4,put\n", "mezz_csv", 2), (Keys{1, 4}));
}

TEST_F(SkipBad, FindsTheLineBehindOneWithoutEnd) {
  EXPECT_EQ(KeysLeft("1\n" + std::string(300'000, '7') + "\n2\n", "text", 1), (Keys{1, 2}));
  EXPECT_EQ(KeysLeft("1\n" + std::string(300'000, '7'), "text", 1), Keys{1});
}

TEST_F(SkipBad, CountsARecordThatTheEndCutsShort) {
  EXPECT_EQ(KeysLeft(std::string("\0\0\0\1\0\0\0\2\0\0", 10), "be32", 1), (Keys{1, 2}));
}

// A truncated or flipped stream gives what lies before the damage, as keys that were written.
TEST_F(SkipBad, EndsWhereACompressedStreamIsDamaged) {
  std::string content;
  for (int i = 0; i < 40'000; ++i) content += std::to_string(i * 7919) + "\n";
  for (Compression how : {Compression::kXz, Compression::kZstd, Compression::kGzip}) {
    const std::string whole = Compress(how, content);
    const std::string cut = whole.substr(0, whole.size() - whole.size() / 4);
    const RequestsRead strict = ReadAs(cut, {.format = "text"});
    EXPECT_THAT(strict.status.message(), HasSubstr("cut short"));
    const RequestsRead read = ReadAs(cut, {.format = "text", .skip_bad = true});
    ASSERT_TRUE(read.status.ok()) << read.status.message();
    EXPECT_GE(read.skipped, 1u);
    ASSERT_GE(read.requests.size(), strict.requests.size());
    ASSERT_GT(read.requests.size(), 1000u) << static_cast<int>(how);
    for (size_t i = 0; i + 1 < read.requests.size(); ++i) ASSERT_EQ(read.requests[i].key, i * 7919);
  }
}

TEST_F(SkipBad, StillRefusesAHeaderThatSaysTooLittle) {
  const RequestsRead read = ReadAs("op,size\nGET,1\n", {.format = "meta_kv_csv", .skip_bad = true});
  EXPECT_THAT(read.status.message(), HasSubstr("does not name a column key"));
  EXPECT_FALSE(ReadRequests(folder_.Path("none"), {.skip_bad = true}).status.ok());
}

TEST_F(SkipBad, CountsAgainAfterRewind) {
  std::unique_ptr<RequestSource> source;
  ASSERT_TRUE(
      OpenTrace(folder_.Write("trace", "1 1 0 0\nx\n2 1 0 0\n"), {.format = "arc", .skip_bad = true}, &source).ok());
  source = CutExtents(std::move(source), 512);
  for (int pass = 0; pass < 2; ++pass) {
    uint64_t requests = 0;
    for (Request request; source->Next(&request);) ++requests;
    EXPECT_EQ(requests, 2u);
    EXPECT_EQ(source->skipped(), 1u);
    ASSERT_TRUE(source->Rewind().ok());
  }
}

}  // namespace
}  // namespace mezz
