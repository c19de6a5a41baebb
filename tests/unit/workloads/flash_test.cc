// SPDX-License-Identifier: Apache-2.0
// What an emulated device makes reads wait for, in virtual time.
#include "workloads/replay/engine/flash.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <queue>
#include <thread>

#include "tests/support/in_threads.h"
#include "tests/support/seed.h"

namespace mezz {
namespace {

using ::testing::HasSubstr;

constexpr double kFourKiB = 4096;

// Every read takes as long.
constexpr FlashModel Constant(double us, unsigned depth, double bytes_per_ns) {
  return {.name = "constant",
          .device = "none",
          .latency = {{{0, us}, {0.25, us}, {0.5, us}, {0.75, us}, {1, us}}},
          .queue_depth = depth,
          .bytes_per_ns = bytes_per_ns};
}

const FlashModel& Preset(const char* name) {
  const FlashModel* model = nullptr;
  EXPECT_TRUE(ParseFlash(name, &model).ok());
  return *model;
}

// `readers` that begin a read as soon as their last is done, until `reads` are: when that is.
double ClosedLoopNs(FlashQueue* queue, unsigned readers, unsigned reads, size_t bytes) {
  std::priority_queue<uint64_t, std::vector<uint64_t>, std::greater<>> ready;
  for (unsigned i = 0; i < readers; ++i) ready.push(0);
  uint64_t last = 0;
  for (unsigned i = 0; i < reads; ++i) {
    const uint64_t now = ready.top();
    ready.pop();
    ready.push(queue->Submit(now, bytes));
    last = std::max(last, now);
  }
  return static_cast<double>(last);
}

class AnyFlash : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(, AnyFlash, ::testing::Values("nvme_flash", "optane_ssd", "network_volume"));

TEST_P(AnyFlash, OneReaderWaitsForTheLatencyAlone) {
  const FlashModel& model = Preset(GetParam());
  FlashQueue queue(model, test::Seed());
  constexpr unsigned kReads = 200'000;
  std::vector<double> latencies;
  double sum = 0;
  uint64_t now = 1;
  for (unsigned i = 0; i < kReads; ++i) {
    const uint64_t done = queue.Submit(now, 4096);
    latencies.push_back(static_cast<double>(done - now));
    sum += latencies.back();
    now = done;
  }
  EXPECT_NEAR(sum / kReads, model.MeanLatencyNs(), 0.01 * model.MeanLatencyNs());
  std::ranges::sort(latencies);
  for (const double share : {0.1, 0.5, 0.9, 0.98}) {
    EXPECT_NEAR(latencies[static_cast<size_t>(share * kReads)], model.LatencyNs(share), 0.03 * model.LatencyNs(share))
        << share;
  }
  EXPECT_GE(latencies.front(), model.LatencyNs(0) - 1);
  EXPECT_LE(latencies.back(), model.LatencyNs(1) + 1);
}

TEST_P(AnyFlash, IsSlowerForMoreOfItsReadsAndHasItsMean) {
  const FlashModel& model = Preset(GetParam());
  constexpr int kSteps = 100'000;
  double sum = 0;
  for (int i = 0; i < kSteps; ++i) {
    const double share = (i + 0.5) / kSteps;
    sum += model.LatencyNs(share);
    EXPECT_LE(model.LatencyNs(share - 0.5 / kSteps), model.LatencyNs(share + 0.5 / kSteps));
  }
  EXPECT_NEAR(sum / kSteps, model.MeanLatencyNs(), 1e-4 * model.MeanLatencyNs());
}

TEST_P(AnyFlash, ManyReadersGetThePublishedRate) {  // Little's law: a full queue divided by the mean latency
  const FlashModel& model = Preset(GetParam());
  FlashQueue queue(model, test::Seed());
  constexpr unsigned kReads = 200'000;
  const double ns = ClosedLoopNs(&queue, 4 * model.queue_depth, kReads, 4096);
  const double by_slots = model.queue_depth / model.MeanLatencyNs();
  EXPECT_LT(by_slots, model.bytes_per_ns / kFourKiB) << "small reads are bound by their number";
  EXPECT_NEAR(kReads / ns, by_slots, 0.02 * by_slots);
  const double published = GetParam() == std::string_view("nvme_flash")   ? 490e-6
                           : GetParam() == std::string_view("optane_ssd") ? 550e-6
                                                                          : 256e-6;
  EXPECT_NEAR(by_slots, published, 0.03 * published);
}

TEST(FlashQueue, FewReadersGetTheirShareOfTheSlots) {
  for (const unsigned readers : {1u, 2u, 7u, 8u}) {
    FlashQueue queue(Constant(100, 8, 1e9), 1);
    EXPECT_NEAR(ClosedLoopNs(&queue, readers, 8000, 4096), 100e3 * (8000.0 / readers - 1), 101e3) << readers;
  }
}

TEST(FlashQueue, AReaderTooManyWaitsUntilASlotIsFree) {
  FlashQueue queue(Constant(100, 2, 1e9), 1);
  EXPECT_EQ(queue.Submit(1000, 4096), 101'000u);
  EXPECT_EQ(queue.Submit(2000, 4096), 102'000u);
  EXPECT_EQ(queue.Submit(3000, 4096), 201'000u) << "the first slot is free at 101";
  EXPECT_EQ(queue.Submit(3000, 4096), 202'000u);
  EXPECT_EQ(queue.Submit(500'000, 4096), 600'000u) << "an idle device owes nothing";
}

TEST(FlashQueue, LargeReadsAreBoundByBandwidth) {
  constexpr size_t kBytes = 1 << 20;
  constexpr double kBytesPerNs = 2;
  FlashQueue alone(Constant(50, 16, kBytesPerNs), 1);
  EXPECT_EQ(alone.Submit(0, kBytes), static_cast<uint64_t>(50e3 + (kBytes - kFourKiB) / kBytesPerNs));
  EXPECT_EQ(FlashQueue(Constant(50, 16, kBytesPerNs), 1).Submit(0, 1), 50'000u) << "a small read is no faster";
  FlashQueue queue(Constant(50, 16, kBytesPerNs), 1);
  constexpr unsigned kReads = 1000;
  const double ns = ClosedLoopNs(&queue, 16, kReads, kBytes);
  EXPECT_NEAR(ns, kReads * kBytes / kBytesPerNs, 20 * kBytes / kBytesPerNs);
}

TEST(FlashQueue, TheSameSeedGivesTheSameReads) {
  const FlashModel& model = Preset("nvme_flash");
  FlashQueue a(model, 7);
  FlashQueue b(model, 7);
  FlashQueue other(model, 8);
  unsigned different = 0;
  for (uint64_t now = 0; now < 1'000'000'000; now += 1'000'000) {
    const uint64_t done = a.Submit(now, 4096);
    ASSERT_EQ(done, b.Submit(now, 4096));
    different += done != other.Submit(now, 4096);
  }
  EXPECT_GT(different, 900u);
}

TEST(FlashQueue, ThreadsShareOneDevice) {
  FlashQueue queue(Constant(100, 4, 1e9), 1);
  std::vector<std::vector<uint64_t>> done(4);
  test::InThreads(done.size(), [&](uint64_t i) {
    for (int read = 0; read < 1000; ++read) done[i].push_back(queue.Submit(0, 4096));
  });
  std::vector<uint64_t> all;
  for (const auto& own : done) all.insert(all.end(), own.begin(), own.end());
  std::ranges::sort(all);
  for (size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], 100'000 * (i / 4 + 1));
}

// Wakes as late as the test says.
class LateClock final : public FlashClock {
 public:
  uint64_t NowNs() override { return now; }
  void SleepUntilNs(uint64_t ns) override {
    EXPECT_GT(ns, now);
    ++sleeps;
    now = ns + late;
  }
  uint64_t now = 1'000'000;
  uint64_t late = 0;
  unsigned sleeps = 0;
};

constexpr FlashModel kHundred = Constant(100, 4, 1e9);

TEST(Flash, SleepsUntilTheReadIsDone) {
  LateClock clock;
  Flash flash(kHundred, 1, &clock);
  const Flash::InFlight read = flash.Begin(4096);
  clock.now += 30'000;  // reading the memory is part of it
  flash.Await(read);
  EXPECT_EQ(clock.now, 1'100'000u);
  EXPECT_EQ(clock.sleeps, 1u);
  EXPECT_EQ(flash.Counts().asked_us(), 100);
  EXPECT_EQ(flash.Counts().took_us(), 100);
}

TEST(Flash, WaitsForTheLastOfABatch) {
  LateClock clock;
  Flash flash(kHundred, 1, &clock);
  std::vector<Flash::InFlight> reads;
  for (int i = 0; i < 6; ++i) reads.push_back(flash.Begin(4096));
  flash.Await(reads);
  EXPECT_EQ(clock.now, 1'200'000u) << "four slots, six reads";
  EXPECT_EQ(clock.sleeps, 1u);
  EXPECT_EQ(flash.Counts().reads, 6u);
  EXPECT_EQ(flash.Counts().waits, 1u);
}

TEST(Flash, MakesUpForLateWakeUps) {
  for (const uint64_t late_us : {0, 20, 60, 130, 990}) {
    LateClock clock;
    clock.late = late_us * 1000;
    Flash flash(kHundred, 1, &clock);
    constexpr int kReads = 10'000;
    for (int i = 0; i < kReads; ++i) flash.Await(flash.Begin(4096));
    const double mean_us = flash.Counts().took_us();
    EXPECT_NEAR(mean_us, 100, 0.1) << late_us << " us late";
    EXPECT_EQ(flash.Counts().asked_us(), 100);
  }
}

TEST(Flash, DoesNotMakeUpForMoreThanATimerIsLate) {
  LateClock clock;
  Flash flash(kHundred, 1, &clock);
  clock.late = 50'000'000;
  flash.Await(flash.Begin(4096));
  clock.late = 0;
  const uint64_t then = clock.now;
  for (int i = 0; i < 20; ++i) flash.Await(flash.Begin(4096));
  EXPECT_EQ(clock.now - then, 20 * 100'000 - Flash::kLateMaxNs);
  EXPECT_EQ(clock.sleeps, 1u + 10u) << "ten reads pay for the millisecond";
}

TEST(Flash, OwesNothingForWhatAnotherMadeTheThreadWait) {
  LateClock clock;
  clock.late = 40'000;
  Flash first(kHundred, 1, &clock);
  first.Await(first.Begin(4096));
  clock.late = 0;
  Flash second(kHundred, 1, &clock);
  const uint64_t begun = clock.now;
  second.Await(second.Begin(4096));
  EXPECT_EQ(clock.now - begun, 100'000u);
}

// A buffered append waits for what was written long ago: for nothing, mostly. That is no wake-up to be late from.
TEST(Flash, OwesNothingForAWaitThatWasOver) {
  LateClock clock;
  Flash flash(kHundred, 1, &clock);
  clock.now += 10'000'000;
  for (const uint64_t ago : {9'000'000, 500'000, 1, 0}) flash.AwaitUntil(clock.now - ago);
  EXPECT_EQ(clock.sleeps, 0u);
  const uint64_t begun = clock.now;
  flash.Await(flash.Begin(4096));
  EXPECT_EQ(clock.now - begun, 100'000u);

  clock.late = 40'000;
  flash.Await(flash.Begin(4096));
  clock.late = 0;
  flash.AwaitUntil(clock.now - 41'000);  // over before the last read was
  const uint64_t woken = clock.now;
  flash.Await(flash.Begin(4096));
  EXPECT_EQ(clock.now - woken, 60'000u) << "what the read was late is still made up for";
  clock.late = 40'000;
  flash.Await(flash.Begin(4096));
  clock.late = 0;
  flash.AwaitUntil(clock.now - 30'000);  // 10 us of the 40 are waited, as if in time
  const uint64_t waited = clock.now;
  flash.Await(flash.Begin(4096));
  EXPECT_EQ(clock.now - waited, 70'000u);
}

TEST(FlashQueue, WritesAreTakenAtTheDevicesBandwidth) {
  FlashModel model = Constant(100, 4, 1e9);
  model.write_us = 20;
  model.write_bytes_per_ns = 2;
  FlashQueue queue(model, 1);
  EXPECT_EQ(queue.SubmitWrite(1000, 4096), 21'000u) << "its own time";
  uint64_t done = 0;
  for (int i = 0; i < 1000; ++i) done = queue.SubmitWrite(1'000'000, 1 << 20);
  EXPECT_NEAR(static_cast<double>(done), 1e6 + 1000 * (1 << 20) / 2.0, 10);
}

TEST(FlashQueue, ReadsBesideWritesTakeTwiceTheirLatency) {
  FlashModel model = Constant(100, 4, 1e9);
  model.write_us = 20;
  model.write_bytes_per_ns = 1;
  FlashQueue queue(model, 1);
  EXPECT_EQ(queue.Submit(0, 4096), 100'000u);
  queue.SubmitWrite(1'000'000, 1'000'000);  // busy for a millisecond
  EXPECT_EQ(queue.Submit(1'500'000, 4096), 1'700'000u);
  EXPECT_EQ(queue.Submit(2'100'000, 4096), 2'200'000u) << "no more";
}

TEST(Flash, TheThreeGenerationsDifferInAllTheyAreComparedFor) {
  const FlashModel &sata = Preset("sata_ssd"), &nvme = Preset("nvme_flash"), &xpoint = Preset("xpoint_ssd");
  for (const auto& [slow, fast] : {std::pair(&sata, &nvme), std::pair(&nvme, &xpoint)}) {
    EXPECT_GT(slow->MeanLatencyNs(), 2 * fast->MeanLatencyNs());
    EXPECT_GT(slow->write_us, fast->write_us);
    EXPECT_LT(slow->write_bytes_per_ns, fast->write_bytes_per_ns);
  }
  // What the sources give as the rate of 4 KiB reads.
  const auto rate = [](const FlashModel& model) { return model.queue_depth * 1e9 / model.MeanLatencyNs(); };
  EXPECT_NEAR(rate(sata), 41'000, 3000);
  EXPECT_NEAR(rate(xpoint), 550'000, 20'000);
}

TEST(Flash, IsNamedInReports) {
  const FlashModel* model = nullptr;
  EXPECT_TRUE(ParseFlash("disk", &model).ok());
  EXPECT_EQ(model, nullptr);
  EXPECT_EQ(ToJson(model), (nlohmann::json{{"name", "disk"}, {"emulated", false}}));
  EXPECT_THAT(ParseFlash("flsh", &model).message(),
              HasSubstr("--flash=flsh is not known; it is one of disk, sata_ssd, nvme_flash, xpoint_ssd, optane_ssd, "
                        "network_volume"));
  const nlohmann::json json = ToJson(&Preset("optane_ssd"));
  EXPECT_EQ(json["name"], "optane_ssd");
  EXPECT_EQ(json["emulated"], true);
  EXPECT_EQ(json["queue_depth"], 5);
  EXPECT_EQ(json["bytes_per_s"], 2.4e9);
  EXPECT_THAT(Describe(Preset("nvme_flash")), HasSubstr("emulated: Intel SSD DC P4500"));
  EXPECT_THAT(Describe(Preset("nvme_flash")), HasSubstr("13 us, 1.1 GB/s written"));
  EXPECT_THAT(Describe(Preset("optane_ssd")), HasSubstr("writes take no time"));
}

TEST(Flash, RefusesFoldersThatAreNotInMemory) {
  const FlashModel& model = Preset("nvme_flash");
  EXPECT_THAT(CheckInMemory("/proc/none", model).message(), HasSubstr("--flash=nvme_flash: name a folder in memory"));
  if (!std::filesystem::exists("/dev/shm")) GTEST_SKIP() << "no /dev/shm here";
  EXPECT_TRUE(CheckInMemory("/dev/shm", model).ok());
  EXPECT_TRUE(CheckInMemory("/dev/shm/a/b", model).ok()) << "not there yet";
}

}  // namespace
}  // namespace mezz
