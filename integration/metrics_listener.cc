// SPDX-License-Identifier: Apache-2.0
#include "integration/metrics_listener.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <utility>

#include "cache/base/descriptor.h"
#include "cache/base/text.h"
#include "fmt/format.h"

namespace mezz {
namespace {

constexpr int kBacklog = 16;
constexpr int kKind = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;

// Descriptors that children do not keep. Where the table is full, they do.
//
//   place: kFree --Add: CAS--> a descriptor, plus one --Remove, before it is closed; or in a child: store--> kFree
//
// Relaxed: a child sees what the thread saw that forked.
class NotInChildren {
 public:
  static void Add(int fd) {
    static const bool hears = pthread_atfork(nullptr, nullptr, &CloseAll) == 0;
    for (std::atomic<int>& place : places_) {
      int free = kFree;
      if (!hears || place.compare_exchange_strong(free, fd + 1, std::memory_order_relaxed)) return;
    }
  }
  static void Remove(int fd) {
    for (std::atomic<int>& place : places_) {
      int found = fd + 1;
      if (place.compare_exchange_strong(found, kFree, std::memory_order_relaxed)) return;
    }
  }

 private:
  static constexpr int kFree = 0;
  static void CloseAll() {
    for (std::atomic<int>& place : places_) {
      if (const int held = place.exchange(kFree, std::memory_order_relaxed); held != kFree) close(held - 1);
    }
  }

  static constinit std::array<std::atomic<int>, 64> places_;
};
constinit std::array<std::atomic<int>, 64> NotInChildren::places_{};

Status Refused(const MetricsTarget& target, std::string_view what, int error, std::string_view then) {
  return Status::InvalidArgument(fmt::format("metrics={}: {} ({}): {}", target.text, what, ErrnoText(error), then));
}
Status Taken(const MetricsTarget& target, std::string_view by) {
  return Status::Busy(
      fmt::format("metrics={}: {}: give each cache a place of its own, or end what is there", target.text, by));
}

sockaddr_un UnixAddress(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());  // MetricsTarget: it fits
  return address;
}

// Two that find one dead socket would each remove the other's new one.
class FolderLock {
 public:
  explicit FolderLock(const std::string& path)
      : folder_(open(std::filesystem::path(path).parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {}
  // 0, or the error. Somebody else may hold it for good, so the wait is bounded.
  int Take() const {
    constexpr std::chrono::seconds kWaitMax(2);
    const auto until = std::chrono::steady_clock::now() + kWaitMax;
    if (folder_.get() < 0) return errno;
    while (flock(folder_.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK && errno != EINTR) return errno;
      if (std::chrono::steady_clock::now() >= until) return EWOULDBLOCK;
      usleep(1000);  // conventions: allow(sleep) a lock that others hold for a moment
    }
    return 0;
  }

 private:
  const Descriptor folder_;
};

// Whether whatever is at that path may be replaced.
Status MakeRoom(const MetricsTarget& target) {
  struct stat found {};
  if (lstat(target.path.c_str(), &found) != 0) {
    if (errno == ENOENT) return Status::Ok();
    return Refused(target, "the path cannot be looked at", errno, "name a socket in a folder that may be written to");
  }
  if (!S_ISSOCK(found.st_mode)) {
    return Status::InvalidArgument(fmt::format(
        "metrics={}: what is there is no socket, so it is left as it is: remove it, or name another", target.text));
  }
  const Descriptor probe(socket(AF_UNIX, kKind, 0));
  const sockaddr_un address = UnixAddress(target.path);
  if (probe.get() < 0) return Refused(target, "no socket is to be had", errno, "raise ulimit -n");
  if (connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 || errno == EAGAIN)
    return Taken(target, "somebody listens at this socket");
  if (errno != ECONNREFUSED)
    return Refused(target, "the socket that is there cannot be tried", errno, "remove it, or name another");
  if (unlink(target.path.c_str()) == 0 || errno == ENOENT) return Status::Ok();
  return Refused(target, "the socket that somebody left there cannot be removed", errno, "remove it, or name another");
}

}  // namespace

MetricsListener::MetricsListener(MetricsListener&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)), device_(other.device_), inode_(other.inode_) {
  other.path_.clear();
}

MetricsListener::~MetricsListener() {
  if (fd_ < 0) return;
  struct stat found {};
  if (!path_.empty() && lstat(path_.c_str(), &found) == 0 && found.st_dev == device_ && found.st_ino == inode_)
    unlink(path_.c_str());
  NotInChildren::Remove(fd_);
  close(fd_);
}

void MetricsListener::Own(int fd) {
  fd_ = fd;
  NotInChildren::Add(fd);
}

Status MetricsListener::Open(const MetricsTarget& target, MetricsListener* listener) {
  return target.kind == MetricsTarget::Kind::kTcp ? listener->OpenTcp(target) : listener->OpenUnix(target);
}

Status MetricsListener::OpenTcp(const MetricsTarget& target) {
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  v4.sin_family = AF_INET;
  v6.sin6_family = AF_INET6;
  v4.sin_port = v6.sin6_port = htons(target.port);
  const bool is_v4 = inet_pton(AF_INET, target.address.c_str(), &v4.sin_addr) == 1;
  if (!is_v4) inet_pton(AF_INET6, target.address.c_str(), &v6.sin6_addr);
  const auto* const address = is_v4 ? reinterpret_cast<sockaddr*>(&v4) : reinterpret_cast<sockaddr*>(&v6);
  Descriptor fd(socket(is_v4 ? AF_INET : AF_INET6, kKind, 0));
  if (fd.get() < 0) return Refused(target, "no socket is to be had", errno, "raise ulimit -n, or use unix:PATH");
  // An earlier process's connections may still be dying at this port. It may not be listened to twice for that.
  const int yes = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  if (bind(fd.get(), address, is_v4 ? sizeof(v4) : sizeof(v6)) != 0 || listen(fd.get(), kBacklog) != 0) {
    if (errno == EADDRINUSE) return Taken(target, "the port is in use");
    return Refused(target, "nobody may listen there", errno, "choose another address or port");
  }
  Own(fd.release());
  return Status::Ok();
}

Status MetricsListener::OpenUnix(const MetricsTarget& target) {
  const FolderLock lock(target.path);
  if (const int error = lock.Take(); error != 0)
    return Refused(target, "its folder cannot be locked", error, "name a socket in a folder that is there");
  MEZZ_RETURN_IF_ERROR(MakeRoom(target));
  Descriptor fd(socket(AF_UNIX, kKind, 0));
  if (fd.get() < 0) return Refused(target, "no socket is to be had", errno, "raise ulimit -n");
  const sockaddr_un address = UnixAddress(target.path);
  struct stat made {};
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    return Refused(target, "no socket can be made there", errno, "name one in a folder that may be written to");
  if (listen(fd.get(), kBacklog) != 0 || lstat(target.path.c_str(), &made) != 0) {
    const int error = errno;
    unlink(target.path.c_str());
    return Refused(target, "nobody can listen there", error, "name another");
  }
  path_ = target.path;
  device_ = made.st_dev;
  inode_ = made.st_ino;
  Own(fd.release());
  return Status::Ok();
}

}  // namespace mezz
