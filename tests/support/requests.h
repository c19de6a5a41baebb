// SPDX-License-Identifier: Apache-2.0
// Requests as tests compare and read them.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "admission/curves/operation.h"
#include "workloads/readers/open_trace.h"
#include "workloads/requests/request.h"

namespace mezz {

inline auto AllOf(const Request& r) {
  return std::make_tuple(r.key, r.operation, r.key_bytes, r.value_bytes, r.scan_length, r.batch_left, r.extent_bytes,
                         r.time_us, r.role, r.client, r.column_family, r.level, r.recorded, r.no_insert);
}
inline bool operator==(const Request& a, const Request& b) { return AllOf(a) == AllOf(b); }
// For gtest.
inline void PrintTo(const Request& r, std::ostream* out) {
  *out << ToString(r.operation) << " " << r.key << ", bytes " << r.key_bytes << "+" << r.value_bytes << ", extent "
       << r.extent_bytes << ", at " << r.time_us << " us, scan " << r.scan_length << ", batch left " << r.batch_left
       << ", role " << static_cast<int>(r.role) << ", client " << r.client << ", family " << r.column_family
       << ", level " << static_cast<int>(r.level) << ", recorded " << static_cast<int>(r.recorded) << ", no insert "
       << r.no_insert;
}

struct RequestsRead {
  std::vector<Request> requests;
  uint64_t skipped = 0;
  Status status;
};

inline RequestsRead ReadRequests(const std::string& path, const OpenOptions& options = {}) {
  RequestsRead read;
  std::unique_ptr<RequestSource> source;
  read.status = OpenTrace(path, options, &source);
  if (!read.status.ok()) return read;
  Request request;
  while (source->Next(&request)) read.requests.push_back(request);
  read.status = source->status();
  EXPECT_FALSE(source->Next(&request)) << "the end, or an error, lasts";
  read.skipped = source->skipped();
  return read;
}

}  // namespace mezz
