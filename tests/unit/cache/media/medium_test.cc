// SPDX-License-Identifier: Apache-2.0
// What holds for every medium; file_medium_test.cc has what only files can get wrong.
#include "cache/media/medium.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numa.h>
#include <numaif.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "cache/base/machine_memory.h"
#include "cache/media/preparer.h"
#include "cache/types.h"
#include "tests/support/chosen_medium.h"
#include "tests/support/kernel_flags.h"
#include "tests/support/seed.h"

namespace mezz {
namespace {

using test::KernelFlagsOf;
using test::LeftOutOfDumps;

using ::testing::HasSubstr;

constexpr uint64_t kBytes = 40 << 20;  // several prefault chunks, the last one partial

ScmOptions OptionsFor(MediumKind kind) {
  ScmOptions options;
  options.medium = kind;
  options.capacity_bytes = kBytes;
  if (kind == MediumKind::kNumaNode) test::UseNode(&options);
  if (kind == MediumKind::kFile) {
    options.path = std::filesystem::temp_directory_path() / ("mezz-medium-test-" + std::to_string(getpid()));
  }
  return options;
}

class AnyMedium : public testing::TestWithParam<MediumKind> {
 protected:
  ~AnyMedium() override {
    if (!options_.path.empty()) std::filesystem::remove(options_.path);
  }

  void Open() {
    bool existing = true;
    const Status status = OpenMedium(options_, &medium_, &existing);
    if (GetParam() == MediumKind::kNumaNode && status.code() == Status::Code::kNotSupported) {
      GTEST_SKIP() << "NOT TESTED here: " << status.message();
    }
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_FALSE(existing);
  }

  ScmOptions options_ = OptionsFor(GetParam());
  std::unique_ptr<Medium> medium_;
};

#define OPEN_OR_RETURN() \
  Open();                \
  if (medium_ == nullptr) return

TEST_P(AnyMedium, IsOfTheSizeAskedInWholeSegments) {
  options_.capacity_bytes = kBytes + 4097;
  options_.segment_bytes = 1 << 20;
  OPEN_OR_RETURN();
  EXPECT_EQ(medium_->bytes(), kBytes);
  EXPECT_EQ(reinterpret_cast<uint64_t>(medium_->base()) % 4096, 0u);
}

TEST_P(AnyMedium, StreamsWhatItIsGiven) {
  OPEN_OR_RETURN();
  const uint64_t seed = test::Seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  std::vector<std::byte> source(256 << 10);
  for (std::byte& byte : source) byte = static_cast<std::byte>(random());
  std::vector<std::byte> expected(medium_->base(), medium_->base() + medium_->bytes());
  for (int i = 0; i < 500; ++i) {
    const size_t bytes = kLineBytes * (1 + random() % (i % 2 == 0 ? 16 : 2048));
    const size_t to = random() % ((kBytes - bytes) / kLineBytes) * kLineBytes;
    const size_t from = random() % (source.size() - bytes);  // any alignment
    (void)medium_->Stream(medium_->base() + to, source.data() + from, bytes);
    std::memcpy(expected.data() + to, source.data() + from, bytes);
  }
  medium_->Drain();
  EXPECT_EQ(std::memcmp(medium_->base(), expected.data(), kBytes), 0);
}

TEST_P(AnyMedium, TellsItsProgressUpToTheEnd) {
  uint64_t last = 0;
  int calls = 0;
  options_.prefault_threads = 3;
  options_.on_prefault = [&](const PrefaultProgress& progress) {
    EXPECT_GT(progress.bytes_done, last) << "serialised, so it only grows";
    EXPECT_EQ(progress.bytes_total, kBytes);
    last = progress.bytes_done;
    ++calls;
  };
  OPEN_OR_RETURN();
  EXPECT_EQ(last, kBytes);
  EXPECT_GT(calls, 1);
}

TEST_P(AnyMedium, ItsPreparationIsTimedFromItsOwnBeginning) {
  using Clock = std::chrono::steady_clock;
  double told = -1;
  options_.on_prefault = [&](const PrefaultProgress& progress) { told = progress.seconds; };
  for (int i = 0; i < 2; ++i) {
    medium_.reset();
    const Clock::time_point began = Clock::now();
    OPEN_OR_RETURN();
    EXPECT_GE(told, 0);
    EXPECT_LE(told, std::chrono::duration<double>(Clock::now() - began).count());
  }
}

TEST_P(AnyMedium, OpensWithAFirstPartAndIsPreparedBehindItsUser) {
  std::unique_ptr<Preparer> preparer;
  bool existing = true;
  const Status status = OpenMedium(options_, &medium_, &existing, &preparer);
  if (status.code() == Status::Code::kNotSupported) GTEST_SKIP() << "NOT TESTED here: " << status.message();
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(preparer->ready_bytes(), kFirstBytesMin);
  medium_->base()[kFirstBytesMin - 1] = std::byte{1};
  preparer->Start();
  EXPECT_TRUE(preparer->Wait().ok());
  EXPECT_EQ(preparer->ready_bytes(), kBytes);
  medium_->base()[kBytes - 1] = std::byte{1};
  preparer.reset();
}

TEST_P(AnyMedium, IsReadyAtOnceWhereThatIsAsked) {
  options_.prepare = Prepare::kBeforeOpen;
  std::unique_ptr<Preparer> preparer;
  bool existing = true;
  const Status status = OpenMedium(options_, &medium_, &existing, &preparer);
  if (status.code() == Status::Code::kNotSupported) GTEST_SKIP() << "NOT TESTED here: " << status.message();
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(preparer->ready_bytes(), kBytes);
}

TEST_P(AnyMedium, GivesItsFirstPartEightSegments) {
  options_.segment_bytes = 4 << 20;
  std::unique_ptr<Preparer> preparer;
  bool existing = true;
  const Status status = OpenMedium(options_, &medium_, &existing, &preparer);
  if (status.code() == Status::Code::kNotSupported) GTEST_SKIP() << "NOT TESTED here: " << status.message();
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(preparer->ready_bytes(), 32u << 20);
}

TEST_P(AnyMedium, LiesInNoCoreDumpUnlessItIsAskedFor) {
  for (const CoreDump asked : {CoreDump::kNone, CoreDump::kDram, CoreDump::kAll}) {
    medium_.reset();
    options_.core_dump = asked;
    OPEN_OR_RETURN();
    for (const std::byte* at : {medium_->base(), medium_->base() + medium_->bytes() - 1})
      EXPECT_EQ(LeftOutOfDumps(at), asked != CoreDump::kAll) << KernelFlagsOf(at);
  }
}

TEST_P(AnyMedium, IsEmulatedWithAModel) {
  options_.model = MediumModelName::kOptane100;
  OPEN_OR_RETURN();
  EXPECT_TRUE(medium_->info().emulated);
}

TEST_P(AnyMedium, RefusesBadOptionsItself) {
  options_.capacity_bytes = 0;
  bool existing = true;
  EXPECT_EQ(OpenMedium(options_, &medium_, &existing).code(), Status::Code::kInvalidArgument);
  EXPECT_EQ(medium_, nullptr);
}

TEST_P(AnyMedium, WithAnIndexLargerThanTheMachineIsRefused) {
  options_.capacity_bytes = kCapacityBytesMax;
  options_.expected_block_bytes = 64;  // an index of 512 GiB
  if (TotalMemoryBytes() > uint64_t{512} << 30) GTEST_SKIP() << "NOT TESTED here: this machine has the memory";
  bool existing = true;
  const Status status = OpenMedium(options_, &medium_, &existing);
  EXPECT_EQ(status.code(), Status::Code::kNoSpace) << status.message();
  EXPECT_THAT(status.message(), HasSubstr("raise expected_block_bytes"));
  EXPECT_TRUE(options_.path.empty() || !std::filesystem::exists(options_.path)) << "before anything is made";
}

TEST_P(AnyMedium, LargerThanTheMachineIsRefused) {
  options_.capacity_bytes = kCapacityBytesMax;
  bool existing = true;
  const Status status = OpenMedium(options_, &medium_, &existing);
  if (status.code() == Status::Code::kNotSupported) GTEST_SKIP() << "NOT TESTED here: " << status.message();
  EXPECT_EQ(status.code(), Status::Code::kNoSpace) << status.message();
  EXPECT_THAT(status.message(), HasSubstr(std::to_string(kCapacityBytesMax)));
  EXPECT_THAT(status.message(), HasSubstr("lower capacity_bytes"));
}

// Of the first only a small part is touched when the second is opened, so that the kernel calls the rest available.
TEST_P(AnyMedium, MemoryThatAnotherIsStillToTakeIsNotThere) {
  if (GetParam() == MediumKind::kFile) GTEST_SKIP() << "its memory is limited by its file system first";
  uint64_t there = AvailableMemoryBytes();
  if (GetParam() == MediumKind::kNumaNode) there = std::min(there, ReadNodeMemory(options_.numa_node).available_bytes);
  options_.capacity_bytes = there / 10 * 7 / (4 << 20) * (4 << 20);
  options_.prepare = Prepare::kBackground;
  bool existing = true;
  std::unique_ptr<Preparer> preparer;
  const Status status = OpenMedium(options_, &medium_, &existing, &preparer);
  if (status.code() == Status::Code::kNotSupported) GTEST_SKIP() << "NOT TESTED here: " << status.message();
  ASSERT_TRUE(status.ok()) << status.message();
  std::unique_ptr<Medium> other;
  std::unique_ptr<Preparer> of_other;
  const Status second = OpenMedium(options_, &other, &existing, &of_other);
  EXPECT_EQ(second.code(), Status::Code::kNoSpace) << second.message();
  EXPECT_THAT(second.message(), HasSubstr("this process is still to take"));
  preparer.reset();
  medium_.reset();
  EXPECT_TRUE(OpenMedium(options_, &other, &existing, &of_other).ok());
}

INSTANTIATE_TEST_SUITE_P(Kinds, AnyMedium,
                         testing::Values(MediumKind::kAnonymous, MediumKind::kNumaNode, MediumKind::kFile),
                         [](const auto& test) { return std::string(ToString(test.param)); });

TEST(AnonymousMedium, IsDramAndStandsInForNothing) {
  std::unique_ptr<Medium> medium;
  bool existing = true;
  ASSERT_TRUE(OpenMedium(OptionsFor(MediumKind::kAnonymous), &medium, &existing).ok());
  EXPECT_EQ(medium->info().description, "DRAM of this process");
  EXPECT_FALSE(medium->info().persistent_memory);
  EXPECT_FALSE(medium->info().emulated);
  EXPECT_TRUE(std::all_of(medium->base(), medium->base() + kBytes, [](std::byte b) { return b == std::byte{0}; }));
}

TEST(NumaMedium, LiesOnItsNodeAndOnNoOther) {
  std::unique_ptr<Medium> medium;
  bool existing = true;
  const Status status = OpenMedium(OptionsFor(MediumKind::kNumaNode), &medium, &existing);
  if (status.code() == Status::Code::kNotSupported) GTEST_SKIP() << "NOT TESTED here: " << status.message();
  ASSERT_TRUE(status.ok()) << status.message();
  std::vector<void*> pages;
  for (uint64_t at = 0; at < kBytes; at += 1 << 20) pages.push_back(medium->base() + at);
  std::vector<int> nodes(pages.size(), -1);
  ASSERT_EQ(move_pages(0, pages.size(), pages.data(), nullptr, nodes.data(), 0), 0);
  const int node = OptionsFor(MediumKind::kNumaNode).numa_node;
  EXPECT_THAT(nodes, testing::Each(node));
  EXPECT_FALSE(medium->info().emulated);
  if (node == 0) {
    EXPECT_THAT(medium->info().description, testing::HasSubstr("DRAM, with CPUs"));
  }
  EXPECT_FALSE(medium->info().persistent_memory);
}

TEST(NumaMedium, AnAbsentNodeIsRefusedWithThoseThatExist) {
  if (numa_available() < 0) GTEST_SKIP() << "NOT TESTED here: no NUMA support";
  ScmOptions options = OptionsFor(MediumKind::kNumaNode);
  options.numa_node = 777;
  std::unique_ptr<Medium> medium;
  bool existing = true;
  const Status status = OpenMedium(options, &medium, &existing);
  EXPECT_EQ(status.code(), Status::Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("numa_node=777"));
  EXPECT_THAT(status.message(), HasSubstr("choose one of 0"));
}

TEST(Medium, ManyThreadsStreamToTheirOwnLines) {
  std::unique_ptr<Medium> medium;
  bool existing = true;
  ASSERT_TRUE(OpenMedium(OptionsFor(MediumKind::kAnonymous), &medium, &existing).ok());
  constexpr int kThreads = 4;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        const std::vector<std::byte> line(kLineBytes, static_cast<std::byte>(t + 1));
        for (uint64_t at = kLineBytes * static_cast<uint64_t>(t); at < kBytes; at += kThreads * kLineBytes) {
          (void)medium->Stream(medium->base() + at, line.data(), kLineBytes);
        }
        medium->Drain();
      });
    }
  }
  for (uint64_t at = 0; at < kBytes; ++at) {
    ASSERT_EQ(medium->base()[at], static_cast<std::byte>(at / kLineBytes % kThreads + 1)) << at;
  }
}

}  // namespace
}  // namespace mezz
