// SPDX-License-Identifier: Apache-2.0
// Which slots of a bucket may hold a key, found in one step: a loop that ends at the right slot ends unforeseen by the
// branch predictor, which at every look-up costs more than all of the comparisons.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cache/base/atomic.h"

// Vector loads of atomic words are what the hardware makes atomic (each aligned 8-byte lane), not the language: the
// thread sanitizer and the model checker get the loop.
#if defined(__SSE2__) && !defined(__SANITIZE_THREAD__) && !defined(MEZZ_MODEL_CHECK)
#define MEZZ_VECTOR_TAG_SCAN 1
#include <emmintrin.h>
#else
#define MEZZ_VECTOR_TAG_SCAN 0
#endif

namespace mezz::tag_scan {

inline constexpr size_t kWords = 16;

// Bit n: the upper bits of word n, from `shift` on, are `tag`. A hint: whoever acts on a word loads it himself. `order`
// is that of what the caller loads afterwards: relaxed or acquire. A word that stays in its slot throughout the call is
// seen. `words` is aligned to 16 bytes.
inline uint32_t Loop(const Atomic<uint64_t>* words, unsigned shift, uint32_t tag,
                     std::memory_order order = std::memory_order_relaxed) {
  uint32_t found = 0;
  for (size_t i = 0; i < kWords; ++i) {
    found |= uint32_t{words[i].load(order) >> shift == tag} << i;
  }
  return found;
}

#if MEZZ_VECTOR_TAG_SCAN
// REQUIRES: shift >= 32, so that a tag lies in the upper half of its word.
inline uint32_t Vector(const Atomic<uint64_t>* words, unsigned shift, uint32_t tag) {
  const __m128i wanted = _mm_set1_epi32(static_cast<int>(tag));
  const auto* const pairs = reinterpret_cast<const __m128*>(words);
  // The four tags of two pairs, compared; true is all ones. The upper halves first, so that one shift does for four.
  const auto four = [&](size_t i) {
    const __m128 uppers = _mm_shuffle_ps(pairs[i], pairs[i + 1], _MM_SHUFFLE(3, 1, 3, 1));
    return _mm_cmpeq_epi32(_mm_srli_epi32(_mm_castps_si128(uppers), static_cast<int>(shift) - 32), wanted);
  };
  const __m128i lower = _mm_packs_epi32(four(0), four(2));
  const __m128i upper = _mm_packs_epi32(four(4), four(6));
  return static_cast<uint32_t>(_mm_movemask_epi8(_mm_packs_epi16(lower, upper)));
}
#endif

inline uint32_t Find(const Atomic<uint64_t>* words, unsigned shift, uint32_t tag,
                     std::memory_order order = std::memory_order_relaxed) {
#if MEZZ_VECTOR_TAG_SCAN
  const uint32_t found = Vector(words, shift, tag);
  std::atomic_signal_fence(order);  // the CPU keeps loads in order; so must the compiler
  return found;
#else
  return Loop(words, shift, tag, order);
#endif
}

}  // namespace mezz::tag_scan
