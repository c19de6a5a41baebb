// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "integration/hybrid_cache.h"
#include "tests/support/chosen_medium.h"

namespace mezz::test {

// The media that differ for what runs on them: in how they are mapped, and in how long everything takes.
enum class TestMedium { kAnonymous, kFile, kThrottled };

inline std::string NameOf(TestMedium medium) {
  return medium == TestMedium::kFile ? "file" : medium == TestMedium::kThrottled ? "throttled" : "anonymous";
}
inline std::string NameOf(DramCacheKind dram) { return dram == DramCacheKind::kLru ? "lru" : "hcc"; }

inline HybridCacheOptions SmallOptions(MediumKind medium, const ScratchFile& file, uint64_t dram_bytes,
                                       uint64_t scm_bytes) {
  HybridCacheOptions options;
  options.dram_cache = DramCacheKind::kLru;
  options.dram_bytes = dram_bytes;
  options.dram_shard_bits = 0;
  if (medium == MediumKind::kAnonymous) {
    ChooseMedium(&options.scm);
  } else {
    UseFile(file.path(), &options.scm);
  }
  options.scm.capacity_bytes = scm_bytes;
  options.scm.segment_bytes = kSegmentBytesMin;
  options.scm.dictionaries = {.sample_every = 1, .sample_bytes_max = kSampleBytesMin, .rest = 1};  // soon, and again
  options.scm.prepare = Prepare::kBeforeOpen;  // tests count on the whole medium from the first block
  return options;
}

inline HybridCacheOptions SmallOptions(TestMedium medium, const ScratchFile& file, uint64_t dram_bytes,
                                       uint64_t scm_bytes) {
  HybridCacheOptions options = SmallOptions(medium == TestMedium::kFile ? MediumKind::kFile : MediumKind::kAnonymous,
                                            file, dram_bytes, scm_bytes);
  if (medium == TestMedium::kThrottled) options.scm.model = MediumModelName::kCxl;
  return options;
}

// What must hold of a cache that nobody uses: no pin is left, and index, segments and counters agree.
inline void ExpectSound(rocksdb::Cache* cache) {
  HybridStats* stats = GetHybridStats(cache);
  ASSERT_NE(stats, nullptr);
  const ScmAudit audit = stats->scm().Audit();
  for (const std::string& violation : audit.violations) ADD_FAILURE() << violation;
  EXPECT_EQ(audit.live_pins, 0u) << "a pin leaked";
  EXPECT_LE(audit.resident_payload_bytes, stats->scm().options().capacity_bytes);
  EXPECT_LE(audit.medium_bytes, stats->scm().options().capacity_bytes);
}

// Each look-up ended in exactly one way.
inline void ExpectLookupsAddUp(const CounterSnapshot& counters, uint64_t lookups) {
  EXPECT_EQ(counters[Event::kDramHit] + counters[Event::kServedInPlace] + counters[Event::kServedCopied] +
                counters[Event::kPromotion] + counters[Event::kMiss],
            lookups);
}

}  // namespace mezz::test
