// SPDX-License-Identifier: Apache-2.0
// Shows a live cache, as `top` shows processes: what happened in the last second.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "cache/status.h"
#include "workloads/watch/metric_samples.h"

namespace mezz::watch {

// What happened between two looks, in a line. A cache that was opened anew meanwhile has no difference: the line says
// so.
std::string FollowLine(const MetricSamples& before, const MetricSamples& now, double seconds);
// The same on some lines, by role too.
std::string FollowScreen(const MetricSamples& before, const MetricSamples& now, double seconds);

struct FollowOptions {
  bool screen = false;  // clears the terminal for each look
  uint64_t count = 0;   // of looks; 0: without end
  std::chrono::milliseconds every{1000};
  // Reads the figures. `*fresh`: they may differ from those before, as they do unless a file was not written since.
  std::function<Status(MetricSamples* samples, bool* fresh)> read{};
  std::function<void(const std::string& text)> show{};
  // Waits, and returns the seconds since the last call; tests have a clock of their own.
  std::function<double(std::chrono::milliseconds time)> wait{};
};
// Shows one text a look, until there are enough of them or the figures cannot be read any more.
Status Follow(const FollowOptions& options);

}  // namespace mezz::watch
