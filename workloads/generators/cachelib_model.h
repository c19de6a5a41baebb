// SPDX-License-Identifier: Apache-2.0
// A workload model of CacheLib's CacheBench: config.json and the popularity and size distributions it names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cache/status.h"

namespace mezz {

struct CachelibModel {
  // Shares of the requests; they add up to 1. A lone request is for a key that no other request names.
  double get = 0, set = 0, del = 0, lone_get = 0, lone_set = 0;

  // Bucket i is the popular keys [bucket_end[i-1], bucket_end[i]), equally popular among themselves, hottest bucket
  // first; the requests for popular keys that go to it or to one before it are bucket_cumulative[i] of 1.
  std::vector<uint64_t> bucket_end;
  std::vector<double> bucket_cumulative;
  uint64_t lone_keys = 0;  // so many as the recorded accesses imply

  std::vector<uint32_t> value_bytes;
  std::vector<double> value_cumulative;  // share of the keys whose values are value_bytes[i] or an earlier one

  uint64_t popular_keys() const { return bucket_end.back(); }
  uint64_t keys() const { return popular_keys() + lone_keys; }
  uint32_t ValueBytes(uint64_t key) const;

  // Reads FOLDER/config.json and the files beside it that it names. Errors name the file and the entry.
  static Status Load(const std::string& folder, CachelibModel* model);
};

}  // namespace mezz
