// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>

namespace mezz {

// What a person waits for: a bar on a terminal, redrawn a few times a second; elsewhere one line a phase. On stderr, so
// that stdout stays the report. Single-threaded.
class Progress {
 public:
  explicit Progress(bool quiet = false);
  // Shows nothing itself: tells `forward` what Update is told, a few times a second.
  explicit Progress(std::function<void(uint64_t done, uint64_t total)> forward);
  ~Progress();

  // Starts a phase. `announce`: a line of its own where there is no terminal.
  void Phase(const std::string& name, bool announce = true);
  void Update(uint64_t done, uint64_t total);
  void End();

  // Whether Update shows anything.
  bool wants_updates() const { return on_terminal_ || forward_ != nullptr; }

 private:
  std::function<void(uint64_t, uint64_t)> forward_;
  bool quiet_;
  bool on_terminal_;
  bool drawn_ = false;
  std::string phase_;
  std::chrono::steady_clock::time_point last_drawn_;
};

}  // namespace mezz
