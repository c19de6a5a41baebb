// SPDX-License-Identifier: Apache-2.0
// Small traces for the simulator's tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/support/seed.h"
#include "workloads/readers/loaded_trace.h"

namespace mezz::sim {

class VectorSource final : public RequestSource {
 public:
  explicit VectorSource(std::vector<Request> requests) : requests_(std::move(requests)) {}
  static VectorSource OfKeys(const std::vector<uint64_t>& keys) {
    std::vector<Request> requests;
    for (const uint64_t key : keys) requests.push_back({.key = key});
    return VectorSource(std::move(requests));
  }

  bool Next(Request* request) override {
    if (at_ == requests_.size()) return false;
    *request = requests_[at_++];
    return true;
  }
  Status status() const override { return Status::Ok(); }
  Status Rewind() override {
    at_ = 0;
    return Status::Ok();
  }
  std::string description() const override { return "test"; }

 private:
  const std::vector<Request> requests_;
  size_t at_ = 0;
};

inline LoadedTrace LoadKeys(const std::vector<uint64_t>& keys) {
  LoadedTrace trace;
  VectorSource source = VectorSource::OfKeys(keys);
  const Status loaded = LoadedTrace::Load(&source, {}, &trace);
  EXPECT_TRUE(loaded.ok()) << loaded.message();
  return trace;
}

// Accesses to blocks below `blocks`: the low ones more often, with runs of fresh blocks and short loops in between.
template <typename Random>
std::vector<BlockId> MixedAccesses(Random& random, size_t accesses, uint32_t blocks) {
  std::vector<BlockId> trace;
  while (trace.size() < accesses) {
    const auto start = static_cast<BlockId>(random() % blocks);
    switch (random() % 8) {
      case 0:
        for (uint32_t i = 0; i < 8; ++i) trace.push_back((start + i) % blocks);
        break;
      case 1:
        for (uint32_t i = 0; i < 12; ++i) trace.push_back((start + i % 4) % blocks);
        break;
      default: {
        const double drawn = static_cast<double>(random() % (1 << 20)) / (1 << 20);
        trace.push_back(static_cast<BlockId>(blocks * drawn * drawn * drawn));
      }
    }
  }
  trace.resize(accesses);
  return trace;
}

}  // namespace mezz::sim
