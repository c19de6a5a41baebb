// SPDX-License-Identifier: Apache-2.0
// A child process that is killed in the middle of its work, or told to end it.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>

namespace mezz::test {

enum class End { kKilled, kClosed };

// How many kills a test makes: MEZZ_CRASHES, or so many.
inline uint64_t KillsOr(uint64_t usual) {
  const char* const thorough = std::getenv("MEZZ_CRASHES");
  return thorough != nullptr ? std::strtoull(thorough, nullptr, 10) : usual;
}

// Forks. The child calls run(ticks), which writes a byte to that descriptor now and then, and returns soon after *stop,
// which both see, becomes true. After so many bytes it is killed, or told to stop. False: it ended otherwise.
template <typename Run>
bool RunAndEnd(End end, std::atomic<bool>* stop, uint64_t ticks, Run&& run) {
  int pipes[2];
  if (pipe(pipes) != 0) return false;
  stop->store(false, std::memory_order_relaxed);
  const pid_t child = fork();
  if (child == 0) {
    close(pipes[0]);
    run(pipes[1]);
    _exit(0);
  }
  close(pipes[1]);
  char tick = 0;
  while (ticks > 0 && read(pipes[0], &tick, 1) == 1) --ticks;
  if (end == End::kKilled) kill(child, SIGKILL);
  stop->store(true, std::memory_order_relaxed);
  while (read(pipes[0], &tick, 1) == 1) {
  }
  close(pipes[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (end == End::kClosed) return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

}  // namespace mezz::test
