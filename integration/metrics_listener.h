// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>

#include "cache/status.h"
#include "integration/metrics_target.h"

namespace mezz {

// A listening socket: not blocking, closed by exec() and by fork() in the child, so that who comes after this process
// finds the address free whatever children live on. (A child of raw clone(2) keeps it until it ends.)
class MetricsListener {
 public:
  MetricsListener() = default;
  MetricsListener(MetricsListener&& other) noexcept;
  MetricsListener& operator=(MetricsListener&&) = delete;
  ~MetricsListener();  // removes the file of a Unix socket, if it is still this socket's

  // REQUIRES: target.kind is no file. A Unix socket that exists is replaced if nobody listens there. It gets the rights
  // that the umask leaves: usually its owner's alone.
  static Status Open(const MetricsTarget& target, MetricsListener* listener);

  int fd() const { return fd_; }

 private:
  Status OpenTcp(const MetricsTarget& target);
  Status OpenUnix(const MetricsTarget& target);
  void Own(int fd);

  int fd_ = -1;
  std::string path_;  // empty: no file
  dev_t device_ = 0;  // of the file at path_, as the number
  ino_t inode_ = 0;
};

}  // namespace mezz
