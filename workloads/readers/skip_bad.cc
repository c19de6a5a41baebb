// SPDX-License-Identifier: Apache-2.0
#include "workloads/readers/skip_bad.h"

#include <utility>

#include "workloads/requests/wrapped_source.h"

namespace mezz {
namespace {

class SkippingSource final : public WrappedSource {
 public:
  using WrappedSource::WrappedSource;

  bool Next(Request* request) override {
    while (!source_->Next(request)) {
      if (!source_->SkipDamaged()) return false;
      ++skipped_;
    }
    return true;
  }
  Status Rewind() override {
    skipped_ = 0;
    return source_->Rewind();
  }
  uint64_t skipped() const override { return skipped_; }

 private:
  uint64_t skipped_ = 0;
};

}  // namespace

std::unique_ptr<RequestSource> SkipBad(std::unique_ptr<RequestSource> source) {
  return std::make_unique<SkippingSource>(std::move(source));
}

}  // namespace mezz
