// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "integration/hybrid_cache.h"

namespace mezz {

// Lets GetHybridStats find a Mezzanine cache, by a table. (dynamic_cast does not work, because release builds of
// RocksDB carry no RTTI.) Make this the last member of the cache. `self` is the rocksdb::Cache* or
// rocksdb::SecondaryCache* that users hold. Thread-safe.
class HybridRegistration {
 public:
  HybridRegistration(const rocksdb::Cache* self, HybridStats* stats) : HybridRegistration(Opaque{self}, stats) {}
  HybridRegistration(const rocksdb::SecondaryCache* self, HybridStats* stats)
      : HybridRegistration(Opaque{self}, stats) {}
  ~HybridRegistration();
  HybridRegistration(const HybridRegistration&) = delete;
  HybridRegistration& operator=(const HybridRegistration&) = delete;

 private:
  struct Opaque {
    const void* address;
  };
  HybridRegistration(Opaque self, HybridStats* stats);

  const void* const self_;
};

}  // namespace mezz
