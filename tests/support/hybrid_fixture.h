// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

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
inline void ExpectSound(HybridStats* stats) {
  ASSERT_NE(stats, nullptr);
  const ScmAudit audit = stats->scm().Audit();
  for (const std::string& violation : audit.violations) ADD_FAILURE() << violation;
  EXPECT_EQ(audit.live_pins, 0u) << "a pin leaked";
  EXPECT_LE(audit.resident_payload_bytes, stats->scm().options().capacity_bytes);
  EXPECT_LE(audit.medium_bytes, stats->scm().options().capacity_bytes);
}
inline void ExpectSound(rocksdb::Cache* cache) { ExpectSound(GetHybridStats(cache)); }

// A test over one hybrid cache, which must be sound when nobody uses it any more.
class HybridTest : public ::testing::Test {
 protected:
  void TearDown() override {
    if (cache_ != nullptr) ExpectSound(cache_.get());
    cache_.reset();  // while what its options refer to is still there
  }

  HybridCacheOptions OptionsOf(uint64_t dram_bytes, uint64_t scm_bytes) const {
    return SmallOptions(MediumKind::kAnonymous, file_, dram_bytes, scm_bytes);
  }
  // In the place of the cache that there may be.
  void Make(const HybridCacheOptions& options) {
    cache_.reset();
    ASSERT_EQ(NewHybridCache(options, &cache_).message(), "");
    stats_ = GetHybridStats(cache_.get());
  }
  void Wrap(std::shared_ptr<rocksdb::Cache> dram, const HybridCacheOptions& options) {
    cache_.reset();
    ASSERT_EQ(WrapCache(std::move(dram), options, &cache_).message(), "");
    stats_ = GetHybridStats(cache_.get());
  }
  uint64_t Count(Event event) const { return stats_->Counters()[event]; }
  ScmTier& scm() { return const_cast<ScmTier&>(stats_->scm()); }
  // Puts junk until reclaim has begun and `event` is counted: from then on records are packed.
  void FillScm(Event event) {
    const std::vector<std::byte> junk(4000);
    for (uint64_t n = 1; Count(event) == 0; ++n)
      ASSERT_EQ(scm().Put(BlockKey{{n, 0}}, BlockRole::kOther, junk), PutResult::kStored);
  }

  const ScratchFile file_;
  std::shared_ptr<rocksdb::Cache> cache_;
  HybridStats* stats_ = nullptr;
};

// Each look-up ended in exactly one way.
inline void ExpectLookupsAddUp(const CounterSnapshot& counters, uint64_t lookups) {
  EXPECT_EQ(counters[Event::kDramHit] + counters[Event::kServedInPlace] + counters[Event::kServedCopied] +
                counters[Event::kPromotion] + counters[Event::kMiss],
            lookups);
}

}  // namespace mezz::test
