// SPDX-License-Identifier: Apache-2.0
// The public traces through the whole of it, readers and references: counts as published, miss ratios equal to
// libCacheSim's (commit aa0fc409) and an independent OPT to four digits. Unit-size blocks, extents cut into 4 KiB,
// capacity = floor(share x blocks), cold, every access counted. W-TinyLFU hashes otherwise, so it only comes close.
// The traces are not in the tree: their licences differ. MEZZ_TRACES names their folder.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/public_traces.h"
#include "workloads/readers/open_trace.h"
#include "workloads/requests/cut_extents.h"
#include "workloads/sim/opt.h"
#include "workloads/sim/runner.h"

namespace mezz::sim {
namespace {

constexpr double kShares[] = {0.01, 0.05, 0.10, 0.25, 0.50};
constexpr std::string_view kPolicies[] = {"lru", "clock", "s3_fifo", "opt", "w_tinylfu"};
constexpr double kWTinyLfuTolerance = 0.02;

struct PublicTrace {
  const char* file;
  uint64_t accesses;
  uint64_t blocks;
  double miss[std::size(kShares)][std::size(kPolicies)];
};

// clang-format off
constexpr PublicTrace kTraces[] = {
    {"arc/OLTP.lis.zst",
     914145,
     186880,
     {{0.5837, 0.5783, 0.5353, 0.4024, 0.6305},
      {0.3992, 0.3960, 0.3789, 0.2736, 0.4159},
      {0.3348, 0.3314, 0.3222, 0.2379, 0.3619},
      {0.2673, 0.2640, 0.2632, 0.2044, 0.2922},
      {0.2186, 0.2181, 0.2197, 0.2044, 0.2383}}},
    {"arc/P3.lis.zst",
     611918,
     102348,
     {{0.8853, 0.8862, 0.8672, 0.7907, 0.8963},
      {0.8494, 0.8442, 0.7129, 0.5658, 0.7373},
      {0.7350, 0.7146, 0.5840, 0.3909, 0.6106},
      {0.3619, 0.3620, 0.3522, 0.2278, 0.3841},
      {0.2163, 0.2212, 0.2015, 0.1673, 0.2071}}},
    {"arc/P12.lis.zst",
     2106115,
     401596,
     {{0.8211, 0.8206, 0.7618, 0.6324, 0.7744},
      {0.5996, 0.5882, 0.5061, 0.3675, 0.5028},
      {0.4167, 0.4127, 0.3718, 0.2722, 0.3885},
      {0.2891, 0.2860, 0.2653, 0.2032, 0.2728},
      {0.2324, 0.2138, 0.2163, 0.1907, 0.2410}}},
    {"cloudphysics/cloudPhysicsIO.csv.zst",
     1141869,
     269210,
     {{0.8969, 0.8970, 0.8932, 0.8646, 0.9070},
      {0.8871, 0.8868, 0.8654, 0.7703, 0.8743},
      {0.8741, 0.8729, 0.8110, 0.6761, 0.8402},
      {0.7417, 0.7581, 0.6988, 0.4913, 0.7130},
      {0.4733, 0.4985, 0.4630, 0.3352, 0.4534}}},
    {"scarab/scarab-recs.trace.xz",
     1245184,
     258368,
     {{0.6529, 0.6431, 0.5725, 0.4665, 0.5923},
      {0.4829, 0.4785, 0.4414, 0.3096, 0.4548},
      {0.3940, 0.3913, 0.3718, 0.2497, 0.3896},
      {0.2794, 0.2786, 0.2786, 0.2075, 0.3012},
      {0.2256, 0.2254, 0.2273, 0.2075, 0.2451}}},
    {"cache2k/orm-busy.trace.xz",
     5000000,
     76349,
     {{0.2297, 0.2322, 0.2436, 0.1717, 0.4050},
      {0.1587, 0.1596, 0.1475, 0.0982, 0.1851},
      {0.1199, 0.1226, 0.1111, 0.0669, 0.1173},
      {0.0663, 0.0674, 0.0613, 0.0342, 0.0557},
      {0.0328, 0.0333, 0.0295, 0.0187, 0.0273}}},
    {"cache2k/web07.trace.xz",
     76118,
     20484,
     {{0.6085, 0.6021, 0.5621, 0.4660, 0.6096},
      {0.4944, 0.4884, 0.4578, 0.3628, 0.4841},
      {0.4434, 0.4376, 0.4188, 0.3191, 0.4396},
      {0.3712, 0.3660, 0.3582, 0.2693, 0.3842},
      {0.3080, 0.3050, 0.3071, 0.2691, 0.3160}}},
    {"lirs/sprite.trace.gz",
     133996,
     7075,
     {{0.8367, 0.8385, 0.7876, 0.5768, 0.7786},
      {0.3437, 0.3466, 0.3282, 0.1770, 0.3925},
      {0.1352, 0.1359, 0.1386, 0.0864, 0.2477},
      {0.0675, 0.0702, 0.0743, 0.0559, 0.1152},
      {0.0574, 0.0577, 0.0615, 0.0528, 0.0803}}},
    {"lirs/loop.trace.gz",
     505500,
     1011,
     {{1.0000, 1.0000, 1.0000, 0.9901, 0.9921},
      {1.0000, 1.0000, 1.0000, 0.9506, 0.9606},
      {1.0000, 1.0000, 1.0000, 0.9003, 0.9064},
      {1.0000, 1.0000, 1.0000, 0.7512, 0.7630},
      {1.0000, 1.0000, 1.0000, 0.5015, 0.5073}}},
    {"lirs/multi1.trace.gz",
     15858,
     2606,
     {{0.9897, 0.9896, 0.9343, 0.7888, 0.8648},
      {0.7616, 0.7311, 0.5447, 0.5068, 0.5794},
      {0.5658, 0.5590, 0.5190, 0.4726, 0.5221},
      {0.5276, 0.5231, 0.5091, 0.3740, 0.4208},
      {0.5147, 0.5123, 0.3581, 0.2095, 0.2376}}}};
// clang-format on

class PublicTraces : public ::testing::TestWithParam<PublicTrace> {};

TEST_P(PublicTraces, MissAsPublished) {
  const PublicTrace& want = GetParam();
  const std::string path = PublicTracePath(want.file);
  MEZZ_SKIP_WITHOUT_TRACE(path);
  std::unique_ptr<RequestSource> source;
  ASSERT_TRUE(OpenTrace(path, "", &source).ok());
  source = CutExtents(std::move(source), 4096);
  LoadedTrace trace;
  ASSERT_EQ(LoadedTrace::Load(source.get(), {}, &trace).message(), "");
  ASSERT_EQ(trace.accesses().size(), want.accesses);
  ASSERT_EQ(trace.unique(), want.blocks);
  const std::vector<uint32_t> next_uses = NextUses(trace.accesses(), trace.unique());
  for (size_t share = 0; share < std::size(kShares); ++share) {
    const auto capacity = static_cast<uint64_t>(kShares[share] * static_cast<double>(want.blocks));
    for (size_t policy = 0; policy < std::size(kPolicies); ++policy) {
      const double miss = static_cast<double>(CountReferenceMisses(kPolicies[policy], trace, capacity, 0, next_uses)) /
                          static_cast<double>(want.accesses);
      const double published = want.miss[share][policy];
      if (kPolicies[policy] == "w_tinylfu") {
        EXPECT_NEAR(miss, published, kWTinyLfuTolerance) << kShares[share];
      } else {
        EXPECT_EQ(fmt::format("{:.4f}", miss), fmt::format("{:.4f}", published)) << kPolicies[policy] << kShares[share];
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, PublicTraces, ::testing::ValuesIn(kTraces));

}  // namespace
}  // namespace mezz::sim
