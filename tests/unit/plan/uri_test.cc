// SPDX-License-Identifier: Apache-2.0
// The URI of a plan, by the parser that a database would read it with.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "integration/options.h"
#include "tests/unit/plan/example.h"
#include "workloads/plan/devices/devices.h"

namespace mezz::plan {
namespace {

TEST(PlanUri, IsReadBackAsThePlan) {
  for (const char* book : {"atc21.yaml", "2026.yaml"}) {
    const SkewedSurface surface(kExampleFootprint);
    Question question;
    ASSERT_TRUE(ReadPriceBook(BookPath(book), &question.book).ok());
    ASSERT_TRUE(ParseTargets("throughput>=0.9*baseline", &question.targets).ok());
    question.traffic = ExampleTraffic();
    question.traffic.pack = "lz4";
    question.traffic.block_bytes = 16000;
    question.surface = &surface;
    question.hosts = 10'000;
    question.baseline = "dram:256G";
    question.reserved_bytes = uint64_t{8} << 30;
    question.today = {2026, 11, 22};
    Answer answer;
    ASSERT_TRUE(MakeAnswer(question, &answer).ok());
    const Build& build = answer.plans[answer.cheapest].build;
    ASSERT_NE(build.scm.module, nullptr) << book;
    HybridCacheOptions options;
    const Status status = ParseHybridUri(answer.uri, &options, ::mezz::Machine());
    ASSERT_TRUE(status.ok()) << answer.uri << ": " << status.message();
    EXPECT_EQ(options.dram_total_bytes, build.dram.bytes() - question.reserved_bytes);
    EXPECT_EQ(options.scm.capacity_bytes, build.scm.bytes());
  }
}

TEST(PlanUri, OfOrderedMediaIsReadBackAsAFastAndASlowOne) {
  constexpr uint64_t kGiB = 1 << 30;
  Module dram{.bytes = 32 * kGiB};
  Module cxl{.kind = ModuleKind::kScm, .bytes = 64 * kGiB, .device = "cxl"};
  Module pmem{.kind = ModuleKind::kScm, .bytes = 128 * kGiB, .device = "optane100"};
  const Build build{.dram = {&dram, 1}, .scm = {&cxl, 1}, .slow_scm = {&pmem, 2}};
  Question question;
  question.traffic = ExampleTraffic();
  const std::string uri = UriOf(question, build);
  HybridCacheOptions options;
  const Status status = ParseHybridUri(uri, &options, ::mezz::Machine());
  ASSERT_TRUE(status.ok()) << uri << ": " << status.message();
  EXPECT_EQ(options.scm.capacity_bytes, 320 * kGiB);
  ASSERT_EQ(options.scm.members.size(), 2u);
  const ScmMember &fast = options.scm.members[0], &slow = options.scm.members[1];
  EXPECT_EQ(fast.capacity_bytes, 64 * kGiB);
  EXPECT_EQ(fast.level, Level::kFast);
  EXPECT_EQ(fast.Name(), "numa:1");
  EXPECT_EQ(slow.capacity_bytes, 256 * kGiB);
  EXPECT_EQ(slow.level, Level::kSlow);
  EXPECT_EQ(slow.Name(), "/mnt/pmem0/mezz");
}

TEST(PlanUri, OfEachDeviceIsReadBack) {
  constexpr uint64_t kGiB = 1 << 30;
  std::vector<Place> places;
  for (const PlaceKind kind :
       {PlaceKind::kNumaNode, PlaceKind::kDaxDevice, PlaceKind::kDaxMount, PlaceKind::kTmpfs, PlaceKind::kProcess}) {
    places.push_back({.kind = kind, .path = "/mnt/of a", .node = 1, .total_bytes = kGiB, .available_bytes = kGiB});
  }
  MachineMemory machine;
  machine.total_bytes = 8 * kGiB;
  machine.available_bytes = 6 * kGiB;
  Advise(machine, &places);
  for (const Place& place : places) {
    HybridCacheOptions options;
    const Status status = ParseHybridUri(place.uri, &options, ::mezz::Machine());
    EXPECT_TRUE(status.ok()) << place.uri << ": " << status.message();
    EXPECT_GT(options.scm.capacity_bytes, kGiB / 2) << place.uri;
    EXPECT_GT(options.dram_total_bytes, kGiB / 2) << place.uri;
  }
}

}  // namespace
}  // namespace mezz::plan
