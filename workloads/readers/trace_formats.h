// SPDX-License-Identifier: Apache-2.0
// A new format is a file beside this one that defines it, its declaration here, and its place in the list of
// open_trace.cc.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "workloads/readers/csv_spec.h"
#include "workloads/requests/request.h"

namespace mezz {

// How a format is told from others, and read. `head` is the first kHeadBytes of the content, decompressed.
struct TraceFormat {
  enum class Kind : uint8_t { kBinary, kText };

  std::string_view name;
  std::string_view about;
  Kind kind = Kind::kText;
  std::array<std::string_view, 6> file_name_parts = {};  // any of them in the file's name tells the format
  bool (*matches)(std::string_view head) = nullptr;      // for certain, whatever the name; null: never
  bool (*may_match)(std::string_view head) = nullptr;    // if neither content nor name are clearer; null: never
  bool (*allows_name)(std::string_view head) = nullptr;  // else the content contradicts the name; null: always
  std::unique_ptr<RequestSource> (*make)(std::string path) = nullptr;  // null: it is CSV
  std::string_view columns = {};  // of CSV: which column is what, as ParseCsvSpec takes it
  std::string_view shape = {};    // not empty: of lines without a header it is all that tells the format

  bool Matches(std::string_view head) const { return matches != nullptr && matches(head); }
  bool MayMatch(std::string_view head) const { return may_match != nullptr && may_match(head); }
  bool AllowsName(std::string_view head) const { return allows_name == nullptr || allows_name(head); }
};

template <typename Reader>
std::unique_ptr<RequestSource> MakeReader(std::string path) {
  return std::make_unique<Reader>(std::move(path));
}
// CSV with the columns that `spec` says, or that its header names.
std::unique_ptr<RequestSource> MakeCsvOf(std::string path, CsvSpec spec);

extern const TraceFormat kAlibabaBlockFormat, kArcFormat, kArcPagesFormat, kBigEndian32Format, kBigEndian64Format,
    kCloudPhysicsFormat, kCsvFormat, kFiuFormat, kLcsFormat, kLineageFormat, kLirsFormat, kLittleEndian32Format,
    kLittleEndian64Format, kMetaBlockFormat, kMetaCdnFormat, kMetaKvFormat, kMezzCsvFormat, kMqsimFormat, kMsrFormat,
    kOracleGeneralFormat, kRocksdbBlockFormat, kRocksdbBlockCsvFormat, kRocksdbQueryFormat, kSpcFormat, kSystor17Format,
    kTencentCbsFormat, kTextKeysFormat, kTwitterFormat, kVscsi1Format, kVscsi2Format, kWikiCdnFormat,
    kWikiCdnTextFormat;

}  // namespace mezz
