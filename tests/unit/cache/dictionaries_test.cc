// SPDX-License-Identifier: Apache-2.0
// Dictionaries by themselves: who holds one, when it goes, and when samples are taken.
#include "cache/pack/dictionaries.h"

#include <gtest/gtest.h>
#include <zdict.h>

#include <atomic>
#include <cstring>
#include <string>

#include "cache/authenticator.h"
#include "cache/pack/packer.h"
#include "cache/pack/samples.h"
#include "cache/pack/trainer.h"
#include "tests/support/core_fixture.h"
#include "tests/support/kernel_flags.h"

namespace mezz {
namespace {

using test::TextPayload;

std::vector<std::byte> Trained(uint64_t language = 0) {
  std::vector<std::byte> samples, bytes(4096);
  std::vector<size_t> sizes;
  for (uint64_t n = 0; n < 64; ++n) {
    const auto block = TextPayload(n, 7, 1000, language);
    samples.insert(samples.end(), block.begin(), block.end());
    sizes.push_back(block.size());
  }
  const size_t trained = ZDICT_trainFromBuffer(bytes.data(), bytes.size(), samples.data(), sizes.data(), 64);
  EXPECT_EQ(ZDICT_isError(trained), 0u) << ZDICT_getErrorName(trained);
  bytes.resize(trained);
  return bytes;
}

class DictionariesTest : public testing::Test {
 protected:
  void Publish(uint16_t number, BlockRole role = BlockRole::kData) {
    auto made = Dictionary::Make(trained_, number, role);
    ASSERT_NE(made, nullptr);
    dictionaries_.Publish(std::move(made));
  }
  unsigned Collect() {
    unsigned sum = 0;
    for (const unsigned count : dictionaries_.Collect()) sum += count;
    return sum;
  }

  const std::vector<std::byte> trained_ = Trained();
  Wakeup wakeup_;
  Dictionaries dictionaries_{&wakeup_};
};

TEST_F(DictionariesTest, ARoleHasOneAndTheNextRetiresIt) {
  EXPECT_FALSE(dictionaries_.TakeLive(BlockRole::kData));
  Publish(1);
  {
    const auto lease = dictionaries_.TakeLive(BlockRole::kData);
    ASSERT_TRUE(lease);
    EXPECT_EQ(lease->number(), 1);
    EXPECT_FALSE(dictionaries_.TakeLive(BlockRole::kBlob));
    Publish(2);
    EXPECT_EQ(dictionaries_.TakeLive(BlockRole::kData)->number(), 2);
    EXPECT_EQ(Collect(), 0u) << "one is held";
    EXPECT_EQ(dictionaries_.Find(1), &*lease) << "records may carry it";
  }
  EXPECT_EQ(Collect(), 1u);
  EXPECT_EQ(dictionaries_.Find(1), nullptr);
  EXPECT_NE(dictionaries_.Find(2), nullptr) << "the live one stays, held or not";
  EXPECT_EQ(Collect(), 0u);
  dictionaries_.Retire(BlockRole::kData);
  EXPECT_FALSE(dictionaries_.TakeLive(BlockRole::kData));
  EXPECT_EQ(Collect(), 1u);
}

TEST_F(DictionariesTest, NumbersBeginAtOneAndOnesInUseAreNotGivenAgain) {
  EXPECT_EQ(dictionaries_.NextNumber(), 1);
  std::vector<Dictionaries::Lease> held;
  for (uint16_t number = 1; number <= Dictionaries::kSlots; ++number) {
    ASSERT_EQ(dictionaries_.NextNumber(), number);
    Publish(number);
    held.push_back(dictionaries_.TakeLive(BlockRole::kData));
  }
  EXPECT_EQ(dictionaries_.NextNumber(), std::nullopt) << "all slots are taken";
  held.erase(held.begin() + 2);
  EXPECT_EQ(Collect(), 1u);
  EXPECT_EQ(dictionaries_.NextNumber(), 3 + Dictionaries::kSlots) << "another one than before";
  EXPECT_EQ(dictionaries_.Find(3), nullptr);
}

TEST_F(DictionariesTest, NumbersComeBackWhereTheyEnd) {
  constexpr uint16_t kLast = UINT16_MAX - (UINT16_MAX - 1) % Dictionaries::kSlots;  // of the first slot
  Publish(kLast);
  dictionaries_.Retire(BlockRole::kData);
  EXPECT_EQ(Collect(), 1u);
  EXPECT_EQ(dictionaries_.NextNumber(), 1);
}

TEST_F(DictionariesTest, CountTheirMemory) {
  const uint64_t empty = dictionaries_.dram_bytes();
  Publish(1);
  const uint64_t one = dictionaries_.dram_bytes();
  EXPECT_GT(one, empty + trained_.size());
  EXPECT_LT(one, empty + (1u << 20));
  dictionaries_.Retire(BlockRole::kData);
  Collect();
  EXPECT_EQ(dictionaries_.dram_bytes(), empty);
}

TEST_F(DictionariesTest, ASegmentKeepsThoseOfItsRecordsUntilItIsFree) {
  test::HeapMedium medium(8 * test::kSmallSegmentBytes);
  Counters counters;
  ForkGuard guard;
  SegmentLog log(medium, medium.bytes(), test::kSmallSegmentBytes, /*format_id=*/7, &counters, guard, &dictionaries_);
  log.Provide(8);
  Publish(1);
  ASSERT_TRUE(log.Advance(0, 64, SegmentLog::For::kWriter));
  const auto where = log.Reserve(0, 64);
  ASSERT_TRUE(where);
  EXPECT_FALSE(log.kept_dictionaries().Keeps(where->segment, 1));
  {
    const auto lease = dictionaries_.TakeLive(BlockRole::kData);
    log.kept_dictionaries().Keep(where->segment, 1);
    log.kept_dictionaries().Keep(where->segment, 1);
  }
  EXPECT_EQ(dictionaries_.holds(0), 1u) << "one of the segment, however many records";
  EXPECT_TRUE(log.kept_dictionaries().Keeps(where->segment, 1));
  EXPECT_FALSE(log.kept_dictionaries().Keeps(where->segment, 1 + Dictionaries::kSlots)) << "another one of its slot";
  EXPECT_FALSE(log.kept_dictionaries().Keeps(where->segment, 2));
  log.Leave(*where);
  dictionaries_.Retire(BlockRole::kData);
  EXPECT_EQ(Collect(), 0u);
  log.SealAll();
  ASSERT_TRUE(log.Pin(where->segment));
  const auto victim = log.TakeVictim(/*pinned_too=*/true);
  ASSERT_EQ(victim.segment, where->segment);
  log.StartDraining(where->segment);
  EXPECT_EQ(Collect(), 0u) << "somebody may be unpacking";
  EXPECT_TRUE(log.kept_dictionaries().Keeps(where->segment, 1));
  log.Unpin(where->segment);
  EXPECT_EQ(Collect(), 1u);
  EXPECT_FALSE(log.kept_dictionaries().Keeps(where->segment, 1));
}

// --- one on the medium
// ------------------------------------------------------------------------------------------------

TEST_F(DictionariesTest, AreReadBackAsTheyWereWritten) {
  test::HeapMedium medium(test::kSmallSegmentBytes);
  const auto written = Dictionary::Make(trained_, 300, BlockRole::kBlob);
  ASSERT_NE(written, nullptr);
  written->Write(medium, {0, 1});
  const auto read = Dictionary::Read(record::HeaderAt(medium, 0));
  ASSERT_NE(read, nullptr);
  EXPECT_EQ(read->number(), 300);
  EXPECT_EQ(read->role(), BlockRole::kBlob);
  EXPECT_TRUE(test::Same(read->bytes(), written->bytes()));
}

TEST_F(DictionariesTest, ADamagedOneIsNone) {
  test::HeapMedium medium(test::kSmallSegmentBytes);
  const auto written = Dictionary::Make(trained_, 300, BlockRole::kBlob);
  for (size_t byte = sizeof(record::Header); byte < sizeof(record::Header) + trained_.size(); byte += 97) {
    written->Write(medium, {0, 1});
    medium.base()[byte] ^= std::byte{4};
    EXPECT_EQ(Dictionary::Read(record::HeaderAt(medium, 0)), nullptr) << byte;
  }
  EXPECT_EQ(Dictionary::Make({trained_.data(), 6}, 1, BlockRole::kData), nullptr);
  EXPECT_EQ(Dictionary::Make(test::Payload(1, 1, 4000), 1, BlockRole::kData), nullptr);
}

// --- who packs with one, and who unpacks
// ------------------------------------------------------------------------------

TEST_F(DictionariesTest, WhatWasPackedWithOneUnpacksWithNoOther) {
  Counters counters;
  Packer packer(Codec::kZstd, &counters, &dictionaries_);
  Publish(1);
  const auto block = TextPayload(1, 1, 4000);
  const PackedBlock packed = packer.Pack(BlockRole::kData, block.size(), SpanSource{block});
  ASSERT_EQ(packed.dictionary(), 1);
  auto prefix = *Packer::ReadPrefix(packed.bytes());
  std::vector<std::byte> to(block.size());
  EXPECT_EQ(packer.Unpack(packed.bytes(), prefix, to.data()), Unpacked::kDone);
  EXPECT_EQ(to, block);
  Publish(2);
  for (const uint16_t other : {0, 2, 3, 1 + 8}) {
    prefix.dictionary = other;
    EXPECT_EQ(packer.Unpack(packed.bytes(), prefix, to.data()), Unpacked::kNoDictionary) << other;
  }
  Packer stranger(Codec::kZstd, &counters);
  prefix.dictionary = 1;
  EXPECT_EQ(stranger.Unpack(packed.bytes(), prefix, to.data()), Unpacked::kNoDictionary);
}

// zstd itself takes any dictionary for a frame that names none.
TEST_F(DictionariesTest, WhatWasPackedWithNoneUnpacksWithNone) {
  Counters counters;
  Packer packer(Codec::kZstd, &counters, &dictionaries_);
  const auto block = TextPayload(1, 1, 4000);
  const PackedBlock packed = packer.Pack(BlockRole::kData, block.size(), SpanSource{block});
  ASSERT_EQ(packed.dictionary(), 0);
  Publish(1);
  auto prefix = *Packer::ReadPrefix(packed.bytes());
  prefix.dictionary = 1;
  std::vector<std::byte> to(block.size());
  EXPECT_EQ(packer.Unpack(packed.bytes(), prefix, to.data()), Unpacked::kNoDictionary);
}

// Without verify=keyed anybody may seal one.
TEST_F(DictionariesTest, OneThatWeWouldNotHaveWrittenIsNone) {
  test::HeapMedium medium(4 * Dictionary::kBytesMax);
  const Authenticator authenticator(VerifyKey{}, layout::Superblock{});
  const auto read_back = [&](size_t bytes, BlockRole role, const Authenticator* keyed = nullptr) {
    std::vector<std::byte> content = trained_;
    content.resize(bytes);
    const auto dictionary = Dictionary::Make(content, 1, role);
    EXPECT_TRUE(dictionary != nullptr && dictionary->Write(medium, {0, 1}, keyed));
    return Dictionary::Read(record::HeaderAt(medium, 0), keyed);
  };
  for (const Authenticator* const keyed : {static_cast<const Authenticator*>(nullptr), &authenticator}) {
    EXPECT_NE(read_back(Dictionary::kBytesMax, BlockRole::kData, keyed), nullptr);
    EXPECT_EQ(read_back(Dictionary::kBytesMax + 1, BlockRole::kData, keyed), nullptr);
  }
  for (const size_t role : {kBlockRoles, size_t{200}})
    EXPECT_EQ(read_back(trained_.size(), static_cast<BlockRole>(role)), nullptr) << role;
}

// --- the trainer's thread
// ----------------------------------------------------------------------------------------------

TEST(TrainerTest, WithNumbersUnknownItStoresWhatThereIsAndTrainsNothing) {
  Counters counters;
  const ForkGuard guard;
  Trainer trainer(test::kTrainedSoon, 1 << 20, &counters, guard);
  std::atomic<unsigned> stored{0};
  trainer.Hold();
  ASSERT_TRUE(trainer.Start([&](const Dictionary&) { return stored.fetch_add(1, std::memory_order_relaxed) == 0; }));
  trainer.dictionaries().Restore(Dictionary::Make(Trained(), 1, BlockRole::kData), /*place=*/0);
  trainer.Wake();
  trainer.Settle();
  EXPECT_EQ(stored.load(std::memory_order_relaxed), 0u) << "they are another's still";
  trainer.LetGo(Dictionaries::Numbers::kUnknown);
  for (uint64_t n = 0; n < 1000; ++n) {
    const auto block = TextPayload(n, 0, 4000, /*language=*/1);
    trainer.samples().Tried(BlockRole::kBlob, block, 0, block.size());
  }
  trainer.Settle();
  EXPECT_GT(stored.load(std::memory_order_relaxed), 0u);
  const CounterSnapshot counted = counters.Snapshot();
  EXPECT_EQ(counted[Event::kDictionaryTrained] + counted[Event::kDictionaryUseless], 0u);
}

// --- samples
// ----------------------------------------------------------------------------------------------------------

class SamplesTest : public testing::Test {
 protected:
  static constexpr size_t kBytes = kSampleBytesMin, kBlock = 1024;

  // How many blocks until a set is full; nothing after `most`.
  std::optional<unsigned> BlocksUntilFull(unsigned most, uint16_t dictionary = 0, size_t stored = kBlock) {
    for (unsigned n = 0; n < most; ++n) {
      if (TakeIfFull()) return n;
      samples_.Tried(BlockRole::kData, block_, dictionary, stored);
    }
    return std::nullopt;
  }
  bool TakeIfFull() {
    SampleSet set = samples_.Take(BlockRole::kData);
    if (set.bytes.get() == nullptr) return false;
    EXPECT_TRUE(test::LeftOutOfDumps(set.bytes.get()));
    EXPECT_EQ(set.used, kBytes);
    EXPECT_EQ(set.sizes.size(), kBytes / kBlock);
    return true;
  }

  const std::vector<std::byte> block_ = TextPayload(1, 1, kBlock);
  Wakeup wakeup_;
  Samples samples_{{.sample_every = 4, .sample_bytes_max = kBytes, .rest = 2}, kBytes, &wakeup_};
};

TEST_F(SamplesTest, TakeOneBlockInSoManyAndAreReleased) {
  const uint64_t empty = samples_.dram_bytes();
  const auto blocks = BlocksUntilFull(1000);
  ASSERT_TRUE(blocks);
  EXPECT_NEAR(*blocks, 4 * kBytes / kBlock, 4);
  EXPECT_EQ(samples_.dram_bytes(), empty + kBytes);
  samples_.Rest(BlockRole::kData, true);
  EXPECT_EQ(samples_.dram_bytes(), empty);
}

TEST_F(SamplesTest, AreGivenBackWhereTheyAreNotWanted) {
  const uint64_t empty = samples_.dram_bytes();
  const unsigned set = 4 * kBytes / kBlock;
  for (unsigned n = 0; n < set / 2; ++n) samples_.Tried(BlockRole::kData, block_, 0, kBlock);
  EXPECT_EQ(samples_.dram_bytes(), empty + kBytes);
  samples_.Collect(false);
  EXPECT_EQ(samples_.dram_bytes(), empty);
  EXPECT_FALSE(BlocksUntilFull(3 * set));
  EXPECT_EQ(samples_.dram_bytes(), empty);
  samples_.Collect(true);
  const auto blocks = BlocksUntilFull(1000);
  ASSERT_TRUE(blocks);
  EXPECT_NEAR(*blocks, set, 4) << "from none";
  samples_.Collect(false);
  EXPECT_EQ(samples_.dram_bytes(), empty + kBytes) << "what was taken is the trainer's";
  samples_.Rest(BlockRole::kData, true);
  EXPECT_EQ(samples_.dram_bytes(), empty);
}

TEST_F(SamplesTest, AFullSetThatNobodyTookIsGivenBackToo) {
  const uint64_t empty = samples_.dram_bytes();
  for (unsigned n = 0; n < 8 * kBytes / kBlock; ++n) samples_.Tried(BlockRole::kData, block_, 0, kBlock);
  samples_.Collect(false);
  EXPECT_EQ(samples_.dram_bytes(), empty);
  EXPECT_EQ(samples_.Take(BlockRole::kData).bytes.get(), nullptr);
  samples_.Collect(true);
  EXPECT_TRUE(BlocksUntilFull(1000));
}

TEST_F(SamplesTest, RestLongerAfterEachTrainingInVain) {
  ASSERT_TRUE(BlocksUntilFull(1000));
  const unsigned set = 4 * kBytes / kBlock;
  samples_.Rest(BlockRole::kData, true);
  const auto first = BlocksUntilFull(100 * set);
  ASSERT_TRUE(first);
  EXPECT_NEAR(*first, (2 + 1) * set, 16);
  samples_.Rest(BlockRole::kData, false);
  const auto second = BlocksUntilFull(100 * set);
  ASSERT_TRUE(second);
  EXPECT_NEAR(*second, (2 * 2 + 1) * set, 16);
}

TEST_F(SamplesTest, BeginAgainOnlyWhereTheDictionaryDoesATenthWorse) {
  constexpr uint32_t kHalf = Samples::kWhole / 2;
  ASSERT_TRUE(BlocksUntilFull(1000));
  samples_.Rest(BlockRole::kData, true);
  samples_.Expect(BlockRole::kData, 1, kHalf);
  EXPECT_FALSE(BlocksUntilFull(5000, 1, kBlock * 52 / 100));
  EXPECT_FALSE(BlocksUntilFull(5000, 2, kBlock)) << "of another dictionary nothing is noted";
  EXPECT_TRUE(BlocksUntilFull(5000, 1, kBlock * 60 / 100));
}

TEST_F(SamplesTest, LeaveOutBlocksThatWouldBeFew) {
  const auto large = TextPayload(1, 1, kBytes / 4);
  for (int i = 0; i < 1000; ++i) samples_.Tried(BlockRole::kData, large, 0, large.size());
  EXPECT_EQ(samples_.Take(BlockRole::kData).bytes.get(), nullptr);
}

}  // namespace
}  // namespace mezz
