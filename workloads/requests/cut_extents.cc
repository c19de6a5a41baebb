// SPDX-License-Identifier: Apache-2.0
#include "workloads/requests/cut_extents.h"

#include <utility>

namespace mezz {
namespace {

class CutSource final : public RequestSource {
 public:
  CutSource(std::unique_ptr<RequestSource> source, uint32_t unit_bytes)
      : source_(std::move(source)), unit_bytes_(unit_bytes) {}

  bool Next(Request* request) override {
    if (next_block_ > last_block_) {
      if (!source_->Next(&extent_)) return false;
      if (extent_.extent_bytes == 0) {
        *request = extent_;
        return true;
      }
      next_block_ = extent_.key / unit_bytes_;
      last_block_ = (extent_.key + extent_.extent_bytes - 1) / unit_bytes_;
    }
    *request = extent_;
    request->key = next_block_++;
    request->value_bytes = unit_bytes_;
    request->extent_bytes = 0;
    return true;
  }

  Status status() const override { return source_->status(); }
  Status Rewind() override {
    next_block_ = 1;
    last_block_ = 0;
    return source_->Rewind();
  }
  // An extent is one block at least.
  uint64_t size_hint() const override { return source_->size_hint(); }
  std::string description() const override { return source_->description(); }
  bool SkipDamaged() override { return source_->SkipDamaged(); }
  uint64_t skipped() const override { return source_->skipped(); }

 private:
  const std::unique_ptr<RequestSource> source_;
  const uint32_t unit_bytes_;
  Request extent_;
  uint64_t next_block_ = 1;  // of the extent; past last_block_ when it is used up
  uint64_t last_block_ = 0;
};

}  // namespace

std::unique_ptr<RequestSource> CutExtents(std::unique_ptr<RequestSource> source, uint32_t unit_bytes) {
  return std::make_unique<CutSource>(std::move(source), unit_bytes);
}

}  // namespace mezz
