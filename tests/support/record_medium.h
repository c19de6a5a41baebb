// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>

#include "cache/media/medium.h"

namespace mezz::test {

// The bytes of one record, to be written anew where they lie, as nothing but a test does.
class RecordMedium final : public Medium {
 public:
  explicit RecordMedium(std::byte* record) {
    base_ = record;
    stream_ = [](void* to, const void* from, size_t count) { std::memcpy(to, from, count); };
    drain_ = [] {};
  }
};

}  // namespace mezz::test
