// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/engine/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

namespace mezz {
namespace {

constexpr auto kRedrawEvery = std::chrono::milliseconds(150);
constexpr int kBarColumns = 30;

}  // namespace

Progress::Progress(bool quiet) : quiet_(quiet), on_terminal_(!quiet && isatty(STDERR_FILENO) == 1) {}
Progress::Progress(std::function<void(uint64_t, uint64_t)> forward)
    : forward_(std::move(forward)), quiet_(true), on_terminal_(false) {}
Progress::~Progress() { End(); }

void Progress::Phase(const std::string& name, bool announce) {
  End();
  phase_ = name;
  last_drawn_ = {};
  if (on_terminal_) {
    Update(0, 0);
  } else if (announce && !quiet_) {
    fmt::print(stderr, "{}\n", name);
  }
}

void Progress::Update(uint64_t done, uint64_t total) {
  if (!wants_updates()) return;
  const auto now = std::chrono::steady_clock::now();
  if ((drawn_ || forward_ != nullptr) && now - last_drawn_ < kRedrawEvery) return;
  last_drawn_ = now;
  if (forward_ != nullptr) return forward_(done, total);
  drawn_ = true;
  const double share = total == 0 ? 0 : static_cast<double>(done) / static_cast<double>(total);
  const int filled = static_cast<int>(share * kBarColumns);
  fmt::print(stderr, "\r[{:<{}}] {:3.0f} % {:<60}", std::string(static_cast<size_t>(filled), '='), kBarColumns,
             100 * share, phase_.substr(0, 60));
  std::fflush(stderr);
}

void Progress::End() {
  if (drawn_) fmt::print(stderr, "\r{:100}\r", "");
  drawn_ = false;
}

}  // namespace mezz
