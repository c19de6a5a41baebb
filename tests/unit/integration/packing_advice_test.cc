// SPDX-License-Identifier: Apache-2.0
#include "integration/packing_advice.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "integration/core_figures.h"

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

TEST(PackingAdvice, IsSilentUnlessEachOfSeveralMediaIsDram) {
  struct Member {
    MediumKind kind;
    std::string description;
  };
  const Member dram{MediumKind::kAnonymous, "DRAM of this process"},
      tmpfs{MediumKind::kFile, "file /dev/shm/x (tmpfs)"};
  const Member node{MediumKind::kNumaNode, "numa node 1 (no CPUs)"}, dax{MediumKind::kFile, "file /a/x (ext4-dax)"};
  const auto advised = [](const std::vector<Member>& members) {
    CoreFigures figures;
    figures.options.scm.pack = PackMode::kAuto;
    figures.medium.emulated = false;
    figures.counters = Packed(0, 0, 5000);
    for (const Member& member : members) {
      figures.options.scm.members.push_back({.medium = member.kind, .capacity_bytes = 16 << 20});
      figures.members.push_back({.description = member.description});
    }
    return ToReport(figures, UriKind::kHybrid).find("advice: ") != std::string::npos;
  };
  EXPECT_TRUE(advised({dram, tmpfs}));
  EXPECT_FALSE(advised({node, node}));
  EXPECT_FALSE(advised({tmpfs, node}));
  EXPECT_FALSE(advised({node, tmpfs}));
  EXPECT_FALSE(advised({dax, tmpfs}));
}

}  // namespace
}  // namespace mezz
