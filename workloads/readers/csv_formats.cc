// SPDX-License-Identifier: Apache-2.0
// Published traces that are CSV without a header, each as the columns that it has:
//
//   msr            Microsoft Research Cambridge (Narayanan et al., FAST'08; SNIA IOTTA): Timestamp (Windows file time),
//                  Hostname, DiskNumber, Type (Read, Write), Offset, Size, ResponseTime
//   alibaba_block  Alibaba's block traces (Li et al., IISWC'20; github.com/alibaba/block-traces): device_id, opcode (R,
//                  W), offset, length, timestamp in microseconds
//   tencent_cbs    Tencent's cloud block storage (Zhang et al., ATC'20; SNIA IOTTA): Timestamp in seconds, Offset and
//                  Size in 512 bytes, IOType (0 read, 1 write), VolumeID
//   fiu            Florida International University (Koller and Rangaswami, FAST'10; SNIA IOTTA): nanoseconds, process,
//                  its name, sector, sectors, W or R, major and minor number of the device, MD5; blanks between them
//   systor17       Systor '17 (Lee et al.; SNIA IOTTA): Timestamp in seconds, Response, IOType (R, W), LUN, Offset,
//                  Size; with that header
//   wiki_cdn       Wikimedia's CDN, 2019, images (wikitech: Analytics/Data_Lake/Traffic/Caching): relative_unix,
//                  hashed_path_query, image_type, response_size, time_firstbyte; tabs between them
//   wiki_cdn_text  the same of pages, without image_type
//   meta_cdn       Meta's CDN (cdn/202303 and later, as CacheLib's PieceWiseReplayGenerator reads them): timestamp,
//                  cacheKey, OpType, objectSize, responseSize, responseHeaderSize, rangeStart, rangeEnd, TTL,
//                  SamplingRate, cache_hit, ...; all are gets, as it takes them, ranges for the whole object
#include <algorithm>
#include <cassert>
#include <span>

#include "workloads/readers/csv_spec.h"
#include "workloads/readers/fields.h"
#include "workloads/readers/trace_formats.h"

namespace mezz {
namespace {

// Times that tell a format from others of the same shape.
constexpr uint64_t kFileTimeMin = 100'000'000'000'000'000;
constexpr uint64_t kMicrosMin = 1'000'000'000'000'000;  // of this century
constexpr uint64_t kYear2017 = 1'483'228'800;
constexpr uint64_t kYear2033 = 1'988'150'400;

// A shape has a letter for each field: n a number, f one with a fraction, i one that may be negative, t any text, *
// more of any; upper case letters are those of the operation: R one of Read and Write, W one of R and W, B 0 or 1.
bool IsField(char shape, std::string_view field) {
  uint64_t number = 0;
  switch (shape) {
    case 'n':
      return ParseNumber(field, 10, &number);
    case 'i':
      return ParseNumber(field.starts_with('-') ? field.substr(1) : field, 10, &number);
    case 'f': {
      double value = 0;
      return ParseDecimal(field, &value);
    }
    case 'R':
      return field == "Read" || field == "Write";
    case 'W':
      return field == "R" || field == "W" || field == "r" || field == "w";
    case 'B':
      return field == "0" || field == "1";
    default:
      return true;
  }
}

bool IsShape(std::string_view shape, std::span<const std::string> fields) {
  const bool open = shape.ends_with('*');
  if (open) shape.remove_suffix(1);
  if (fields.size() < shape.size() || (!open && fields.size() != shape.size())) return false;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!IsField(shape[i], fields[i])) return false;
  }
  return true;
}

// Whether the first lines have one of `shapes`, and `tell` is true of each.
template <typename Tell>
bool LinesAre(std::string_view head, char delimiter, std::initializer_list<std::string_view> shapes, Tell&& tell) {
  return FirstLinesAre(head, [&](std::string_view line) {
    const std::vector<std::string> fields = SplitCsvLine(line, delimiter);
    return std::ranges::any_of(shapes, [&](std::string_view shape) { return IsShape(shape, fields); }) && tell(fields);
  });
}

bool Always(const std::vector<std::string>&) { return true; }
uint64_t NumberOf(const std::string& field) {
  uint64_t number = 0;
  return ParseNumber(field, 10, &number) ? number : 0;
}

std::unique_ptr<RequestSource> Make(std::string path, std::string_view columns) {
  CsvSpec spec;
  [[maybe_unused]] const Status parsed = ParseCsvSpec(columns, &spec);
  assert(parsed.ok());
  return MakeCsvOf(std::move(path), std::move(spec));
}

}  // namespace

bool LooksLikeMsr(std::string_view head) {
  if (head.starts_with("Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime")) return true;
  return LinesAre(head, ',', {"ntnRnnn"}, [](const auto& fields) { return NumberOf(fields[0]) > kFileTimeMin; });
}
bool LooksLikeAlibabaBlock(std::string_view head) {
  return LinesAre(head, ',', {"nWnnn"}, [](const auto& fields) { return NumberOf(fields[4]) > kMicrosMin; });
}
// What its description names, as some put it above the numbers.
bool LooksLikeTencentCbs(std::string_view head) { return head.starts_with("Timestamp,Offset,Size,IOType,VolumeID"); }
// Five numbers; the year tells.
bool MayBeTencentCbs(std::string_view head) {
  return LinesAre(head, ',', {"nnnBn"}, [](const auto& fields) {
    return NumberOf(fields[0]) >= kYear2017 && NumberOf(fields[0]) < kYear2033;
  });
}
bool LooksLikeFiu(std::string_view head) { return LinesAre(head, ' ', {"nntnnWnn", "nntnnWnnt"}, Always); }
bool LooksLikeSystor17(std::string_view head) { return head.starts_with("Timestamp,Response,IOType,LUN,Offset,Size"); }
bool LooksLikeWikiCdn(std::string_view head) { return LinesAre(head, '\t', {"nitnf"}, Always); }
bool LooksLikeWikiCdnText(std::string_view head) { return LinesAre(head, '\t', {"ninf"}, Always); }
bool LooksLikeMetaCdn(std::string_view head) {
  if (head.starts_with("timestamp,cacheKey,OpType,objectSize")) return true;
  return LinesAre(head, ',', {"nttnnniinf*"}, [](const auto& fields) { return !IsField('n', fields[1]); });
}

std::unique_ptr<RequestSource> MakeMsr(std::string path) {
  return Make(std::move(path),
              "time=#1,device=#2,device2=#3,op=#4,offset=#5,size=#6,time_unit=filetime,delimiter=comma");
}
std::unique_ptr<RequestSource> MakeAlibabaBlock(std::string path) {
  return Make(std::move(path), "device=#1,op=#2,offset=#3,size=#4,time=#5,time_unit=us,delimiter=comma");
}
std::unique_ptr<RequestSource> MakeTencentCbs(std::string path) {
  return Make(std::move(path), "time=#1,sector=#2,sectors=#3,op=#4,device=#5,time_unit=s,get=0,put=1,delimiter=comma");
}
std::unique_ptr<RequestSource> MakeFiu(std::string path) {
  return Make(std::move(path),
              "time=#1,client=#2,sector=#4,sectors=#5,op=#6,device=#7,device2=#8,time_unit=ns,delimiter=space");
}
std::unique_ptr<RequestSource> MakeSystor17(std::string path) {
  return Make(std::move(path),
              "time=Timestamp,op=IOType,device=LUN,offset=Offset,size=Size,time_unit=s,delimiter=comma");
}
std::unique_ptr<RequestSource> MakeWikiCdn(std::string path) {
  return Make(std::move(path), "time=#1,key=#2,size=#4,time_unit=s,delimiter=tab");
}
std::unique_ptr<RequestSource> MakeWikiCdnText(std::string path) {
  return Make(std::move(path), "time=#1,key=#2,size=#3,time_unit=s,delimiter=tab");
}
std::unique_ptr<RequestSource> MakeMetaCdn(std::string path) {
  return Make(std::move(path), "time=#1,key=#2,size=#4,op=get,delimiter=comma");
}

}  // namespace mezz
