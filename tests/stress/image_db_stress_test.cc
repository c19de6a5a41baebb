// SPDX-License-Identifier: Apache-2.0
// Real databases whose SSTs are compressed in every way, over a hybrid cache far smaller than they are: blocks that
// came back are stored as their files hold them, and each value read through them is checked, damage included.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "rocksdb/convenience.h"
#include "tests/support/flash_clock.h"
#include "tests/support/hybrid_db.h"
#include "tests/support/random.h"
#include "tests/support/seed.h"

namespace mezz::test {
namespace {

constexpr uint64_t kDramBytes = 1 << 20;
constexpr uint64_t kScmBytes = 12 * kSegmentBytesMin;
constexpr uint32_t kKeys = 20'000;
constexpr size_t kValueBytes = 700;
#ifdef __SANITIZE_THREAD__
constexpr int kReads = 5'000;  // of each thread
#else
constexpr int kReads = 30'000;
#endif
constexpr int kThreads = 2;

struct Compression {
  const char* name;
  rocksdb::CompressionType type;
  uint32_t dictionary_bytes;
};
constexpr Compression kLz4{"lz4", rocksdb::kLZ4Compression, 0};
constexpr Compression kLz4Dictionary{"lz4_dictionary", rocksdb::kLZ4Compression, 16 << 10};
constexpr Compression kZstd{"zstd", rocksdb::kZSTD, 0};
constexpr Compression kZstdDictionary{"zstd_dictionary", rocksdb::kZSTD, 16 << 10};
constexpr Compression kSnappy{"snappy", rocksdb::kSnappyCompression, 0};
constexpr Compression kNone{"none", rocksdb::kNoCompression, 0};

std::string KeyName(uint32_t id) { return "key" + std::to_string(10'000'000 + id); }
// Half of it follows from the key, half is the same in all.
std::string ValueOf(uint32_t id) {
  std::string value(kValueBytes, '\0');
  for (size_t at = 0; at < value.size(); ++at)
    value[at] = at % 64 < 32 ? "a common phrase of every value. "[at % 32]
                             : static_cast<char>(Mix(id * 1000 + at / 8) >> at % 8 * 8);
  return value;
}

using Config = std::tuple<Compression, DramCacheKind, PackMode>;

class ImageDbStress : public HybridDbTest, public ::testing::WithParamInterface<Config> {
 protected:
  void SetUp() override {
    const auto [compression, dram, pack] = GetParam();
    HybridCacheOptions options = OptionsOf(kDramBytes, kScmBytes);
    options.dram_cache = dram;
    options.scm.pack = pack;
    options.scm.faults_max = 0;  // what is damaged here is no reason to stop
    options.now_ns = ChangingFlashClock();
    Make(options);
    options_.compression = compression.type;
    options_.compression_opts.max_dict_bytes = compression.dictionary_bytes;
    options_.table_factory = WholeTablesOf(cache_);
    Open();
    for (uint32_t id = 0; id < kKeys; ++id) ASSERT_TRUE(db_->Put({}, KeyName(id), ValueOf(id)).ok());
    ASSERT_TRUE(db_->Flush({}).ok());
    ASSERT_TRUE(db_->CompactRange({}, nullptr, nullptr).ok());
  }

  // Half of the reads go to a fifth of the keys. Some are MultiGets, some scans.
  void Read(uint64_t seed, int reads) {
    Random random(seed);
    for (int i = 0; i < reads; ++i) {
      const auto id = static_cast<uint32_t>(random.OneIn(2) ? random.Below(kKeys / 5) : random.Below(kKeys));
      if (random.OneIn(50)) {
        ReadBatch(id);
      } else if (random.OneIn(100)) {
        Scan(id);
      } else {
        std::string value;
        ASSERT_TRUE(db_->Get({}, KeyName(id), &value).ok()) << id;
        ASSERT_EQ(value, ValueOf(id)) << id;
      }
    }
  }
  void ReadBatch(uint32_t first) {
    constexpr size_t kBatch = 16;
    std::vector<std::string> names;
    std::vector<rocksdb::Slice> keys;
    for (uint32_t i = 0; i < kBatch; ++i) names.push_back(KeyName((first + i * 37) % kKeys));
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) keys.emplace_back(name);
    std::vector<std::string> values;
    const std::vector<rocksdb::Status> read = db_->MultiGet(rocksdb::ReadOptions(), keys, &values);
    for (size_t i = 0; i < kBatch; ++i) {
      ASSERT_TRUE(read[i].ok());
      ASSERT_EQ(values[i], ValueOf(static_cast<uint32_t>(std::stoul(names[i].substr(3)) - 10'000'000)));
    }
  }
  void Scan(uint32_t first) {
    const std::unique_ptr<rocksdb::Iterator> at(db_->NewIterator({}));
    uint32_t id = first;
    for (at->Seek(KeyName(first)); at->Valid() && id < first + 60; at->Next(), ++id)
      ASSERT_EQ(at->value().ToString(), ValueOf(id));
    ASSERT_TRUE(at->status().ok());
  }
  void ReadInThreads(uint64_t seed) {
    std::vector<std::thread> threads;
    for (uint64_t i = 0; i < kThreads; ++i) threads.emplace_back([=, this] { Read(seed + i, kReads); });
    for (std::thread& thread : threads) thread.join();
  }

  // Flips a bit of each record of an image.
  uint64_t DamageImages() {
    Random random(seed_);
    std::vector<BlockKey> keys;
    scm().figures().ForEach([&](const BlockKey& key, size_t, BlockRole) { keys.push_back(key); });
    uint64_t damaged = 0;
    for (const BlockKey& key : keys) {
      const PinnedBlock block = scm().Find(key);
      if (!block || !block.image()) continue;
      const size_t bit = random.Below(8 * block.stored().size());
      const_cast<std::byte&>(block.stored()[bit / 8]) ^= std::byte{1} << bit % 8;
      ++damaged;
    }
    return damaged;
  }

  const uint64_t seed_ = Seed();
};

TEST_P(ImageDbStress, EveryValueIsRightAndDamageIsAMiss) {
  SCOPED_TRACE("MEZZ_SEED=" + std::to_string(seed_));
  ASSERT_NO_FATAL_FAILURE(ReadInThreads(seed_ + 1));
  const auto [compression, dram, pack] = GetParam();
  if (compression.type == rocksdb::kNoCompression) {
    EXPECT_EQ(Count(Event::kScmImagePut), 0u);
    EXPECT_GT(Count(Event::kScmPackedHit), 100u) << "packed by us";
    ExpectSound(cache_.get());
    return;
  }
  EXPECT_GT(Count(Event::kScmImagePut), 100u) << stats_->Report();
  EXPECT_GT(Count(Event::kScmImageHit), 100u);
  EXPECT_GT(Count(Event::kInsertToBoth), 100u);
  EXPECT_EQ(Count(Event::kScmImageFailed), 0u);
  EXPECT_EQ(Count(Event::kScmImageUnread), 0u) << "every look-up of RocksDB's can unpack";
  ExpectSound(cache_.get());

  ASSERT_GT(DamageImages(), 50u);
  ASSERT_NO_FATAL_FAILURE(ReadInThreads(seed_ + 10));
  EXPECT_GT(Count(Event::kScmChecksumMismatch), 20u);
  EXPECT_EQ(Count(Event::kScmImageFailed), 0u);
}

INSTANTIATE_TEST_SUITE_P(
    Image, ImageDbStress,
    ::testing::Combine(::testing::Values(kLz4, kLz4Dictionary, kZstd, kZstdDictionary, kSnappy, kNone),
                       ::testing::Values(DramCacheKind::kHyperClock), ::testing::Values(PackMode::kImage)),
    [](const auto& config) { return std::string(std::get<0>(config.param).name); });
INSTANTIATE_TEST_SUITE_P(ImageLru, ImageDbStress,
                         ::testing::Values(Config{kZstd, DramCacheKind::kLru, PackMode::kImage}),
                         [](const auto& config) { return std::string(std::get<0>(config.param).name); });

}  // namespace
}  // namespace mezz::test
