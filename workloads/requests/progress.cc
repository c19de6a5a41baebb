// SPDX-License-Identifier: Apache-2.0
#include "workloads/requests/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace mezz {
namespace {

constexpr auto kRedrawEvery = std::chrono::milliseconds(150);
constexpr auto kLineEvery = std::chrono::minutes(1);
constexpr size_t kBarColumns = 20;
constexpr size_t kColumns = 79;  // a line that wraps cannot be redrawn

double Seconds(std::chrono::steady_clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

std::string Count(double count) {
  for (const auto& [size, letter] : {std::pair(1e9, 'G'), std::pair(1e6, 'M'), std::pair(1e3, 'k')}) {
    if (count >= size) return fmt::format("{:.3g}{}", count / size, letter);
  }
  return fmt::format("{:.3g}", count);
}

std::string Span(double seconds) {
  constexpr double kMost = 1e7;
  const auto whole = static_cast<uint64_t>(std::min(seconds, kMost) + 0.5);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace

Progress::Progress(bool quiet) : quiet_(quiet) { screen_.is_terminal = !quiet && isatty(STDERR_FILENO) == 1; }
Progress::Progress(ProgressScreen screen) : screen_(std::move(screen)) {}
Progress::Progress(std::function<void(uint64_t, uint64_t)> forward) : forward_(std::move(forward)), quiet_(true) {}
Progress::~Progress() { End(); }

void Progress::Phase(const std::string& name, bool announce, std::string_view unit) {
  End();
  phase_ = name;
  unit_ = unit;
  began_ = screen_.now();
  shown_.reset();
  if (screen_.is_terminal) {
    Update(0, 0);
  } else if (!quiet_) {
    if (announce) fmt::print(screen_.file, "{}\n", name);
    shown_ = began_;
  }
}

void Progress::Update(uint64_t done, uint64_t total, std::optional<uint64_t> counted) {
  if (quiet_ && forward_ == nullptr) return;
  const Time now = screen_.now();
  const auto every = screen_.is_terminal || forward_ != nullptr ? Time::duration(kRedrawEvery) : kLineEvery;
  if (shown_ && now - *shown_ < every) return;
  shown_ = now;
  if (forward_ != nullptr) return forward_(done, total);
  const std::string facts = Facts(done, total, counted.value_or(done), Seconds(now - began_));
  if (screen_.is_terminal) return Draw(done, total, facts);
  fmt::print(screen_.file, "{}: {}\n", phase_, facts);
  std::fflush(screen_.file);
}

std::string Progress::Facts(uint64_t done, uint64_t total, uint64_t counted, double seconds) const {
  // A rate of the first moments says nothing of the others.
  const bool settled = seconds >= 1 && done > 0;
  const double share = static_cast<double>(done) / static_cast<double>(std::max<uint64_t>(1, total));
  std::string facts = total > 0       ? fmt::format("{:.0f} %", 100 * std::min(1.0, share))
                      : unit_.empty() ? ""
                                      : Count(static_cast<double>(counted)) + unit_;
  if (settled && !unit_.empty())
    facts += fmt::format("{}{}{}/s", facts.empty() ? "" : ", ", Count(static_cast<double>(counted) / seconds), unit_);
  if (settled && total > done) facts += fmt::format(", {} left", Span(seconds * (1 / share - 1)));
  return facts;
}

void Progress::Draw(uint64_t done, uint64_t total, const std::string& facts) {
  drawn_ = true;
  const double share = total == 0 ? 0 : std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  const auto filled = static_cast<size_t>(share * kBarColumns);
  const std::string line =
      fmt::format("[{:<{}}] {}{}{}", std::string(filled, '='), kBarColumns, facts, facts.empty() ? "" : "  ", phase_);
  fmt::print(screen_.file, "\r{:<{}}", line.substr(0, kColumns), kColumns);
  std::fflush(screen_.file);
}

void Progress::End() {
  if (drawn_) fmt::print(screen_.file, "\r{:{}}\r", "", kColumns);
  if (drawn_) std::fflush(screen_.file);
  drawn_ = false;
}

}  // namespace mezz
