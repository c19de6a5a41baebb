// SPDX-License-Identifier: Apache-2.0
// A table of a few keys is moved by hand from blocks that are read to blocks that are written, on threads that play
// RocksDB's.
#include "integration/heirs.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <future>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/support/data_block.h"

namespace mezz::test {
namespace {

using Kind = Lineage::Kind;

// Each on a thread that has read and written nothing yet.
void OnNewThread(const std::function<void()>& work) { std::thread(work).join(); }

class HeirsTest : public ::testing::Test {
 protected:
  static std::string BlockOf(int first, int last) {
    DataBlock block;
    for (int key = first; key < last; ++key) block.Add("key" + std::to_string(100'000 + key), "value");
    return block.Finish();
  }
  void Read(int first, int last, Standing standing, uint8_t frequency = 0) const {
    const std::string block = standing == Standing::kNowhere ? "" : BlockOf(first, last);
    heirs_.NoteParent(Bytes(block), standing, frequency);
  }
  Lineage Write(int first, int last) const {
    const std::string block = BlockOf(first, last);
    return heirs_.LineageOf(Bytes(block));
  }
  // A block whose keys nobody can read.
  void ReadStrange(Standing standing) const { heirs_.NoteParent(Bytes("strange bytes"), standing, 0); }
  Lineage WriteStrange() const { return heirs_.LineageOf(Bytes("strange bytes")); }

  static std::span<const std::byte> Bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

  const Heirs heirs_;
};

TEST_F(HeirsTest, AnOutputsParentsAreThoseThatHeldItsKeys) {
  OnNewThread([this] {
    Read(0, 10, Standing::kDram, 8);
    Read(10, 20, Standing::kNowhere);
    Read(20, 30, Standing::kScmCold, 2);
    const Lineage first = Write(0, 5);
    EXPECT_EQ(first.kind, Kind::kHeir);
    EXPECT_EQ(first.best, Standing::kDram);
    EXPECT_EQ(first.frequency, 4) << "half of the parent's keys";
    EXPECT_EQ(Write(12, 18).best, Standing::kNowhere);
    EXPECT_EQ(Write(12, 18).kind, Kind::kHeir);
    const Lineage mixed = Write(15, 25);
    EXPECT_EQ(mixed.best, Standing::kScmCold);
    EXPECT_EQ(mixed.percent[static_cast<size_t>(Standing::kNowhere)], 50);
    EXPECT_EQ(Write(5, 10).best, Standing::kDram) << "a block of Level 0 stays open over many outputs";
  });
}

// Of versions of a key the best counts.
TEST_F(HeirsTest, TheBestOfAKeysBlocksCounts) {
  OnNewThread([this] {
    Read(0, 10, Standing::kScmHot);
    Read(0, 10, Standing::kScmCold);
    Read(0, 10, Standing::kNowhere);
    EXPECT_EQ(Write(0, 10).best, Standing::kScmHot);
  });
}

TEST_F(HeirsTest, KeysOfAnotherCacheAreOthers) {
  OnNewThread([this] {
    const Heirs other;
    Read(0, 10, Standing::kDram);
    const std::string block = BlockOf(0, 10);
    EXPECT_EQ(other.LineageOf(Bytes(block)).best, Standing::kNowhere);
  });
}

TEST_F(HeirsTest, KeysOfACacheThatIsGoneAreNotThoseOfTheNextInItsPlace) {
  OnNewThread([] {
    alignas(Heirs) std::byte place[sizeof(Heirs)];
    auto* cache = new (place) Heirs;
    const std::string block = BlockOf(0, 10);
    cache->NoteParent(Bytes(block), Standing::kDram, 0);
    cache->~Heirs();
    cache = new (place) Heirs;
    EXPECT_EQ(cache->LineageOf(Bytes(block)).best, Standing::kNowhere);
    cache->~Heirs();
  });
}

TEST_F(HeirsTest, WhatAnEarlierCompactionReadIsForgotten) {
  OnNewThread([this] {
    Read(0, 10, Standing::kDram);
    ReadStrange(Standing::kDram);
    Heirs::ForgetParents();
    Read(10, 20, Standing::kNowhere);
    const Lineage lineage = Write(0, 10);
    EXPECT_EQ(lineage.kind, Kind::kHeir);
    EXPECT_EQ(lineage.best, Standing::kNowhere);
  });
}

TEST_F(HeirsTest, WhereKeysCannotBeReadTheLatestInputsCount) {
  OnNewThread([this] {
    ReadStrange(Standing::kScmCold);
    ReadStrange(Standing::kScmHot);
    ReadStrange(Standing::kNowhere);
    const Lineage best = WriteStrange();
    EXPECT_EQ(best.kind, Kind::kHeir);
    EXPECT_EQ(best.best, Standing::kScmHot);
    EXPECT_EQ(best.percent[static_cast<size_t>(Standing::kScmHot)], 100);
    EXPECT_EQ(WriteStrange().best, Standing::kNowhere) << "since: none; just before: in neither tier";
    Read(0, 10, Standing::kDram);
    EXPECT_EQ(WriteStrange().best, Standing::kDram) << "an output of a strange kind";
  });
}

// What is in a strange input may be in any of the next outputs, whose own keys say nothing then.
TEST_F(HeirsTest, AStrangeInputDecidesByOrderForAWhileAndNotForEver) {
  OnNewThread([this] {
    ReadStrange(Standing::kScmHot);
    EXPECT_EQ(Write(50, 60).best, Standing::kScmHot);
    for (uint32_t n = 1; n < Heirs::kOutputsByOrder; ++n) {
      Read(0, 10, Standing::kScmCold);
      EXPECT_EQ(Write(50, 60).best, Standing::kScmCold) << n;
    }
    Read(0, 10, Standing::kScmCold);
    EXPECT_EQ(Write(50, 60).best, Standing::kNowhere) << "by its keys again";
    ReadStrange(Standing::kNowhere);
    EXPECT_EQ(Write(50, 60).best, Standing::kNowhere) << "what the cache did not have is nobody's parent";
  });
}

// The best by order is that of the inputs since the last output, whatever that was decided by.
TEST_F(HeirsTest, OutputsByKeysEndWhatCountsByOrder) {
  OnNewThread([this] {
    Read(0, 10, Standing::kDram);
    Read(10, 20, Standing::kScmCold);
    EXPECT_EQ(Write(0, 10).best, Standing::kDram);
    EXPECT_EQ(WriteStrange().best, Standing::kScmCold);
  });
}

TEST_F(HeirsTest, AThreadThatReadNothingAsksThoseThatDo) {
  OnNewThread([this] {
    Read(0, 10, Standing::kScmHot, 6);
    OnNewThread([this] {
      const Lineage lineage = Write(0, 10);
      EXPECT_EQ(lineage.kind, Kind::kHeir);
      EXPECT_EQ(lineage.best, Standing::kScmHot);
      EXPECT_EQ(lineage.frequency, 6);
      EXPECT_EQ(Write(10, 20).best, Standing::kNowhere);
      EXPECT_EQ(Write(10, 20).kind, Kind::kHeir) << "somebody reads, so the key was nowhere";
    });
  });
}

TEST_F(HeirsTest, WhereNobodyReadsNothingIsKnown) {
  OnNewThread([this] {
    for (int n = 0; n < 70; ++n) Write(0, 10);
    EXPECT_EQ(Write(0, 10).kind, Kind::kUnknown);
    EXPECT_EQ(WriteStrange().kind, Kind::kUnknown);
  });
}

// As a compression dictionary has it: a file's worth of input comes first, and then all of its output.
TEST_F(HeirsTest, ManyOutputsAtOnceAreFoundAsLongAsTheTableHoldsTheirKeys) {
  OnNewThread([this] {
    for (int n = 0; n < 200; ++n) Read(10 * n, 10 * n + 10, Standing::kScmCold);
    for (int n = 0; n < 200; ++n) EXPECT_EQ(Write(10 * n, 10 * n + 10).best, Standing::kScmCold) << n;
  });
}

TEST_F(HeirsTest, WhatATableMayHaveForgottenIsUnknown) {
  OnNewThread([this] {
    constexpr int kBlocks = 3 * ParentTable::kKeys / 10;
    for (int n = 0; n < kBlocks; ++n) Read(10 * n, 10 * n + 10, Standing::kScmCold);
    EXPECT_EQ(Write(0, 10).kind, Kind::kUnknown);
    OnNewThread([this] { EXPECT_EQ(Write(0, 10).kind, Kind::kUnknown) << "asked by another thread"; });
    EXPECT_EQ(Write(10 * kBlocks - 10, 10 * kBlocks).best, Standing::kScmCold);
    EXPECT_EQ(Write(1'000'000, 1'000'010).kind, Kind::kHeir) << "what comes now is in the table, or was in no block";
  });
}

TEST_F(HeirsTest, OnlyThreadsThatFoundInputsKeepATable) {
  const size_t before = Heirs::dram_bytes();
  OnNewThread([this, before] {
    Write(0, 10);
    Read(0, 10, Standing::kNowhere);
    EXPECT_LT(Heirs::dram_bytes(), before + 1024);
    Read(0, 10, Standing::kScmCold);
    EXPECT_GE(Heirs::dram_bytes(), before + ParentTable::kBytes);
    EXPECT_LT(Heirs::dram_bytes(), before + ParentTable::kBytes + 1024);
  });
  EXPECT_EQ(Heirs::dram_bytes(), before) << "the thread has ended";
}

struct CallsAtTheEnd {
  ~CallsAtTheEnd() { then(); }
  std::function<void()> then;
};

// RocksDB's own thread-local objects may be destroyed later than ours.
TEST_F(HeirsTest, AThreadThatEndsIsNoReaderAnyMore) {
  const size_t before = Heirs::dram_bytes();
  Lineage late{.kind = Kind::kHeir};
  OnNewThread([this, &late] {
    static thread_local CallsAtTheEnd earlier;  // made before, so destroyed after
    earlier.then = [this, &late] {
      Read(0, 10, Standing::kDram);
      late = Write(0, 10);
      Heirs::ForgetParents();
    };
    Read(0, 10, Standing::kDram);
  });
  EXPECT_EQ(late.kind, Kind::kUnknown);
  EXPECT_EQ(Heirs::dram_bytes(), before);
}

// For the thread sanitizer: readers, writers that ask them, and threads that come and go.
TEST_F(HeirsTest, ThreadsReadWriteAndEndAtOnce) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      for (int round = 0; round < 20; ++round) {
        if (t % 2 == 1) {
          OnNewThread([this] {
            for (int n = 0; n < 20; ++n) Write(10 * n, 10 * n + 10);
          });
          continue;
        }
        if (round % 5 == 4) Heirs::ForgetParents();
        for (int n = 0; n < 20; ++n) Read(10 * n, 10 * n + 10, Standing::kScmHot);
        EXPECT_EQ(Write(190, 200).best, Standing::kScmHot);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace mezz::test
