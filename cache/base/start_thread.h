// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

#include <csignal>
#include <exception>
#include <thread>
#include <utility>

namespace mezz {

// Starts a thread as a library should. It takes no signals of the host's except SIGBUS, which we handle
// (cache/media/bus_errors.h); top and gdb show it by `name` (at most 15 characters). If the result is not joinable,
// there was no thread, or no memory for one.
template <typename Thread = std::thread, typename Run>
[[nodiscard]] Thread StartThread(const char* name, Run&& run) {
  sigset_t all, before;
  sigfillset(&all);
  sigdelset(&all, SIGBUS);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  Thread thread;
  try {
    thread = Thread(std::forward<Run>(run));
    pthread_setname_np(thread.native_handle(), name);
  } catch (const std::exception&) {
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace mezz
