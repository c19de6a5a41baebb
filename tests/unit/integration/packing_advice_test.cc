// SPDX-License-Identifier: Apache-2.0
#include "integration/packing_advice.h"

#include <gtest/gtest.h>

namespace mezz {
namespace {

// So many blocks of 4,000 bytes, packed to `stored` bytes each, and `rejected` that saved too little.
CounterSnapshot Packed(uint64_t packed, uint64_t stored, uint64_t rejected) {
  CounterSnapshot counters;
  const auto set = [&](Event event, uint64_t count) { counters.by_role[static_cast<size_t>(event)][0] = count; };
  set(Event::kScmPackedPut, packed);
  set(Event::kScmPackedPutBytes, packed * 4000);
  set(Event::kScmPackedPutStored, packed * stored);
  set(Event::kPackRejected, rejected);
  return counters;
}

const MediumInfo kDram{.description = "DRAM of this process", .emulated = false};

std::string Advice(const CounterSnapshot& counters) { return PackingAdvice(MediumKind::kAnonymous, kDram, counters); }

TEST(PackingAdvice, TellsWhoPacksDramThatHisBlocksDoNotPack) {
  EXPECT_EQ(Advice(Packed(0, 0, 1000)), "advice: your blocks pack 1.0 times: use all of this memory as DRAM cache\n");
  EXPECT_EQ(Advice(Packed(1000, 3600, 0)),
            "advice: your blocks pack 1.1 times: use all of this memory as DRAM cache\n");
  EXPECT_EQ(Advice(Packed(1000, 2000, 3000)),
            "advice: your blocks pack 1.1 times: use all of this memory as DRAM cache\n");
}

TEST(PackingAdvice, IsSilentWhereBlocksPackOrFewWereTried) {
  EXPECT_EQ(Advice(Packed(1000, 2000, 0)), "");
  EXPECT_EQ(Advice(Packed(1000, 2000, 1000)), "");
  EXPECT_EQ(Advice(Packed(0, 0, 999)), "");
  EXPECT_EQ(Advice(Packed(0, 0, 0)), "");
}

// Memory that cannot be DRAM cache instead.
TEST(PackingAdvice, IsSilentOnOtherMemory) {
  const CounterSnapshot counters = Packed(0, 0, 5000);
  EXPECT_EQ(PackingAdvice(MediumKind::kNumaNode, kDram, counters), "");
  EXPECT_EQ(
      PackingAdvice(MediumKind::kFile, {.description = "", .persistent_memory = true, .emulated = false}, counters),
      "");
  EXPECT_EQ(PackingAdvice(MediumKind::kFile, {.description = "", .emulated = true}, counters), "");
  EXPECT_NE(PackingAdvice(MediumKind::kFile, {.description = "", .emulated = false}, counters), "");
}

}  // namespace
}  // namespace mezz
