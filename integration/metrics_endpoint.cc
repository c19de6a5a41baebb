// SPDX-License-Identifier: Apache-2.0
#include "integration/metrics_endpoint.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "cache/base/fork_guard.h"
#include "cache/base/if_memory.h"
#include "cache/base/start_thread.h"
#include "cache/base/write_file.h"
#include "cache/media/child_rules.h"
#include "fmt/format.h"
#include "integration/metrics_server.h"
#include "integration/metrics_target.h"
#include "integration/tell.h"

namespace mezz {
namespace {

constexpr std::chrono::seconds kWriteEvery(10);

// The files that caches of this process write: two would take turns in one. Never destroyed: caches may outlive our
// statics.
class FileClaims {
 public:
  static FileClaims& Get() {
    static auto* const claims = new FileClaims;
    return *claims;
  }
  // False: another cache of this process has it. A child's parent does not count.
  bool Take(const std::string& path) {
    const std::lock_guard lock(mutex_);
    return paths_.insert({getpid(), path}).second;
  }
  void Free(const std::string& path) {
    const std::lock_guard lock(mutex_);
    paths_.erase({getpid(), path});
  }

 private:
  std::mutex mutex_;
  std::set<std::pair<pid_t, std::string>> paths_;  // guarded by mutex_
};

// An empty file beside the one that is written, locked as long as this lives: that one itself is replaced each time.
class LockBeside {
 public:
  LockBeside() = default;
  LockBeside(const LockBeside&) = delete;
  LockBeside& operator=(const LockBeside&) = delete;
  ~LockBeside() {
    if (fd_ < 0) return;
    in_children_.CloseInChild(-1);
    unlink(path_.c_str());
    close(fd_);
  }

  // False: another process has it. Where no file can be locked, nobody has.
  bool Take(const std::string& path) {
    path_ = path + ".lock";
    while (fd_ < 0) {
      fd_ = open(path_.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
      if (fd_ < 0) return true;
      const bool locked = flock(fd_, LOCK_EX | LOCK_NB) == 0;
      const bool taken = !locked && errno == EWOULDBLOCK;
      if (locked && IsStillThere()) break;
      close(std::exchange(fd_, -1));
      if (!locked) return !taken;
    }
    in_children_.CloseInChild(fd_);
    return true;
  }

 private:
  // False: who had it before has removed it.
  bool IsStillThere() const {
    struct stat ours = {};
    struct stat there = {};
    return fstat(fd_, &ours) == 0 && stat(path_.c_str(), &there) == 0 && ours.st_dev == there.st_dev &&
           ours.st_ino == there.st_ino;
  }

  std::string path_;
  int fd_ = -1;
  ChildRules in_children_;
};

class FileEndpoint final : public MetricsEndpoint {
 public:
  static Status Open(const MetricsTarget& target, std::unique_ptr<MetricsEndpoint>* endpoint);
  ~FileEndpoint() override;

  void Serve(Text text) override {
    const std::lock_guard lock(state_->mutex);
    state_->text = std::move(text);
    state_->changed.notify_all();
  }
  MetricsDeliveries deliveries() const override { return state_->counts.Read(); }

 private:
  // In a child it is left to the parent's threads.
  struct State {
    std::string claimed;  // empty: nothing
    LockBeside beside;
    std::string path;
    MetricsFormat format = MetricsFormat::kOpenMetrics;
    DeliveryCounts counts;
    std::mutex mutex;
    std::condition_variable changed;
    Text text;          // guarded by mutex; set once
    bool ends = false;  // guarded by mutex
    std::thread thread;

    ~State() {
      if (!claimed.empty()) FileClaims::Get().Free(claimed);
    }
    void Run();
    void Write();
  };

  ForkGuard guard_;
  std::unique_ptr<State> state_ = std::make_unique<State>();
};

Status FileEndpoint::Open(const MetricsTarget& target, std::unique_ptr<MetricsEndpoint>* endpoint) {
  const Status writable = CheckFileWritable("metrics", target.path);
  if (!writable.ok()) {
    constexpr std::string_view kOption = "metrics=";
    return Status::InvalidArgument(fmt::format("{}file:{}", kOption, writable.message().substr(kOption.size())));
  }
  std::error_code error;
  const std::string real = std::filesystem::weakly_canonical(target.path, error).string();
  auto made = std::make_unique<FileEndpoint>();
  State* const state = made->state_.get();
  const std::string& claim = error ? target.path : real;
  if (!FileClaims::Get().Take(claim)) {
    return Status::Busy(fmt::format(
        "metrics={}: another cache of this process writes this file: give each cache one of its own", target.text));
  }
  state->claimed = claim;
  const std::string replaced = ReplaceableFile(target.path);
  if (!replaced.empty() && !state->beside.Take(std::filesystem::absolute(replaced, error).string())) {
    return Status::Busy(fmt::format(
        "metrics={}: a cache of another process writes this file: give each cache one of its own", target.text));
  }
  state->path = target.path;
  if (target.path.ends_with(".prom")) state->format = MetricsFormat::kPrometheus;
  state->thread = StartThread("mezz-metrics", [state] { state->Run(); });
  if (!state->thread.joinable())
    return Status::NoSpace(fmt::format("metrics={}: no thread to write it is to be had", target.text));
  *endpoint = std::move(made);
  return Status::Ok();
}

FileEndpoint::~FileEndpoint() {
  if (!guard_.InParent()) {
    [[maybe_unused]] State* const left = state_.release();
    return;
  }
  if (!state_->thread.joinable()) return;
  {
    const std::lock_guard lock(state_->mutex);
    state_->ends = true;
    state_->changed.notify_all();
  }
  state_->thread.join();
}

void FileEndpoint::State::Run() {
  std::unique_lock lock(mutex);
  changed.wait(lock, [this] { return ends || text; });
  while (text) {
    const bool last = ends;
    lock.unlock();
    Write();
    lock.lock();
    if (last) return;
    changed.wait_for(lock, kWriteEvery, [this] { return ends; });
  }
}

// Told once, until it goes well again: a disk may be full for hours.
void FileEndpoint::State::Write() {
  const auto write = [this] {
    const Status status = WriteFileAtomically(path, text(format));
    if (!status.ok()) Tell(fmt::format("metrics=file:{}: {}", path, status.message()));
    counts.Count(status.ok());
  };
  if (!IfThereIsMemory(write)) counts.Count(false);
}

}  // namespace

Status MetricsEndpoint::Open(const std::string& metrics, std::unique_ptr<MetricsEndpoint>* endpoint) {
  if (metrics.empty()) return Status::Ok();
  MetricsTarget target;
  MEZZ_RETURN_IF_ERROR(ParseMetricsTarget(metrics, &target));
  try {
    return target.kind == MetricsTarget::Kind::kFile ? FileEndpoint::Open(target, endpoint)
                                                     : OpenMetricsServer(target, endpoint);
  } catch (const std::bad_alloc&) {
    return Status::NoSpace(fmt::format("metrics={}: no memory for it", metrics));
  }
}

}  // namespace mezz
