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
  switch (shape) {
    case 'n':
      return IsNumber(field);
    case 'i':
      return IsNumber(field.starts_with('-') ? field.substr(1) : field);
    case 'f':
      return IsDecimal(field);
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

}  // namespace

constexpr TraceFormat kMsrFormat = {
    .name = "msr",
    .about = "block I/O: Microsoft Research Cambridge",
    .matches = &LooksLikeMsr,
    .columns = "time=#1,device=#2,device2=#3,op=#4,offset=#5,size=#6,time_unit=filetime,delimiter=comma"};
constexpr TraceFormat kAlibabaBlockFormat = {
    .name = "alibaba_block",
    .about = "block I/O: Alibaba, device_id,opcode,offset,length,timestamp",
    .matches = &LooksLikeAlibabaBlock,
    .columns = "device=#1,op=#2,offset=#3,size=#4,time=#5,time_unit=us,delimiter=comma"};
constexpr TraceFormat kTencentCbsFormat = {
    .name = "tencent_cbs",
    .about = "block I/O: Tencent, Timestamp,Offset,Size,IOType,VolumeID",
    .file_name_parts = {"tencent", "Tencent"},
    .matches = &LooksLikeTencentCbs,
    .may_match = &MayBeTencentCbs,
    .columns = "time=#1,sector=#2,sectors=#3,op=#4,device=#5,time_unit=s,get=0,put=1,delimiter=comma",
    .shape = "five numbers, the first a second since 2017, the fourth 0 or 1"};
constexpr TraceFormat kFiuFormat = {
    .name = "fiu",
    .about = "block I/O: Florida International University",
    .matches = &LooksLikeFiu,
    .columns = "time=#1,client=#2,sector=#4,sectors=#5,op=#6,device=#7,device2=#8,time_unit=ns,delimiter=space"};
constexpr TraceFormat kSystor17Format = {
    .name = "systor17",
    .about = "block I/O: Systor '17",
    .matches = &LooksLikeSystor17,
    .columns = "time=Timestamp,op=IOType,device=LUN,offset=Offset,size=Size,time_unit=s,delimiter=comma"};
constexpr TraceFormat kWikiCdnFormat = {.name = "wiki_cdn",
                                        .about = "Wikimedia's CDN, images, 2019",
                                        .matches = &LooksLikeWikiCdn,
                                        .columns = "time=#1,key=#2,size=#4,time_unit=s,delimiter=tab"};
constexpr TraceFormat kWikiCdnTextFormat = {.name = "wiki_cdn_text",
                                            .about = "Wikimedia's CDN, pages, 2019",
                                            .matches = &LooksLikeWikiCdnText,
                                            .columns = "time=#1,key=#2,size=#3,time_unit=s,delimiter=tab",
                                            .shape = "four fields between tabs"};
constexpr TraceFormat kMetaCdnFormat = {.name = "meta_cdn",
                                        .about = "Meta's CDN CSV",
                                        .matches = &LooksLikeMetaCdn,
                                        .columns = "time=#1,key=#2,size=#4,op=get,delimiter=comma"};

}  // namespace mezz
