// SPDX-License-Identifier: Apache-2.0
#include "cache/recoverer.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <utility>

#include "cache/base/if_memory.h"
#include "cache/base/in_parallel.h"
#include "cache/base/start_thread.h"
#include "cache/reserved_fills.h"
#include "cache/snapshot_restorer.h"

namespace mezz {
namespace {

constexpr const char* kThreadName = "mezz-recover";
constexpr size_t kHeadersAThread = 1024;  // fewer do not repay the thread

}  // namespace

Recoverer::Recoverer(const Medium& medium, const layout::Superblock& superblock, const ScmOptions& options,
                     SegmentLog* log, Index* index, Counters* counters, Dictionaries* dictionaries,
                     const ForkGuard& guard)
    : medium_(medium),
      superblock_(superblock),
      options_(options),
      log_(log),
      index_(index),
      counters_(counters),
      dictionaries_(dictionaries),
      guard_(guard),
      scan_({medium.base(), medium.bytes()}, superblock),
      begun_(std::chrono::steady_clock::now()),
      found_dictionaries_(medium, log, dictionaries),
      records_({scan_, options.pack, log, index, counters, dictionaries, hooks_}),
      shared_(std::make_unique<Shared>()) {
  shared_->report.outcome = RecoveryReport::Outcome::kRecovered;
  shared_->report.medium = medium.info().description;
  shared_->report.clean = (superblock.flags & layout::kClosedCleanly) != 0;
  shared_->report.running = true;
}

Recoverer::~Recoverer() {
  Stop();
  // A child has no such thread to join, and its parent's may hold the mutex.
  if (!guard_.InParent()) (void)shared_.release();
}

void Recoverer::ReadHeaders() {
  const uint32_t segments = std::min(scan_.end(), log_->segments());
  std::vector<std::optional<SegmentLog::Fill>> fills(segments);
  ForEachInParallel(kThreadName, 0, segments, kHeadersAThread, [&](size_t i) {
    const SegmentId id{static_cast<uint32_t>(i)};
    if (log_->state(id) != SegmentLog::State::kQuarantined) fills[i] = scan_.Open(id);
  });
  for (const auto& fill : fills) {
    if (fill) found_.push_back({.fill = *fill, .dictionaries = {}});
  }
  std::ranges::sort(found_, {}, [](const Found& found) { return found.fill.sequence; });
}

// Prepares the restoring of a snapshot. False: there is none that can be used.
bool Recoverer::PrepareSnapshot() {
  if (superblock_.snapshot_segment == 0) return false;
  std::string& wrong = shared_->report.no_snapshot;
  if (log_->space().quarantined_segments() != 0) {
    wrong = "is not read, for there are bad blocks";
    return false;
  }
  const SnapshotOf of{medium_, log_, index_, dictionaries_, options_.pack};
  restorer_ = std::make_unique<SnapshotRestorer>(of, superblock_, counters_);
  wrong = restorer_->Prepare();
  if (!wrong.empty()) {
    restorer_.reset();
    return false;
  }
  for (const SegmentLog::Fill& fill : restorer_->fills()) found_.push_back({.fill = fill, .dictionaries = {}});
  return true;
}

// Puts so many first as are given up, the rest behind them: the oldest, but for what shares had reserved. Dictionaries
// belong to no share, so the order of their segments stays.
void Recoverer::PutGivenUpFirst(size_t given_up) {
  std::vector<SegmentLog::Fill> fills;
  fills.reserve(found_.size());
  for (const Found& found : found_) fills.push_back(found.fill);
  ReservedFills reserved(*log_, fills);
  size_t first = 0;
  for (size_t i = 0; i < found_.size() && first < given_up; ++i) {
    if (!reserved.GiveUp(found_[i].fill.segment)) continue;
    std::rotate(found_.begin() + static_cast<ptrdiff_t>(first), found_.begin() + static_cast<ptrdiff_t>(i),
                found_.begin() + static_cast<ptrdiff_t>(i) + 1);
    ++first;
  }
}

void Recoverer::Prepare() {
  MEZZ_TEST_POINT("opening.prepares_recovery");
  if (PrepareSnapshot()) return;
  ReadHeaders();
  // Writers and reclaim need a few segments that are free.
  const uint32_t spare = log_->lanes() + 1 + log_->tombstone_segments().count();
  const size_t most = log_->space().usable_segments() - std::min(spare, log_->space().usable_segments());
  const size_t given_up = found_.size() - std::min(found_.size(), most);
  if (given_up != 0) PutGivenUpFirst(given_up);
  for (size_t i = 0; dictionaries_ != nullptr && i < given_up; ++i) {
    FoundDictionaries::Scan(scan_, found_[i].fill, &found_[i].dictionaries);
    found_dictionaries_.Read(found_[i].dictionaries, /*kept=*/false);
    found_dictionaries_.NoteNumbers(found_[i].dictionaries);
  }
  found_.erase(found_.begin(), found_.begin() + static_cast<ptrdiff_t>(given_up));
  shared_->report.given_up = given_up;
  std::vector<SegmentLog::Fill> fills;
  fills.reserve(found_.size());
  for (const Found& found : found_) fills.push_back(found.fill);
  log_->awaiting().Await(fills, /*keep=*/dictionaries_ != nullptr);  // until Run has read them
}

void Recoverer::Start(RecoveryHooks hooks) {
  hooks_ = std::move(hooks);
  shared_->thread = StartThread(kThreadName, [this] { Run(); });
  if (!shared_->thread.joinable()) Run();
}

void Recoverer::Stop() {
  if (!guard_.InParent() || !shared_->thread.joinable()) return;
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->stop = true;
  }
  shared_->thread.join();
}

void Recoverer::Wait() const {
  if (!guard_.InParent()) return;
  std::unique_lock lock(shared_->mutex);
  shared_->changed.wait(lock, [this] { return !shared_->report.running; });
}

RecoveryReport Recoverer::report() const {
  if (!guard_.InParent()) return {};
  const std::lock_guard lock(shared_->mutex);
  return shared_->report;
}

void Recoverer::Run() {
  MEZZ_TEST_POINT("recovery.begins");
  auto numbers = Dictionaries::Numbers::kKnown;
  if (restorer_ == nullptr || !RestoreSnapshot()) {
    if (dictionaries_ != nullptr) numbers = FindDictionaries();
    InParallel(kThreadName, found_.size(), [this] { RecoverSegments(); });
  }
  // Not before: a retired dictionary that nobody holds is destroyed.
  if (dictionaries_ != nullptr && !IsStopped()) hooks_.dictionaries_taken(numbers);
  Finish();
}

// Restores the snapshot. False: it cannot be used. Then its segments await, those with records are as after Prepare,
// and nothing else was changed.
bool Recoverer::RestoreSnapshot() {
  std::string wrong;
  const bool is_checked = IfThereIsMemory([&] { wrong = restorer_->Check(); });
  if (!is_checked || !wrong.empty()) {
    restorer_->Forsake();
    for (unsigned slot = 0; slot < Dictionaries::kSlots; ++slot)
      found_dictionaries_.NoteNumber(slot, restorer_->last_number(slot));
    restorer_.reset();
    ConfirmFound();
    (void)IfThereIsMemory([&] {
      if (!is_checked) wrong = "needs more memory than there is";
    });
    const std::lock_guard lock(shared_->mutex);
    shared_->report.no_snapshot.swap(wrong);
    return false;
  }
  const auto is_overdue = [this] {
    const std::lock_guard lock(shared_->mutex);
    return IsOverdueLocked();
  };
  size_t empty = 0;
  const RecoveryCounts restored = restorer_->Restore(std::ref(is_overdue), &empty);
  restorer_.reset();
  const std::lock_guard lock(shared_->mutex);
  shared_->report.from_snapshot = true;
  shared_->report += restored;
  shared_->empty += empty;
  return true;
}

// Keeps what the snapshot said of segments only if their own headers say the same.
void Recoverer::ConfirmFound() {
  const size_t lost = std::erase_if(found_, [this](Found& found) {
    const auto fill = scan_.Open(found.fill.segment);
    if (!fill) log_->Unpin(found.fill.segment);
    if (fill) found.fill = *fill;
    return !fill;
  });
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->report.given_up += lost;
  }
  std::ranges::sort(found_, {}, [](const Found& found) { return found.fill.sequence; });
  log_->awaiting().Order();
  if (dictionaries_ != nullptr) return;
  for (const Found& found : found_) log_->Unpin(found.fill.segment);
  log_->awaiting().LetGo();
}

// Reads all segments for numbers of dictionaries, also those that are given up meanwhile. If a number that a record has
// were given out again, the next life would find that record, and unpack it with the wrong dictionary.
Dictionaries::Numbers Recoverer::FindDictionaries() {
  std::atomic<size_t> scanned{0};
  ForEachInParallel(kThreadName, 0, found_.size(), /*a_thread=*/1, [&](size_t i) {
    const bool is_scanned = !IsEnded() && IfThereIsMemory([&] {
      MEZZ_TEST_POINT("walker.scans_for_dictionaries");
      FoundDictionaries::Scan(scan_, found_[i].fill, &found_[i].dictionaries);
    });
    if (is_scanned) scanned.fetch_add(1, std::memory_order_relaxed);
    log_->Unpin(found_[i].fill.segment);
  });
  (void)IfThereIsMemory([&] { RestoreDictionaries(); });
  log_->awaiting().LetGo();
  const bool all = scanned.load(std::memory_order_relaxed) == found_.size();
  return all ? Dictionaries::Numbers::kKnown : Dictionaries::Numbers::kUnknown;
}

void Recoverer::RestoreDictionaries() {
  for (const Found& found : found_) {
    found_dictionaries_.NoteNumbers(found.dictionaries);
    if (found.dictionaries.records.empty() || !log_->awaiting().Pin(found.fill.segment)) continue;
    (void)IfThereIsMemory([&] {
      MEZZ_TEST_POINT("recovery.reads_dictionaries");
      found_dictionaries_.Read(found.dictionaries, /*kept=*/true);
    });
    log_->Unpin(found.fill.segment);
  }
  found_dictionaries_.Restore();
}

// The work of each thread, until all segments are taken. Every ticket gets its turn, whatever happened to its segment.
void Recoverer::RecoverSegments() {
  RecordRecoverer::Walked walked;
  for (;;) {
    size_t ticket = 0;
    {
      const std::lock_guard lock(shared_->mutex);
      if (shared_->next_ticket == found_.size() || IsEndedLocked()) return;
      ticket = shared_->next_ticket++;
    }
    const Found& found = found_[found_.size() - 1 - ticket];
    const bool pinned = log_->awaiting().Pin(found.fill.segment);
    const bool is_walked = pinned && IfThereIsMemory([&] { records_.Walk(found.fill, &walked); });
    if (pinned && !is_walked) log_->Unpin(found.fill.segment);
    {
      std::unique_lock lock(shared_->mutex);
      shared_->report.without_memory += pinned && !is_walked ? 1 : 0;
      shared_->changed.wait(lock, [&] { return shared_->turn == ticket; });
    }
    MEZZ_TEST_POINT("recovery.segment_walked");
    const RecoveryCounts part = is_walked ? records_.Publish(walked) : RecoveryCounts();
    const bool empty = is_walked && part.segments == 0 && walked.fill.tail == log_->FirstRecord(found.fill.segment);
    const std::lock_guard lock(shared_->mutex);
    shared_->report += part;
    shared_->empty += empty ? 1 : 0;
    ++shared_->turn;
    shared_->changed.notify_all();
  }
}

bool Recoverer::IsStopped() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->stop;
}

bool Recoverer::IsEnded() {
  const std::lock_guard lock(shared_->mutex);
  return IsEndedLocked();
}

bool Recoverer::IsEndedLocked() { return shared_->stop || IsOverdueLocked(); }

bool Recoverer::IsOverdueLocked() {
  if (shared_->report.timed_out) return true;
  const std::chrono::milliseconds budget(options_.recovery_budget_ms);
  shared_->report.timed_out = budget.count() != 0 && std::chrono::steady_clock::now() - begun_ >= budget;
  return shared_->report.timed_out;
}

// Gives up the rest; but if the tier is being closed, it leaves that to the next life.
void Recoverer::Finish() {
  index_->EndRefill();
  const bool stopped = IsStopped();
  if (!stopped) log_->awaiting().GiveUpAll();
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->report.running = false;
    shared_->report.given_up += stopped ? 0 : found_.size() - shared_->report.segments - shared_->empty;
    shared_->report.milliseconds =
        static_cast<uint64_t>((std::chrono::steady_clock::now() - begun_) / std::chrono::milliseconds(1));
    shared_->changed.notify_all();
  }
  hooks_.is_erased = nullptr;  // with what it knows
  found_ = {};                 // as many as there are segments; nobody looks at them any more
  if (!stopped && hooks_.over) (void)IfThereIsMemory([&] { hooks_.over(report()); });
}

}  // namespace mezz
