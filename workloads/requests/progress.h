// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace mezz {

// Where progress is shown.
struct ProgressScreen {
  std::FILE* file = stderr;
  bool is_terminal = false;
  std::function<std::chrono::steady_clock::time_point()> now = [] { return std::chrono::steady_clock::now(); };
};

// What a person waits for, on stderr, so that stdout stays the report: percent, rate and the time left, as far as they
// are known. On a terminal it is a line that is redrawn a few times a second and goes at the end; elsewhere a line for
// each phase that is announced, and one a minute. Single-threaded.
class Progress {
 public:
  explicit Progress(bool quiet = false);
  explicit Progress(ProgressScreen screen);
  // Shows nothing itself: tells `forward` what Update is told, a few times a second.
  explicit Progress(std::function<void(uint64_t done, uint64_t total)> forward);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Starts a phase. `announce`: a line of its own where there is no terminal. `unit`: of what is counted, for the rate,
  // such as " requests"; empty: no rate is shown.
  void Phase(const std::string& name, bool announce = true, std::string_view unit = {});
  // `total` 0: not known. `counted`: what the rate is of, if it is not `done`.
  void Update(uint64_t done, uint64_t total, std::optional<uint64_t> counted = {});
  void End();

  // Whether somebody looks at updates, so that it is worth waking up for them.
  bool wants_updates() const { return screen_.is_terminal || forward_ != nullptr; }

 private:
  using Time = std::chrono::steady_clock::time_point;

  std::string Facts(uint64_t done, uint64_t total, uint64_t counted, double seconds) const;
  void Draw(uint64_t done, uint64_t total, const std::string& facts);

  std::function<void(uint64_t, uint64_t)> forward_{};
  ProgressScreen screen_{};
  bool quiet_ = false;
  bool drawn_ = false;
  std::string phase_;
  std::string unit_;
  Time began_;  // the phase
  std::optional<Time> shown_;
};

}  // namespace mezz
