// SPDX-License-Identifier: Apache-2.0
#include "workloads/plan/performance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/unit/plan/example.h"
#include "workloads/sim/access_time.h"
#include "workloads/sim/alternatives.h"

namespace mezz::plan {
namespace {

constexpr double kFlashNs = 87'125;  // the mean of nvme_flash: 85 us times 1.025

Bracket Exactly(double value) { return {.low = value, .value = value, .high = value}; }

// One core, one device of each kind, 2 us an operation.
Machine Simple(unsigned cores = 1, const char* scm = "none") {
  Machine machine;
  machine.cores = cores;
  EXPECT_TRUE(ParseScmModel(scm, &machine.scm).ok());
  EXPECT_TRUE(ParseFlash("nvme_flash", &machine.flash).ok());
  machine.costs = {
      .base = Exactly(2000), .scm_hit = Exactly(300), .flash_read = Exactly(5000), .flash_wait = {}, .source = "test"};
  return machine;
}
Load Threads(unsigned threads) { return {.closed = true, .threads = threads}; }

TEST(Performance, OneTierAloneTakesItsTime) {
  const Prediction dram = Predict(Simple(), Traffic(), {.dram = 1}, Threads(1));
  EXPECT_NEAR(dram.throughput.value, 500'000, 1);
  for (const Bracket& one : {dram.mean_us, dram.p50_us, dram.p99_us}) EXPECT_NEAR(one.value, 2, 1e-6);
  EXPECT_EQ(dram.bottleneck, "cpu");
  const Prediction flash = Predict(Simple(), Traffic(), {}, Threads(1));
  EXPECT_EQ(flash.bottleneck, "threads");
  EXPECT_NEAR(flash.mean_us.value, 7 + kFlashNs / 1e3, 0.2);
  EXPECT_NEAR(flash.p50_us.value, 7 + 85, 0.5);
  EXPECT_NEAR(flash.p99_us.value, 7 + 107, 1);
  EXPECT_NEAR(flash.flash_reads_per_s, flash.throughput.value, 1e-6);
}

// 4 KiB on CXL in place: 7 dependent lines, each 250 instead of 81 ns.
TEST(Performance, AHitInScmPaysForItsLines) {
  const Prediction scm = Predict(Simple(1, "cxl"), Traffic(), {.scm = 1}, Threads(1));
  const double lines = BlockSearchLines(4096);
  EXPECT_NEAR(scm.mean_us.value, (2300 + lines * (250 - 81)) / 1e3, 0.35);
  EXPECT_GT(scm.mean_us.value, Predict(Simple(), Traffic(), {.scm = 1}, Threads(1)).mean_us.value + 0.5);
}

// Emulated, the lines' whole time comes on top: copied, 305 ns, 4 KiB at 3.76 B/ns, and what the copy itself takes.
TEST(Performance, AnEmulatedMediumComesOnTopOfTheHostsMemory) {
  Machine machine = Simple(1, "optane100");
  const double real = Predict(machine, Traffic(), {.scm = 1}, Threads(1)).mean_us.value;
  machine.scm_emulated = true;
  const double emulated = Predict(machine, Traffic(), {.scm = 1}, Threads(1)).mean_us.value;
  EXPECT_NEAR(emulated - real, BlockSearchLines(4096) * 81 / 1e3, 1e-6);
  EXPECT_NEAR(emulated, (2300 + 305 + 4096 / 3.76 + 40 + 0.03 * 4096) / 1e3, 0.02);
}

TEST(Performance, ABottleneckIsReached) {
  // Flash: 43 slots of 87 us; the published 490,000 reads a second.
  const Prediction flash = Predict(Simple(64), Traffic(), {}, Threads(512));
  EXPECT_NEAR(flash.throughput.value, 490'000, 15'000);
  EXPECT_EQ(flash.bottleneck, "flash");
  EXPECT_GT(flash.p99_us.value, 900);  // Little: 512 / 490,000 is a millisecond
  // The bandwidth of one Optane module: 7 lines of 256 B for a block at 6.6 GB/s.
  Machine machine = Simple(64, "optane100");
  machine.costs.base = machine.costs.scm_hit = Exactly(1);
  const Prediction scm = Predict(machine, Traffic(), {.scm = 1}, Threads(256));
  EXPECT_NEAR(scm.throughput.value, 6.6e9 / (256.0 * BlockSearchLines(4096)), 0.02 * scm.throughput.value);
  EXPECT_EQ(scm.bottleneck, "scm_read");
  machine.scm_modules = 4;
  EXPECT_GT(Predict(machine, Traffic(), {.scm = 1}, Threads(256)).throughput.value, 2.5 * scm.throughput.value);
}

TEST(Performance, TwoDrivesReadTwiceAsMuch) {
  Machine machine = Simple(64);
  const double one = Predict(machine, Traffic(), {}, Threads(512)).throughput.value;
  machine.flash_devices = 2;
  const Prediction two = Predict(machine, Traffic(), {}, Threads(512));
  EXPECT_NEAR(two.throughput.value, 2 * one, 0.05 * two.throughput.value);
  Traffic large;
  large.flash_bytes = 65536;  // 3.2 GB/s, not 490,000 reads
  EXPECT_NEAR(Predict(Simple(64), large, {}, Threads(512)).throughput.value, 3.2e9 / 65536, 500);
  EXPECT_EQ(Predict(Simple(64), large, {}, Threads(512)).bottleneck, "flash_bandwidth");
}

// Half of the operations read flash: the median lies between, and P99 is that of flash.
TEST(Performance, PercentilesAreThoseOfTheMixture) {
  const Prediction few = Predict(Simple(), Traffic(), {.dram = 0.97}, Threads(1));
  EXPECT_NEAR(few.p95_us.value, 2, 1e-3);
  EXPECT_NEAR(few.p99_us.value, 7 + 95, 8);
  const Prediction more = Predict(Simple(), Traffic(), {.dram = 0.4}, Threads(1));
  EXPECT_NEAR(more.p50_us.value, 7 + 74, 4);
}

// Lognormal of mean 2 us: P50 is that by e^(sigma^2/2), P95 e^(1.645 sigma) of P50; the throughput is the mean's.
TEST(Performance, OperationsVaryAsCalibrated) {
  Machine machine = Simple();
  machine.costs.base_sigma = 0.3;
  const Prediction dram = Predict(machine, Traffic(), {.dram = 1}, Threads(1));
  EXPECT_NEAR(dram.throughput.value, 500'000, 1);
  EXPECT_NEAR(dram.p50_us.value, 2 * std::exp(-0.045), 0.01);
  EXPECT_NEAR(dram.p95_us.value, dram.p50_us.value * std::exp(1.645 * 0.3), 0.03);
}

TEST(Performance, AnOperationOfSeveralBlocksWaitsForEach) {
  Traffic traffic;
  traffic.lookups_per_operation = 3;
  const Prediction all = Predict(Simple(), traffic, {}, Threads(1));
  EXPECT_NEAR(all.mean_us.value, 2 + 3 * (5 + kFlashNs / 1e3), 0.5);
  EXPECT_NEAR(all.flash_reads_per_s, 3 * all.throughput.value, 1e-6);
  const Prediction some = Predict(Simple(), traffic, {.dram = 0.9}, Threads(1));
  EXPECT_NEAR(some.p50_us.value, 2, 1e-3);      // 0.9^3 find all three
  EXPECT_NEAR(some.p95_us.value, 7 + 100, 13);  // one of three
  EXPECT_GT(some.p99_us.value, 2 * 85);         // two of three: 0.027
}

// More than a double's exponent tells the chance of none.
TEST(Performance, AnOperationOfAThousandBlocksReadsThoseThatAreMissed) {
  Traffic traffic;
  traffic.lookups_per_operation = 1000;
  const Prediction p = Predict(Simple(), traffic, {.dram = 0.45}, Threads(1));
  const double mean_us = 2 + 550 * (5 + kFlashNs / 1e3);
  EXPECT_NEAR(p.mean_us.value, mean_us, 0.02 * mean_us);
  EXPECT_NEAR(p.p50_us.value, mean_us, 0.05 * mean_us);
  EXPECT_LT(p.p99_us.value, 1.2 * mean_us);
}

// Four blocks a read: a quarter of the reads, each of as many bytes as four; the processor has its work for each block.
TEST(Performance, BlocksThatWereReadAheadWaitOnce) {
  Traffic traffic;
  traffic.lookups_per_operation = 8;
  const Prediction each = Predict(Simple(), traffic, {}, Threads(1));
  traffic.reads_per_miss = 0.25;
  const Prediction ahead = Predict(Simple(), traffic, {}, Threads(1));
  const double transfer_us = 3 * 4096 / Simple().flash->bytes_per_ns / 1e3;
  EXPECT_NEAR(ahead.mean_us.value, 2 + 8 * 5 + 2 * (kFlashNs / 1e3 + transfer_us), 0.5);
  EXPECT_NEAR(ahead.flash_reads_per_s, 2 * ahead.throughput.value, 1e-6);
  EXPECT_NEAR(ahead.flash_bytes_per_s, 8 * 4096 * ahead.throughput.value, 1e-3);
  EXPECT_LT(ahead.p99_us.value, each.p50_us.value / 2);
}

TEST(Performance, OpenLoop) {
  const Load half{.closed = false, .threads = 1, .rate = 250'000};
  const Prediction easy = Predict(Simple(), Traffic(), {.dram = 1}, half);
  EXPECT_NEAR(easy.throughput.value, 250'000, 1e-6);
  EXPECT_NEAR(easy.mean_us.value, 4, 1e-6);  // M/M/1 at one half: twice its service
  EXPECT_FALSE(easy.overloaded);
  const Load twice{.closed = false, .threads = 1, .rate = 1'000'000};
  const Prediction much = Predict(Simple(), Traffic(), {.dram = 1}, twice);
  EXPECT_TRUE(much.overloaded);
  EXPECT_TRUE(std::isinf(much.p99_us.value));
  EXPECT_NEAR(much.throughput.value, 500'000, 1);
}

TEST(Performance, WhatIsNotKnownIsBracketed) {
  Machine machine = Simple(8);
  machine.costs = PresetCosts();
  const TierShares shares{.dram = 0.8, .scm = 0.1, .miss_band = 0.02};
  const Prediction p = Predict(machine, Traffic(), shares, Threads(16));
  EXPECT_LT(p.throughput.low, p.throughput.value);
  EXPECT_LT(p.throughput.value, p.throughput.high);
  EXPECT_LE(p.p99_us.low, p.p99_us.value);
  EXPECT_LE(p.p99_us.value, p.p99_us.high);
  TierShares known = shares;
  known.miss_band = 0;
  EXPECT_LT(p.throughput.low, Predict(machine, Traffic(), known, Threads(16)).throughput.low);
}

TEST(Performance, UnpackingCosts) {
  Traffic traffic;
  traffic.pack = "lz4";
  const TierShares raw{.scm = 1}, packed{.scm = 1, .scm_unpacked = 1, .scm_record_bytes = 1820};
  const double more = Predict(Simple(1, "cxl"), traffic, packed, Threads(1)).mean_us.value -
                      Predict(Simple(1, "cxl"), traffic, raw, Threads(1)).mean_us.value;
  EXPECT_NEAR(more, 1.2 + 0.25 + 1820 / 4.096 / 1e3 - 7 * 0.169, 0.4);
}

// A second tier of DRAM: no medium waits, and the core unpacks, calls the system, packs.
TEST(Performance, ASecondTierOfDramCostsWhatTheSimulatorSays) {
  const Prediction none = Predict(Simple(), Traffic(), {.dram = 1}, Threads(1));
  for (const auto& [policy, shares] : {std::pair("compressed", TierShares{.scm = 1, .scm_unpacked = 1}),
                                       std::pair("page_cache", TierShares{.scm = 1, .scm_promoted = 1})}) {
    Traffic traffic;
    traffic.policy = policy;
    TierShares of = shares;
    of.scm_record_bytes = 1800;
    const Machine machine = Simple();
    const sim::AccessCosts costs =
        sim::AlternativeCostsOf(*sim::AlternativeOf(policy), machine.scm, traffic.block_bytes, 1800, 0);
    const bool unpacks = of.scm_unpacked > 0;
    const double hit_ns = unpacks ? costs.unpack_ns : costs.promotion_ns;
    EXPECT_GT(hit_ns, 1000) << policy;
    const double read_us = Predict(machine, traffic, of, Threads(1)).mean_us.value;
    EXPECT_NEAR(read_us, none.mean_us.value + (300 + hit_ns) / 1e3, 0.01) << policy;
    of.scm_writes = 0.5;
    const double written_us = Predict(machine, traffic, of, Threads(1)).mean_us.value - read_us;
    EXPECT_NEAR(written_us, unpacks ? 0.5 * (costs.pack_ns + costs.scm_write_ns) / 1e3 : 0, 0.01) << policy;
  }
}

TEST(Performance, WhatElseReadsScmCostsWhatTheSimulatorSays) {
  for (const auto& [policy, shares] :
       {std::pair("naive_scm", TierShares{.scm = 1}), std::pair("inline_memory", TierShares{.scm = 1}),
        std::pair("inline_memory", TierShares{.scm = 1, .scm_promoted = 1}),
        std::pair("memory_mode", TierShares{.scm = 1, .scm_promoted = 1})}) {
    SCOPED_TRACE(testing::Message() << policy << " promoted " << shares.scm_promoted);
    Traffic traffic, hybrid;
    traffic.policy = policy;
    const Machine machine = Simple(1, "optane100");
    const sim::Alternative alternative = *sim::AlternativeOf(policy);
    const sim::AccessCosts costs = sim::AlternativeCostsOf(alternative, machine.scm, traffic.block_bytes, 4160, 0);
    const sim::AccessCosts ours = sim::CostsOf(machine.scm, hybrid.block_bytes, 0);
    const double more_ns =
        shares.scm_promoted > 0 ? costs.promotion_ns - ours.promotion_ns : costs.scm_hit_ns - ours.scm_hit_ns;
    EXPECT_GT(more_ns, 50);
    EXPECT_NEAR(Predict(machine, traffic, shares, Threads(1)).mean_us.value -
                    Predict(machine, hybrid, shares, Threads(1)).mean_us.value,
                more_ns / 1e3, 0.01);
  }
}

TEST(Performance, WritesTakeTimeAndWear) {
  const TierShares shares{.dram = 0.5, .scm = 0.5, .scm_writes = 0.5};
  const Prediction p = Predict(Simple(1, "optane100"), Traffic(), shares, Threads(1));
  EXPECT_NEAR(p.scm_written_bytes_per_s, p.throughput.value * 0.5 * 4160, 0.02 * p.scm_written_bytes_per_s);
  EXPECT_LT(p.throughput.value,
            Predict(Simple(1, "optane100"), Traffic(), {.dram = 0.5, .scm = 0.5}, Threads(1)).throughput.value);
}

}  // namespace
}  // namespace mezz::plan
