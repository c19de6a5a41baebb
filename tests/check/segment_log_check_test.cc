// SPDX-License-Identifier: Apache-2.0
// The segment log under the model checker, apart from the tier: what takes a tier too many steps to come to.
#include <gtest/gtest.h>

#include "tests/support/check/explorer.h"
#include "tests/support/core_fixture.h"

namespace mezz::check {
namespace {

using State = SegmentLog::State;

// A writer has read which segment its lane has; then others seal that, reclaim it, and open it for tombstones.
TEST(CheckedSegmentLog, NoWriterThatComesLateMeetsTombstones) {
  const auto scenario = [](Trial& trial) {
    test::Core core(4);
    SegmentLog& log = core.log;
    Require(core.Put(1, 32), "there is room");
    trial.Threads({{"late",
                    [&] {
                      const auto where = log.Reserve(/*lane=*/0, 64);
                      if (!where) return;
                      Require(log.state(where->segment) != State::kTombstones, "records are not among tombstones");
                      log.Leave(*where);
                    }},
                   {"eraser", [&] {
                      log.SealAll();
                      const auto victim = log.TakeVictim(/*pinned_too=*/false).segment;
                      if (!victim) return;
                      log.StartDraining(*victim);
                      (void)log.tombstone_segments().Open();
                    }}});
    std::vector<std::string> violations;
    log.Audit(&violations);
    Require(violations.empty(), "the log is sound");
  };
  const Result result = Explore({.preemptions_max = 2, .stale_max = 1, .runs_max = 1'000'000}, scenario);
  EXPECT_TRUE(result.ok()) << result.failure;
  EXPECT_TRUE(!result.ok() || result.complete) << "the bounds allow more than " << result.runs << " runs";
}

}  // namespace
}  // namespace mezz::check
