// SPDX-License-Identifier: Apache-2.0
// The pool of workspaces under the model checker: every schedule and every value a load may return, up to a bound.
#include <gtest/gtest.h>

#include <array>

#include "cache/pack/workspaces.h"
#include "tests/support/check/core.h"
#include "tests/support/check/explorer.h"

namespace mezz::check {
namespace {

// Stand for what lies in the two workspaces: the checker tells races by such lines.
struct alignas(64) Line {
  std::array<std::byte, 64> bytes;
};
std::array<Line, 2> lines;

TEST(CheckedWorkspaces, EachIsOneThreadsAtATimeAndComesWithWhatItsLastHolderDid) {
  constexpr size_t kBytes = 16 << 10;  // the smallest buffer
  const Result result = Explore({.preemptions_max = 2, .stale_max = 1}, [](Trial& trial) {
    Workspaces pool(lines.size());
    const uint64_t empty_bytes = pool.dram_bytes();
    const Workspace* const first = &*pool.Take();
    std::array<unsigned, lines.size()> uses{};
    const auto use = [&] {
      const Workspaces::Lease lease = pool.Take();
      if (!lease) return;
      const auto number = static_cast<size_t>(&*lease - first);
      Require(number < lines.size(), "there are no more");
      WriteData(&lines[number], sizeof(Line));
      Require(lease->Output(kBytes) != nullptr, "there is memory");
      ++uses[number];
    };
    trial.Threads({{"one", use}, {"two", use}, {"three", use}});
    Require(uses[0] != 0, "the lowest that is free is taken");
    Require(pool.dram_bytes() == empty_bytes + (uses[1] == 0 ? 1 : 2) * kBytes, "what each takes is counted once");
    trial.Outcome(uses[0] + uses[1] == 3 ? "all were served" : "one came while both were in use");
  });
  EXPECT_TRUE(result.ok()) << result.failure;
  EXPECT_TRUE(!result.ok() || result.complete) << "the bounds allow more than " << result.runs << " runs";
  EXPECT_TRUE(!result.ok() || result.outcomes.size() == 2);
}

}  // namespace
}  // namespace mezz::check
