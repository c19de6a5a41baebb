// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <unordered_set>

#include "../../support/public_traces.h"
#include "compress.h"
#include "trace_files.h"

namespace mezz {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct ReadResult {
  std::vector<uint64_t> keys;
  Status status;
};

ReadResult ReadAll(const std::string& path, std::string_view format = "") {
  const RequestsRead read = ReadRequests(path, {.format = std::string(format)});
  ReadResult result{.keys = {}, .status = read.status};
  for (const Request& request : read.requests) {
    EXPECT_EQ(request.operation, Operation::kGet);
    result.keys.push_back(request.key);
  }
  return result;
}

std::string BigEndian(const std::vector<uint64_t>& keys, int bytes) {
  std::string out;
  for (uint64_t key : keys) {
    for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>(key >> (8 * i));
  }
  return out;
}

using TraceReaders = TraceFiles;

TEST_F(TraceReaders, GiveBackTheKeysWhateverTheCompression) {
  std::vector<uint64_t> keys;
  for (uint64_t i = 0; i < 20000; ++i) keys.push_back(i * 0x9e3779b97f4a7c15ull);
  for (Compression how : kCompressions) {
    const std::string path = folder_.Write("scarab-recs.trace", Compress(how, BigEndian(keys, 8)));
    const ReadResult read = ReadAll(path);
    ASSERT_TRUE(read.status.ok()) << read.status.message();
    EXPECT_EQ(read.keys, keys);
  }
}

TEST_F(TraceReaders, ReadConcatenatedStreamsAsOne) {
  for (Compression how : {Compression::kXz, Compression::kZstd, Compression::kGzip}) {
    const std::string path =
        folder_.Write("x.be32", Compress(how, BigEndian({1, 2}, 4)) + Compress(how, BigEndian({3}, 4)));
    EXPECT_THAT(ReadAll(path).keys, ElementsAre(1, 2, 3));
  }
}

TEST_F(TraceReaders, TellTheFormatByNameContentOrFlag) {
  EXPECT_THAT(ReadAll(folder_.Write("orm-busy.trace", BigEndian({7, 0xffffffff}, 4))).keys, ElementsAre(7, 0xffffffff));
  EXPECT_THAT(ReadAll(folder_.Write("unnamed", "1\n2\n")).keys, ElementsAre(1, 2));
  EXPECT_THAT(ReadAll(folder_.Write("unnamed", BigEndian({5}, 8)), "be64").keys, ElementsAre(5));
  EXPECT_THAT(ReadAll(folder_.Write("unnamed", BigEndian({5}, 8))).status.message(), HasSubstr("--format"));
  EXPECT_THAT(ReadAll(folder_.Write("unnamed", "1\n"), "magic").status.message(),
              HasSubstr("--format=magic is not known"));
}

TEST_F(TraceReaders, ReadTextKeysWithCommentsAndBlankLines) {
  const std::string path = folder_.Write("a.keys", "# keys\n10\n\n 0xfF \r\n18446744073709551615");
  EXPECT_THAT(ReadAll(path).keys, ElementsAre(10, 255, ~uint64_t{0}));
}

TEST_F(TraceReaders, NameFileAndLineOfGarbage) {
  for (const char* garbage : {"ten", "-1", "1 2", "0x", "18446744073709551616", "1.5"}) {
    const std::string path = folder_.Write("a.keys", std::string("1\n2\n") + garbage + "\n4\n");
    const ReadResult read = ReadAll(path);
    EXPECT_THAT(read.keys, ElementsAre(1, 2));
    EXPECT_THAT(read.status.message(), HasSubstr(path + ", line 3: \"" + garbage + "\" is not a key"));
  }
}

TEST_F(TraceReaders, RefuseALineWithoutEnd) {
  const std::string path = folder_.Write("a.keys", "1\n" + std::string(1 << 20, '7'));
  EXPECT_THAT(ReadAll(path).status.message(), HasSubstr(path + ", line 2: longer than"));
}

TEST_F(TraceReaders, NameFileAndPositionOfAPartialLastKey) {
  const std::string path = folder_.Write("scarab.trace", BigEndian({1, 2}, 8) + "abc");
  const ReadResult read = ReadAll(path);
  EXPECT_THAT(read.keys, ElementsAre(1, 2));
  EXPECT_THAT(read.status.message(), HasSubstr(path + ", at byte 16: the last key is cut short: 3 of 8 bytes"));
}

TEST_F(TraceReaders, NoticeEveryTruncationOfACompressedStream) {
  const std::string content = BigEndian({1, 2, 3, 4, 5, 6, 7, 8}, 8);
  for (Compression how : {Compression::kXz, Compression::kZstd, Compression::kGzip}) {
    const std::string whole = Compress(how, content);
    for (size_t bytes = 6; bytes < whole.size(); ++bytes) {
      const ReadResult read = ReadAll(folder_.Write("scarab.trace", whole.substr(0, bytes)));
      ASSERT_FALSE(read.status.ok()) << "compression " << static_cast<int>(how) << ", " << bytes << " bytes";
      EXPECT_THAT(read.status.message(), HasSubstr("cut short"));
    }
  }
}

TEST_F(TraceReaders, NoticeAFlippedBitInACompressedStream) {
  std::vector<uint64_t> keys;
  for (uint64_t i = 0; i < 500; ++i) keys.push_back(i * i * 2654435761u);
  for (Compression how : {Compression::kXz, Compression::kZstd, Compression::kGzip}) {
    const std::string whole = Compress(how, BigEndian(keys, 8));
    for (size_t at = 12; at < whole.size(); at += 37) {
      std::string flipped = whole;
      flipped[at] = static_cast<char>(flipped[at] ^ 0x10);
      const ReadResult read = ReadAll(folder_.Write("scarab.trace", flipped));
      EXPECT_FALSE(read.status.ok()) << "compression " << static_cast<int>(how) << ", byte " << at;
    }
  }
}

TEST_F(TraceReaders, RefuseWhatIsNoTrace) {
  EXPECT_THAT(ReadAll(folder_.Path("none.keys")).status.message(), HasSubstr("no such file"));
  EXPECT_THAT(ReadAll(folder_.Path("")).status.message(), HasSubstr("directory"));
  EXPECT_THAT(ReadAll(folder_.Write("a.keys", "")).status.message(), HasSubstr("empty"));
  EXPECT_THAT(ReadAll(folder_.Write("a.keys", Compress(Compression::kXz, ""))).status.message(),
              HasSubstr("no requests"));
  // It would be empty when it is read again, or begin in the middle.
  ASSERT_EQ(mkfifo(folder_.Path("pipe").c_str(), 0600), 0);
  EXPECT_THAT(ReadAll(folder_.Path("pipe"), "text").status.message(), HasSubstr("is a pipe or a device"));
}

TEST_F(TraceReaders, RewindToTheSameRequests) {
  std::unique_ptr<RequestSource> source;
  ASSERT_TRUE(OpenTrace(folder_.Write("a.keys", Compress(Compression::kZstd, "1\n2\n3\n")), "text", &source).ok());
  for (int pass = 0; pass < 3; ++pass) {
    Request request;
    ASSERT_TRUE(source->Next(&request));
    EXPECT_EQ(request.key, 1u);
    ASSERT_TRUE(source->Next(&request));
    EXPECT_EQ(request.key, 2u);
    ASSERT_TRUE(source->Rewind().ok());
  }
}

TEST_F(TraceReaders, ReadOltpAsPages) {
  EXPECT_THAT(ReadAll(folder_.Write("OLTP.lis", "1 1 0 0\n99 1 0 1\n")).keys, ElementsAre(1, 99));
  EXPECT_THAT(ReadAll(folder_.Write("any", "1 1 0 0\n99 1 0 1\n"), "arc_pages").keys, ElementsAre(1, 99));
  const std::string path = folder_.Write("OLTP.lis", "1 1 0 0\n99 64 0 1\n");
  EXPECT_THAT(ReadAll(path).status.message(), HasSubstr(path + ", line 2: field 2 (number of blocks) is 64"));
}

TEST_F(TraceReaders, SkipTheMarkersOfLirs) {
  EXPECT_THAT(ReadAll(folder_.Write("sprite.trace", "0\n*\n17\n\n* x\n3")).keys, ElementsAre(0, 17, 3));
  const std::string path = folder_.Write("loop.trace", "0\n#\n");
  EXPECT_THAT(ReadAll(path).status.message(), HasSubstr(path + ", line 2: \"#\" is not a key"));
}

struct PublicTrace {
  const char* file;
  size_t requests;
  size_t unique;
};

class PublicTraces : public ::testing::TestWithParam<PublicTrace> {};

TEST_P(PublicTraces, HaveThePublishedCounts) {
  const std::string path = PublicTracePath(GetParam().file);
  MEZZ_SKIP_WITHOUT_TRACE(path);
  const ReadResult read = ReadAll(path);
  ASSERT_TRUE(read.status.ok()) << read.status.message();
  EXPECT_EQ(read.keys.size(), GetParam().requests);
  EXPECT_EQ(std::unordered_set<uint64_t>(read.keys.begin(), read.keys.end()).size(), GetParam().unique);
}

INSTANTIATE_TEST_SUITE_P(All, PublicTraces,
                         ::testing::Values(PublicTrace{"scarab/scarab-recs.trace.xz", 1'245'184, 258'368},
                                           PublicTrace{"cache2k/orm-busy.trace.xz", 5'000'000, 76'349},
                                           PublicTrace{"cache2k/web07.trace.xz", 76'118, 20'484}));

}  // namespace
}  // namespace mezz
