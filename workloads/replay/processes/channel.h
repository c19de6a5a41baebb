// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "cache/status.h"

namespace mezz {

// One end of a stream socket between mezz_replay and a worker; carries JSON values, each as a length and CBOR. Owns the
// descriptor. Single-threaded at each end.
class Channel {
 public:
  explicit Channel(int fd) : fd_(fd) {}
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // Two connected descriptors, closed on exec.
  static Status MakePair(int* a, int* b);

  // NotFound when the other end has gone.
  Status Send(const nlohmann::json& message);
  Status Receive(nlohmann::json* message);
  // Whether Receive has something to do within so many milliseconds (the other end's going is something, too).
  bool Ready(int timeout_ms) const;

 private:
  Status ReadAll(void* to, size_t bytes);

  const int fd_;
};

}  // namespace mezz
