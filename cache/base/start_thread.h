// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

#include <csignal>
#include <exception>
#include <thread>
#include <utility>

namespace mezz {

// A library's thread: it takes no signals of its host's but SIGBUS, which is its own (cache/media/bus_errors.h), and
// top and gdb show it by `name` (15 characters at most). Not joinable: no thread, or no memory for one, is to be had.
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
