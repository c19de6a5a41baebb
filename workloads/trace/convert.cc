// SPDX-License-Identifier: Apache-2.0
#include "workloads/trace/convert.h"

#include <fmt/format.h>

#include "workloads/program/program.h"
#include "workloads/readers/open_trace.h"
#include "workloads/requests/cut_extents.h"
#include "workloads/requests/remarks.h"
#include "workloads/requests/sampled_source.h"
#include "workloads/requests/tracked_source.h"
#include "workloads/trace/trace_writer.h"

namespace mezz {
namespace {

Status OpenSource(const ConvertOptions& o, Progress* progress, std::unique_ptr<RequestSource>* source) {
  MEZZ_RETURN_IF_ERROR(OpenTrace(o.path, {.format = o.format, .skip_bad = o.skip_bad}, source));
  *source = TrackProgress(std::move(*source), progress);
  // Blocks are sampled, not extents: an extent's first byte says little of what else it covers.
  if (o.rate < 1 || !FindWriterFormat(o.to)->takes_extents) *source = CutExtents(std::move(*source), o.unit_bytes);
  if (o.rate < 1) *source = SampleKeys(std::move(*source), o.rate, o.seed);
  return Status::Ok();
}

}  // namespace

Status ConvertOptions::Validate() const {
  if (!(rate > 0 && rate <= 1)) {
    return Status::InvalidArgument(fmt::format("--rate={} is out of range; it goes from above 0 to 1", rate));
  }
  if (out.empty()) return Status::InvalidArgument("--out is missing; name the file to write");
  MEZZ_RETURN_IF_ERROR(CheckWritable("out", out));
  if (IsSameFile(path, out)) {
    return Status::InvalidArgument(fmt::format("--out={} is the trace itself; name another file", out));
  }
  return Status::Ok();
}

Status ConvertTrace(const ConvertOptions& options, ConvertSummary* summary, Progress* progress) {
  MEZZ_RETURN_IF_ERROR(options.Validate());
  WriterOptions out{.path = options.out,
                    .format = options.to,
                    .memory_bytes_max = options.memory_bytes_max,
                    .unknown_bytes = options.unknown_bytes};
  std::unique_ptr<TraceWriter> writer;
  if (FindWriterFormat(options.to) == nullptr) return OpenTraceWriter(out, &writer);  // which says what there is
  std::unique_ptr<RequestSource> source;
  MEZZ_RETURN_IF_ERROR(OpenSource(options, progress, &source));
  Request request;
  bool more = source->Next(&request);
  out.sample_rate = source->sample_rate();
  MEZZ_RETURN_IF_ERROR(OpenTraceWriter(out, &writer));
  const bool tells_operations = FindWriterFormat(options.to)->keeps_operations;
  ConvertSummary written;
  uint64_t events = 0;  // which no format that is written has
  for (; more; more = source->Next(&request)) {
    events += source->events().size();
    MEZZ_RETURN_IF_ERROR(writer->Write(request));
    ++written.requests;
    written.operations += !tells_operations && request.operation != Operation::kGet;
  }
  MEZZ_RETURN_IF_ERROR(source->status());
  if (written.requests == 0) {
    return Status::InvalidArgument(
        fmt::format("trace {}: none of its requests are left{}", options.path,
                    options.rate < 1 ? fmt::format(" at --rate={}; raise it", options.rate) : std::string()));
  }
  written.damaged_records = source->skipped();
  MEZZ_RETURN_IF_ERROR(writer->Finish());
  written.remarks = source->remarks();
  if (events > 0) written.remarks.push_back(EventsLeftOutRemark(events));
  for (std::string& remark : writer->remarks()) written.remarks.push_back(std::move(remark));
  *summary = std::move(written);
  return Status::Ok();
}

}  // namespace mezz
