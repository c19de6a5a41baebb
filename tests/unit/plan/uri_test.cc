// SPDX-License-Identifier: Apache-2.0
// The URI of a plan, by the parser that a database would read it with.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/options.h"
#include "tests/unit/plan/example.h"

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

}  // namespace
}  // namespace mezz::plan
