// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>

#include "cache/status.h"
#include "integration/metrics_target.h"

namespace mezz {

// A listening, non-blocking socket. It is closed by exec(), and in the child by fork(). So the next process finds the
// address free, whatever children of this one live on. (A child of a raw clone(2) keeps it until it ends.)
class MetricsListener {
 public:
  MetricsListener() = default;
  MetricsListener(MetricsListener&& other) noexcept;
  MetricsListener& operator=(MetricsListener&&) = delete;
  ~MetricsListener();  // removes the file of a Unix socket, if it is still this socket's

  // A Unix socket that exists is replaced if nobody listens there. The new one gets the rights that the umask leaves,
  // usually for its owner alone. REQUIRES: target.kind is not kFile.
  static Status Open(const MetricsTarget& target, MetricsListener* listener);

  int fd() const { return fd_; }

 private:
  Status OpenTcp(const MetricsTarget& target);
  Status OpenUnix(const MetricsTarget& target);
  void Own(int fd);

  int fd_ = -1;
  std::string path_;  // empty if there is no file
  dev_t device_ = 0;  // device and inode number of the file at path_
  ino_t inode_ = 0;
};

}  // namespace mezz
