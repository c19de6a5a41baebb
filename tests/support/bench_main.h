// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <benchmark/benchmark.h>

#include <cstdio>

namespace mezz::test {

// Runs the benchmarks of a program, whose report names the medium.
inline int BenchMain(int argc, char** argv, const char* medium) {
#ifndef NDEBUG
  std::fputs("warning: assertions are on; these figures mean nothing\n", stderr);
#endif
  benchmark::AddCustomContext("medium", medium);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace mezz::test
