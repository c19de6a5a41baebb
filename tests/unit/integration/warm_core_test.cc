// SPDX-License-Identifier: Apache-2.0
// What goes back into DRAM after a restart, below any cache: with roles, which 7.8 does not tell.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <thread>

#include "integration/hybrid_core.h"
#include "tests/support/scripted_policy.h"
#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

class WarmCore : public ::testing::Test {
 protected:
  void SetUp() override {
    options_.dram_bytes = 200'000;
    options_.scm = test::WarmOptions(file_.path(), 16 * kSegmentBytesMin);
    test::UseScript(&options_, &script_);
  }
  void TearDown() override {
    if (core_ != nullptr) test::ExpectSound(core_->scm());
  }
  void Open() {
    core_.reset();
    ASSERT_EQ(HybridCore::Open(options_, &core_).message(), "");
    core_->GuardMoves();
    core_->OwnDramTier({.resize = [](uint64_t) {},
                        .bytes = [] { return uint64_t{0}; },
                        .pinned_bytes = [] { return uint64_t{0}; },
                        .capacity_bytes = [] { return uint64_t{0}; },
                        .add_counters = [](CounterSnapshot*) {}});
    core_->scm().WaitUntilRecovered();
  }
  void Put(uint64_t n, BlockRole role) {
    ASSERT_EQ(core_->scm().Put(test::Key(n), role, test::Payload(n, 0, 4000)), PutResult::kStored);
  }
  HybridCore::Serve Hit(uint64_t n) {
    const PinnedBlock block = core_->Find(test::Key(n), BlockRole::kOther);
    EXPECT_TRUE(block) << n;
    return core_->OnScmHit(test::Key(n), block);
  }
  static bool IsPromoted(HybridCore::Serve serve) { return serve == HybridCore::Serve::kPromote; }

  const test::ScratchFile file_;
  test::Script script_;
  HybridCacheOptions options_;
  std::unique_ptr<HybridCore> core_;
};

TEST_F(WarmCore, AfterAKillIndexFilterAndDictionaryBlocksGoBackAndOthersEarnIt) {
  Open();
  uint64_t n = 0;
  constexpr BlockRole kRoles[] = {BlockRole::kData,       BlockRole::kIndex, BlockRole::kFilter,
                                  BlockRole::kDictionary, BlockRole::kBlob,  BlockRole::kOther};
  for (const BlockRole role : kRoles) Put(++n, role);
  core_->scm().NotePromoted(test::Key(1));
  test::Kill(file_, &core_);
  Open();
  EXPECT_EQ(core_->scm().recovery().in_dram, 0u) << "nobody could tell";
  n = 0;
  for (const BlockRole role : kRoles) {
    const bool metadata = role == BlockRole::kIndex || role == BlockRole::kFilter || role == BlockRole::kDictionary;
    EXPECT_EQ(IsPromoted(Hit(++n)), metadata) << n;
    EXPECT_FALSE(IsPromoted(Hit(n))) << "from now on the policy decides";
  }
}

TEST_F(WarmCore, WhatWasStoredInThisLifeEarnsIt) {
  Open();
  Put(1, BlockRole::kIndex);
  Open();
  Put(2, BlockRole::kIndex);
  Put(1, BlockRole::kIndex);
  EXPECT_FALSE(IsPromoted(Hit(2)));
  EXPECT_FALSE(IsPromoted(Hit(1))) << "it was replaced";
}

TEST_F(WarmCore, ACompactionsReadLeavesTheMarkToAUsers) {
  Open();
  Put(1, BlockRole::kData);
  core_->scm().NotePromoted(test::Key(1));
  Open();
  ASSERT_EQ(core_->scm().recovery().in_dram, 1u);
  std::thread([&] {
    ASSERT_EQ(pthread_setname_np(pthread_self(), "rocksdb:low"), 0);
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(IsPromoted(Hit(1)));
  }).join();
  EXPECT_TRUE(IsPromoted(Hit(1)));
}

TEST_F(WarmCore, NothingIsSavedThatTheNextLifeWouldNotFind) {
  options_.scm.scrub_on_close = true;
  Open();
  EXPECT_FALSE(core_->warm().StartSaving());
  core_.reset();
  options_.scm.scrub_on_close = false;
  options_.scm.recovery = Recovery::kDiscard;
  Open();
  EXPECT_FALSE(core_->warm().StartSaving());
  core_.reset();
  options_.scm.medium = MediumKind::kAnonymous;
  options_.scm.path.clear();
  options_.scm.recovery = Recovery::kWarm;
  Open();
  EXPECT_FALSE(core_->warm().StartSaving());
}

// A process may fork and exit, and what is static with it.
TEST_F(WarmCore, AChildSavesNothing) {
  Open();
  const pid_t child = fork();
  if (child == 0) _exit(core_->warm().StartSaving() ? 1 : 0);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(core_->warm().StartSaving());
}

}  // namespace
}  // namespace mezz
