// SPDX-License-Identifier: Apache-2.0
#include "cache/media/preparer.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "cache/base/fork_guard.h"
#include "cache/base/if_memory.h"
#include "cache/base/start_thread.h"
#include "cache/base/steady_clock.h"
#include "cache/base/text.h"
#include "cache/media/collapse_budget.h"
#include "cache/media/populate.h"
#include "cache/types.h"

namespace mezz {
namespace {

constexpr uint64_t kTellEveryBytes = 16 << 20;

}  // namespace

// Workers take chunks in ascending order until the limit is reached, one of them fails, or they are stopped. Chunks may
// end out of order; the part without a gap is reported as ready.
//
//   ready_bytes_:  n --Publish: release store, under mutex_--> n' > n      read with acquire by those who write there
//   error_:        0 --Fail: the first errno, CAS--> errno                 ends all workers
//   stop_:         false --Stop--> true --Stop has joined--> false         relaxed: only a hint to end soon
class Preparer::Work {
 public:
  explicit Work(PreparePlan&& plan) : plan_(std::move(plan)) {
    assert(plan_.base != nullptr && plan_.bytes > 0 && plan_.first_bytes <= plan_.bytes && plan_.threads > 0);
  }

  bool InChild() const { return guard_.ok() && !guard_.InParent(); }
  uint64_t ready_bytes() const { return ready_bytes_.load(std::memory_order_acquire); }
  uint64_t huge_bytes() const { return huge_bytes_.load(std::memory_order_relaxed); }
  uint64_t bytes() const { return plan_.bytes; }
  Status status() const;

  void RunFirst();
  void Start(std::function<void(uint64_t)> on_ready, std::function<void(const Status&)> on_end);
  void Stop();
  void Wait();

 private:
  void StartHelpers(unsigned count);
  void RunHelper();
  void RunToLimit();
  bool TakeChunk(uint64_t* begin, uint64_t* end);
  uint64_t ChunkEnd(uint64_t begin) const;
  int PrepareChunk(std::byte* at, uint64_t bytes);
  int PopulateGood(uint64_t begin, uint64_t end);
  bool CollapseWithinBudget(std::byte* at, uint64_t bytes);
  void Publish(uint64_t begin, uint64_t end);
  void Fail(int error);

  PreparePlan plan_;  // of it only `promised` changes, under mutex_
  const ForkGuard guard_;
  const uint64_t began_ns_ = SteadyNs();
  std::atomic<uint64_t> ready_bytes_{0};
  std::atomic<int> error_{0};
  std::atomic<bool> stop_{false};
  std::atomic<uint64_t> huge_bytes_{0};  // relaxed: a figure only

  std::vector<std::jthread> helpers_;  // of those who Start and Stop

  std::mutex mutex_;
  std::condition_variable helper_ended_;
  unsigned helpers_running_ = 0;
  uint64_t limit_bytes_ = 0;                // workers go as far as this
  uint64_t next_ = 0;                       // where the next chunk begins; at most limit_bytes_
  std::map<uint64_t, uint64_t> ahead_;      // begin -> end of chunks that are done, beyond a gap; one a worker at most
  std::function<void(uint64_t)> on_ready_;  // called under mutex_
  std::function<void(const Status&)> on_end_;  // called by who notes the first error, with or without mutex_
  uint64_t done_bytes_ = 0;                    // with or without a gap
  uint64_t reported_bytes_ = 0;                // to plan_.on_progress
  CollapseBudget budget_;
};

Status Preparer::Work::status() const {
  switch (const int error = error_.load(std::memory_order_acquire); error) {
    case 0:
      return Status::Ok();
    case EFAULT:  // what a page fault that ends in SIGBUS becomes here: the file system is full
    case ENOMEM:
    case ENOSPC:
    case EDQUOT:
      return Status::NoSpace(
          fmt::format("{} ran out of space while {} were being reserved, after {}: free some or lower capacity_bytes",
                      plan_.name, ExactBytes(plan_.bytes), ExactBytes(ready_bytes())));
    default:
      return Status::IoError(
          fmt::format("{} could not be prefaulted ({}): use another medium", plan_.name, ErrnoText(error)));
  }
}

void Preparer::Work::RunFirst() {
  const uint64_t chunks = RoundUp(plan_.first_bytes, kHugePageBytes) / kHugePageBytes;
  const auto workers = static_cast<unsigned>(std::min<uint64_t>(plan_.threads, std::max<uint64_t>(chunks, 1)));
  limit_bytes_ = plan_.first_bytes;
  StartHelpers(workers - 1);
  RunToLimit();
  helpers_.clear();
}

void Preparer::Work::Start(std::function<void(uint64_t)> on_ready, std::function<void(const Status&)> on_end) {
  assert(helpers_.empty());
  if (ready_bytes() == plan_.bytes || error_.load(std::memory_order_relaxed) != 0) return;
  // Without the mutex: there are no helpers yet, and callers may hold a lock that on_ready takes under the mutex.
  limit_bytes_ = plan_.bytes;
  on_ready_ = std::move(on_ready);
  on_end_ = std::move(on_end);
  StartHelpers(plan_.threads);
  // Without any thread the tier would stay small for ever: say so.
  if (helpers_.empty()) Fail(EAGAIN);
}

void Preparer::Work::StartHelpers(unsigned count) {
  helpers_running_ = count;  // before there are any: afterwards one may hold the mutex as long as its callback takes
  while (helpers_.size() < count) {
    auto helper = StartThread<std::jthread>("mezz-prepare", [this] { RunHelper(); });
    if (!helper.joinable()) break;
    helpers_.push_back(std::move(helper));
  }
  if (helpers_.size() == count) return;
  // Fewer threads only take longer.
  const std::scoped_lock lock(mutex_);
  helpers_running_ -= count - static_cast<unsigned>(helpers_.size());
}

void Preparer::Work::Stop() {
  stop_.store(true, std::memory_order_relaxed);
  helpers_.clear();
  stop_.store(false, std::memory_order_relaxed);
  // Chunks that were begun are done, so nothing is ahead of a gap, unless one failed.
  assert(error_.load(std::memory_order_relaxed) != 0 || ahead_.empty());
}

void Preparer::Work::Wait() {
  std::unique_lock lock(mutex_);
  helper_ended_.wait(lock, [this] { return helpers_running_ == 0; });
}

void Preparer::Work::RunHelper() {
  RunToLimit();
  const std::scoped_lock lock(mutex_);
  --helpers_running_;
  if (error_.load(std::memory_order_relaxed) != 0) plan_.promised.ShrinkTo(0);  // the rest is never taken
  helper_ended_.notify_all();
}

void Preparer::Work::RunToLimit() {
  for (uint64_t begin = 0, end = 0; TakeChunk(&begin, &end);) {
    int error = plan_.reserve ? plan_.reserve(begin, end - begin) : 0;
    if (error == 0)
      error =
          AnyMeets(plan_.bad, begin, end) ? PopulateGood(begin, end) : PrepareChunk(plan_.base + begin, end - begin);
    if (error != 0) return Fail(error);
    Publish(begin, end);
  }
}

bool Preparer::Work::TakeChunk(uint64_t* begin, uint64_t* end) {
  if (stop_.load(std::memory_order_relaxed) || error_.load(std::memory_order_relaxed) != 0) return false;
  const std::scoped_lock lock(mutex_);
  if (next_ == limit_bytes_) return false;
  assert(next_ < limit_bytes_);
  *begin = next_;
  *end = next_ = ChunkEnd(next_);
  return true;
}

// Chunks end where huge pages do.
uint64_t Preparer::Work::ChunkEnd(uint64_t begin) const {
  const auto base = reinterpret_cast<uint64_t>(plan_.base);
  return std::min(RoundUp(base + begin + 1, kHugePageBytes) - base, limit_bytes_);
}

int Preparer::Work::PrepareChunk(std::byte* at, uint64_t bytes) {
  if (bytes == kHugePageBytes) {
    auto pages = PageSize::kHuge;
    if (const int error = TouchEnds(at, bytes, &pages); error != 0) return error;
    if (pages == PageSize::kHuge || CollapseWithinBudget(at, bytes))
      huge_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  }
  return Populate(at, bytes);
}

// Populates the pages that are not bad. Bad ranges are whole pages.
int Preparer::Work::PopulateGood(uint64_t begin, uint64_t end) {
  for (const BadRange& bad : plan_.bad) {
    if (!bad.Meets(begin, end)) continue;
    if (bad.begin > begin) {
      if (const int error = Populate(plan_.base + begin, bad.begin - begin); error != 0) return error;
    }
    begin = std::min(bad.end, end);
  }
  return begin < end ? Populate(plan_.base + begin, end - begin) : 0;
}

// Asks for a huge page, within the budget. A hit in place touches two or three pages of the medium and little else, so
// 4 KiB pages would cost it as many page walks. Nothing is lost if a collapse fails. True: it is one huge page now.
bool Preparer::Work::CollapseWithinBudget(std::byte* at, uint64_t bytes) {
  {
    const std::scoped_lock lock(mutex_);
    if (!budget_.MayCollapse()) {
      budget_.EarnChunk();
      return false;
    }
  }
  const uint64_t begin_ns = SteadyNs();
  const int error = Collapse(at, bytes);
  const auto took_ns = static_cast<int64_t>(SteadyNs() - begin_ns);
  const std::scoped_lock lock(mutex_);
  budget_.Spend(took_ns);
  budget_.EarnChunk();
  if (error == EINVAL) budget_.GiveUp();
  return error == 0;
}

void Preparer::Work::Publish(uint64_t begin, uint64_t end) {
  const std::scoped_lock lock(mutex_);
  if (!IfThereIsMemory([&] { ahead_.emplace(begin, end); })) return Fail(ENOMEM);
  const uint64_t before = ready_bytes_.load(std::memory_order_relaxed);
  uint64_t ready = before;
  while (!ahead_.empty() && ahead_.begin()->first == ready) {
    ready = ahead_.begin()->second;
    ahead_.erase(ahead_.begin());
  }
  assert(ready >= before && ready <= limit_bytes_);
  if (ready > before) {
    ready_bytes_.store(ready, std::memory_order_release);
    if (on_ready_) on_ready_(ready);
  }
  done_bytes_ += end - begin;
  plan_.promised.ShrinkTo(plan_.bytes - done_bytes_);
  if (plan_.on_progress && (done_bytes_ - reported_bytes_ >= kTellEveryBytes || done_bytes_ == plan_.bytes)) {
    reported_bytes_ = done_bytes_;
    plan_.on_progress({.bytes_done = done_bytes_,
                       .bytes_total = plan_.bytes,
                       .seconds = static_cast<double>(SteadyNs() - began_ns_) / 1e9});
  }
}

void Preparer::Work::Fail(int error) {
  int none = 0;
  const bool first = error_.compare_exchange_strong(none, error, std::memory_order_release, std::memory_order_relaxed);
  if (first && on_end_) on_end_(status());
}

Preparer::Preparer(PreparePlan plan) { works_.push_back(std::make_unique<Work>(std::move(plan))); }

Preparer::Preparer(std::span<const std::unique_ptr<Preparer>> members) {
  for (const auto& member : members) {
    for (auto& work : member->works_) works_.push_back(std::move(work));
    member->works_.clear();
  }
}

Preparer::~Preparer() {
  Stop();
  for (auto& work : works_) {
    // In a child the mutex may be held, and the threads be waited for, by threads that do not exist there.
    if (work->InChild()) (void)work.release();
  }
}

Status Preparer::PrepareFirst() {
  for (const auto& work : works_) work->RunFirst();
  return status();
}

void Preparer::Start(std::function<void(uint64_t ready_bytes)> on_ready) {
  assert(works_.size() == 1);
  if (!works_[0]->InChild()) works_[0]->Start(std::move(on_ready), {});
}

void Preparer::StartMembers(const std::function<void(size_t member, uint64_t ready_bytes)>& on_ready,
                            const std::function<void(const Status& why)>& on_end) {
  for (size_t member = 0; member < works_.size(); ++member) {
    if (works_[member]->InChild()) continue;
    works_[member]->Start([on_ready, member](uint64_t ready_bytes) { on_ready(member, ready_bytes); }, on_end);
  }
}

void Preparer::Stop() {
  for (const auto& work : works_) {
    if (!work->InChild()) work->Stop();
  }
}

Status Preparer::Wait() const {
  for (const auto& work : works_) {
    if (!work->InChild()) work->Wait();
  }
  return status();
}

uint64_t Preparer::ready_bytes(size_t member) const { return works_[member]->ready_bytes(); }

uint64_t Preparer::ready_bytes() const { return SumOf(&Work::ready_bytes); }
uint64_t Preparer::huge_bytes() const { return SumOf(&Work::huge_bytes); }
uint64_t Preparer::bytes() const { return SumOf(&Work::bytes); }

uint64_t Preparer::SumOf(uint64_t (Work::*figure)() const) const {
  uint64_t sum = 0;
  for (const auto& work : works_) sum += (*work.*figure)();
  return sum;
}

Status Preparer::status() const {
  for (const auto& work : works_) MEZZ_RETURN_IF_ERROR(work->status());
  return Status::Ok();
}

}  // namespace mezz
