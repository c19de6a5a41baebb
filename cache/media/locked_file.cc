// SPDX-License-Identifier: Apache-2.0
#include "cache/media/locked_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "cache/base/if_memory.h"
#include "cache/base/text.h"
#include "cache/media/file_checks.h"

namespace mezz {
namespace {

constexpr mode_t kFileMode = 0600;
constexpr int kOpenAttempts = 16;

// O_NONBLOCK has no effect on files. It keeps a fifo that was put there meanwhile from blocking us.
constexpr int kOpenFlags = O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

// The present name of the file as the kernel has it, whatever the process's working directory is now. Empty: it is not
// known, or not visible from here.
std::string NameOf(int fd) {
  std::error_code error;
  const std::string name = std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", fd), error);
  return name.starts_with('/') ? name : std::string();
}

bool SameFile(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

}  // namespace

LockedFile::~LockedFile() {
  if (!rules_.InOwner()) {
    [[maybe_unused]] NameWatch* const left = name_watch_.release();  // its thread is not here
    return;
  }
  EndWatch();
  if (fd_ < 0) return;
  if (locked_ && !kept_) Undo();
  CloseDescriptor();
}

Status LockedFile::Open() {
  bool opened = false;
  for (int attempt = 0; !opened; ++attempt) {
    if (attempt == kOpenAttempts) {
      return Status::Busy(
          fmt::format("path={} is being created and removed by others: give each cache its own", path_));
    }
    MEZZ_RETURN_IF_ERROR(TryOpenAndLock(&opened));
  }
  // The umask may have left less than 0600, never more.
  if (created_ && fchmod(fd_, kFileMode) != 0) return OpenError(path_, errno);
  // Under the lock, and of the descriptor, so that what is judged is what will be used.
  struct stat now {};
  if (fstat(fd_, &now) != 0) return OpenError(path_, errno);
  return CheckPrivate(path_, now, geteuid());
}

int LockedFile::OpenAgain() const { return open(path_.c_str(), kOpenFlags); }

Status LockedFile::CheckIsSame(int fd) const {
  struct stat now {};
  if (fd < 0 || fstat(fd, &now) != 0) return OpenError(path_, errno);
  if (SameFile(now, stat_)) return Status::Ok();
  return Status::Busy(fmt::format("path={} was replaced while it was opened: give each cache its own", path_));
}

Status LockedFile::TryOpenAndLock(bool* opened) {
  *opened = false;
  MEZZ_RETURN_IF_ERROR(OpenDescriptor());
  if (fd_ < 0) return Status::Ok();
  if (flock(fd_, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return InUseError(path_, stat_);
    return Status::IoError(
        fmt::format("path={} cannot be locked ({}): name a file on another file system", path_, ErrnoText(errno)));
  }
  // Between open and lock another cache may have failed and removed its new file: then this one has no name any more.
  struct stat now {};
  *opened = lstat(path_.c_str(), &now) == 0 && SameFile(now, stat_);
  if (*opened) {
    locked_ = true;
    stat_ = now;
  } else {
    CloseDescriptor();
  }
  return Status::Ok();
}

Status LockedFile::OpenDescriptor() {
  fd_ = open(path_.c_str(), kOpenFlags | O_CREAT | O_EXCL, kFileMode);
  created_ = fd_ >= 0;
  if (fd_ < 0 && errno == EEXIST) {
    // Its kind is judged before it is opened: for a device that could have effects of its own.
    if (lstat(path_.c_str(), &stat_) != 0) return errno == ENOENT ? Status::Ok() : OpenError(path_, errno);
    MEZZ_RETURN_IF_ERROR(CheckFileKind(path_, stat_));
    fd_ = open(path_.c_str(), kOpenFlags);
    if (fd_ < 0 && errno == ENOENT) return Status::Ok();
  }
  if (fd_ < 0) return OpenError(path_, errno);
  rules_.CloseInChild(fd_);
  if (fstat(fd_, &stat_) != 0) return OpenError(path_, errno);
  return CheckFileKind(path_, stat_);
}

void LockedFile::CloseDescriptor() {
  rules_.CloseInChild(-1);
  // A child of a raw clone may have the descriptor still open: closing ours alone would leave it the lock.
  flock(fd_, LOCK_UN);
  close(fd_);
  fd_ = -1;
}

void LockedFile::Undo() {
  if (created_) {
    struct stat now {};
    if (lstat(path_.c_str(), &now) == 0 && SameFile(now, stat_)) unlink(path_.c_str());
  } else if (resized_) {
    // Best effort on a path that already reports an error.
    [[maybe_unused]] const int ignored = ftruncate(fd_, stat_.st_size);
  }
}

void LockedFile::NoteName() {
  if (!is_device()) opened_as_ = NameOf(fd_);
}

std::string LockedFile::NameTrouble() const {
  if (!rules_.InOwner() || opened_as_.empty()) return {};
  // First: the kernel's name of a file that is removed in between would be taken for a new one.
  const std::string now = NameOf(fd_);
  if (IsNameless()) {
    return "has lost its file, which was removed or replaced: the next start is cold, and who opens the path takes the "
           "space a second time";
  }
  if (now == opened_as_ || now.empty()) return {};
  return fmt::format(
      "was renamed to {}, and its old name removed: who opens that starts cold, and takes the space a "
      "second time",
      now);
}

bool LockedFile::IsNameless() const {
  struct stat now {};
  return rules_.InOwner() && !opened_as_.empty() && fstat(fd_, &now) == 0 && now.st_nlink == 0;
}

void LockedFile::WatchName(const std::function<void(std::string_view trouble)>& told) {
  assert(name_watch_ == nullptr);
  if (opened_as_.empty()) return;
  name_watch_ = std::make_unique<NameWatch>();
  const bool watched = name_watch_->Start(fd_, [this, told] {
    std::string trouble;
    (void)IfThereIsMemory([&] {
      trouble = NameTrouble();
      if (!trouble.empty()) told(trouble);
    });
    return !trouble.empty();
  });
  if (!watched) name_watch_.reset();
}

}  // namespace mezz
