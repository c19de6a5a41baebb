// SPDX-License-Identifier: Apache-2.0
#include "cache/media/bus_errors.h"

#include <fmt/format.h>
#include <pthread.h>
#include <setjmp.h>
#include <ucontext.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <mutex>
#include <utility>

#include "cache/base/text.h"

namespace mezz {
namespace {

// Of one thread, innermost first; on its stack.
struct Attempt {
  sigjmp_buf jump;
  const std::byte* failed_at = nullptr;
  Attempt* outer = nullptr;
};

// A handler may run in a thread that never came here: the word must be there without being made (initial-exec).
[[gnu::tls_model("initial-exec")]] thread_local constinit Attempt* attempt = nullptr;
[[gnu::tls_model("initial-exec")]] thread_local constinit uint64_t failed_attempts = 0;

// free: begin 0 --BusErrorWatch, under the mutex: end, then begin--> watched --~BusErrorWatch: begin 0--> free. Release
// and acquire, for the handler reads both without the mutex; a slot that is used again cannot be mistaken by a thread
// that touches the memory of its own watch.
struct Watched {
  std::atomic<const std::byte*> begin{nullptr};
  std::atomic<const std::byte*> end{nullptr};
  std::function<void(uint64_t offset)> on_error;  // GUARDED_BY(mutex)

  bool Has(const std::byte* at) const {
    const std::byte* const from = begin.load(std::memory_order_acquire);
    return from != nullptr && from <= at && at < end.load(std::memory_order_acquire);
  }
};

struct Watches {
  std::mutex mutex;
  std::array<Watched, BusErrorWatch::kWatchesMax> slots;
};

// Never destroyed: a handler may look at any time.
Watches& TheWatches() {
  static Watches& watches = *new Watches;
  return watches;
}
Watches* handlers_watches = nullptr;  // set before the handler is installed
struct sigaction before {};

bool IsWatched(const std::byte* at) {
  for (const Watched& watched : handlers_watches->slots) {
    if (watched.Has(at)) return true;
  }
  return false;
}

void PassOn(int signal, siginfo_t* info, void* context) {
  if ((before.sa_flags & SA_SIGINFO) != 0) return before.sa_sigaction(signal, info, context);
  const bool sent = info->si_code <= 0;  // by a process, not by a fault
  if (before.sa_handler == SIG_IGN && sent) return;
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) return before.sa_handler(signal);
  struct sigaction ends {};
  ends.sa_handler = SIG_DFL;
  sigaction(signal, &ends, nullptr);
  if (sent) raise(signal);  // when the handler returns; and what faulted faults again
}

void OnBusError(int signal, siginfo_t* info, void* context) {
  const bool fault = info->si_code > 0;
  const auto* const at = static_cast<const std::byte*>(info->si_addr);
  if (fault && IsWatched(at)) {
    // The kernel tells of a bad page before anybody needs it: whoever touches it will find out.
    if (info->si_code == BUS_MCEERR_AO) return;
    if (attempt != nullptr) {
      attempt->failed_at = at;
      // As it was before the handler, which nobody returns from.
      pthread_sigmask(SIG_SETMASK, &static_cast<const ucontext_t*>(context)->uc_sigmask, nullptr);
      siglongjmp(attempt->jump, 1);
    }
  }
  PassOn(signal, info, context);
}

// The reports come after the jump, where locks may be taken.
void Report(const std::byte* at) {
  const std::lock_guard lock(TheWatches().mutex);
  for (const Watched& watched : TheWatches().slots) {
    if (watched.Has(at) && watched.on_error)
      watched.on_error(static_cast<uint64_t>(at - watched.begin.load(std::memory_order_relaxed)));
  }
}

}  // namespace

std::atomic<bool> BusErrors::contained_{false};

// SA_ONSTACK: hosts whose threads have small stacks ask for it.
Status ContainBusErrors() {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (BusErrors::contained()) return Status::Ok();
  handlers_watches = &TheWatches();
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

BusErrorWatch::BusErrorWatch(std::span<const std::byte> memory, std::function<void(uint64_t offset)> on_error) {
  Watches& watches = TheWatches();
  const std::lock_guard lock(watches.mutex);
  for (size_t slot = 0; slot < kWatchesMax; ++slot) {
    Watched& watched = watches.slots[slot];
    if (watched.begin.load(std::memory_order_relaxed) != nullptr) continue;
    watched.on_error = std::move(on_error);
    watched.end.store(memory.data() + memory.size(), std::memory_order_release);
    watched.begin.store(memory.data(), std::memory_order_release);
    slot_ = slot;
    return;
  }
}

BusErrorWatch::~BusErrorWatch() {
  if (!watching()) return;
  const std::lock_guard lock(TheWatches().mutex);
  Watched& watched = TheWatches().slots[slot_];
  watched.begin.store(nullptr, std::memory_order_release);
  watched.on_error = nullptr;
}

// Nothing of this frame changes between the two returns but what the handler writes through `attempt`.
[[gnu::noinline]] bool BusErrors::TryContained(void (*call)(const void* that), const void* that) {
  const uint64_t failed_before = failed_attempts;
  Attempt here;
  here.outer = attempt;
  if (sigsetjmp(here.jump, /*savemask=*/0) == 0) {
    attempt = &here;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    call(that);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    attempt = here.outer;
    return failed_attempts == failed_before;
  }
  attempt = here.outer;
  ++failed_attempts;
  Report(here.failed_at);
  return false;
}

}  // namespace mezz
