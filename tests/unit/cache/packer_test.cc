// SPDX-License-Identifier: Apache-2.0
#include "cache/pack/packer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>
#include <thread>
#include <vector>

#include "cache/pack/auto_skip.h"
#include "cache/pack/samples.h"
#include "cache/pack/workspaces.h"
#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

using Outcome = PackedBlock::Outcome;
using test::PackablePayload;
using test::Payload;

class PackerTest : public testing::TestWithParam<Codec> {
 protected:
  PackedBlock Pack(const std::vector<std::byte>& block, BlockRole role = BlockRole::kData) {
    const auto source = [&](size_t offset, size_t bytes, std::byte* to) {
      EXPECT_EQ(offset, 0u);
      EXPECT_EQ(bytes, block.size()) << "the whole block, at once";
      std::memcpy(to, block.data() + offset, bytes);
      return true;
    };
    return packer_.Pack(role, block.size(), source);
  }
  uint64_t Count(Event event) { return counters_.Snapshot()[event]; }

  Counters counters_;
  Packer packer_{GetParam(), &counters_};
};

TEST_P(PackerTest, UnpacksWhatItPackedInEverySize) {
  for (const size_t bytes :
       {Packer::kPackBytesMin, size_t{1000}, size_t{4096}, size_t{16'001}, size_t{100'000}, Packer::kPackBytesMax}) {
    const auto block = PackablePayload(bytes, 1, bytes);
    const PackedBlock packed = Pack(block);
    ASSERT_EQ(packed.outcome(), Outcome::kPacked) << bytes;
    EXPECT_LE(8 * layout::RecordBytes(packed.bytes().size()), 7 * layout::RecordBytes(bytes));
    const auto prefix = Packer::ReadPrefix(packed.bytes());
    ASSERT_TRUE(prefix);
    EXPECT_EQ(prefix->logical_bytes, bytes);
    EXPECT_EQ(prefix->logical_checksum, record::PayloadChecksum(block));
    EXPECT_EQ(prefix->codec, GetParam());
    std::vector<std::byte> unpacked(bytes);
    EXPECT_EQ(packer_.Unpack(packed.bytes(), *prefix, unpacked.data()), Unpacked::kDone);
    EXPECT_EQ(unpacked, block);
  }
}

TEST_P(PackerTest, GivesTheBlockBackWhereItWouldSaveTooLittle) {
  const auto block = Payload(1, 1, 4096);
  const PackedBlock packed = Pack(block);
  EXPECT_EQ(packed.outcome(), Outcome::kRejected);
  EXPECT_TRUE(test::Same(packed.bytes(), block));
  EXPECT_EQ(Count(Event::kPackRejected), 1u);
}

TEST_P(PackerTest, LeavesMetadataAndUnusualSizesAlone) {
  const auto never_asked = [](size_t, size_t, std::byte*) -> bool { throw std::logic_error("asked"); };
  for (const BlockRole role : {BlockRole::kIndex, BlockRole::kFilter, BlockRole::kDictionary})
    EXPECT_EQ(packer_.Pack(role, 4096, never_asked).outcome(), Outcome::kLeft);
  for (const size_t bytes : {size_t{0}, Packer::kPackBytesMin - 1, Packer::kPackBytesMax + 1})
    EXPECT_EQ(packer_.Pack(BlockRole::kData, bytes, never_asked).outcome(), Outcome::kLeft) << bytes;
}

TEST_P(PackerTest, ASourceThatFailsOrThrowsIsTold) {
  const auto fails = [](size_t, size_t, std::byte*) { return false; };
  const auto throws = [](size_t, size_t, std::byte*) -> bool { throw std::runtime_error("no"); };
  EXPECT_EQ(packer_.Pack(BlockRole::kData, 4096, fails).outcome(), Outcome::kSourceFailed);
  EXPECT_EQ(packer_.Pack(BlockRole::kData, 4096, throws).outcome(), Outcome::kSourceFailed);
}

TEST_P(PackerTest, FindsOutWhichRolesDoNotPackAndTriesThemNowAndThen) {
  const auto hard = Payload(1, 1, 4096);
  for (int i = 0; i < 500; ++i) Pack(hard, BlockRole::kBlob);
  const uint64_t tried = Count(Event::kPackRejected);
  for (int i = 0; i < 1600; ++i) Pack(hard, BlockRole::kBlob);
  EXPECT_EQ(Count(Event::kPackRejected) - tried, 1600 / AutoSkip::kProbes) << "one in so many is tried";
  EXPECT_EQ(Count(Event::kPackSkipped) + Count(Event::kPackRejected), 2100u);
  const auto soft = PackablePayload(1, 1, 4096);
  EXPECT_EQ(Pack(soft, BlockRole::kData).outcome(), Outcome::kPacked) << "another role's blocks";
  int packed = 0;
  for (int i = 0; i < 1000; ++i) packed += Pack(soft, BlockRole::kBlob).outcome() == Outcome::kPacked;
  EXPECT_GT(packed, 800) << "the role's blocks have changed, and that goes unnoticed";
}

TEST_P(PackerTest, RefusesEveryForeignPrefix) {
  const auto block = PackablePayload(1, 1, 4096);
  const PackedBlock packed = Pack(block);
  const std::vector<std::byte> good(packed.bytes().begin(), packed.bytes().end());
  const auto reads = [&](auto change) {
    auto bytes = good;
    layout::PackedPrefix prefix;
    std::memcpy(&prefix, bytes.data(), sizeof(prefix));
    change(prefix);
    std::memcpy(bytes.data(), &prefix, sizeof(prefix));
    return Packer::ReadPrefix(bytes).has_value();
  };
  EXPECT_TRUE(reads([](auto&) {}));
  EXPECT_FALSE(reads([](auto& prefix) { prefix.codec = Codec{0}; }));
  EXPECT_FALSE(reads([](auto& prefix) { prefix.codec = Codec{3}; }));
  EXPECT_FALSE(reads([](auto& prefix) { prefix.type = 7; }));
  EXPECT_EQ(reads([](auto& prefix) { prefix.dictionary = 1; }), GetParam() == Codec::kZstd) << "only zstd has them";
  EXPECT_FALSE(reads([](auto& prefix) { prefix.reserved = 1; }));
  EXPECT_FALSE(reads([](auto& prefix) { prefix.logical_bytes = 0; }));
  EXPECT_FALSE(reads([](auto& prefix) { prefix.logical_bytes = Packer::kPackBytesMax + 1; }));
  for (size_t bytes = 0; bytes <= sizeof(layout::PackedPrefix); ++bytes)
    EXPECT_FALSE(Packer::ReadPrefix({good.data(), bytes})) << bytes;
}

TEST_P(PackerTest, WhatIsCutShortOrOfAnotherSizeDoesNotUnpack) {
  const auto block = PackablePayload(1, 1, 4096);
  const PackedBlock packed = Pack(block);
  auto prefix = *Packer::ReadPrefix(packed.bytes());
  std::vector<std::byte> to(2 * block.size());
  for (size_t bytes = sizeof(prefix); bytes < packed.bytes().size(); ++bytes)
    ASSERT_EQ(packer_.Unpack(packed.bytes().first(bytes), prefix, to.data()), Unpacked::kDamaged) << bytes;
  for (const uint32_t bytes : {4095u, 4097u, 8192u, 1u}) {
    prefix.logical_bytes = bytes;
    EXPECT_EQ(packer_.Unpack(packed.bytes(), prefix, to.data()), Unpacked::kDamaged) << bytes;
  }
}

TEST_P(PackerTest, AllocatesNothingOnceItIsWarm) {
  for (uint64_t i = 0; i < 10; ++i) Pack(PackablePayload(i, 0, 8192));
  const uint64_t warm = packer_.dram_bytes();
  for (uint64_t i = 0; i < 100; ++i) Pack(PackablePayload(i, 1, 600 + i * 70));
  EXPECT_EQ(packer_.dram_bytes(), warm);
  EXPECT_LT(warm, 2u << 20) << "one thread takes one workspace";
}

TEST_P(PackerTest, ThreadsPackAtTheSameTime) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < 300; ++i) {
        const auto block = PackablePayload(t, i, 600 + i * 13);
        const PackedBlock packed = packer_.Pack(BlockRole::kData, block.size(), SpanSource{block});
        if (packed.outcome() == Outcome::kLeft) continue;  // all workspaces were in use
        const auto prefix = Packer::ReadPrefix(packed.bytes());
        std::vector<std::byte> unpacked(block.size());
        const bool same =
            prefix && packer_.Unpack(packed.bytes(), *prefix, unpacked.data()) == Unpacked::kDone && unpacked == block;
        wrong.fetch_add(!same, std::memory_order_relaxed);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(std::memory_order_relaxed), 0);
}

// Text of 16 letters at random, which an entropy coder halves and LZ4 does not.
std::vector<std::byte> Letters(uint64_t seed, size_t bytes) {
  auto text = Payload(seed, 3, bytes);
  for (std::byte& letter : text) letter = std::byte{'a'} | (letter & std::byte{15});
  return text;
}

TEST_P(PackerTest, TellsHowMuchBetterZstdPacksWhicheverIsInUse) {
  packer_.CompareCodecs();
  EXPECT_EQ(packer_.zstd_percent(), 60u) << "as if it paid, until that is known";
  for (uint64_t n = 0; n < 100 * Packer::kComparedOneIn; ++n) Pack(PackablePayload(n, 1, 2048));
  const unsigned alike = packer_.zstd_percent();
  EXPECT_GT(alike, 75u);
  EXPECT_LT(alike, 110u);
  for (uint64_t n = 0; n < 1000 * Packer::kComparedOneIn; ++n) Pack(Letters(n, 2048));  // LZ4 skips most
  EXPECT_LT(packer_.zstd_percent(), 60u);
  EXPECT_GT(packer_.zstd_percent(), 35u);
}

TEST(PackerMemory, WhatComparesWithZstdGivesItsStateBack) {
  Counters counters;
  Packer packer(Codec::kLz4, &counters);
  packer.CompareCodecs();
  for (uint64_t n = 0; n < 3 * Packer::kComparedOneIn; ++n) {
    const auto block = Payload(n, 0, 4096);
    packer.Pack(BlockRole::kData, block.size(), SpanSource{block});
    ASSERT_LE(packer.dram_bytes(), Packer::DramBytesFor(Codec::kLz4, block.size())) << n;
  }
  EXPECT_GT(packer.zstd_percent(), 60u) << "they were compared";
}

TEST(PackerMemory, ACodecThatIsNotZstdGivesBackWhatZstdTook) {
  constexpr size_t kBlockBytes = 4096, kSamplesBytes = 1 << 20;
  Counters counters;
  Wakeup wakeup;
  Samples samples({.sample_every = 1, .sample_bytes_max = kSamplesBytes, .rest = 1}, kSamplesBytes, &wakeup);
  Packer packer(Codec::kZstd, &counters, /*dictionaries=*/nullptr, &samples);
  const uint64_t no_samples = samples.dram_bytes();
  const auto block = PackablePayload(1, 0, kBlockBytes);
  const auto pack = [&] { return packer.Pack(BlockRole::kData, block.size(), SpanSource{block}); };
  {
    const PackedBlock packed = pack();
    std::vector<std::byte> unpacked(kBlockBytes);
    ASSERT_EQ(packer.Unpack(packed.bytes(), *Packer::ReadPrefix(packed.bytes()), unpacked.data()), Unpacked::kDone);
  }
  EXPECT_GT(packer.dram_bytes(), Packer::DramBytesFor(Codec::kLz4, kBlockBytes) + (100 << 10));
  EXPECT_EQ(samples.dram_bytes(), no_samples + kSamplesBytes);
  for (const std::optional<Codec> codec : {std::optional(Codec::kLz4), std::optional<Codec>()}) {
    packer.UseCodec(codec);
    pack();
    EXPECT_LE(packer.dram_bytes(), Packer::DramBytesFor(Codec::kLz4, kBlockBytes));
    EXPECT_EQ(samples.dram_bytes(), no_samples);
    packer.UseCodec(Codec::kZstd);
    EXPECT_EQ(pack().outcome(), Outcome::kPacked);
    EXPECT_EQ(samples.dram_bytes(), no_samples + kSamplesBytes) << "collected anew";
  }
}

INSTANTIATE_TEST_SUITE_P(Codecs, PackerTest, testing::Values(Codec::kLz4, Codec::kZstd),
                         [](const auto& codec) { return codec.param == Codec::kLz4 ? "lz4" : "zstd"; });

TEST(Workspaces, EachIsHeldByOneAtATimeAndTheLowestComesFirst) {
  Workspaces pool(3);
  auto first = pool.Take(), second = pool.Take(), third = pool.Take();
  ASSERT_TRUE(first && second && third);
  EXPECT_FALSE(pool.Take());
  EXPECT_NE(&*first, &*second);
  const Workspace* const lowest = &*first;
  first = Workspaces::Lease();
  second = Workspaces::Lease();
  const auto again = pool.Take();
  ASSERT_TRUE(again);
  EXPECT_EQ(&*again, lowest);
}

TEST(Workspaces, GiveZstdsStatesBackWhereNobodyHoldsThem) {
  Workspaces pool(2);
  const uint64_t empty = pool.dram_bytes();
  auto held = pool.Take();
  ASSERT_NE(held->ZstdCompressor(), nullptr);
  {
    const auto free = pool.Take();
    ASSERT_TRUE(free->ZstdCompressor() != nullptr && free->ZstdDecompressor() != nullptr);
  }
  const size_t of_held = held->bytes();
  pool.GiveBackZstd();
  EXPECT_EQ(pool.dram_bytes(), empty);
  EXPECT_EQ(held->bytes(), of_held);
  held = Workspaces::Lease();
  EXPECT_EQ(pool.dram_bytes(), empty + of_held);
  EXPECT_TRUE(pool.Take() && pool.Take()) << "none was kept";
  pool.GiveBackZstd();
  EXPECT_EQ(pool.dram_bytes(), empty);
}

TEST(Workspaces, CountsWhatTheyHold) {
  Workspaces pool(2);
  const uint64_t empty = pool.dram_bytes();
  {
    const auto workspace = pool.Take();
    ASSERT_NE(workspace->Input(100'000), nullptr);
  }
  EXPECT_GE(pool.dram_bytes(), empty + 100'000);
  EXPECT_LE(pool.dram_bytes(), empty + 200'000);
}

}  // namespace
}  // namespace mezz
