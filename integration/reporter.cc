// SPDX-License-Identifier: Apache-2.0
#include "integration/reporter.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "cache/base/if_memory.h"
#include "cache/base/start_thread.h"
#include "cache/base/text.h"
#include "fmt/format.h"
#include "integration/operator_io.h"

namespace mezz {
namespace {

constexpr int kEndingSignals[] = {SIGTERM, SIGINT, SIGHUP};
constexpr time_t kEndSecondsMax = 5;
constexpr std::chrono::seconds kExitWaitMax(2);

std::string_view NameOf(int signal) {
  switch (signal) {
    case SIGTERM:
      return "SIGTERM";
    case SIGINT:
      return "SIGINT";
    default:
      return "SIGHUP";
  }
}

std::string Environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// 0: none. -1: no such signal.
int ParseSignal(std::string_view text) {
  if (text.empty()) return 0;
  if (text.starts_with("SIG")) text.remove_prefix(3);
  if (text == "USR1") return SIGUSR1;
  if (text == "USR2") return SIGUSR2;
  constexpr std::string_view kRealTime = "RTMIN+";
  if (!text.starts_with(kRealTime)) return -1;
  text.remove_prefix(kRealTime.size());
  int above = -1;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), above);
  const bool good = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
  return good && above >= 0 && SIGRTMIN + above <= SIGRTMAX ? SIGRTMIN + above : -1;
}

void WriteAll(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

// Async-signal-safe. Has its effect when the handler that calls it returns.
void DieOf(int signal) {
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  sigaction(signal, &standard, nullptr);
  raise(signal);
}

void OnEndingSignal(int signal);
void OnDemandSignal(int signal);

bool IsOurs(int signal, void (*handler)(int)) {
  struct sigaction now {};
  return sigaction(signal, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == handler;
}

// Takes the signal if nobody else has. SA_ONSTACK, because a thread's own stack may be too small for a handler.
bool Install(int signal, void (*handler)(int)) {
  if (IsOurs(signal, handler)) return true;
  if (!IsOurs(signal, SIG_DFL)) return false;
  struct sigaction ours {};
  ours.sa_handler = handler;
  ours.sa_flags = SA_RESTART | SA_ONSTACK;
  sigemptyset(&ours.sa_mask);
  return sigaction(signal, &ours, nullptr) == 0;
}

class Reporter {
 public:
  // This process's. Null where there is none: nothing asked for reports, or this is a fork's child. Async-signal-safe.
  static Reporter* Here() {
    Reporter* const reporter = current_.load(std::memory_order_acquire);
    return reporter != nullptr && reporter->process_ == getpid() ? reporter : nullptr;
  }
  // Makes it, if the environment asks for reports.
  static Reporter* Get();

  void HearDemands();
  void Keep(const void* who, std::function<std::string()> report);
  void Drop(const void* who, std::string_view what);
  void AtExit();

  // Async-signal-safe.
  void Demand() { Wake(); }
  // False: the end was asked for before.
  bool AskForEnd(int signal);

 private:
  struct Kept {
    const void* who;
    std::function<std::string()> report;
    bool reported;  // at the process's end: what comes after is not worth telling
  };
  enum class Then { kGoOn, kEnd };

  Reporter(std::string to, std::string signal_name)
      : to_(std::move(to)), signal_name_(std::move(signal_name)), signal_(ParseSignal(signal_name_)) {}

  bool StartLocked();
  void Run();
  void End(int signal);
  void Wake() {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(wake_, &one, sizeof(one));  // full: it is awake already
  }
  std::string ReportsLocked(std::string_view why, Then then);
  std::string Titled(std::string_view why, const Kept& kept) const {
    return fmt::format("report: {}, process {}\n{}", why, process_, kept.report());
  }
  void Write(const std::string& text) const;

  // null --Get: CAS, release--> one --Get in a fork's child: CAS, release--> the child's. Never destroyed: the parent's
  // mutex may be held for ever in the child, and caches may outlive our statics.
  static inline std::atomic<Reporter*> current_{nullptr};

  const pid_t process_ = getpid();
  const std::string to_;
  const std::string signal_name_;
  const int signal_;

  std::timed_mutex mutex_;
  std::vector<Kept> kept_;  // guarded by mutex_
  bool started_ = false;    // guarded by mutex_
  bool told_ = false;       // guarded by mutex_
  int wake_ = -1;           // an eventfd; set before any handler is
  timer_t timers_[std::size(kEndingSignals)] = {};
  bool has_timer_[std::size(kEndingSignals)] = {};
  // 0 --AskForEnd: CAS, release--> a signal --End, where the program has put a handler meanwhile: store--> 0
  std::atomic<int> ending_{0};
};

Reporter* Reporter::Get() {
  if (Reporter* const here = Here()) return here;
  Reporter* seen = current_.load(std::memory_order_acquire);
  std::string to = Environment("MEZZANINE_REPORT");
  std::string signal_name = Environment("MEZZANINE_REPORT_SIGNAL");
  if (to.empty() && signal_name.empty()) return nullptr;
  auto* const made = new Reporter(std::move(to), std::move(signal_name));
  if (!current_.compare_exchange_strong(seen, made, std::memory_order_acq_rel, std::memory_order_acquire)) {
    delete made;  // another thread was faster
    return seen;
  }
  if (made->signal_ < 0) {
    Tell(fmt::format("MEZZANINE_REPORT_SIGNAL={}: accepted are USR1, USR2 and RTMIN+N with N from 0 to {}",
                     made->signal_name_, SIGRTMAX - SIGRTMIN));
  }
  return made;
}

// The thread that writes, with every signal blocked: the program's signals are for the program's threads.
bool Reporter::StartLocked() {
  if (started_) return true;
  wake_ = eventfd(0, EFD_CLOEXEC);
  if (wake_ < 0) return false;
  for (size_t i = 0; i < std::size(kEndingSignals); ++i) {
    struct sigevent event {};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = kEndingSignals[i];
    has_timer_[i] = timer_create(CLOCK_MONOTONIC, &event, &timers_[i]) == 0;
  }
  std::thread thread = StartThread("mezz-report", [this] { Run(); });
  started_ = thread.joinable();  // no thread: then no signal is taken
  if (started_) thread.detach();
  return started_;
}

void Reporter::HearDemands() {
  const std::lock_guard lock(mutex_);
  if (signal_ <= 0) return;
  if (StartLocked() && Install(signal_, &OnDemandSignal)) return;
  if (!told_) {
    Tell(
        fmt::format("MEZZANINE_REPORT_SIGNAL={}: the program uses this signal itself, so it asks for no report: choose "
                    "another",
                    signal_name_));
  }
  told_ = true;
}

void Reporter::Keep(const void* who, std::function<std::string()> report) {
  HearDemands();  // again: a handler that the program has set meanwhile is told
  const std::lock_guard lock(mutex_);
  assert(std::none_of(kept_.begin(), kept_.end(), [&](const Kept& kept) { return kept.who == who; }));
  kept_.push_back({who, std::move(report), /*reported=*/false});
  if (to_.empty()) return;
  static const int at_exit = [] {
    const auto end = [] {
      if (Reporter* const here = Here()) here->AtExit();
    };
    return std::atexit(end) | std::at_quick_exit(end);
  }();
  if (at_exit != 0) Tell("MEZZANINE_REPORT: there will be no report at the program's exit");
  if (!StartLocked()) return;
  for (const int signal : kEndingSignals) Install(signal, &OnEndingSignal);
}

void Reporter::Drop(const void* who, std::string_view what) {
  std::string text;
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& kept) { return kept.who == who; });
    if (found == kept_.end()) return;
    if (!found->reported && !to_.empty())
      (void)IfThereIsMemory([&] { text = Titled(fmt::format("{} has gone", what), *found); });
    kept_.erase(found);
  }
  (void)IfThereIsMemory([&] { Write(text); });
}

// A thread that called exit() inside a handler may hold the mutex itself, so the wait is bounded.
void Reporter::AtExit() {
  std::unique_lock lock(mutex_, kExitWaitMax);
  if (!lock.owns_lock()) return;
  (void)IfThereIsMemory([&] { Write(ReportsLocked("the program has ended", Then::kEnd)); });
}

bool Reporter::AskForEnd(int signal) {
  int none = 0;
  if (!ending_.compare_exchange_strong(none, signal, std::memory_order_release, std::memory_order_relaxed))
    return false;
  for (size_t i = 0; i < std::size(kEndingSignals); ++i) {
    if (kEndingSignals[i] != signal || !has_timer_[i]) continue;
    const struct itimerspec once {
      .it_interval = {}, .it_value = {.tv_sec = kEndSecondsMax, .tv_nsec = 0 }
    };
    timer_settime(timers_[i], 0, &once, nullptr);
  }
  Wake();
  return true;
}

void Reporter::Run() {
  for (;;) {
    uint64_t wakes = 0;
    if (read(wake_, &wakes, sizeof(wakes)) < 0) continue;
    const int signal = ending_.load(std::memory_order_acquire);
    (void)IfThereIsMemory([&] {
      std::string text;
      if (signal == 0 || IsOurs(signal, &OnEndingSignal)) {
        const std::lock_guard lock(mutex_);
        text = signal != 0 ? ReportsLocked(NameOf(signal), Then::kEnd) : ReportsLocked("on demand", Then::kGoOn);
      }
      Write(text);
    });
    if (signal != 0) End(signal);
  }
}

// The signal takes effect now: ours is gone, or the program has put a handler of its own meanwhile, which gets it.
void Reporter::End(int signal) {
  if (IsOurs(signal, &OnEndingSignal)) {
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, signal);
    DieOf(signal);
    pthread_sigmask(SIG_UNBLOCK, &only, nullptr);  // all threads of the program may block it by now
  }
  for (size_t i = 0; i < std::size(kEndingSignals); ++i) {
    const struct itimerspec never {};
    if (has_timer_[i]) timer_settime(timers_[i], 0, &never, nullptr);
  }
  ending_.store(0, std::memory_order_release);
  kill(process_, signal);
}

std::string Reporter::ReportsLocked(std::string_view why, Then then) {
  std::string text;
  for (Kept& kept : kept_) {
    if (!kept.reported) text += Titled(why, kept);
    kept.reported |= then == Then::kEnd;
  }
  return text;
}

// One write, so that processes that share a file do not mix their lines. Not blocking: a pipe that nobody reads must
// not hold up the process's end.
void Reporter::Write(const std::string& text) const {
  if (text.empty()) return;
  if (to_.empty() || to_ == "stderr") return WriteAll(STDERR_FILENO, text);
  const int file = open(to_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
  if (file < 0) return Tell(fmt::format("MEZZANINE_REPORT={}: cannot be written ({})", to_, ErrnoText(errno)));
  WriteAll(file, text);
  close(file);
}

void OnEndingSignal(int signal) {
  const int saved = errno;
  Reporter* const here = Reporter::Here();
  if (here == nullptr || !here->AskForEnd(signal)) DieOf(signal);
  errno = saved;
}

void OnDemandSignal(int signal) {
  const int saved = errno;
  if (Reporter* const here = Reporter::Here()) {
    here->Demand();
  } else {
    DieOf(signal);  // a fork's child
  }
  errno = saved;
}

}  // namespace

void HearReportSignal() {
  if (Reporter* const reporter = Reporter::Get()) reporter->HearDemands();
}

void KeepReported(const void* who, std::function<std::string()> report) {
  (void)IfThereIsMemory([&] {
    if (Reporter* const reporter = Reporter::Get()) reporter->Keep(who, std::move(report));
  });
}

void ReportAtEnd(const void* who, std::string_view what) {
  if (Reporter* const reporter = Reporter::Here()) reporter->Drop(who, what);
}

}  // namespace mezz
