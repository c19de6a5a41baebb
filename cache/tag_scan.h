// SPDX-License-Identifier: Apache-2.0
// Finds the slots of a bucket that may hold a key, in one step. A loop that stops at the right slot would mislead the
// branch predictor at every look-up, which costs more than all of the comparisons.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cache/base/atomic.h"

// The hardware makes vector loads of atomic words atomic (each aligned 8-byte lane), but the language does not. So the
// thread sanitizer and the model checker get the loop.
#if defined(__SSE2__) && !defined(__SANITIZE_THREAD__) && !defined(MEZZ_MODEL_CHECK)
#define MEZZ_VECTOR_TAG_SCAN 1
#include <emmintrin.h>
#else
#define MEZZ_VECTOR_TAG_SCAN 0
#endif

namespace mezz::tag_scan {

inline constexpr size_t kWords = 16;

// Bit n of the result is set if the bits of word n from `shift` on are `tag`. It is a hint: load a word again before
// acting on it. A word that stays in its slot throughout the call is seen. `order` (relaxed or acquire) orders the call
// before the caller's later loads. `words` is aligned to 16 bytes.
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
  // Compares the four tags of two pairs; true is all ones. It gathers the upper halves first, so that one shift serves
  // four.
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
