// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "workloads/requests/request.h"

namespace mezz {

// What changes the requests of another source, or leaves some out: all but Next() is that one's, unless it is
// overridden.
class WrappedSource : public RequestSource {
 public:
  explicit WrappedSource(std::unique_ptr<RequestSource> source) : source_(std::move(source)) {}

  Status status() const override { return source_->status(); }
  std::span<const BlockEvent> events() const override { return source_->events(); }
  Status Rewind() override { return source_->Rewind(); }
  uint64_t size_hint() const override { return source_->size_hint(); }
  Position position() const override { return source_->position(); }
  std::string description() const override { return source_->description(); }
  bool deletes() const override { return source_->deletes(); }
  bool SkipDamaged() override { return source_->SkipDamaged(); }
  uint64_t skipped() const override { return source_->skipped(); }
  double sample_rate() const override { return source_->sample_rate(); }
  std::vector<std::string> remarks() const override { return source_->remarks(); }

 protected:
  const std::unique_ptr<RequestSource> source_;
};

}  // namespace mezz
