// SPDX-License-Identifier: Apache-2.0
// Blocks as their files hold them: stored at the miss, unpacked by whoever asked, and every guard between. The codec is
// a fake one, whose damaged images give wrong bytes as RocksDB's do.
#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "tests/support/hybrid_blocks.h"
#include "tests/support/hybrid_fixture.h"
#include "tests/support/scripted_policy.h"

namespace mezz::test {
namespace {

using rocksdb::Cache;

constexpr uint64_t kDramBytes = 4 << 20;
constexpr uint64_t kScmBytes = 16 * kSegmentBytesMin;
constexpr size_t kBlockBytes = 4000;
constexpr uint64_t kId = 2;  // even: its content packs

const Helper* const kData = kHelpers[0];

class ImageHits : public HybridTest {
 protected:
  void SetUp() override { Open(PackMode::kImage); }

  void Open(PackMode pack) {
    HybridCacheOptions options = OptionsOf(kDramBytes, kScmBytes);
    options.scm.pack = pack;
    options.scm.faults_max = 0;  // what is damaged here is no reason to stop
    script_ = {};
    UseScript(&options, &script_);
    Make(options);
    FillUnderScript();
    script_.on_miss = {Action::kToBoth, Reason::kGhost, /*proven=*/true};
    script_.on_eviction = {Action::kKeep, Reason::kClean};
  }
  void FillUnderScript() {
    script_.on_reclaim = {Action::kDrop, Reason::kNoHit};
    FillScm(Event::kScmDropped);
  }

  static Content ContentOf(uint64_t id) { return Content(id, 1, kBlockBytes); }
  void Insert(uint64_t id, const Helper* helper = kData) {
    TestBlock* block = TestBlock::New(ContentOf(id), cache_->memory_allocator());
    ASSERT_TRUE(InsertWithImage(cache_.get(), KeyOf(id), block, helper).ok());
  }
  void DemoteAll() {
    cache_->SetCapacity(0);
    cache_->SetCapacity(kDramBytes);
  }
  void InsertAndDemote(uint64_t id = kId) {
    Insert(id);
    DemoteAll();
  }
  // False where the key is a miss; what is found is checked.
  bool Finds(uint64_t id = kId, Cache::CreateContext* context = &fake_context, const Helper* helper = kData) {
    Cache::Handle* const handle = cache_->Lookup(KeyOf(id), helper, context);
    if (handle == nullptr) return false;
    const auto* const block = static_cast<TestBlock*>(cache_->Value(handle));
    EXPECT_TRUE(ContentOf(id).Matches(block->data(), block->bytes()));
    cache_->Release(handle);
    return true;
  }
  PinnedBlock Record(uint64_t id = kId) {
    const std::string key = KeyOf(id);
    return scm().Find(BlockKey::FromBytes(key.data()));
  }

  Script script_;
};

TEST_F(ImageHits, AMissIsStoredAtOnceAndItsEvictionIsClean) {
  Insert(kId);
  EXPECT_EQ(Count(Event::kInsertToBoth), 1u);
  EXPECT_EQ(Count(Event::kScmImagePut), 1u);
  EXPECT_EQ(stats_->Decisions().of(DecisionPoint::kMiss, Action::kToBoth, Reason::kGhost), 1u);
  EXPECT_TRUE(Finds());
  EXPECT_EQ(Count(Event::kDramHit), 1u) << "it is in DRAM too";
  const uint64_t written = Count(Event::kScmWrittenBytes);
  DemoteAll();
  EXPECT_TRUE(script_.evictions.back().in_scm);
  EXPECT_EQ(Count(Event::kCleanEviction), 1u);
  EXPECT_EQ(Count(Event::kScmWrittenBytes), written);
  EXPECT_TRUE(Finds());
  EXPECT_EQ(Count(Event::kScmImageHit), 1u);
  EXPECT_EQ(Count(Event::kServedCopied), 1u);
}

TEST_F(ImageHits, ThePolicyHearsWhatItsRecordWouldTake) {
  Insert(kId);
  const BlockFacts& facts = script_.misses.back();
  EXPECT_GT(facts.image_bytes, kBlockBytes / 4);
  EXPECT_LT(facts.image_bytes, kBlockBytes / 2);
  EXPECT_EQ(facts.write_bytes(), facts.image_bytes);
  Insert(kId + 1);  // does not pack: its image is larger than itself
  EXPECT_EQ(script_.misses.back().image_bytes, 0u);
  EXPECT_EQ(Count(Event::kInsertToBoth), 1u) << "to DRAM alone, whatever the policy says";
  Insert(kId + 2, kHelpers[1]);
  EXPECT_EQ(script_.misses.back().image_bytes, 0u) << "an index block";
}

TEST_F(ImageHits, AMissThatGoesToScmAloneIsStoredSoAsWell) {
  script_.on_miss = {Action::kToScm, Reason::kWindowClosed};
  Insert(kId);
  EXPECT_EQ(Count(Event::kScmImagePut), 1u);
  EXPECT_TRUE(Finds());
  EXPECT_EQ(Count(Event::kDramHit), 0u);
}

TEST_F(ImageHits, APromotedOneIsABlockOfTheDramTier) {
  InsertAndDemote();
  script_.on_scm_hit = {Action::kPromote, Reason::kFrequency};
  EXPECT_TRUE(Finds());
  EXPECT_EQ(Count(Event::kPromotion), 1u);
  EXPECT_TRUE(Finds());
  EXPECT_EQ(Count(Event::kDramHit), 1u);
}

TEST_F(ImageHits, NoDamageIsEverUnpacked) {
  Insert(kId);
  const size_t bits = 8 * Record().stored().size();
  for (size_t bit = 0; bit < bits; ++bit) {
    InsertAndDemote();
    const_cast<std::byte&>(Record().stored()[bit / 8]) ^= std::byte{1} << bit % 8;
    ASSERT_FALSE(Finds()) << "bit " << bit;
  }
  EXPECT_EQ(Count(Event::kScmChecksumMismatch), bits);
  EXPECT_EQ(Count(Event::kScmImageFailed), 0u);
}

// Bytes whose checksum is right, and which are not what the block was: as under a decompressor that is not theirs.
TEST_F(ImageHits, AnObjectOfAnotherSizeOrNoneIsAMissAndForgotten) {
  const std::unique_ptr<TestBlock> block(TestBlock::New(ContentOf(kId), nullptr));
  const std::string image = block->image();
  const std::string key = KeyOf(kId);
  const auto put = [&](size_t bytes, std::string_view of) {
    const Image forged{.bytes = std::as_bytes(std::span(of.data(), of.size())), .type = kFakeCompression};
    ASSERT_EQ(scm().PutImage(BlockKey::FromBytes(key.data()), BlockRole::kData, bytes, forged), PutResult::kStored);
  };
  put(kBlockBytes + 8, image);
  EXPECT_FALSE(Finds());
  EXPECT_FALSE(Record());
  put(kBlockBytes, std::string_view(image).substr(0, image.size() / 9 * 9 - 4));
  EXPECT_FALSE(Finds());
  EXPECT_FALSE(Record());
  EXPECT_EQ(Count(Event::kScmImageFailed), 2u);
  EXPECT_EQ(Count(Event::kMiss), 2u);
}

TEST_F(ImageHits, ALookupWithNothingToUnpackWithIsAMissAndTheRecordStays) {
  InsertAndDemote();
  EXPECT_FALSE(Finds(kId, /*context=*/nullptr));
  EXPECT_FALSE(Finds(kId, &fake_context, /*helper=*/nullptr));
  EXPECT_EQ(Count(Event::kScmImageUnread), 1u) << "without a helper nobody looks in SCM";
  EXPECT_TRUE(Finds());
}

// An allocator that can run dry.
class DryAllocator : public rocksdb::MemoryAllocator {
 public:
  void* Allocate(size_t bytes) override {
    if (dry) throw std::bad_alloc();
    return ::operator new(bytes);
  }
  void Deallocate(void* address) override { ::operator delete(address); }
  const char* Name() const override { return "DryAllocator"; }
  bool dry = false;
};

TEST_F(ImageHits, WithoutMemoryIsAMissAndTheRecordStays) {
  const auto allocator = std::make_shared<DryAllocator>();
  rocksdb::LRUCacheOptions lru;
  lru.capacity = kDramBytes;
  lru.num_shard_bits = 0;
  lru.memory_allocator = allocator;
  HybridCacheOptions options = OptionsOf(kDramBytes, kScmBytes);
  options.scm.pack = PackMode::kImage;
  UseScript(&options, &script_);
  Wrap(lru.MakeSharedCache(), options);
  FillUnderScript();
  InsertAndDemote();
  allocator->dry = true;
  EXPECT_FALSE(Finds());
  allocator->dry = false;
  EXPECT_EQ(Count(Event::kAllocationFailed), 1u);
  EXPECT_TRUE(Finds());
  EXPECT_EQ(Count(Event::kScmImageHit), 2u);
  cache_->EraseUnRefEntries();
}

TEST_F(ImageHits, AnInsertThatFailsLeavesNothing) {
  cache_->SetStrictCapacityLimit(true);
  cache_->SetCapacity(0);
  TestBlock* block = TestBlock::New(ContentOf(kId), cache_->memory_allocator());
  Cache::Handle* handle = nullptr;
  EXPECT_TRUE(InsertWithImage(cache_.get(), KeyOf(kId), block, kData, &handle).IsMemoryLimit());
  delete block;
  EXPECT_EQ(Count(Event::kScmImagePut), 1u);
  EXPECT_FALSE(Finds());
}

// Without an image it is packed by us when it leaves DRAM.
TEST_F(ImageHits, AnUncompressedBlockIsPackedAtItsEviction) {
  script_.on_eviction = {Action::kToScm, Reason::kPolicyDefault};
  TestBlock* block = TestBlock::New(ContentOf(kId), cache_->memory_allocator());
  ASSERT_TRUE(InsertRead(cache_.get(), KeyOf(kId), block, kData).ok());
  EXPECT_EQ(script_.misses.back().image_bytes, 0u);
  DemoteAll();
  EXPECT_EQ(Count(Event::kScmPackedPut), 1u);
  EXPECT_EQ(Count(Event::kScmImagePut), 0u);
  EXPECT_TRUE(Finds(kId, /*context=*/nullptr));
}

TEST_F(ImageHits, OtherModesTakeNone) {
  for (const PackMode pack : {PackMode::kOff, PackMode::kLz4, PackMode::kZstd, PackMode::kAuto}) {
    Open(pack);
    Insert(kId);
    EXPECT_EQ(script_.misses.back().image_bytes, 0u);
    EXPECT_EQ(Count(Event::kScmImagePut), 0u);
  }
}

}  // namespace
}  // namespace mezz::test
