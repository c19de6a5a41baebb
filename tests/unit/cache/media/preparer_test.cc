// SPDX-License-Identifier: Apache-2.0
#include "cache/media/preparer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cache/media/collapse_budget.h"
#include "cache/media/populate.h"

namespace mezz {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Not the C library's mmap: the thread sanitizer would note every byte of it, and some tests map gigabytes.
void* Map(void* at, uint64_t bytes, int flags, int fd = -1) {
  void* mapped = reinterpret_cast<void*>(syscall(SYS_mmap, at, bytes, PROT_READ | PROT_WRITE, flags, fd, off_t{0}));
  EXPECT_NE(mapped, MAP_FAILED);
  return mapped;
}

// Private memory that begins on a huge page, none of it present.
class Memory {
 public:
  explicit Memory(uint64_t bytes) : mapped_bytes_(bytes + kHugePageBytes), bytes_(bytes) {
    mapped_ = Map(nullptr, mapped_bytes_, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
    const auto address = reinterpret_cast<uint64_t>(mapped_);
    base_ = static_cast<std::byte*>(mapped_) + (kHugePageBytes - address % kHugePageBytes) % kHugePageBytes;
  }
  ~Memory() { syscall(SYS_munmap, mapped_, mapped_bytes_); }

  std::byte* base() const { return base_; }
  uint64_t bytes() const { return bytes_; }
  uint64_t PresentBytes(uint64_t begin, uint64_t end) const {
    const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    std::vector<unsigned char> pages((end - begin) / page);
    EXPECT_EQ(mincore(base_ + begin, end - begin, pages.data()), 0);
    uint64_t present = 0;
    for (const unsigned char flags : pages) present += (flags & 1) * page;
    return present;
  }

 private:
  void* mapped_;
  const uint64_t mapped_bytes_;
  const uint64_t bytes_;
  std::byte* base_;
};

constexpr uint64_t kChunk = kHugePageBytes;
constexpr uint64_t kBytes = 20 * kChunk;

PreparePlan PlanFor(const Memory& memory, uint64_t first_bytes, unsigned threads = 1) {
  return {.base = memory.base(),
          .bytes = memory.bytes(),
          .first_bytes = first_bytes,
          .threads = threads,
          .reserve = {},
          .on_progress = {},
          .name = "memory of the test"};
}

TEST(Preparer, PreparesTheFirstPartAndNoMore) {
  const Memory memory(kBytes);
  Preparer preparer(PlanFor(memory, 3 * kChunk, 2));
  ASSERT_TRUE(preparer.PrepareFirst().ok());
  EXPECT_EQ(preparer.ready_bytes(), 3 * kChunk);
  EXPECT_EQ(memory.PresentBytes(0, 3 * kChunk), 3 * kChunk);
  EXPECT_EQ(memory.PresentBytes(3 * kChunk, kBytes), 0u);
}

class PreparerThreads : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Threads, PreparerThreads, testing::Values(1u, 4u));

TEST_P(PreparerThreads, PrepareTheRestAndTellOfIt) {
  const Memory memory(kBytes);
  std::vector<uint64_t> ready;
  std::vector<uint64_t> progress;
  PreparePlan plan = PlanFor(memory, kChunk, GetParam());
  plan.on_progress = [&](const PrefaultProgress& p) { progress.push_back(p.bytes_done); };
  Preparer preparer(std::move(plan));
  ASSERT_TRUE(preparer.PrepareFirst().ok());
  preparer.Start([&](uint64_t bytes) { ready.push_back(bytes); });
  ASSERT_TRUE(preparer.Wait().ok());
  preparer.Stop();
  EXPECT_EQ(preparer.ready_bytes(), kBytes);
  EXPECT_EQ(memory.PresentBytes(0, kBytes), kBytes);
  for (std::vector<uint64_t>* told : {&ready, &progress}) {
    ASSERT_FALSE(told->empty());
    EXPECT_EQ(told->back(), kBytes);
    EXPECT_TRUE(std::is_sorted(told->begin(), told->end(), std::less_equal<>())) << "each once, and only growing";
  }
  EXPECT_GT(progress.size(), 1u);
}

TEST(Preparer, IsReadyOnlyUpToTheFirstGap) {
  const Memory memory(kBytes);
  PreparePlan plan = PlanFor(memory, kBytes, 4);
  std::atomic<uint64_t> furthest{0};
  std::atomic<uint64_t> ready_behind_gap{1};
  Preparer* running = nullptr;
  // The first chunk ends when the others have gone far ahead.
  plan.reserve = [&](uint64_t offset, uint64_t bytes) {
    uint64_t seen = furthest.load(std::memory_order_relaxed);
    while (offset > seen && !furthest.compare_exchange_weak(seen, offset, std::memory_order_relaxed)) {
    }
    while (offset == 0 && furthest.load(std::memory_order_relaxed) < 15 * kChunk) std::this_thread::yield();
    if (offset == 0) ready_behind_gap.store(running->ready_bytes(), std::memory_order_relaxed);
    return bytes == kChunk ? 0 : EINVAL;
  };
  Preparer preparer(std::move(plan));
  running = &preparer;
  ASSERT_TRUE(preparer.PrepareFirst().ok());
  EXPECT_EQ(ready_behind_gap.load(std::memory_order_relaxed), 0u);
  EXPECT_EQ(preparer.ready_bytes(), kBytes);
}

TEST_P(PreparerThreads, KeepWhatIsReadyWhenSpaceRunsOut) {
  const Memory memory(kBytes);
  PreparePlan plan = PlanFor(memory, kChunk, GetParam());
  plan.reserve = [](uint64_t offset, uint64_t) { return offset >= 7 * kChunk ? ENOSPC : 0; };
  Preparer preparer(std::move(plan));
  ASSERT_TRUE(preparer.PrepareFirst().ok());
  std::mutex mutex;  // of those who tell, should there be two
  std::vector<std::string> told;
  preparer.StartMembers([](size_t, uint64_t) {},
                        [&](const Status& why) {
                          const std::scoped_lock lock(mutex);
                          told.emplace_back(why.message());
                        });
  const Status status = preparer.Wait();
  EXPECT_EQ(status.code(), Status::Code::kNoSpace);
  EXPECT_THAT(status.message(), HasSubstr("memory of the test ran out of space"));
  EXPECT_THAT(status.message(), HasSubstr("lower capacity_bytes"));
  EXPECT_THAT(told, ElementsAre(HasSubstr("memory of the test ran out of space")));
  EXPECT_LE(preparer.ready_bytes(), 7 * kChunk);
  EXPECT_EQ(memory.PresentBytes(7 * kChunk, kBytes), 0u);
  preparer.Stop();
  EXPECT_EQ(preparer.status().code(), Status::Code::kNoSpace);
}

// Four GiB of addresses with the same 2 MiB behind all of them: more than is prepared while Stop is on its way. Nothing
// is before that.
TEST(Preparer, StopsAfterTheChunkItIsAtAndGoesOnWhenStartedAgain) {
  constexpr uint64_t kChunks = 2048;
  const Memory memory(kChunks * kChunk);
  const int fd = memfd_create("mezz-preparer-test", 0);
  ASSERT_EQ(ftruncate(fd, kChunk), 0);
  for (uint64_t i = 0; i < kChunks; ++i) Map(memory.base() + i * kChunk, kChunk, MAP_SHARED | MAP_FIXED, fd);
  PreparePlan plan = PlanFor(memory, kChunk);
  std::atomic<bool> go_on{false};
  plan.reserve = [&](uint64_t offset, uint64_t) {
    while (offset == kChunk && !go_on.load(std::memory_order_acquire)) std::this_thread::yield();
    return 0;
  };
  Preparer preparer(std::move(plan));
  ASSERT_EQ(preparer.PrepareFirst().message(), "");
  preparer.Start();
  go_on.store(true, std::memory_order_release);
  preparer.Stop();
  const uint64_t stopped_at = preparer.ready_bytes();
  EXPECT_LT(stopped_at, memory.bytes());
  EXPECT_TRUE(preparer.status().ok()) << "stopping is no failure";
  std::atomic<bool> further{false};
  preparer.Start([&](uint64_t bytes) { further.store(bytes > stopped_at, std::memory_order_release); });
  while (!further.load(std::memory_order_acquire)) std::this_thread::yield();
  preparer.Stop();
  EXPECT_GT(preparer.ready_bytes(), stopped_at);
  close(fd);
}

TEST(Preparer, ChangesNoByte) {
  const Memory memory(kBytes);
  for (uint64_t i = 0; i < kBytes; i += 4099) memory.base()[i] = static_cast<std::byte>(i);
  Preparer preparer(PlanFor(memory, kBytes, 2));
  ASSERT_TRUE(preparer.PrepareFirst().ok());
  for (uint64_t i = 0; i < kBytes; i += 4099) ASSERT_EQ(memory.base()[i], static_cast<std::byte>(i)) << i;
}

TEST(Preparer, TakesAnEndThatIsNoWholeChunk) {
  const Memory memory(kBytes);
  PreparePlan plan = PlanFor(memory, 5 * kChunk);
  plan.base += 4096 * 3;
  const uint64_t bytes = plan.bytes = 7 * kChunk + 256 * 1024;
  Preparer preparer(std::move(plan));
  ASSERT_TRUE(preparer.PrepareFirst().ok());
  preparer.Start();
  ASSERT_TRUE(preparer.Wait().ok());
  EXPECT_EQ(preparer.ready_bytes(), bytes);
  EXPECT_EQ(memory.PresentBytes(4096 * 3, 4096 * 3 + bytes), bytes);
}

TEST(Preparer, StartDoesNotWaitForItsCallbacks) {
  const Memory memory(kBytes);
  PreparePlan plan = PlanFor(memory, kChunk, 3);
  std::atomic<bool> started{false};
  plan.reserve = [&](uint64_t offset, uint64_t bytes) {  // the last chunk ends after Start
    while (offset + bytes == kBytes && !started.load(std::memory_order_acquire)) std::this_thread::yield();
    return 0;
  };
  Preparer preparer(std::move(plan));
  ASSERT_TRUE(preparer.PrepareFirst().ok());
  std::mutex tier;  // held by whoever opens the tier, and taken by the callback
  {
    const std::scoped_lock opening(tier);
    preparer.Start([&](uint64_t) { const std::scoped_lock growing(tier); });
    EXPECT_LT(preparer.ready_bytes(), kBytes);
    started.store(true, std::memory_order_release);
  }
  EXPECT_TRUE(preparer.Wait().ok());
}

// The thread, and whoever holds the mutex, do not exist in the child.
TEST(Preparer, InAForkedChildNeitherJoinsNorHangs) {
  const Memory memory(kBytes);
  PreparePlan plan = PlanFor(memory, kChunk);
  std::atomic<bool> reached{false};
  std::atomic<bool> go_on{false};
  plan.on_progress = [&](const PrefaultProgress&) {  // under the mutex
    reached.store(true, std::memory_order_release);
    while (!go_on.load(std::memory_order_acquire)) std::this_thread::yield();
  };
  auto preparer = std::make_unique<Preparer>(std::move(plan));
  ASSERT_TRUE(preparer->PrepareFirst().ok());
  preparer->Start();
  while (!reached.load(std::memory_order_acquire)) std::this_thread::yield();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);  // a hang ends as a signal
    preparer->Start();
    (void)preparer->Wait();
    preparer->Stop();
    const bool sane = preparer->ready_bytes() > 0 && preparer->status().ok();
    preparer.reset();
    _exit(sane ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  go_on.store(true, std::memory_order_release);
  EXPECT_TRUE(preparer->Wait().ok());
  EXPECT_EQ(preparer->ready_bytes(), kBytes);
}

TEST(CollapseBudget, LetsQuickCollapsesPassAndBoundsSlowOnes) {
  CollapseBudget quick;
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_TRUE(quick.MayCollapse());
    quick.Spend(1'000'000);
    quick.EarnChunk();
  }
  CollapseBudget slow;
  constexpr int64_t kSlowNs = 80'000'000;
  int64_t spent = 0;
  constexpr int kChunks = 128;  // 256 MiB
  for (int i = 0; i < kChunks; ++i) {
    if (slow.MayCollapse()) {
      slow.Spend(kSlowNs);
      spent += kSlowNs;
    }
    slow.EarnChunk();
  }
  EXPECT_LE(spent, CollapseBudget::kStartNs + kChunks * CollapseBudget::kEarnedNs + kSlowNs);
  EXPECT_GT(spent, kSlowNs) << "now and then one is tried";
}

TEST(CollapseBudget, GivenUpItNeverComesBack) {
  CollapseBudget budget;
  budget.GiveUp();
  for (int i = 0; i < 1000; ++i) budget.EarnChunk();
  EXPECT_FALSE(budget.MayCollapse());
}

TEST(Preparer, CountsWhatCameAsHugePages) {
  const Memory huge(4 * kChunk), small(4 * kChunk);
  const auto huge_bytes_of = [](const Memory& memory, int advice) {
    madvise(memory.base(), 4 * kChunk, advice);
    Preparer preparer(PlanFor(memory, memory.bytes()));
    EXPECT_TRUE(preparer.PrepareFirst().ok());
    return preparer.huge_bytes();
  };
  EXPECT_EQ(huge_bytes_of(small, MADV_NOHUGEPAGE), 0u);
  std::memset(small.base(), 1, kChunk);  // a chunk of which nothing is there cannot be collapsed
  madvise(small.base(), kChunk, MADV_HUGEPAGE);
  if (const int error = Collapse(small.base(), kChunk); error != 0)
    GTEST_SKIP() << "NOT TESTED here: this kernel makes no huge pages: " << strerror(error);
  EXPECT_GE(huge_bytes_of(huge, MADV_HUGEPAGE), kChunk);
}

TEST(Populate, TellsHugePagesFromSmallOnesAndMakesThem) {
  const Memory memory(2 * kChunk);
  madvise(memory.base(), kChunk, MADV_NOHUGEPAGE);
  auto pages = PageSize::kHuge;
  ASSERT_EQ(TouchEnds(memory.base(), kChunk, &pages), 0);
  EXPECT_EQ(pages, PageSize::kSmall);
  EXPECT_EQ(memory.PresentBytes(0, kChunk), 2u * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)));
  madvise(memory.base(), kChunk, MADV_HUGEPAGE);
  if (const int error = Collapse(memory.base(), kChunk); error != 0)
    GTEST_SKIP() << "NOT TESTED here: this kernel makes no huge pages: " << strerror(error);
  EXPECT_EQ(memory.PresentBytes(0, kChunk), kChunk) << "what was absent came with it";
  ASSERT_EQ(TouchEnds(memory.base(), kChunk, &pages), 0);
  EXPECT_EQ(pages, PageSize::kHuge);
}

}  // namespace
}  // namespace mezz
