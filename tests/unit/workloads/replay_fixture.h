// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "tests/support/temporary_folder.h"
#include "thread_worker.h"
#include "workloads/program/program.h"
#include "workloads/replay/report.h"
#include "workloads/replay/runner.h"

namespace mezz {

// mezz_replay from options to report, in a folder of its own, its workers threads of the test.
class ReplayTest : public ::testing::Test {
 protected:
  Status Run(const ReplayOptions& options) {
    report_ = {};
    return RunReplay(options, ThreadLauncher(options, stop_), &progress_, stop_, &report_);
  }
  void RunOk(const ReplayOptions& options) { ASSERT_EQ(Run(options).message(), ""); }
  const CacheRow& Row(const std::string& cache) const {
    for (const CacheRow& row : report_.rows) {
      if (row.cache == cache) return row;
    }
    ADD_FAILURE() << "no row " << cache;
    return report_.rows.front();
  }
  static uint64_t CounterOf(const CacheRow& row, const std::string& name) {
    const size_t at = row.counters.find("\n" + name + ": ");
    if (at == std::string::npos) ADD_FAILURE() << "no counter " << name;
    return at == std::string::npos ? 0 : std::stoull(row.counters.substr(at + name.size() + 3));
  }

  TemporaryFolder folder_{InMemory()};
  Progress progress_{/*quiet=*/true};
  std::atomic<bool> stop_{false};
  ReplayReport report_;
};

}  // namespace mezz
