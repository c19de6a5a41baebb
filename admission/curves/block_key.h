// SPDX-License-Identifier: Apache-2.0
// The cache key of a trace's block. The simulator and the live replayer share it, so that policies that hash keys see
// the same keys in both.
#pragma once

#include <cstdint>

#include "cache/types.h"

namespace mezz {

// The key is shaped like RocksDB's: a word that all blocks of a file share, and one that numbers them. So a policy that
// mixes such keys badly does so here too.
constexpr BlockKey BlockKeyOf(uint64_t trace_key) {
  constexpr uint64_t kFileWord = 0x6d657a7a74726163ull;
  return BlockKey{.words = {kFileWord, trace_key}};
}

// A good 64-bit mix (the finalizer of splitmix64).
constexpr uint64_t MixWord(uint64_t word) {
  word += 0x9e3779b97f4a7c15ull;
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9ull;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebull;
  return word ^ (word >> 31);
}

}  // namespace mezz
