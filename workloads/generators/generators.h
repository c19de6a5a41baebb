// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/requests/request.h"

namespace mezz {

struct GeneratorOptions {
  std::string name;      // one of GeneratorNames(), or cachelib:FOLDER; without "gen:"
  uint64_t keys = 0;     // requests name keys in [0, keys / scale); 0: the workload's own number, see GeneratorKeys()
  uint64_t scale = 1;    // divides the keys: a machine so many times smaller
  uint64_t ops = 0;      // requests of all streams together; 0: endless
  double skew = -1;      // exponent of the popularity law; negative: the generator's own
  double put_share = 0;  // requests that are puts, of the keys that would be read otherwise; uniform and zipf only
  uint64_t seed = 1;
  unsigned stream = 0;   // which of `streams` independent substreams: one per replay thread
  unsigned streams = 1;  // the layout of popular keys is the same in all of them

  Status Validate() const;
};

inline constexpr uint64_t kGeneratorKeysMax = 1ull << 40;
inline constexpr double kSkewMax = 8;

// Those that need no folder, in the order they are shown: uniform, zipf, production, ...
const std::vector<std::string_view>& GeneratorNames();
// For messages: all that may follow "--trace=".
std::string KnownGenerators();

Status MakeGenerator(const GeneratorOptions& options, std::unique_ptr<RequestSource>* source);

// How many keys its requests name: at least 1.
Status GeneratorKeys(const GeneratorOptions& options, uint64_t* keys);

// Bytes of the value a key holds before its first put. Depends on nothing but the key; any thread. Empty: the workload
// has no sizes of its own.
using ValueSizes = std::function<uint32_t(uint64_t key)>;
Status GeneratorValueSizes(const GeneratorOptions& options, ValueSizes* sizes);
// Whether GeneratorValueSizes() gives any; `name` as in the options.
bool GeneratorHasSizes(std::string_view name);

}  // namespace mezz
