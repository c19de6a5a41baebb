// SPDX-License-Identifier: Apache-2.0
// Curves and traces as the planner's tests make them.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/random.h"
#include "workloads/plan/build_curve.h"
#include "workloads/requests/request.h"

namespace mezz::test {

// Requests for `keys`, of blocks whose sizes and roles follow from the key where they are asked for.
class KeySource final : public RequestSource {
 public:
  explicit KeySource(std::vector<uint64_t> keys, std::string name = "keys", bool varied = false)
      : keys_(std::move(keys)), name_(std::move(name)), varied_(varied) {}

  bool Next(Request* request) override {
    if (next_ == keys_.size()) return false;
    *request = {.key = keys_[next_++]};
    if (!varied_) return true;
    request->value_bytes = static_cast<uint32_t>(1000 + Mix(request->key) % 8000);
    if (request->key % 16 == 0) request->role = BlockRole::kIndex;
    if (request->key % 5 == 0) request->operation = Operation::kPut;
    return true;
  }
  Status status() const override { return Status::Ok(); }
  Status Rewind() override {
    next_ = 0;
    ++rewinds;
    return Status::Ok();
  }
  std::string description() const override { return name_; }

  int rewinds = 0;

 private:
  const std::vector<uint64_t> keys_;
  const std::string name_;
  const bool varied_;
  size_t next_ = 0;
};

// `requests` for `keys` keys, half of them for a sixteenth of the keys.
inline std::vector<uint64_t> SkewedKeys(Random* random, size_t requests, uint64_t keys) {
  std::vector<uint64_t> drawn(requests);
  for (uint64_t& key : drawn) key = random->Below(random->OneIn(2) ? keys / 16 : keys);
  return drawn;
}

inline plan::Curve CurveOf(RequestSource* source, const plan::CurveOptions& options) {
  plan::Curve curve;
  const Status status = plan::BuildCurve(source, options, &curve);
  if (!status.ok()) throw std::runtime_error(std::string(status.message()));  // which fails the test
  return curve;
}

// A curve that no trace made, of a random amount of everything.
inline plan::Curve RandomCurve(Random* random) {
  plan::Curve curve;
  curve.form = {.policy = "lru", .dram_cache = "hcc", .block_bytes = 4096, .pack = "off", .seeds = 3, .writers = 4};
  curve.form.dram = {uint64_t{1} << 20, uint64_t{4} << 20};
  curve.form.scm = {0, uint64_t{8} << 20};
  const uint64_t requests = 1000 + random->Below(1 << 20);
  curve.sums = {.hosts = 1 + random->Below(3),
                .requests = requests,
                .counted_requests = requests,
                .counted_bytes = requests * 4096,
                .blocks = random->Below(requests),
                .footprint_bytes = random->Below(1 << 30),
                .sampled_blocks = random->Below(1000),
                .damaged_records = random->Below(3)};
  for (uint64_t& count : curve.sums.operations) count = random->Below(requests);
  for (uint64_t& count : curve.sums.role_requests) count = random->Below(requests);
  curve.rate_min = static_cast<double>(1 + random->Below(100)) / 128;
  const uint64_t number = random->Below(8);
  curve.traces = {"trace " + std::to_string(number)};
  if (number < 4) curve.warnings = {"short " + std::to_string(number)};
  for (const uint64_t dram : curve.form.dram) {
    for (const uint64_t scm : curve.form.scm) {
      plan::CurvePoint& point = curve.points.emplace_back(plan::CurvePoint{.dram_bytes = dram, .scm_bytes = scm});
      for (uint32_t seed = 0; seed < curve.form.seeds; ++seed) {
        point.seeds.push_back({.dram_hits = random->Below(requests / 2),
                               .scm_in_place = random->Below(requests / 4),
                               .scm_unpacked = 0,
                               .promotions = random->Below(requests / 4),
                               .scm_writes = random->Below(requests),
                               .scm_written_bytes = random->Below(requests * 4096)});
      }
      for (plan::RoleCounts& role : point.roles)
        role = {.dram_hits = random->Below(requests), .scm_hits = random->Below(requests)};
    }
  }
  return curve;
}

}  // namespace mezz::test
