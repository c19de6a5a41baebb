// SPDX-License-Identifier: Apache-2.0
#include "workloads/readers/skip_bad.h"

#include <utility>

namespace mezz {
namespace {

class SkippingSource final : public RequestSource {
 public:
  explicit SkippingSource(std::unique_ptr<RequestSource> source) : source_(std::move(source)) {}

  bool Next(Request* request) override {
    while (!source_->Next(request)) {
      if (!source_->SkipDamaged()) return false;
      ++skipped_;
    }
    return true;
  }
  Status status() const override { return source_->status(); }
  Status Rewind() override {
    skipped_ = 0;
    return source_->Rewind();
  }
  uint64_t size_hint() const override { return source_->size_hint(); }
  std::string description() const override { return source_->description(); }
  uint64_t skipped() const override { return skipped_; }

 private:
  const std::unique_ptr<RequestSource> source_;
  uint64_t skipped_ = 0;
};

}  // namespace

std::unique_ptr<RequestSource> SkipBad(std::unique_ptr<RequestSource> source) {
  return std::make_unique<SkippingSource>(std::move(source));
}

}  // namespace mezz
