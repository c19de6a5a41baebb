// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace mezz::test {

// Under the thread sanitizer an operation costs twenty times as much, and every interleaving of fewer of them is still
// looked at: stress does one in so many.
#ifdef __SANITIZE_THREAD__
inline constexpr int kStressShare = 4;
#else
inline constexpr int kStressShare = 1;
#endif

// Which handle the signals that a process ends by, and end it by a status of their own.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool kHandlesSignals = true;
#else
inline constexpr bool kHandlesSignals = false;
#endif

// Freed memory is kept for a while, with what it held.
inline constexpr bool kKeepsFreedMemory = kHandlesSignals;

}  // namespace mezz::test
