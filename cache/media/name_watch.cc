// SPDX-License-Identifier: Apache-2.0
#include "cache/media/name_watch.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

#include "cache/base/atomic.h"
#include "cache/base/start_thread.h"

namespace mezz {

NameWatch::~NameWatch() {
  if (thread_.joinable()) {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(end_, &one, sizeof(one));
    thread_.join();
  }
  if (events_ >= 0) close(events_);
  if (end_ >= 0) close(end_);
}

bool NameWatch::Start(int fd, std::function<bool()> changed) {
  events_ = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  end_ = eventfd(0, EFD_CLOEXEC);
  // By the descriptor: the path may be another file's by now. A file that loses a name while it is open is changed.
  constexpr uint32_t kNames = IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF;
  const std::string file = fmt::format("/proc/self/fd/{}", fd);
  if (events_ < 0 || end_ < 0 || inotify_add_watch(events_, file.c_str(), kNames) < 0) return false;
  thread_ = StartThread("mezz-name", [this, changed = std::move(changed)] { Run(changed); });
  return thread_.joinable();
}

void NameWatch::Run(const std::function<bool()>& changed) const {
  pollfd ready[] = {{.fd = end_, .events = POLLIN, .revents = 0}, {.fd = events_, .events = POLLIN, .revents = 0}};
  while (!changed()) {  // at first as well: it may have happened before the watch
    MEZZ_TEST_POINT("name_watch.waits");
    while (poll(ready, std::size(ready), -1) < 0) {
    }
    if (ready[0].revents != 0) return;
    char event[4096];
    while (read(events_, event, sizeof(event)) > 0) {
    }
  }
}

}  // namespace mezz
