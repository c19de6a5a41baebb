// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "workloads/requests/request.h"

namespace mezz {

// Hands a replay thread its requests, batch by batch. Empty: no more.
class RequestFeed {
 public:
  virtual ~RequestFeed() = default;
  virtual std::span<const Request> Next() = 0;
  // What comes now belongs to another window.
  virtual void BeginWindow() {}
};

}  // namespace mezz
