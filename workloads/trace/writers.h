// SPDX-License-Identifier: Apache-2.0
// A new format to write is a file beside this one, a maker declared here, and a line in the table of trace_writer.cc.
#pragma once

#include <memory>

#include "workloads/trace/output_file.h"
#include "workloads/trace/trace_writer.h"

namespace mezz {

std::unique_ptr<TraceWriter> MakeTextKeysWriter(std::unique_ptr<OutputFile> file, const WriterOptions& options);
std::unique_ptr<TraceWriter> MakeBigEndian64Writer(std::unique_ptr<OutputFile> file, const WriterOptions& options);
std::unique_ptr<TraceWriter> MakeOracleGeneralWriter(std::unique_ptr<OutputFile> file, const WriterOptions& options);
std::unique_ptr<TraceWriter> MakeRocksdbBlockCsvWriter(std::unique_ptr<OutputFile> file, const WriterOptions& options);
std::unique_ptr<TraceWriter> MakeMezzCsvWriter(std::unique_ptr<OutputFile> file, const WriterOptions& options);

}  // namespace mezz
