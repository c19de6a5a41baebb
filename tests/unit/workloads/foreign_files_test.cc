// SPDX-License-Identifier: Apache-2.0
// Sound compressed files are read, and what is no trace is named before a key is taken of it.
#include <bzlib.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lz4frame.h>

#include "compress.h"
#include "trace_files.h"

namespace mezz {
namespace {

using ::testing::HasSubstr;
using std::string_literals::operator""s;

constexpr uint64_t kKeys = 20'000;

std::string ManyKeys() {
  std::string keys;
  for (uint64_t i = 0; i < kKeys; ++i) {
    for (int byte = 7; byte >= 0; --byte) keys += static_cast<char>((i % 5000) >> (8 * byte));
  }
  return keys;
}

std::string Bzip2(const std::string& content) {
  std::string out(content.size() + content.size() / 100 + 600, '\0');
  auto bytes = static_cast<unsigned>(out.size());
  EXPECT_EQ(BZ2_bzBuffToBuffCompress(out.data(), &bytes, const_cast<char*>(content.data()),
                                     static_cast<unsigned>(content.size()), 1, 0, 0),
            BZ_OK);
  out.resize(bytes);
  return out;
}

std::string Lz4(const std::string& content) {
  LZ4F_preferences_t preferences{};
  preferences.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
  std::string out(LZ4F_compressFrameBound(content.size(), &preferences), '\0');
  out.resize(LZ4F_compressFrame(out.data(), out.size(), content.data(), content.size(), &preferences));
  return out;
}

// A window as a stream of unknown length asks for it, as zstd --long does from a pipe.
std::string ZstdWithWindow(int window_log, const std::string& content) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window_log);
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
  ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, 1);
  std::string out(ZSTD_compressBound(content.size()), '\0');
  // In two parts: at one call the library knows the length and takes a smaller window.
  ZSTD_outBuffer output{out.data(), out.size(), 0};
  ZSTD_inBuffer first{content.data(), content.size() / 2, 0};
  ZSTD_compressStream2(context, &output, &first, ZSTD_e_flush);
  ZSTD_inBuffer rest{content.data(), content.size(), content.size() / 2};
  ZSTD_compressStream2(context, &output, &rest, ZSTD_e_end);
  ZSTD_freeCCtx(context);
  out.resize(output.pos);
  return out;
}

const std::string kSkippable = "\x50\x2a\x4d\x18\x04\0\0\0abcd"s;

class ForeignFiles : public TraceFiles {
 protected:
  uint64_t Requests(const std::string& name, const std::string& content, const std::string& format = "") {
    const RequestsRead read = ReadRequests(folder_.Write(name, content), {.format = format});
    EXPECT_TRUE(read.status.ok()) << read.status.message();
    return read.requests.size();
  }
  // Without a key, damaged records left out or not.
  std::string Refused(const std::string& name, const std::string& content, const std::string& format = "") {
    const std::string path = folder_.Write(name, content);
    EXPECT_FALSE(ReadRequests(path, {.format = format, .skip_bad = true}).status.ok()) << name;
    const RequestsRead read = ReadRequests(path, {.format = format});
    EXPECT_EQ(read.requests.size(), 0u) << name;
    return std::string(read.status.message());
  }
};

TEST_F(ForeignFiles, ReadsAllThatIsSound) {
  const std::string keys = ManyKeys();
  const std::string half = keys.substr(0, keys.size() / 2), rest = keys.substr(keys.size() / 2);
  const auto zstd = [](const std::string& content) { return Compress(Compression::kZstd, content); };
  const auto xz = [](const std::string& content) { return Compress(Compression::kXz, content); };
  const std::pair<const char*, std::string> kSound[] = {
      {"bzip2", Bzip2(keys)},
      {"bzip2, two streams", Bzip2(half) + Bzip2(rest)},
      {"bzip2, zeros behind", Bzip2(keys) + std::string(300'000, '\0')},
      {"lz4", Lz4(keys)},
      {"lz4, two frames", Lz4(half) + Lz4(rest)},
      {"lz4 behind a skippable frame", kSkippable + Lz4(keys)},
      {"zstd behind a skippable frame", kSkippable + zstd(keys)},
      {"zstd as pzstd writes it", kSkippable + kSkippable + zstd(half) + kSkippable + zstd(rest)},
      {"zstd behind a frame longer than what is read at once",
       "\x5f\x2a\x4d\x18\x00\x00\x08\x00"s + std::string(8 << 16, 'x') + zstd(keys)},
      {"xz, padded", xz(half) + std::string(4, '\0') + xz(rest) + std::string(8, '\0')},
      {"gzip, zeros behind", Gzip(keys) + std::string(1000, '\0')}};
  for (const auto& [what, content] : kSound) EXPECT_EQ(Requests("trace", content, "be64"), kKeys) << what;
  for (const auto& [what, content] : kSound) {
    if (std::string_view(what).starts_with("bzip2")) continue;
    EXPECT_EQ(Requests("trace.be64", content), kKeys) << what;
  }
  EXPECT_EQ(Requests("trace.csv.bz2", Bzip2("time,id,size\n1,2,3\n")), 1u);
}

TEST_F(ForeignFiles, ReadsLongWindows) {
  const std::string text = "1\n2\n3\n4\n";
  for (const int window : {27, 28, 31})
    EXPECT_EQ(Requests("trace", ZstdWithWindow(window, text), "text"), 4u) << window;
}

TEST_F(ForeignFiles, NamesWhatAStreamAsksFor) {
  std::string wide = ZstdWithWindow(31, "1\n2\n");
  wide[5] = static_cast<char>(0xf8);  // the window's descriptor: 2 TiB
  EXPECT_THAT(Refused("trace", wide, "text"),
              HasSubstr("has a window that is larger than 2048 MiB; pack it with a smaller"));
  std::string greedy(16 << 10, '\0');
  lzma_options_lzma options;
  lzma_lzma_preset(&options, 0);
  options.dict_size = 1536u << 20;
  const lzma_filter filters[] = {{LZMA_FILTER_LZMA2, &options}, {LZMA_VLI_UNKNOWN, nullptr}};
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_encoder(&stream, filters, LZMA_CHECK_CRC64) != LZMA_OK) GTEST_SKIP() << "no memory for the encoder";
  const std::string text = "1\n2\n";
  stream.next_in = reinterpret_cast<const uint8_t*>(text.data());
  stream.avail_in = text.size();
  stream.next_out = reinterpret_cast<uint8_t*>(greedy.data());
  stream.avail_out = greedy.size();
  EXPECT_EQ(lzma_code(&stream, LZMA_FINISH), LZMA_STREAM_END);
  greedy.resize(stream.total_out);
  lzma_end(&stream);
  EXPECT_THAT(Refused("trace", greedy, "text"), HasSubstr("MiB of memory to unpack, more than 1024 MiB"));
}

TEST_F(ForeignFiles, StillSeesDamage) {
  const std::string keys = ManyKeys();
  for (const std::string& whole : {Bzip2(keys), Lz4(keys), kSkippable + Compress(Compression::kZstd, keys)}) {
    std::string damaged = whole;
    damaged[damaged.size() / 2] ^= 0x40;
    EXPECT_THAT(TraceFiles::Refused(damaged, "be64"), HasSubstr("damaged"));
    EXPECT_THAT(TraceFiles::Refused(whole.substr(0, whole.size() - 9), "be64"), HasSubstr("cut short"));
    EXPECT_THAT(TraceFiles::Refused(whole + "no stream", "be64"), HasSubstr("the compressed stream"));
  }
  EXPECT_THAT(TraceFiles::Refused(Gzip("1\n") + std::string(9, '\0') + "x", "text"),
              HasSubstr("the compressed stream"));
}

// A header of tar, as of the seventh edition: no magic word, and a sum.
std::string Tar(std::string_view magic) {
  std::string header(512, '\0');
  header.replace(0, 6, "k.be64");
  header.replace(100, 8, "0000644\0"s);
  header.replace(124, 12, "00000000010\0"s);
  header.replace(257, magic.size(), magic);
  header.replace(148, 8, "        ");
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  char text[8];
  std::snprintf(text, sizeof(text), "%06o", sum);
  header.replace(148, 8, text + "\0 "s);
  return header + std::string(512, 'k') + std::string(1024, '\0');
}

TEST_F(ForeignFiles, NamesArchivesAndOtherTools) {
  const std::string filler(4000, 'x');
  const std::pair<std::string, const char*> kForeign[] = {
      {Tar("ustar"), "this is a tar archive; unpack it first"},
      {Tar(""), "this is a tar archive"},
      {Compress(Compression::kZstd, Tar("ustar")), "this is a tar archive"},
      {Bzip2(Tar("ustar")), "this is a tar archive"},
      {"PK\x03\x04"s + filler, "this is a zip archive"},
      {"PK\x03\x04"s + "......[Content_Types].xml" + filler, "this is an Excel workbook; save it as CSV"},
      {"PK\x03\x04"s + "mimetypeapplication/vnd.oasis.opendocument.spreadsheet" + filler,
       "an OpenDocument spreadsheet"},
      {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"s + filler, "an old Excel workbook"},
      {"7z\xbc\xaf\x27\x1c"s + filler, "this is a 7z archive"},
      {"Rar!\x1a\x07\x01\0"s + filler, "this is a RAR archive"},
      {"\x5d\0\0\x80\0\xff\xff\xff\xff\xff\xff\xff\xff"s + filler, "in lzma's old form"},
      {"LZIP\x01"s + filler, "compressed by lzip"},
      {"\x02\x21\x4c\x18"s + filler, "lz4's legacy form"},
      {"PAR1"s + filler, "a Parquet file"},
      {"SQLite format 3\0"s + filler, "an SQLite database"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n", "a pointer of Git LFS"},
      {"<!DOCTYPE html>\n<html>", "a page of HTML"},
      {"{\"key\": 1}\n", "this is JSON"},
      {"\xff\xfe"
       "1\0\n\0"s,
       "text in UTF-16"},
      {"t\0i\0m\0e\0,\0i\0d\0\n\0001\0,\0002\0\n\0"s, "text in UTF-16"},
      {Compress(Compression::kZstd, Gzip("1\n")), "compressed twice"}};
  for (const auto& [content, message] : kForeign) EXPECT_THAT(Refused("trace.be64", content), HasSubstr(message));
  // Whoever names the format is told, too, but for marks that a key may have.
  EXPECT_THAT(Refused("trace", Tar("ustar"), "be64"), HasSubstr("a tar archive"));
  EXPECT_EQ(Requests("trace", "\x5d\0\0\x80\0\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0"s, "le64"), 2u);
  // A zlib stream has no mark that a key could not have.
  for (const size_t bytes : {size_t{4000}, size_t{160'000}}) {
    const std::string keys = ManyKeys().substr(0, bytes);
    std::string zlib(compressBound(keys.size()), '\0');
    uLongf packed = zlib.size();
    ASSERT_EQ(compress(reinterpret_cast<Bytef*>(zlib.data()), &packed, reinterpret_cast<const Bytef*>(keys.data()),
                       keys.size()),
              Z_OK);
    zlib.resize(packed);
    EXPECT_THAT(Refused("trace.be64", zlib), HasSubstr("a zlib stream; pack it with gzip"));
    EXPECT_THAT(Refused("trace.be64.gz", Gzip(zlib)), HasSubstr("a zlib stream"));
  }
  EXPECT_THAT(Refused("trace.be64.br", "\x8b\x02"s + filler), HasSubstr("its name ends in .br"));
  EXPECT_THAT(Refused("trace.be64.bz2", Bzip2(ManyKeys())),
              HasSubstr("of raw keys in bzip2 the name is not enough; say --format=be64"));
}

// A name is the only witness of raw keys: what stands behind it is no key of the file's.
TEST_F(ForeignFiles, TakesRawKeysByTheEndOfTheNameAlone) {
  const std::string keys = ManyKeys();
  for (const char* const name : {"trace.be64.zz", "trace.be64.gpg", "trace.be64.orc", "trace.be64.iso.gz"}) {
    const std::string content = std::string_view(name).ends_with(".gz") ? Gzip(keys) : keys;
    EXPECT_THAT(Refused(name, content), HasSubstr("its name goes on behind .be64 with")) << name;
    EXPECT_EQ(Requests(name, content, "be64"), kKeys) << name;
  }
  EXPECT_THAT(Refused("trace.be64.zst", keys), HasSubstr("its name ends in .zst, and its content does not begin as"));
  EXPECT_THAT(Refused("scarab-recs.gz", keys), HasSubstr("its name ends in .gz"));
  EXPECT_EQ(Requests("trace.be64", Gzip(keys)), kKeys);
  EXPECT_EQ(Requests("a.be64.of.b.be64.zst", Compress(Compression::kZstd, keys)), kKeys);
  EXPECT_EQ(Requests("scarab-recs.day1", keys), kKeys);
  for (const char* const name : {"uniform-keys.bin", "platform-x", "norm-x.orc"})
    EXPECT_THAT(Refused(name, keys), HasSubstr("neither content nor name tells")) << name;
  EXPECT_EQ(Requests("orm-busy", keys), 2 * kKeys);
  const std::string urls = folder_.Write("orm-urls", "https://x/\xc3\xa9" + std::string(60, '1') + "\n");
  EXPECT_THAT(ReadRequests(urls, {}).status.message(), HasSubstr("is not a key")) << "text, and not of ASCII";
}

// Little-endian keys in order have the form of libCacheSim's records, and lead nowhere.
TEST_F(ForeignFiles, TakesSortedKeysForNoRecords) {
  std::string wide, narrow;
  for (int turn = 0; turn < 3; ++turn) {
    for (uint64_t key = 1; key <= 2000; ++key) {
      wide.append(reinterpret_cast<const char*>(&key), 8);
      narrow.append(reinterpret_cast<const char*>(&key), 4);
    }
  }
  EXPECT_EQ(Requests("loop.le64", wide), 6000u);
  EXPECT_EQ(Requests("loop.le32", narrow), 6000u);
  EXPECT_THAT(Refused("loop", wide), HasSubstr("neither content nor name tells"));
}

// What is said to be keys, and unpacks once more.
TEST_F(ForeignFiles, RefusesTwoCompressionsWhateverIsSaid) {
  EXPECT_THAT(Refused("trace.be64.gz", Gzip(Gzip(ManyKeys())), "be64"), HasSubstr("compressed twice"));
  EXPECT_EQ(Requests("trace.be64.gz", Gzip("\x1f\x8b\x08key.."s), "be64"), 1u);
}

// What only looks a little like it: keys.
TEST_F(ForeignFiles, TakesKeysForKeys) {
  EXPECT_EQ(Requests("trace.be64", "BZh9key\0"s), 1u);
  EXPECT_EQ(Requests("trace.be64", "PK\x01\x02keys"), 1u);
  EXPECT_EQ(Requests("trace.keys",
                     "\xef\xbb\xbf"
                     "1\r\n2\r\n"),
            2u);
  EXPECT_EQ(Requests("trace", "\xef\xbb\xbf\n# keys\n0x10\n"), 1u);
  EXPECT_EQ(Requests("trace", "a\nb\na\n", "csv:key=#1"), 3u);
  EXPECT_EQ(Requests("trace.keys", "70701\n"), 1u);
  EXPECT_EQ(Requests("trace.le64", "\x78\x9c\0\0\0\0\0\0\x78\x9c\x01\0\0\0\0\0"s), 2u);
  EXPECT_EQ(Requests("trace.keys", "070701\n2\n"), 2u);
  EXPECT_EQ(Requests("trace.be64", "\x01"s + std::string(511, '0')), 64u);
}

}  // namespace
}  // namespace mezz
