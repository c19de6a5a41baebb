// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <utility>

#include "cache/status.h"

namespace mezz {

// That an option or an argument cannot be what it is: names it, its value and what to do.
template <typename... Args>
Status Invalid(fmt::format_string<Args...> text, Args&&... args) {
  return Status::InvalidArgument(fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace mezz
