// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/engine/flash.h"

#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <time.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string_view>

namespace mezz {
namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;

class MachineClock final : public FlashClock {
 public:
  uint64_t NowNs() override {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * kSecondNs + static_cast<uint64_t>(now.tv_nsec);
  }
  void SleepUntilNs(uint64_t ns) override {
    // The default lets a thread sleep 50 us longer. A thread's own setting: RocksDB's threads come here too.
    thread_local const int slack = prctl(PR_SET_TIMERSLACK, 1);
    (void)slack;
    const timespec until{static_cast<time_t>(ns / kSecondNs), static_cast<int64_t>(ns % kSecondNs)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) continue;
  }
};

// Of the calling thread: how far it lags behind the device of this number.
struct Late {
  uint64_t flash = 0;
  uint64_t ns = 0;
};
thread_local Late late;

std::atomic<uint64_t> flashes{0};  // a count that gives numbers; relaxed

uint64_t FreeMemoryBytes() {
  constexpr std::string_view kField = "MemAvailable:";
  std::ifstream meminfo("/proc/meminfo");
  for (std::string line; std::getline(meminfo, line);) {
    if (line.starts_with(kField)) return std::strtoull(line.c_str() + kField.size(), nullptr, 10) * 1024;
  }
  return std::numeric_limits<uint64_t>::max();  // the kernel does not tell
}

}  // namespace

FlashClock* FlashClock::Machine() {
  static MachineClock clock;
  return &clock;
}

Flash::Flash(const FlashModel& model, uint64_t seed, FlashClock* clock)
    : queue_(model, seed), clock_(clock), number_(flashes.fetch_add(1, std::memory_order_relaxed) + 1) {}

uint64_t Flash::AsIfInTime(uint64_t now_ns) const {
  if (late.flash != number_) late = {number_, 0};
  return now_ns - std::min(late.ns, now_ns);
}

uint64_t Flash::Write(size_t bytes) { return queue_.SubmitWrite(AsIfInTime(clock_->NowNs()), bytes); }

void Flash::AwaitUntil(uint64_t done_ns) {
  const uint64_t now = clock_->NowNs();
  if (AsIfInTime(now) >= done_ns) return;  // there is no wait to be late from
  if (now < done_ns) clock_->SleepUntilNs(done_ns);
  late.ns = std::min(std::max(clock_->NowNs(), done_ns) - done_ns, kLateMaxNs);
}

void Flash::AwaitSync(uint64_t done_ns) {
  const uint64_t begun = std::max(done_ns, AsIfInTime(clock_->NowNs()));
  AwaitUntil(begun + static_cast<uint64_t>(1e3 * queue_.model().sync_us));
}

Flash::InFlight Flash::Begin(size_t bytes) {
  const uint64_t now = clock_->NowNs();
  const uint64_t asked = AsIfInTime(now);
  return {now, asked, queue_.Submit(asked, bytes)};
}

void Flash::Await(std::span<const InFlight> reads) {
  assert(!reads.empty() && late.flash == number_);
  const InFlight& first = reads.front();
  uint64_t done = 0;
  for (const InFlight& read : reads) done = std::max(done, read.done_ns);
  if (clock_->NowNs() < done) clock_->SleepUntilNs(done);
  const uint64_t now = std::max(clock_->NowNs(), done);
  late.ns = std::min(now - done, kLateMaxNs);
  reads_.fetch_add(reads.size(), std::memory_order_relaxed);
  waits_.fetch_add(1, std::memory_order_relaxed);
  asked_ns_.fetch_add(done - first.asked_ns, std::memory_order_relaxed);
  took_ns_.fetch_add(now - first.begun_ns, std::memory_order_relaxed);
}

FlashCounts Flash::Counts() const {
  FlashCounts counts;
  counts.reads = reads_.load(std::memory_order_relaxed);
  counts.waits = waits_.load(std::memory_order_relaxed);
  counts.asked_ns = asked_ns_.load(std::memory_order_relaxed);
  counts.took_ns = took_ns_.load(std::memory_order_relaxed);
  return counts;
}

Status CheckInMemory(const std::string& folder, const FlashModel& model) {
  std::error_code error;
  std::filesystem::path there = std::filesystem::absolute(folder, error).lexically_normal();
  while (!std::filesystem::exists(there, error) && there.has_relative_path()) there = there.parent_path();
  struct statfs fs {};
  if (statfs(there.c_str(), &fs) != 0) return Status::IoError(fmt::format("--db={} cannot be looked at", folder));
  if (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC) return Status::Ok();
  return Status::InvalidArgument(fmt::format(
      "--db={} lies on a disk, whose time would come on top of that of --flash={}: name a folder in memory, "
      "such as /dev/shm/NAME, or use --flash=disk",
      folder, model.name));
}

std::optional<uint64_t> RoomIn(const std::string& folder, const FlashModel* model) {
  struct statvfs fs {};
  if (statvfs(folder.c_str(), &fs) != 0) return std::nullopt;
  const uint64_t room = uint64_t{fs.f_bavail} * fs.f_frsize;
  return model == nullptr ? room : std::min(room, FreeMemoryBytes());
}

}  // namespace mezz
