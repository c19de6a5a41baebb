// SPDX-License-Identifier: Apache-2.0
#include "workloads/requests/sampled_source.h"

#include <utility>
#include <vector>

#include "workloads/requests/wrapped_source.h"

namespace mezz {
namespace {

constexpr size_t kBatchMax = 1 << 20;  // longer ones are cut

class SampledSource final : public WrappedSource {
 public:
  SampledSource(std::unique_ptr<RequestSource> source, const SpatialSample& sample)
      : WrappedSource(std::move(source)), sample_(sample) {}

  bool Next(Request* request) override {
    if (next_ == kept_.size() && !TakeBatch()) return false;
    *request = kept_[next_++];
    return true;
  }
  Status Rewind() override {
    kept_.clear();
    next_ = 0;
    return source_->Rewind();
  }
  uint64_t size_hint() const override { return 0; }
  std::span<const BlockEvent> events() const override { return {}; }  // parents would be missing

 private:
  // At least one request, and all of the batch it belongs to.
  bool TakeBatch() {
    kept_.clear();
    next_ = 0;
    for (Request request; source_->Next(&request);) {
      if (sample_.Keeps(request.key)) kept_.push_back(request);
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

  const SpatialSample sample_;
  std::vector<Request> kept_;
  size_t next_ = 0;
};

}  // namespace

std::unique_ptr<RequestSource> SampleKeys(std::unique_ptr<RequestSource> source, const SpatialSample& sample) {
  return std::make_unique<SampledSource>(std::move(source), sample);
}

}  // namespace mezz
