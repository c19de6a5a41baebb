// SPDX-License-Identifier: Apache-2.0
#include "workloads/trace/trace_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "workloads/trace/writers.h"

namespace mezz {
namespace {

struct Entry {
  WriterFormat format;
  std::unique_ptr<TraceWriter> (*make)(std::unique_ptr<OutputFile> file, const WriterOptions& options);
};

const std::vector<Entry>& Entries() {
  static const std::vector<Entry> entries = {
      {{.name = "mezz_csv", .keeps = "all of a request", .takes_extents = true, .keeps_operations = true},
       &MakeMezzCsvWriter},
      {{.name = "oracle_general", .keeps = "keys, sizes, seconds"}, &MakeOracleGeneralWriter},
      {{.name = "rocksdb_block_csv",
        .keeps = "keys, sizes, times, roles, families, levels, hits (unknown becomes a miss) and no_insert"},
       &MakeRocksdbBlockCsvWriter},
      {{.name = "text", .keeps = "keys"}, &MakeTextKeysWriter},
      {{.name = "be64", .keeps = "keys"}, &MakeBigEndian64Writer},
  };
  return entries;
}

}  // namespace

const std::vector<WriterFormat>& WriterFormats() {
  static const std::vector<WriterFormat> formats = [] {
    std::vector<WriterFormat> all;
    for (const Entry& entry : Entries()) all.push_back(entry.format);
    return all;
  }();
  return formats;
}

const WriterFormat* FindWriterFormat(std::string_view name) {
  const auto found = std::ranges::find(WriterFormats(), name, &WriterFormat::name);
  return found == WriterFormats().end() ? nullptr : &*found;
}

Status OpenTraceWriter(const WriterOptions& options, std::unique_ptr<TraceWriter>* writer) {
  std::string known;
  for (const Entry& entry : Entries()) {
    known += fmt::format("{}{} (keeps {})", known.empty() ? "" : ", ", entry.format.name, entry.format.keeps);
    if (entry.format.name != options.format) continue;
    std::unique_ptr<OutputFile> file;
    MEZZ_RETURN_IF_ERROR(OutputFile::Open(options.path, &file));
    *writer = entry.make(std::move(file), options);
    return Status::Ok();
  }
  return Status::InvalidArgument(options.format.empty()
                                     ? fmt::format("--to is missing; one of {}", known)
                                     : fmt::format("--to={} cannot be written; one of {}", options.format, known));
}

}  // namespace mezz
