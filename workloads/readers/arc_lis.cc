// SPDX-License-Identifier: Apache-2.0
// The traces of the ARC paper (Megiddo and Modha, FAST'03): `starting_block number_of_blocks ignored request_number`,
// blocks of 512 bytes. In OLTP a record is a page reference and no block has a size: format arc_pages.
#include <fmt/format.h>

#include "workloads/readers/block_io.h"
#include "workloads/readers/fields.h"
#include "workloads/readers/trace_file.h"
#include "workloads/readers/trace_formats.h"

namespace mezz {
namespace {

constexpr size_t kFields = 4;
constexpr std::array<std::string_view, kFields> kFieldNames = {"starting block", "number of blocks", "ignored",
                                                               "request number"};

class ArcLis final : public TraceFile {
 public:
  ArcLis(std::string path, bool pages) : TraceFile(std::move(path)), pages_(pages) {}

  bool Next(Request* request) override {
    while (TakeRecord(request)) {
      if (pages_ || request->extent_bytes != 0) return true;
      ++empty_;
    }
    return false;
  }
  Status Rewind() override {
    empty_ = 0;
    return TraceFile::Rewind();
  }
  std::vector<std::string> remarks() const override {
    return empty_ == 0 ? std::vector<std::string>() : std::vector{EmptyIoRemark(empty_)};
  }

 private:
  bool TakeRecord(Request* request) {
    std::string_view line;
    if (!TakeFilledLine(&line)) return false;
    std::array<std::string_view, kFields> fields;
    const size_t count = SplitFields(line, ' ', &fields);
    if (count != kFields) return Fail(fmt::format("{} fields in \"{}\"; want {}", count, Shown(line), kFields));
    std::array<uint64_t, kFields> values{};
    for (size_t i = 0; i < kFields; ++i) {
      if (ParseNumber(fields[i], 10, &values[i])) continue;
      return Fail(fmt::format("field {} ({}) is \"{}\"; want a decimal number below 2^64", i + 1, kFieldNames[i],
                              Shown(fields[i])));
    }
    return pages_ ? TakePage(values[0], values[1], request) : TakeBlocks(values[0], values[1], request);
  }

  bool TakePage(uint64_t page, uint64_t blocks, Request* request) {
    *request = Request{.key = page};
    if (blocks == 1) return true;
    return Fail(
        fmt::format("field 2 (number of blocks) is {}; records of arc_pages are one page, use --format=arc", blocks));
  }

  bool TakeBlocks(uint64_t start, uint64_t blocks, Request* request) {
    *request = Request{};
    const std::string problem = TakeExtent({.sector = start,
                                            .length = blocks,
                                            .length_unit = kSectorBytes,
                                            .sector_name = "1 (starting block)",
                                            .length_name = "2 (number of blocks)"},
                                           request);
    return problem.empty() || Fail(problem);
  }

  const bool pages_;
  uint64_t empty_ = 0;
};

bool LooksLikeArc(std::string_view head) {
  return FirstLinesAre(head, [](std::string_view line) {
    std::array<std::string_view, kFields> fields;
    return SplitFields(line, ' ', &fields) == kFields && std::ranges::all_of(fields, IsNumber);
  });
}

}  // namespace

constexpr TraceFormat kArcFormat = {.name = "arc",
                                    .about = "ARC list of extents in 512-byte sectors (P1 to P14)",
                                    .file_name_parts = {".lis"},
                                    .may_match = &LooksLikeArc,
                                    .make = [](std::string path) -> std::unique_ptr<RequestSource> {
                                      return std::make_unique<ArcLis>(std::move(path), /*pages=*/false);
                                    },
                                    .shape = "four numbers"};
constexpr TraceFormat kArcPagesFormat = {.name = "arc_pages",
                                         .about = "ARC list whose records are one page each (OLTP)",
                                         .file_name_parts = {"OLTP.lis"},
                                         .make = [](std::string path) -> std::unique_ptr<RequestSource> {
                                           return std::make_unique<ArcLis>(std::move(path), /*pages=*/true);
                                         }};

}  // namespace mezz
