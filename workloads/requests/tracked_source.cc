// SPDX-License-Identifier: Apache-2.0
#include "workloads/requests/tracked_source.h"

#include <fmt/format.h>

#include <utility>

#include "workloads/requests/wrapped_source.h"

namespace mezz {
namespace {

class TrackedSource final : public WrappedSource {
 public:
  TrackedSource(std::unique_ptr<RequestSource> source, Progress* progress)
      : WrappedSource(std::move(source)), progress_(*progress) {}

  bool Next(Request* request) override {
    constexpr uint64_t kTellEvery = 4096;
    if (requests_ % kTellEvery == 0) Tell();
    ++requests_;
    if (source_->Next(request)) return true;
    progress_.End();
    return false;
  }
  Status Rewind() override {
    requests_ = 0;
    return source_->Rewind();
  }

 private:
  void Tell() {
    if (requests_ == 0)
      progress_.Phase(fmt::format("reading {}", source_->description()), /*announce=*/false, " requests");
    const Position position = source_->position();
    if (position.total > 0) return progress_.Update(position.done, position.total, requests_);
    progress_.Update(requests_, source_->size_hint());
  }

  Progress& progress_;
  uint64_t requests_ = 0;
};

}  // namespace

std::unique_ptr<RequestSource> TrackProgress(std::unique_ptr<RequestSource> source, Progress* progress) {
  if (progress == nullptr) return source;
  return std::make_unique<TrackedSource>(std::move(source), progress);
}

}  // namespace mezz
