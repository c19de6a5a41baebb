// SPDX-License-Identifier: Apache-2.0
#include "workloads/requests/cut_extents.h"

#include <fmt/format.h>

#include <bit>
#include <utility>

#include "workloads/requests/wrapped_source.h"

namespace mezz {
namespace {

class CutSource final : public WrappedSource {
 public:
  CutSource(std::unique_ptr<RequestSource> source, uint32_t unit_bytes)
      : WrappedSource(std::move(source)), unit_bytes_(unit_bytes) {}

  Status status() const override { return refused_.ok() ? WrappedSource::status() : refused_; }
  bool SkipDamaged() override { return refused_.ok() && WrappedSource::SkipDamaged(); }

  bool Next(Request* request) override {
    if (next_block_ > last_block_) {
      if (!refused_.ok() || !source_->Next(&extent_)) return false;
      if (extent_.extent_bytes == 0) {
        *request = extent_;
        return true;
      }
      if (!std::has_single_bit(unit_bytes_)) {
        refused_ = Status::InvalidArgument(fmt::format(
            "--unit={}: {} has reads and writes of devices, which are cut into blocks at powers of two, such as 4096",
            unit_bytes_, description()));
        return false;
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

  // size_hint() is the source's: an extent is one block at least.
  Status Rewind() override {
    next_block_ = 1;
    last_block_ = 0;
    return source_->Rewind();
  }

 private:
  const uint32_t unit_bytes_;
  Status refused_;
  Request extent_;
  uint64_t next_block_ = 1;  // of the extent; past last_block_ when it is used up
  uint64_t last_block_ = 0;
};

}  // namespace

std::unique_ptr<RequestSource> CutExtents(std::unique_ptr<RequestSource> source, uint32_t unit_bytes) {
  return std::make_unique<CutSource>(std::move(source), unit_bytes);
}

}  // namespace mezz
