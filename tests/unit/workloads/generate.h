// SPDX-License-Identifier: Apache-2.0
// What tests of generated streams share.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "workloads/generators/generators.h"

namespace mezz {

inline std::vector<Request> GenerateAll(const GeneratorOptions& options) {
  std::unique_ptr<RequestSource> source;
  const Status status = MakeGenerator(options, &source);
  EXPECT_TRUE(status.ok()) << status.message();
  std::vector<Request> requests;
  for (Request request; status.ok() && source->Next(&request);) requests.push_back(request);
  return requests;
}

inline double ShareOf(const std::vector<Request>& requests, Operation operation) {
  const auto count = std::count_if(requests.begin(), requests.end(),
                                   [=](const Request& request) { return request.operation == operation; });
  return static_cast<double>(count) / static_cast<double>(requests.size());
}

inline std::map<uint64_t, uint64_t> CountKeys(const std::vector<Request>& requests) {
  std::map<uint64_t, uint64_t> counts;
  for (const Request& request : requests) ++counts[request.key];
  return counts;
}

// By key, of keys below `keys`.
inline std::vector<uint64_t> CountKeys(const std::vector<Request>& requests, uint64_t keys) {
  std::vector<uint64_t> counts(keys);
  for (const Request& request : requests) ++counts.at(request.key);
  return counts;
}

inline std::vector<uint64_t> Descending(std::vector<uint64_t> counts) {
  std::sort(counts.rbegin(), counts.rend());
  return counts;
}
inline std::vector<uint64_t> Descending(const std::map<uint64_t, uint64_t>& counts) {
  std::vector<uint64_t> unsorted;
  for (const auto& [key, count] : counts) unsorted.push_back(count);
  return Descending(std::move(unsorted));
}

}  // namespace mezz
