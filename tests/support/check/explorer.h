// SPDX-License-Identifier: Apache-2.0
// Runs a scenario again and again, each time with another schedule and other values for its loads: all of them up to a
// bound, or a number of random ones.
//
//   const Result result = Explore({.preemptions_max = 2}, [](Trial& run) {
//     Atomic<int> x{0};
//     run.Threads({{"writer", [&] { x.store(1, std::memory_order_release); }},
//                  {"reader", [&] { Require(x.load(std::memory_order_acquire) <= 1, "x is 0 or 1"); }}});
//   });
//   EXPECT_TRUE(result.ok()) << result.failure;
//
// One operating system thread, one fiber a thread of the scenario: equal choices give equal runs. A scenario must not
// depend on anything else (clocks, random numbers, addresses of its own).
//
// Exhaustive means: every schedule with at most `preemptions_max` preemptions, and in each at most `stale_max` loads
// that return something else than the newest value (or weak exchanges that fail for nothing). Only words that two
// threads share and one of them writes are worth a preemption; which these are is learned while exploring.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace mezz::check {

struct Options {
  unsigned preemptions_max = 2;
  unsigned stale_max = 1;
  uint64_t runs_max = 2'000'000;  // of the exhaustive search: past it, Result::complete is false
  uint64_t random_runs = 0;       // instead of the exhaustive search, without its bounds
  uint64_t seed = 1;
  unsigned steps_max = 20'000;  // of a run: past it, its threads are said to get nowhere
};

struct Result {
  bool ok() const { return failure.empty(); }

  uint64_t runs = 0;
  bool complete = false;                     // every run within the bounds was seen
  std::string failure;                       // what failed and the run's steps; empty: nothing did
  std::map<std::string, uint64_t> outcomes;  // of Trial::Outcome, counted
};

struct ThreadOfRun {
  const char* name;
  std::function<void()> body;
};

class Trial {
 public:
  // Runs the threads to their ends. What came before happened before them, and they before what follows. May be called
  // more than once in a run.
  void Threads(std::vector<ThreadOfRun> threads);
  // Counts this run under `outcome`.
  void Outcome(std::string_view outcome);
};

Result Explore(const Options& options, const std::function<void(Trial&)>& scenario);

// Ends the run as a failed one. Also what a failed assert() does inside of a run.
[[noreturn]] void Fail(std::string_view what);
inline void Require(bool holds, std::string_view what) {
  if (!holds) Fail(what);
}
// A line in the steps of a failing run.
void Note(std::string_view what);

}  // namespace mezz::check
