// SPDX-License-Identifier: Apache-2.0
#include "integration/machine.h"

#include <gtest/gtest.h>

namespace mezz {
namespace {

TEST(ThisMachine, HasMemoryAndMapsWhatItCan) {
  const Machine machine = ThisMachine();
  EXPECT_GT(machine.memory_bytes, 64u << 20);
  EXPECT_LT(machine.memory_bytes, 1ull << 50);
  EXPECT_TRUE(machine.can_map(1 << 20));
  EXPECT_FALSE(machine.can_map(1ull << 60));
}

}  // namespace
}  // namespace mezz
