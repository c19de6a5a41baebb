// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/request.h"

namespace mezz {

struct GeneratorOptions {
  std::string name;      // one of GeneratorNames(), without "gen:"
  uint64_t keys = 0;     // requests name keys in [0, keys)
  uint64_t ops = 0;      // requests of all streams together; 0: endless
  double skew = -1;      // exponent of the popularity law; negative: the generator's own
  double put_share = 0;  // requests that are puts, of the keys that would be read otherwise; production has its own
  uint64_t seed = 1;
  unsigned stream = 0;   // which of `streams` independent substreams: one per replay thread
  unsigned streams = 1;  // the layout of popular keys is the same in all of them

  Status Validate() const;
};

inline constexpr uint64_t kGeneratorKeysMax = 1ull << 40;
inline constexpr double kSkewMax = 8;

// uniform, zipf, production: in the order they are shown.
const std::vector<std::string_view>& GeneratorNames();

Status MakeGenerator(const GeneratorOptions& options, std::unique_ptr<RequestSource>* source);

// The value size gen:production gives the key before its first put. Depends on nothing but the key.
uint32_t ProductionInitialValueBytes(uint64_t key);

}  // namespace mezz
