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

}  // namespace mezz::test
