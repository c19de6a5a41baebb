// SPDX-License-Identifier: Apache-2.0
#include "workloads/requests/sampled_source.h"

#include <optional>
#include <utility>
#include <vector>

#include "workloads/requests/remarks.h"
#include "workloads/requests/spatial_sample.h"
#include "workloads/requests/wrapped_source.h"

namespace mezz {
namespace {

constexpr size_t kBatchMax = 1 << 20;  // longer ones are cut

class SampledSource final : public WrappedSource {
 public:
  SampledSource(std::unique_ptr<RequestSource> source, double rate, uint64_t seed)
      : WrappedSource(std::move(source)), rate_(rate), seed_(seed) {}

  bool Next(Request* request) override {
    if (next_ == kept_.size() && !TakeBatch()) return false;
    *request = kept_[next_++];
    return true;
  }
  Status Rewind() override {
    kept_.clear();
    next_ = 0;
    events_left_out_ = 0;
    return source_->Rewind();
  }
  uint64_t size_hint() const override { return 0; }
  std::span<const BlockEvent> events() const override { return {}; }
  double sample_rate() const override { return rate_ * source_->sample_rate(); }
  std::vector<std::string> remarks() const override {
    std::vector<std::string> remarks = source_->remarks();
    if (events_left_out_ > 0) remarks.push_back(EventsLeftOutRemark(events_left_out_));
    return remarks;
  }

 private:
  // At least one request, and all of the batch it belongs to.
  bool TakeBatch() {
    kept_.clear();
    next_ = 0;
    for (Request request; source_->Next(&request);) {
      if (!sample_) sample_.emplace(rate_, seed_, source_->sample_rate());
      events_left_out_ += source_->events().size();
      if (sample_->Keeps(request.key)) kept_.push_back(request);
      if (!kept_.empty() && (!request.batch_goes_on() || kept_.size() == kBatchMax)) break;
    }
    uint32_t behind = 0;
    for (auto request = kept_.rbegin(); request != kept_.rend(); ++request) {
      const bool in_batch = request->operation == Operation::kMultiGet;
      request->batch_left = in_batch ? behind : request->batch_left;
      behind = in_batch ? behind + 1 : 0;
    }
    return !kept_.empty();
  }

  const double rate_;
  const uint64_t seed_;
  std::optional<SpatialSample> sample_;  // known once the first request is, which tells of what the source is a sample
  uint64_t events_left_out_ = 0;
  std::vector<Request> kept_;
  size_t next_ = 0;
};

}  // namespace

std::unique_ptr<RequestSource> SampleKeys(std::unique_ptr<RequestSource> source, double rate, uint64_t seed) {
  return std::make_unique<SampledSource>(std::move(source), rate, seed);
}

}  // namespace mezz
