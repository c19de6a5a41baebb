// SPDX-License-Identifier: Apache-2.0
#include "cache/media/bus_errors.h"

#include <fmt/format.h>
#include <pthread.h>
#include <setjmp.h>
#include <ucontext.h>

#include <cassert>
#include <cerrno>
#include <csignal>
#include <memory>
#include <mutex>
#include <utility>

#include "cache/base/text.h"

namespace mezz {

// free: used false, begin 0 --BusErrorWatch, under the mutex: used, end, then begin--> watched --~BusErrorWatch, under
// it: begin 0, then used false--> free. begin and end are stored with release and read with acquire, because the
// handler
// reads both without the mutex. A thread that touches memory of its own watch cannot mistake an entry that is used
// again. In a child that was forked meanwhile, an entry that was half-way stays used.
struct BusErrorWatch::Entry {
  std::atomic<const std::byte*> begin{nullptr};
  std::atomic<const std::byte*> end{nullptr};
  bool used = false;                              // GUARDED_BY(mutex)
  std::function<void(uint64_t offset)> on_error;  // GUARDED_BY(mutex)
  Entry* next = nullptr;                          // constant once the entry is published

  bool Has(const std::byte* at) const {
    const std::byte* const from = begin.load(std::memory_order_acquire);
    return from != nullptr && from <= at && at < end.load(std::memory_order_acquire);
  }
};

// Entries are added at the head and never removed: a handler may walk over them at any time.
class BusErrorWatches {
 public:
  using Entry = BusErrorWatch::Entry;

  // Never destroyed.
  static BusErrorWatches& The() {
    static BusErrorWatches& watches = *new BusErrorWatches;
    return watches;
  }

  // Async-signal-safe.
  bool Has(const std::byte* at) const {
    for (const Entry* entry = head_.load(std::memory_order_acquire); entry != nullptr; entry = entry->next) {
      if (entry->Has(at)) return true;
    }
    return false;
  }

  // After the jump, where locks may be taken.
  void Report(const std::byte* at) {
    const std::lock_guard lock(mutex_);
    for (const Entry* entry = head_.load(std::memory_order_relaxed); entry != nullptr; entry = entry->next) {
      if (entry->Has(at) && entry->on_error)
        entry->on_error(static_cast<uint64_t>(at - entry->begin.load(std::memory_order_relaxed)));
    }
  }

  Entry* Add(std::span<const std::byte> memory, std::function<void(uint64_t offset)> on_error) {
    const std::lock_guard lock(mutex_);
    Entry& entry = FreeLocked();
    assert(!entry.used && entry.begin.load(std::memory_order_relaxed) == nullptr);
    entry.used = true;
    entry.on_error = std::move(on_error);
    entry.end.store(memory.data() + memory.size(), std::memory_order_release);
    entry.begin.store(memory.data(), std::memory_order_release);
    return &entry;
  }

  void Remove(Entry* entry) {
    const std::lock_guard lock(mutex_);
    assert(entry->used);
    entry->begin.store(nullptr, std::memory_order_release);
    entry->on_error = nullptr;
    entry->used = false;
  }

  std::mutex& mutex() { return mutex_; }

 private:
  // In a child the mutex may be held by threads that do not exist there.
  BusErrorWatches() {
    pthread_atfork(nullptr, nullptr, [] { std::construct_at(&The().mutex_); });
  }

  Entry& FreeLocked() {
    Entry* const head = head_.load(std::memory_order_relaxed);
    for (Entry* entry = head; entry != nullptr; entry = entry->next) {
      if (!entry->used) return *entry;
    }
    auto* const entry = new Entry;
    entry->next = head;
    head_.store(entry, std::memory_order_release);
    return *entry;
  }

  std::mutex mutex_;
  std::atomic<Entry*> head_{
      nullptr};  // null --FreeLocked, under the mutex: release--> the latest; the handler: acquire
};

namespace {

// A Try of one thread, on its stack. A list, innermost first: however an attempt ends, by an exception too, the outer
// one goes on.
struct Attempt {
  Attempt();
  ~Attempt();
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  sigjmp_buf jump;
  const std::byte* failed_at = nullptr;
  stack_t signal_stack{};  // of the thread, as it was before the handler
  Attempt* const outer;
};

// The innermost attempt of this thread. Initial-exec, because the handler may run in a thread that never used it, and
// must not allocate it.
[[gnu::tls_model("initial-exec")]] thread_local constinit Attempt* attempt = nullptr;
[[gnu::tls_model("initial-exec")]] thread_local constinit uint64_t failed_attempts = 0;

Attempt::Attempt() : outer(attempt) {}
Attempt::~Attempt() { attempt = outer; }

BusErrorWatches* handlers_watches = nullptr;  // set before the handler is installed
struct sigaction before {};

// Whether `before`, which asked to be called once only (SA_RESETHAND), was called: false, then true for good, by a
// relaxed exchange.
std::atomic<bool> spent{false};

bool HasFlag(const struct sigaction& action, unsigned flag) {
  return (static_cast<unsigned>(action.sa_flags) & flag) != 0;
}

// Calls the handler that was there before, as the kernel would: once only if it asked for that, and with the signals
// blocked that it names. The thread's own mask comes back when our handler returns.
bool PassOnToHandler(int signal, siginfo_t* info, void* context) {
  const bool tells_more = HasFlag(before, SA_SIGINFO);
  if (!tells_more && (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN)) return false;
  if (HasFlag(before, SA_RESETHAND) && spent.exchange(true, std::memory_order_relaxed)) return false;
  pthread_sigmask(SIG_BLOCK, &before.sa_mask, nullptr);
  const bool was_blocked = sigismember(&static_cast<const ucontext_t*>(context)->uc_sigmask, signal) == 1;
  if (HasFlag(before, SA_NODEFER) && !was_blocked && sigismember(&before.sa_mask, signal) != 1) {
    sigset_t it;
    sigemptyset(&it);
    sigaddset(&it, signal);
    pthread_sigmask(SIG_UNBLOCK, &it, nullptr);
  }
  tells_more ? before.sa_sigaction(signal, info, context) : before.sa_handler(signal);
  return true;
}

void PassOn(int signal, siginfo_t* info, void* context) {
  if (PassOnToHandler(signal, info, context)) return;
  // By a process, or by the kernel ahead of any fault: nothing will fault again.
  const bool sent = info->si_code <= 0 || info->si_code == BUS_MCEERR_AO;
  if (before.sa_handler == SIG_IGN && sent) return;
  struct sigaction ends {};
  ends.sa_handler = SIG_DFL;
  sigaction(signal, &ends, nullptr);
  if (sent) raise(signal);  // when the handler returns; and what faulted faults again
}

// Restores the control words that a return from a handler would restore and a jump does not; the kernel gives a handler
// its own.
void RestoreControlWords([[maybe_unused]] const ucontext_t& context) {
#ifdef __x86_64__
  if (context.uc_mcontext.fpregs == nullptr) return;
  const uint32_t mxcsr = context.uc_mcontext.fpregs->mxcsr;
  const uint16_t x87 = context.uc_mcontext.fpregs->cwd;
  asm volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(mxcsr), "m"(x87));
#endif
}

void OnBusError(int signal, siginfo_t* info, void* context) {
  const bool fault = info->si_code > 0;
  const auto* const at = static_cast<const std::byte*>(info->si_addr);
  if (fault && handlers_watches->Has(at)) {
    // The kernel tells of a bad page before anybody needs it: whoever touches it will find out.
    if (info->si_code == BUS_MCEERR_AO) return;
    if (attempt != nullptr) {
      // As it was before the handler, which nobody returns from.
      const auto& was = *static_cast<const ucontext_t*>(context);
      attempt->failed_at = at;
      attempt->signal_stack = was.uc_stack;
      RestoreControlWords(was);
      pthread_sigmask(SIG_SETMASK, &was.uc_sigmask, nullptr);
      siglongjmp(attempt->jump, 1);
    }
  }
  PassOn(signal, info, context);
}

// Gives the thread its signal stack back, which the kernel disables while a handler runs on it.
void RearmSignalStack(const stack_t& stack) {
  constexpr auto kAutoDisarm = 1u << 31;  // SS_AUTODISARM, which the C library does not name
  if ((static_cast<unsigned>(stack.ss_flags) & kAutoDisarm) != 0) sigaltstack(&stack, nullptr);
}

}  // namespace

std::atomic<bool> BusErrors::contained_{false};

// SA_ONSTACK: hosts whose threads have small stacks ask for it.
Status ContainBusErrors() {
  BusErrorWatches& watches = BusErrorWatches::The();
  const std::lock_guard lock(watches.mutex());
  if (BusErrors::contained()) return Status::Ok();
  handlers_watches = &watches;
  struct sigaction ours {};
  ours.sa_sigaction = OnBusError;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&ours.sa_mask);
  if (sigaction(SIGBUS, nullptr, &before) != 0 || sigaction(SIGBUS, &ours, nullptr) != 0)
    return Status::NotSupported(fmt::format(
        "bus_errors=contain: no handler for SIGBUS can be installed ({}): use bus_errors=fatal", ErrnoText(errno)));
  BusErrors::contained_.store(true, std::memory_order_relaxed);
  return Status::Ok();
}

BusErrorWatch::BusErrorWatch(std::span<const std::byte> memory, std::function<void(uint64_t offset)> on_error)
    : entry_(BusErrorWatches::The().Add(memory, std::move(on_error))) {}

BusErrorWatch::~BusErrorWatch() { BusErrorWatches::The().Remove(entry_); }

// Between the two returns nothing in this frame changes except what the handler writes through `attempt`.
[[gnu::noinline]] bool BusErrors::TryContained(void (*call)(const void* that), const void* that) {
  const uint64_t failed_before = failed_attempts;
  Attempt here;
  if (sigsetjmp(here.jump, /*savemask=*/0) == 0) {
    attempt = &here;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    call(that);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    return failed_attempts == failed_before;
  }
  attempt = here.outer;
  ++failed_attempts;
  RearmSignalStack(here.signal_stack);
  BusErrorWatches::The().Report(here.failed_at);
  return false;
}

}  // namespace mezz
