// SPDX-License-Identifier: Apache-2.0
#include "workloads/trace/info.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "admission/curves/key_map.h"
#include "workloads/readers/open_trace.h"
#include "workloads/requests/cut_extents.h"
#include "workloads/requests/remarks.h"
#include "workloads/requests/tracked_source.h"
#include "workloads/requests/wrapped_source.h"
#include "workloads/trace/stack_distances.h"
#include "workloads/trace/zipf_fit.h"

namespace mezz {
namespace {

constexpr uint64_t kCheckEvery = 1 << 16;  // accesses between two looks at the memory in use

// Notes what the requests say themselves, before extents are cut, and passes them on.
class RequestNotes final : public WrappedSource {
 public:
  RequestNotes(std::unique_ptr<RequestSource> source, TraceInfo* info)
      : WrappedSource(std::move(source)), info_(*info) {}

  bool Next(Request* request) override {
    if (!source_->Next(request)) return false;
    Note(*request);
    return true;
  }

 private:
  void Note(const Request& r) {
    ++info_.requests;
    ++info_.operations[static_cast<size_t>(r.operation)];
    ++info_.roles[static_cast<size_t>(r.role)];
    if (r.key_bytes != 0) info_.key_bytes.Add(r.key_bytes);
    if (r.value_bytes != 0) info_.value_bytes.Add(r.value_bytes);
    if (r.extent_bytes != 0) info_.extent_bytes.Add(r.extent_bytes);
    if (r.operation == Operation::kSeek) info_.scan_lengths.Add(r.scan_length);
    info_.extents += r.extent_bytes != 0;
    info_.no_inserts += r.no_insert;
    info_.recorded_hits += r.recorded == Recorded::kHit;
    info_.recorded_misses += r.recorded == Recorded::kMiss;
    if (r.level >= 0) ++info_.levels[r.level];
    if (r.client != 0) clients_.Number(r.client);
    families_.Number(r.column_family);
    info_.clients = clients_.size();
    info_.column_families = families_.size();
    // Where one request has a time, 0 is one, too: clocks begin there.
    info_.first_us = info_.requests == 1 ? r.time_us : std::min(info_.first_us, r.time_us);
    info_.last_us = std::max(info_.last_us, r.time_us);
    info_.has_time = info_.last_us != 0;
  }

  TraceInfo& info_;
  KeyMap clients_, families_;
};

// Notes each key or block that is accessed.
class AccessNotes {
 public:
  void Note(const Request& request) {
    const uint32_t known = keys_.size();
    const uint32_t number = keys_.Number(request.key);
    if (number == known) notes_.push_back({});
    KeyNotes& key = notes_[number];
    has_time_ = has_time_ || request.time_us != 0;
    if (has_time_ && number != known && request.time_us >= key.last_us) reuse_us_.Add(request.time_us - key.last_us);
    key.last_us = request.time_us;
    if (key.bytes != 0 && request.value_bytes != 0) key.resized = key.resized || key.bytes != request.value_bytes;
    if (key.bytes == 0) key.bytes = request.value_bytes;
    key.accesses += key.accesses < UINT32_MAX;
    distances_.Access(request.key);
    ++accesses_;
  }

  uint64_t accesses() const { return accesses_; }
  uint64_t keys() const { return keys_.size(); }
  uint64_t memory_bytes() const { return keys_.bytes() + notes_.capacity() * sizeof(KeyNotes); }

  void Conclude(TraceInfo* info) const {
    info->accesses = accesses_;
    info->distinct_keys = notes_.size();
    for (const KeyNotes& key : notes_) {
      info->footprint_bytes += key.bytes;
      info->keys_without_size += key.bytes == 0;
      info->keys_of_changing_size += key.resized;
    }
    info->reuse_distance = distances_.distances();
    info->reuse_sample = distances_.rate();
    info->reuse_us = reuse_us_;
    ConcludeSkew(&info->skew);
  }

 private:
  struct KeyNotes {
    uint64_t last_us = 0;
    uint32_t bytes = 0;
    uint32_t accesses = 0;
    bool resized = false;
  };

  void ConcludeSkew(Skew* skew) const {
    std::vector<uint32_t> counts;
    counts.reserve(notes_.size());
    for (const KeyNotes& key : notes_) counts.push_back(key.accesses);
    std::ranges::sort(counts, std::greater<>());
    const auto share_of_top = [&](double share) {
      const auto top = static_cast<size_t>(std::max(1.0, share * static_cast<double>(counts.size()) + 0.5));
      double sum = 0;
      for (size_t i = 0; i < std::min(top, counts.size()); ++i) sum += counts[i];
      return sum / static_cast<double>(accesses_);
    };
    skew->zipf_exponent = FitZipf(counts);
    skew->top_1_percent = share_of_top(0.01);
    skew->top_10_percent = share_of_top(0.1);
    skew->top_25_percent = share_of_top(0.25);
    skew->one_hit_keys = static_cast<uint64_t>(std::ranges::count(counts, 1u));
  }

  KeyMap keys_;
  std::vector<KeyNotes> notes_;  // by the key's number
  StackDistances distances_;
  LogHistogram reuse_us_;
  bool has_time_ = false;  // a request had one
  uint64_t accesses_ = 0;
};

}  // namespace

Status InspectTrace(const InfoOptions& options, TraceInfo* info, Progress* progress) {
  TraceInfo noted;
  noted.path = options.path;
  MEZZ_RETURN_IF_ERROR(FindTraceFormat(options.path, options.format, &noted.format));
  std::unique_ptr<RequestSource> source;
  MEZZ_RETURN_IF_ERROR(OpenTrace(options.path, {.format = options.format, .skip_bad = options.skip_bad}, &source));
  source = TrackProgress(std::move(source), progress);
  source = CutExtents(std::make_unique<RequestNotes>(std::move(source), &noted), options.unit_bytes);
  AccessNotes notes;
  for (Request request; source->Next(&request);) {
    notes.Note(request);
    if (notes.accesses() % kCheckEvery != 0 || notes.memory_bytes() <= options.memory_bytes_max) continue;
    return Status::NoSpace(fmt::format(
        "trace {} needs more than the {} MiB of --memory: {} keys after {} accesses; raise it, or look at a "
        "sample made with mezz_trace sample",
        options.path, options.memory_bytes_max >> 20, notes.keys(), notes.accesses()));
  }
  MEZZ_RETURN_IF_ERROR(source->status());
  noted.damaged_records = source->skipped();
  noted.remarks = source->remarks();
  if (notes.accesses() == 0) {
    return Status::InvalidArgument(
        fmt::format("trace {}: it holds no requests{}", options.path,
                    noted.damaged_records > 0 ? fmt::format(", only {} damaged records", noted.damaged_records) : ""));
  }
  notes.Conclude(&noted);
  if (noted.keys_of_changing_size > 0) noted.remarks.push_back(SizesChangeRemark(noted.keys_of_changing_size));
  *info = std::move(noted);
  return Status::Ok();
}

}  // namespace mezz
