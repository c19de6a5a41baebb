// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/random.h"
#include "tests/support/versioned_cache.h"

namespace mezz::test {

// The one thread that changes its keys: `keys` of them from number * keys on. Others may look them up. What it reads is
// what it wrote last, or a miss; what a failed Insert left is nothing.
class Owner {
 public:
  Owner(rocksdb::Cache* cache, uint64_t number, uint64_t keys, uint64_t seed)
      : cache_(cache), first_(number * keys), random_(seed), versions_(keys, 0) {}

  static size_t BytesOf(uint64_t id) { return 16 + Mix(id) % 3000; }

  void Run(uint64_t steps) {
    for (uint64_t step = 0; step < steps; ++step) Step();
  }
  uint64_t hits() const { return hits_; }
  // Empty: none. Otherwise how many, and the last.
  const std::string& lie() const { return lie_; }

 private:
  void Step() {
    const uint64_t key = random_.Below(versions_.size());
    const uint64_t id = first_ + key;
    const uint64_t roll = random_.Below(100);
    if (roll < 25) {
      versions_[key] = cache_.Insert(id, ++last_version_, BytesOf(id)) ? last_version_ : 0;
    } else if (roll < 28) {
      cache_.Erase(id);
      versions_[key] = 0;
    }
    if (const auto hit = cache_.Lookup(id)) Judge(id, versions_[key], *hit);
  }
  void Judge(uint64_t id, uint64_t newest, const VersionedCache::Hit& hit) {
    ++hits_;
    if (hit.whole && hit.version == newest) return;
    ++lies_;
    lie_ = std::to_string(lies_) + " lies; the last: key " + std::to_string(id) + " should be version " +
           std::to_string(newest) + " or a miss, " + (hit.whole ? "is " + std::to_string(hit.version) : "is mangled");
  }

  const VersionedCache cache_;
  const uint64_t first_;
  Random random_;
  std::vector<uint64_t> versions_;  // the newest of each key; 0: none
  uint64_t last_version_ = 0;
  uint64_t hits_ = 0, lies_ = 0;
  std::string lie_;
};

}  // namespace mezz::test
