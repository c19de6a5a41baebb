// SPDX-License-Identifier: Apache-2.0
// Small traces for the simulator's tests.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "admission/curves/two_tier.h"
#include "tests/support/seed.h"
#include "workloads/readers/loaded_trace.h"
#include "workloads/requests/wrapped_source.h"

namespace mezz::sim {

class VectorSource final : public RequestSource {
 public:
  explicit VectorSource(std::vector<Request> requests, std::string description = "test")
      : requests_(std::move(requests)), description_(std::move(description)) {}
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
  std::string description() const override { return description_; }

 private:
  const std::vector<Request> requests_;
  const std::string description_;
  size_t at_ = 0;
};

// As a file that mezz_trace sample wrote.
class SampleOf final : public WrappedSource {
 public:
  SampleOf(std::unique_ptr<RequestSource> source, double rate) : WrappedSource(std::move(source)), rate_(rate) {}
  bool Next(Request* request) override { return source_->Next(request); }
  double sample_rate() const override { return rate_; }

 private:
  const double rate_;
};

inline LoadedTrace LoadAll(VectorSource source) {
  LoadedTrace trace;
  EXPECT_EQ(LoadedTrace::Load(&source, {}, &trace).message(), "");
  return trace;
}
inline LoadedTrace LoadKeys(const std::vector<uint64_t>& keys) { return LoadAll(VectorSource::OfKeys(keys)); }

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
template <typename Random>
LoadedTrace LoadMixed(Random& random, size_t accesses, uint32_t blocks) {
  const std::vector<BlockId> trace = MixedAccesses(random, accesses, blocks);
  return LoadKeys({trace.begin(), trace.end()});
}

template <typename Model>
void ExpectSound(const Model& model) {
  std::vector<std::string> violations;
  model.Audit(&violations);
  EXPECT_THAT(violations, testing::IsEmpty());
}

// What RunTwoTier counts, while the tiers stay sound.
inline SimCounts RunOn(const LoadedTrace& trace, const TwoTierOptions& options, Policy* policy, SimClock* clock) {
  std::vector<std::string> violations;
  const SimCounts counts = RunTwoTier(trace, options, policy, clock, &violations);
  EXPECT_THAT(violations, testing::IsEmpty());
  return counts;
}
inline SimCounts RunOn(const LoadedTrace& trace, const TwoTierOptions& options, Policy* policy) {
  SimClock clock;
  return RunOn(trace, options, policy, &clock);
}

}  // namespace mezz::sim
