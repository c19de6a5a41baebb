// SPDX-License-Identifier: Apache-2.0
#include "workloads/readers/foreign_content.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <initializer_list>

#include "workloads/readers/bytes.h"
#include "workloads/readers/decoders.h"
#include "workloads/readers/fields.h"

namespace mezz {
namespace {

using std::string_view_literals::operator""sv;

struct Mark {
  std::string_view bytes;
  std::string_view what;
};

constexpr std::string_view kUnpack = "unpack it first";

// Four bytes and more: chance does not make them.
constexpr Mark kMarks[] = {
    {"7z\xbc\xaf\x27\x1c"sv, "a 7z archive; unpack it first"},
    {"Rar!\x1a\x07"sv, "a RAR archive; unpack it first"},
    {"MSCF\0\0\0\0"sv, "a cabinet archive; unpack it first"},
    {"!<arch>\n"sv, "an ar archive; unpack it first"},
    {"LZIP\x01"sv, "compressed by lzip; unpack it first, or pack it with xz or zstd"},
    {"LRZI"sv, "compressed by lrzip; unpack it first, or pack it with xz or zstd"},
    {"\x89LZO\0\r\n\x1a\n"sv, "compressed by lzop; unpack it first, or pack it with lz4 or zstd"},
    {"\xff\x06\0\0sNaPpY"sv, "compressed by snappy; unpack it first, or pack it with lz4 or zstd"},
    {"\x02\x21\x4c\x18"sv, "in lz4's legacy form (lz4 -l); pack it without -l"},
    {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"sv, "an old Excel workbook; save it as CSV (UTF-8)"},
    {"PAR1"sv, "a Parquet file; write it as CSV"},
    {"ARROW1\0\0"sv, "an Arrow file; write it as CSV"},
    {"Obj\x01"sv, "an Avro file; write it as CSV"},
    {"\x89HDF\r\n\x1a\n"sv, "an HDF5 file; write it as CSV"},
    {"\x93NUMPY"sv, "a NumPy array; write its bytes (tofile) or CSV"},
    {"SQLite format 3\0"sv, "an SQLite database; write it as CSV"},
    {"version https://git-lfs"sv, "a pointer of Git LFS and not the trace; fetch it with git lfs pull"},
    {"%PDF-"sv, "a PDF document"},
};

bool IsText(std::string_view head) {
  return std::ranges::all_of(
      head, [](char c) { return static_cast<unsigned char>(c) >= ' ' || c == '\n' || c == '\r' || c == '\t'; });
}

// The sum of a header's bytes, those of the sum itself as blanks, stands in it in octal: so every tar since the
// seventh edition of Unix, whether or not it says "ustar".
bool IsTar(std::string_view head) {
  constexpr size_t kHeader = 512, kSumAt = 148, kSumBytes = 8;
  if (head.size() < kHeader || head[0] == '\0') return false;
  uint64_t sum = 0;
  for (size_t i = 0; i < kHeader; ++i) {
    const bool in_sum = i >= kSumAt && i < kSumAt + kSumBytes;
    sum += in_sum ? ' ' : static_cast<unsigned char>(head[i]);
  }
  std::string_view text = head.substr(kSumAt, kSumBytes);
  text = text.substr(0, text.find_first_of("\0 "sv, text.find_first_not_of(' ')));
  uint64_t told = 0;
  return ParseNumber(Trim(text), 8, &told) && told == sum;
}

bool IsCpio(std::string_view head) {
  constexpr size_t kNewHeader = 110, kOldHeader = 76;
  const auto all = [&](size_t bytes, auto&& is) {
    return head.size() >= bytes && std::ranges::all_of(head.substr(0, bytes), is);
  };
  if (head.starts_with("070701") || head.starts_with("070702"))
    return all(kNewHeader, [](unsigned char c) { return std::isxdigit(c) != 0; });
  return head.starts_with("070707") && all(kOldHeader, [](unsigned char c) { return c >= '0' && c <= '7'; });
}

std::string_view ZipOf(std::string_view head) {
  if (!head.starts_with("PK\x03\x04"sv) && !head.starts_with("PK\x05\x06"sv) && !head.starts_with("PK\x07\x08"sv))
    return {};
  if (head.find("opendocument.spreadsheet") != std::string_view::npos)
    return "an OpenDocument spreadsheet; save it as CSV (UTF-8)";
  if (head.find("[Content_Types].xml") != std::string_view::npos || head.find("xl/") != std::string_view::npos)
    return "an Excel workbook; save it as CSV (UTF-8)";
  return "a zip archive; unpack it first";
}

// lzma's old form has no mark. Its first byte says 0x5d for all that is usual, then come the dictionary's size, a power
// of two, and the content's, below 256 GiB or not known.
bool IsLzma(std::string_view head) {
  constexpr size_t kHeader = 13;
  if (head.size() < kHeader || head[0] != 0x5d) return false;
  const auto dictionary = LoadAs<uint32_t>(head.data() + 1);
  const auto content = LoadAs<uint64_t>(head.data() + 5);
  return std::has_single_bit(dictionary) && dictionary >= 4096 && (content == UINT64_MAX || content < (1ull << 38));
}

// A zlib stream begins with two bytes that a key may have. So the head is unpacked, to its end where it is all.
bool IsZlib(std::string_view head) {
  constexpr unsigned char kDeflate = 0x78;  // with a window of 32 KiB, as all write it
  if (head.size() < 8 || static_cast<unsigned char>(head[0]) != kDeflate) return false;
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) return false;
  std::array<unsigned char, 4096> out;
  stream.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(head.data()));
  stream.avail_in = static_cast<unsigned>(head.size());
  int result = Z_OK;
  while (result == Z_OK && stream.avail_in > 0) {
    stream.next_out = out.data();
    stream.avail_out = static_cast<unsigned>(out.size());
    result = inflate(&stream, Z_NO_FLUSH);
  }
  const bool unpacked = stream.total_out > 0;
  inflateEnd(&stream);
  return unpacked && (result == Z_STREAM_END || (result == Z_OK && head.size() >= kHeadBytes));
}

// Whether `head` begins a compressed stream. What is said to be keys may have its first bytes: it must unpack as well.
bool IsStream(std::string_view head, bool guessed) {
  const auto* in = reinterpret_cast<const uint8_t*>(head.data());
  const std::unique_ptr<Decoder> decoder = MakeDecoder(in, head.size());
  if (decoder == nullptr || guessed) return decoder != nullptr;
  std::array<uint8_t, 4096> out;
  size_t in_bytes = head.size();
  size_t unpacked = 0;
  while (in_bytes > 0) {
    uint8_t* to = out.data();
    size_t out_bytes = out.size();
    const size_t before = in_bytes;
    const Decoder::Result result = decoder->Step(&in, &in_bytes, &to, &out_bytes, /*last=*/false);
    unpacked += out.size() - out_bytes;
    if (result == Decoder::Result::kStreamEnd) return true;
    if (result != Decoder::Result::kMore) return false;
    if (in_bytes == before && out_bytes == out.size()) break;
  }
  return unpacked > 0 || head.size() >= kHeadBytes;
}

std::string_view Utf16(std::string_view head) {
  constexpr std::string_view kSays = "text in UTF-16 or UTF-32; make it UTF-8, such as with iconv -f UTF-16 -t UTF-8";
  if (head.starts_with("\xff\xfe"sv) || head.starts_with("\xfe\xff"sv) || head.starts_with("\0\0\xfe\xff"sv))
    return kSays;
  // Without a mark: each second byte of what is a letter is 0.
  const std::string_view start = head.substr(0, 64);
  if (start.size() < 16) return {};
  for (const size_t zero : {size_t{0}, size_t{1}}) {
    bool is = true;
    for (size_t i = 0; i + 1 < start.size(); i += 2) {
      const auto letter = static_cast<unsigned char>(start[i + 1 - zero]);
      is = is && start[i + zero] == '\0' &&
           (letter >= ' ' ? letter <= '~' : letter == '\n' || letter == '\r' || letter == '\t');
    }
    if (is) return kSays;
  }
  return {};
}

std::string_view Markup(std::string_view head) {
  std::string_view text = head;
  if (text.starts_with("\xef\xbb\xbf"sv)) text.remove_prefix(3);
  while (!text.empty() && (Trim(text.substr(0, 1)).empty() || text.front() == '\n')) text.remove_prefix(1);
  if (text.starts_with("<?xml") || text.starts_with("<!") || text.starts_with("<html") || text.starts_with("<HTML"))
    return "a page of HTML or XML, perhaps a server's error in place of the trace";
  if ((text.starts_with("{\"") || text.starts_with("[{") || text.starts_with("[\n") || text.starts_with("{\n")) &&
      IsText(head))
    return "JSON; write it as CSV";
  return {};
}

}  // namespace

std::string ForeignContent(std::string_view head, const ContentOrigin& origin) {
  const auto found = std::ranges::find_if(kMarks, [&](const Mark& mark) { return head.starts_with(mark.bytes); });
  if (found != std::end(kMarks)) return std::string(found->what);
  if (const std::string_view zip = ZipOf(head); !zip.empty()) return std::string(zip);
  if (IsTar(head)) return fmt::format("a tar archive; {}", kUnpack);
  if (IsCpio(head)) return fmt::format("a cpio archive; {}", kUnpack);
  if (origin.text) {
    if (const std::string_view utf16 = Utf16(head); !utf16.empty()) return std::string(utf16);
    if (const std::string_view markup = Markup(head); !markup.empty()) return std::string(markup);
  }
  if (origin.unpacked && IsStream(head, origin.guessed)) return "compressed twice; unpack it once";
  if (!origin.guessed) return {};
  if (IsZlib(head)) return "a zlib stream; pack it with gzip";
  if (IsLzma(head)) return "in lzma's old form; pack it with xz";
  if (head.starts_with("\x1f\x9d"sv) || head.starts_with("\x1f\xa0"sv))
    return "compressed by compress or lzh; unpack it first, or pack it with gzip or zstd";
  return {};
}

std::string ForeignName(std::string_view path) {
  constexpr std::string_view kEndings[] = {".7z",  ".br",   ".lha", ".lrz", ".lz",   ".lzma", ".lzo", ".rar",   ".sz",
                                           ".tar", ".tbz2", ".tgz", ".txz", ".xlsx", ".Z",    ".zip", ".snappy"};
  const auto* ending = std::ranges::find_if(kEndings, [&](std::string_view e) { return path.ends_with(e); });
  if (ending == std::end(kEndings)) return {};
  return fmt::format("its name ends in {}, and no format that is read begins like its content; unpack it first",
                     *ending);
}

}  // namespace mezz
