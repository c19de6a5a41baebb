// SPDX-License-Identifier: Apache-2.0
// libFuzzer over recovery and inspection (recovery_target.h): tools/check --fuzz runs it; tests/fuzz/recovery_fuzz_test
// feeds the same target without Clang.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "tests/fuzz/recovery_target.h"
#include "tests/support/no_threads.h"

// Before the C++ library's: a scan by one thread takes a fifth of the time and covers the same lines each time.
unsigned std::thread::hardware_concurrency() noexcept { return 1; }

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static mezz::test::RecoveryTarget target;
  static const mezz::test::NoThreads
      inline_recovery;  // waiting for a thread to be scheduled takes longer than all else
  const std::string wrong = target.Run({data, size});
  if (wrong.empty()) return 0;
  std::fprintf(stderr, "%s\n", wrong.c_str());
  std::abort();
}
