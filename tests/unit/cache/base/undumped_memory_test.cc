// SPDX-License-Identifier: Apache-2.0
#include "cache/base/undumped_memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "tests/support/kernel_flags.h"
#include "tests/support/seed.h"

namespace mezz {
namespace {

using test::LeftOutOfDumps;

constexpr size_t kPieceMax = UndumpedMemory::kPieceBytesMax;

// Pieces with a byte of their own, which nobody else may change.
class Pieces {
 public:
  explicit Pieces(UndumpedMemory* memory) : memory_(memory) {}
  ~Pieces() {
    while (!pieces_.empty()) FreeOne(0);
  }

  void Make(size_t bytes) {
    auto* const at = static_cast<unsigned char*>(memory_->Allocate(bytes));
    ASSERT_NE(at, nullptr);
    ASSERT_GE(UndumpedMemory::UsableSize(at), bytes);
    mark_ = static_cast<unsigned char>(mark_ + 1);
    std::memset(at, mark_, UndumpedMemory::UsableSize(at));
    pieces_.push_back({at, mark_});
  }
  void FreeOne(size_t number) {
    const Piece piece = pieces_[number];
    pieces_[number] = pieces_.back();
    pieces_.pop_back();
    const size_t bytes = UndumpedMemory::UsableSize(piece.at);
    EXPECT_EQ(piece.at[0], piece.mark);
    EXPECT_EQ(piece.at[bytes - 1], piece.mark);
    EXPECT_EQ(std::memcmp(piece.at, piece.at + 1, bytes - 1), 0) << "another piece lies on this one";
    memory_->Free(piece.at);
  }
  size_t size() const { return pieces_.size(); }

 private:
  struct Piece {
    unsigned char* at;
    unsigned char mark;
  };

  UndumpedMemory* const memory_;
  std::vector<Piece> pieces_;
  unsigned char mark_ = 0;
};

TEST(UndumpedMemory, LiesInNoCoreDump) {
  UndumpedMemory memory;
  for (const size_t bytes : {size_t{1}, size_t{4000}, kPieceMax, kPieceMax + 1, size_t{9} << 20}) {
    auto* const piece = static_cast<std::byte*>(memory.Allocate(bytes));
    ASSERT_NE(piece, nullptr);
    EXPECT_TRUE(LeftOutOfDumps(piece)) << bytes;
    EXPECT_TRUE(LeftOutOfDumps(piece + bytes - 1)) << bytes;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(piece) % 16, 0u);
    memory.Free(piece);
  }
  const UndumpedBuffer buffer(100'000);
  EXPECT_TRUE(LeftOutOfDumps(buffer.get() + 99'999));
}

TEST(UndumpedMemory, HeapIsNotLeftOut) {
  const auto heap = std::make_unique<char[]>(4000);
  EXPECT_FALSE(LeftOutOfDumps(heap.get()));
}

TEST(UndumpedMemory, APieceIsAnEighthTooLargeAtMost) {
  UndumpedMemory memory;
  for (size_t bytes = 129; bytes <= kPieceMax; bytes += 1 + bytes / 50) {
    void* const piece = memory.Allocate(bytes);
    EXPECT_GE(UndumpedMemory::UsableSize(piece), bytes);
    EXPECT_LE(UndumpedMemory::UsableSize(piece), bytes + bytes / 8 + 1);
    memory.Free(piece);
  }
}

TEST(UndumpedMemory, PiecesNeverOverlapWhateverIsFreedBetween) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  UndumpedMemory memory;
  {
    Pieces pieces(&memory);
    for (int n = 0; n < 20'000; ++n) {
      // Now and then much is freed, so that slabs change their sizes.
      const bool shrinks = n % 2000 > 1600;
      if (pieces.size() != 0 && random() % 10 < (shrinks ? 9u : 4u)) {
        pieces.FreeOne(random() % pieces.size());
      } else {
        ASSERT_NO_FATAL_FAILURE(pieces.Make(random() % 40 == 0 ? random() % (kPieceMax * 2) : random() % 9000));
      }
    }
  }
  EXPECT_LE(memory.mapped_bytes(), UndumpedMemory::kSlabBytes) << "one slab is kept";
}

TEST(UndumpedMemory, WhatOneSizeLeavesAnotherUses) {
  UndumpedMemory memory;
  const size_t full = 3 * UndumpedMemory::kSlabBytes;
  uint64_t most = 0;
  for (const size_t bytes : {4096, 16384, 5000, 64}) {
    Pieces pieces(&memory);
    for (size_t made = 0; made < full; made += bytes) ASSERT_NO_FATAL_FAILURE(pieces.Make(bytes));
    most = std::max(most, memory.mapped_bytes());
  }
  EXPECT_LE(most, full + full / 8 + 2 * UndumpedMemory::kSlabBytes);
}

TEST(UndumpedMemory, MayBeFreedByAnotherThread) {
  UndumpedMemory memory;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&memory] {
      for (int round = 0; round < 20; ++round) {
        auto pieces = std::make_unique<Pieces>(&memory);
        for (int n = 0; n < 200; ++n) pieces->Make(4000 + n % 3 * 1000);
        std::thread([&] { pieces.reset(); }).join();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(memory.mapped_bytes(), UndumpedMemory::kSlabBytes);
}

TEST(UndumpedMemory, WithoutMemoryThereIsNull) {
  UndumpedMemory memory;
  EXPECT_EQ(memory.Allocate(SIZE_MAX), nullptr);
  EXPECT_EQ(memory.Allocate(SIZE_MAX / 2), nullptr);
  memory.Free(nullptr);
  EXPECT_EQ(UndumpedBuffer(SIZE_MAX / 2).get(), nullptr);
}

}  // namespace
}  // namespace mezz
