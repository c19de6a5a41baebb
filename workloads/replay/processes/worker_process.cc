// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/processes/worker_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <thread>

namespace mezz {
namespace {

constexpr int kExecFailed = 127;
constexpr int kNotInGroup = 126;
constexpr auto kPatience = std::chrono::seconds(5);
constexpr auto kLookEvery = std::chrono::milliseconds(5);

class ProcessWorker final : public Worker {
 public:
  ProcessWorker(pid_t pid, int channel_fd) : pid_(pid), channel_(std::make_unique<Channel>(channel_fd)) {}
  ~ProcessWorker() override {
    Stop();
    channel_.reset();  // a worker that is well ends by itself now, and cleans up; one that hangs does not
    const auto give_up = std::chrono::steady_clock::now() + kPatience;
    while (!reaped_ && std::chrono::steady_clock::now() < give_up) {
      reaped_ = waitpid(pid_, &status_, WNOHANG) != 0;
      if (!reaped_) std::this_thread::sleep_for(kLookEvery);
    }
    if (!reaped_) kill(pid_, SIGKILL);
    Reap();
  }

  Channel* channel() override { return channel_.get(); }
  void Stop() override {
    if (!reaped_) kill(pid_, SIGTERM);
  }
  std::string Fate() override {
    kill(pid_, SIGKILL);  // it may have closed its end and live on; the first signal decides
    Reap();
    if (WIFSIGNALED(status_)) {
      return fmt::format("killed by signal {} ({})", WTERMSIG(status_), strsignal(WTERMSIG(status_)));
    }
    const int code = WEXITSTATUS(status_);
    return fmt::format("ended with status {}{}", code, code == kNotInGroup ? " (it could not join its cgroup)" : "");
  }

 private:
  void Reap() {
    while (!reaped_) reaped_ = waitpid(pid_, &status_, 0) == pid_ || errno != EINTR;
  }

  const pid_t pid_;
  std::unique_ptr<Channel> channel_;
  bool reaped_ = false;
  int status_ = 0;
};

// Between fork and exec: only what a signal handler may do.
[[noreturn]] void BecomeWorker(pid_t parent, int group_fd, std::initializer_list<int> kept, char* const* arguments) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kExecFailed);
  if (group_fd >= 0 && write(group_fd, "0", 1) != 1) _exit(kNotInGroup);
  for (const int fd : kept) {
    if (fd >= 0) fcntl(fd, F_SETFD, 0);
  }
  execv("/proc/self/exe", arguments);
  _exit(kExecFailed);
}

}  // namespace

std::string ToString(const WorkerAddress& address) {
  return fmt::format("{}:{}:{}", address.number, address.channel_fd, address.window_fd);
}

Status ParseWorkerAddress(const std::string& text, WorkerAddress* address) {
  char rest = 0;
  if (std::sscanf(text.c_str(), "%zu:%d:%d%c", &address->number, &address->channel_fd, &address->window_fd, &rest) == 3)
    return Status::Ok();
  return Status::InvalidArgument(fmt::format("--worker={} is set by mezz_replay itself; drop it", text));
}

WorkerLauncher ProcessLauncher(std::vector<std::string> arguments) {
  return [arguments = std::move(arguments)](const WorkerOrder& order, std::unique_ptr<Worker>* worker) {
    int ours = -1;
    int theirs = -1;
    MEZZ_RETURN_IF_ERROR(Channel::MakePair(&ours, &theirs));
    std::vector<std::string> own = arguments;
    own.push_back("--worker=" + ToString(WorkerAddress{order.number, theirs, order.window_fd}));
    std::vector<char*> pointers;
    for (std::string& argument : own) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid == 0) BecomeWorker(parent, order.group_fd, {theirs, order.window_fd, order.lock_fd}, pointers.data());
    const int error = errno;
    close(theirs);
    if (pid < 0) {
      close(ours);
      return Status::IoError(fmt::format("a process for a cache cannot be started: {}", std::strerror(error)));
    }
    *worker = std::make_unique<ProcessWorker>(pid, ours);
    return Status::Ok();
  };
}

}  // namespace mezz
