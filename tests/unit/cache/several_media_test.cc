// SPDX-License-Identifier: Apache-2.0
// A tier that lies striped over several media.
#include "tests/support/several_media.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cache/inspection.h"
#include "tests/support/faulty_medium.h"
#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

using test::FaultyMedium;
using test::Key;
using test::kMiB;
using test::SeveralMediaTest;
using ::testing::AllOf;
using ::testing::HasSubstr;

void Write(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  EXPECT_TRUE(file.good()) << path;
  std::filesystem::permissions(path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

// 12 MiB hold some 2,000 of them.
constexpr uint64_t kFew = 1000, kMany = 6000;

TEST_F(SeveralMediaTest, FillAlikeEachByItsSize) {
  Open();
  EXPECT_EQ(tier_->recovery().ToString(), "");
  PutAll(0, kFew);
  const double all = static_cast<double>(tier_->figures().usage_bytes());
  EXPECT_NEAR(static_cast<double>(UsedOf(1)) / all, 2. / 3, 0.1);
  PutAll(kFew, kMany);
  EXPECT_GE(UsedOf(0), 4 * kMiB - 3 * kSegment);
  EXPECT_GE(UsedOf(1), 8 * kMiB - 3 * kSegment);
  EXPECT_EQ(tier_->figures().capacity_bytes(), 12 * kMiB);
  EXPECT_GT(Found(0, kMany), 1700u);
  test::ExpectSound(*tier_);
}

TEST_F(SeveralMediaTest, ARestartFindsWhatBothHold) {
  for (const bool killed : {false, true}) {
    SCOPED_TRACE(killed);
    options_.recovery = Recovery::kDiscard;
    Open();
    PutAll(0, kFew);
    options_.recovery = Recovery::kRequire;
    // The index of a life that discards is not saved, so another one is closed.
    test::Kill(files_, &tier_);
    Open();
    EXPECT_EQ(Found(0, kFew), kFew);
    killed ? test::Kill(files_, &tier_) : tier_.reset();
    Open();
    EXPECT_EQ(tier_->recovery().from_snapshot, !killed);
    EXPECT_EQ(Found(0, kFew), kFew);
    EXPECT_EQ(trouble_, "");
    test::ExpectSound(*tier_);
  }
}

TEST_F(SeveralMediaTest, WhatOneLostIsMissedAndTheOtherGoesOn) {
  for (const size_t lost : {0, 1}) {
    SCOPED_TRACE(lost);
    options_.recovery = Recovery::kWarm;
    Open();
    tier_->EraseAll();
    PutAll(0, kFew);
    tier_.reset();
    // A new file in its place, or one with nothing in it.
    const std::string path = files_[lost].path();
    const auto bytes = std::filesystem::file_size(path);
    std::filesystem::remove(path);
    if (lost == 1) Write(path, "");
    options_.recovery = Recovery::kRequire;
    EXPECT_THAT(std::string(TryOpen().message()), AllOf(HasSubstr(path), HasSubstr("recovery=warm")));
    options_.recovery = Recovery::kWarm;
    trouble_.clear();
    Open();
    EXPECT_THAT(trouble_, AllOf(HasSubstr("lacks what one of its media held"), HasSubstr(path + " ")));
    EXPECT_THAT(trouble_, Not(HasSubstr(files_[1 - lost].path())));
    EXPECT_EQ(std::filesystem::file_size(path), bytes);
    EXPECT_FALSE(tier_->recovery().from_snapshot);
    const double share = lost == 0 ? 2. / 3 : 1. / 3;
    EXPECT_NEAR(static_cast<double>(Found(0, kFew)), share * kFew, 0.1 * kFew);
    PutAll(kFew, 2 * kFew);
    EXPECT_GT(Found(kFew, 2 * kFew), kFew * 9 / 10);
    test::ExpectSound(*tier_);
    tier_.reset();
    Open();
    EXPECT_TRUE(tier_->recovery().from_snapshot) << "both are in again";
    EXPECT_GT(Found(kFew, 2 * kFew), kFew * 9 / 10);
  }
}

TEST_F(SeveralMediaTest, OneThatFailsUnderLoadIsLeftOut) {
  for (const size_t lost : {0, 1}) {
    SCOPED_TRACE(lost);
    options_.bus_errors = BusErrorMode::kContain;
    options_.recovery = Recovery::kDiscard;
    trouble_.clear();
    Open(/*faulty=*/true);
    PutAll(0, kMany);
    std::atomic<bool> stop{false};
    std::vector<std::thread> readers;
    for (int i = 0; i < 2; ++i) {
      readers.emplace_back([&] {
        while (!stop.load()) (void)Found(kMany - kFew, kMany);
      });
    }
    FaultyMedium::Active().LoseMember(lost);
    for (uint64_t n = kMany; n < 2 * kMany; ++n) (void)Put(n);
    stop.store(true);
    for (std::thread& reader : readers) reader.join();
    EXPECT_TRUE(tier_->figures().MembersNow()[lost].is_out);
    EXPECT_FALSE(tier_->figures().MembersNow()[1 - lost].is_out);
    EXPECT_FALSE(tier_->figures().is_closed());
    EXPECT_EQ(tier_->figures().capacity_bytes(), lost == 0 ? 8 * kMiB : 4 * kMiB);
    EXPECT_EQ(UsedOf(lost), 0u);
    EXPECT_THAT(trouble_, AllOf(HasSubstr("goes on with the others"), HasSubstr(files_[lost].path())));
    EXPECT_EQ(std::ranges::count(trouble_, '\n'), 1);
    // As many as the other holds alone.
    EXPECT_GT(Found(0, 2 * kMany), tier_->figures().capacity_bytes() / (kBlock + kSegment / 8));
    test::ExpectSound(*tier_);
  }
}

TEST_F(SeveralMediaTest, OfOneThatFailedWhatWasFreeIsNotUsed) {
  options_.bus_errors = BusErrorMode::kContain;
  Open(/*faulty=*/true);
  PutAll(0, kFew / 5);
  FaultyMedium::Active().LoseMember(0);
  (void)Found(0, kFew / 5);
  PutAll(0, 1);
  ASSERT_TRUE(tier_->figures().MembersNow()[0].is_out);
  EXPECT_EQ(tier_->figures().capacity_bytes(), 8 * kMiB);
  const uint64_t met = tier_->figures().bus_errors();
  PutAll(kFew, 2 * kFew);
  EXPECT_EQ(Found(kFew, 2 * kFew), kFew);
  EXPECT_EQ(tier_->figures().bus_errors(), met) << "nothing is written there any more";
  test::ExpectSound(*tier_);
}

TEST_F(SeveralMediaTest, OneThatLosesItsNameIsToldOf) {
  std::promise<std::string> told;
  options_.on_trouble = [&](std::string_view what) { told.set_value(std::string(what)); };  // a second time would throw
  Open();
  std::filesystem::remove(files_[1].path());
  const std::string what = told.get_future().get();
  EXPECT_THAT(what, AllOf(HasSubstr("lost its file"), HasSubstr(files_[1].path())));
  EXPECT_EQ(what, tier_->medium().NameTrouble());
  tier_.reset();
}

// Under TSan: no medium is asked for its name when it has gone.
TEST_F(SeveralMediaTest, LoseTheirNamesWhileTheyAreClosed) {
  std::atomic<int> told{0};
  options_.on_trouble = [&](std::string_view) { told.fetch_add(1); };
  for (int round = 0; round < 20; ++round) {
    Open();
    for (const auto& file : files_) std::filesystem::remove(file.path());
    tier_.reset();
  }
  EXPECT_LE(told.load(), 2 * 20) << "once for each";
}

// Skewed look-ups, and a put for each that misses. Returns the share of hits; each must have the right bytes.
class SkewedLoad {
 public:
  explicit SkewedLoad(ScmTier& tier) : tier_(tier) {}
  double Serve(int requests) {
    constexpr double kKeys = 6000, kSkew = 3;
    std::uniform_real_distribution<double> uniform(0, 1);
    int hits = 0;
    for (int i = 0; i < requests; ++i) {
      const auto n = static_cast<uint64_t>(kKeys * std::pow(uniform(random_), kSkew));
      const std::vector<std::byte> want = test::Payload(n, 0, 6000);
      const PinnedBlock block = tier_.Find(Key(1 + n));
      const auto bytes = block ? block.SteadyBytes() : std::nullopt;
      if (bytes) {
        ++hits;
        EXPECT_TRUE(test::Same(*bytes, want)) << n;
      } else {
        (void)tier_.Put(Key(1 + n), BlockRole::kData, want);  // refused where it meets the medium that goes
      }
    }
    return static_cast<double>(hits) / requests;
  }

 private:
  ScmTier& tier_;
  std::mt19937_64 random_{1};
};

TEST_F(SeveralMediaTest, OneThatIsTakenAwayLeavesTheHitRatioOfTheOtherAlone) {
  constexpr int kWarm = 15'000, kCounted = 30'000;
  for (const size_t lost : {0, 1}) {
    options_.bus_errors = BusErrorMode::kContain;
    options_.recovery = Recovery::kDiscard;
    Open(/*faulty=*/true);
    SkewedLoad load(*tier_);
    const double both = load.Serve(kWarm);
    FaultyMedium::Active().LoseMember(lost);
    (void)load.Serve(kWarm);
    const double left = load.Serve(kCounted);
    ASSERT_TRUE(tier_->figures().MembersNow()[lost].is_out);

    std::unique_ptr<ScmTier> other;
    ASSERT_TRUE(ScmTier::Open(test::AnonymousOptions(options_.members[1 - lost].capacity_bytes), &other).ok());
    SkewedLoad same(*other);
    (void)same.Serve(2 * kWarm);
    const double alone = same.Serve(kCounted);
    for (const auto& [name, value] : {std::pair("both", both), {"left", left}, {"alone", alone}})
      RecordProperty(fmt::format("{}_without_{}", name, lost), fmt::format("{:.4f}", value));
    EXPECT_NEAR(left, alone, 0.02) << both;
  }
}

// It may hold what was erased or replaced while it was out.
TEST_F(SeveralMediaTest, OneThatWasLeftOutComesBackEmpty) {
  options_.bus_errors = BusErrorMode::kContain;
  options_.faults_max = 2;
  Open(/*faulty=*/true);
  PutAll(0, kFew);
  const std::string before = test::Contents(files_[1].path());
  FaultyMedium::Active().LoseMember(1);
  (void)Found(0, kFew);
  ASSERT_TRUE(tier_->figures().MembersNow()[1].is_out);
  const uint64_t left = Found(0, kFew);
  EXPECT_NEAR(static_cast<double>(left), kFew / 3., kFew / 10.);
  tier_.reset();
  test::Overwrite(files_[1].path(), 0, before);
  trouble_.clear();
  for (int life = 0; life < 2; ++life) {
    Open();
    EXPECT_EQ(trouble_, "");
    EXPECT_FALSE(tier_->figures().MembersNow()[1].is_out);
    EXPECT_EQ(Found(0, kFew), left);
    test::ExpectSound(*tier_);
    tier_.reset();
  }
}

TEST_F(SeveralMediaTest, OneThatCannotBeReadAtAStartIsLeftOut) {
  Open();
  PutAll(0, kFew);
  tier_.reset();
  const std::string before = test::Contents(files_[1].path());
  const Status status = ScmTier::Open(options_, &tier_, /*judge=*/nullptr,
                                      FaultyMedium::Wrap({}, 0, {{4 * kMiB, 4 * kMiB + layout::kSuperblockSpace}}));
  ASSERT_TRUE(status.ok()) << status.message();
  tier_->WaitUntilRecovered();
  EXPECT_THAT(trouble_, AllOf(HasSubstr("lacks one of its media"), HasSubstr(files_[1].path())));
  EXPECT_TRUE(tier_->figures().MembersNow()[1].is_out);
  EXPECT_EQ(tier_->figures().capacity_bytes(), 4 * kMiB);
  const uint64_t left = Found(0, kFew);
  EXPECT_NEAR(static_cast<double>(left), kFew / 3., kFew / 10.);
  test::ExpectSound(*tier_);
  tier_.reset();
  EXPECT_EQ(test::Contents(files_[1].path()), before) << "nobody wrote to it";
  Open();
  EXPECT_EQ(Found(0, kFew), left) << "it is used again, empty";
  EXPECT_FALSE(tier_->figures().MembersNow()[1].is_out);
}

TEST_F(SeveralMediaTest, ADurableEraseHoldsWhicheverIsLost) {
  options_.bus_errors = BusErrorMode::kContain;
  options_.erase = EraseMode::kDurable;
  options_.faults_max = 2;
  for (const size_t lost : {0, 1}) {
    SCOPED_TRACE(lost);
    Open(/*faulty=*/true);
    tier_->EraseAll();
    PutAll(0, kFew);
    for (uint64_t n = 0; n < kFew; n += 2) tier_->Erase(Key(1 + n));
    const std::string before = test::Contents(files_[lost].path());
    FaultyMedium::Active().LoseMember(lost);
    (void)Found(0, kFew);
    tier_.reset();
    test::Overwrite(files_[lost].path(), 0, before);
    Open();
    for (uint64_t n = 0; n < kFew; n += 2) EXPECT_FALSE(tier_->Find(Key(1 + n))) << n;
  }
}

TEST_F(SeveralMediaTest, OneThatForgetsIsColdAfterARestart) {
  options_.members[0] = {.medium = MediumKind::kAnonymous, .capacity_bytes = 4 * kMiB};
  options_.recovery = Recovery::kAuto;
  Open();
  PutAll(0, kFew);
  tier_.reset();
  Open();
  EXPECT_NEAR(static_cast<double>(Found(0, kFew)), 2. / 3 * kFew, 0.1 * kFew);
  test::ExpectSound(*tier_);
}

TEST_F(SeveralMediaTest, AForkedChildLetsGoOfThem) {
  Open();
  PutAll(0, kFew);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    const bool found = static_cast<bool>(tier_->Find(Key(1)));
    tier_.reset();
    _exit(found ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(Found(0, kFew), kFew);
  PutAll(kFew, 2 * kFew);
  tier_.reset();
  Open();
  EXPECT_EQ(Found(kFew, 2 * kFew), kFew);
}

TEST_F(SeveralMediaTest, OthersOrAnotherOrderIsAnotherCache) {
  Open();
  PutAll(0, kFew);
  tier_.reset();
  std::swap(options_.members[0].path, options_.members[1].path);
  std::swap(options_.members[0].capacity_bytes, options_.members[1].capacity_bytes);
  options_.recovery = Recovery::kRequire;
  EXPECT_THAT(std::string(TryOpen().message()), HasSubstr("are not the media of one cache"));
  options_.recovery = Recovery::kWarm;
  std::swap(options_.members[0].path, options_.members[1].path);
  std::swap(options_.members[0].capacity_bytes, options_.members[1].capacity_bytes);
  Open();
  EXPECT_EQ(Found(0, kFew), kFew) << "the refusal changed nothing";
  tier_.reset();
  ScmOptions alone = options_.OfMember(1);
  alone.recovery = Recovery::kRequire;
  EXPECT_THAT(std::string(ScmTier::Open(alone, &tier_).message()), HasSubstr("one of 2 media"));
}

// As if two devices had swapped their names: nothing of either cache is overwritten.
TEST_F(SeveralMediaTest, MediaOfTwoCachesAreRefused) {
  const std::vector<ScmMember> ours = options_.members;
  const test::ScratchFile other_files[2];
  Open();
  PutAll(0, kFew);
  tier_.reset();
  options_.members[0].path = other_files[0].path();
  options_.members[1].path = other_files[1].path();
  for (int life = 0; life < 2; ++life) {  // the second one's superblock is the younger
    Open();
    PutAll(kFew, 2 * kFew);
    tier_.reset();
  }
  const std::vector<ScmMember> others = options_.members;
  for (const size_t mixed : {0, 1}) {
    SCOPED_TRACE(mixed);
    options_.members = others;
    options_.members[mixed] = ours[mixed];
    EXPECT_THAT(std::string(TryOpen().message()), AllOf(HasSubstr("media of two caches"), HasSubstr("scm=")));
  }
  for (const auto& [members, from] : {std::pair(ours, uint64_t{0}), {others, kFew}}) {
    options_.members = members;
    Open();
    EXPECT_EQ(Found(from, from + kFew), kFew);
    tier_.reset();
  }
  options_.members[0] = ours[0];
  options_.recovery = Recovery::kDiscard;
  Open();
  EXPECT_EQ(Found(0, 2 * kFew), 0u);
  tier_.reset();  // before its files go
}

TEST_F(SeveralMediaTest, EachIsInspectedByItself) {
  Open();
  PutAll(0, kFew);
  tier_.reset();
  uint64_t blocks = 0;
  for (const auto& file : files_) {
    const std::string all = test::Contents(file.path());
    const Inspection found = Inspect({reinterpret_cast<const std::byte*>(all.data()), all.size()}, /*verify=*/true);
    EXPECT_EQ(found.members, 2u);
    EXPECT_EQ(found.segments, all.size() / kSegment);
    EXPECT_EQ(found.superblock.superblock.member, file.path() == files_[0].path() ? 0u : 1u);
    EXPECT_EQ(layout::BytesOfMedium(found.superblock.superblock), all.size());
    for (const auto& of : found.of_role) blocks += of.records;
  }
  EXPECT_EQ(blocks, kFew);
}

TEST_F(SeveralMediaTest, OfAListThatIsRefusedNothingIsLeft) {
  options_.members[1].path = "/nowhere/at/all";
  EXPECT_FALSE(TryOpen().ok());
  EXPECT_FALSE(std::filesystem::exists(files_[0].path()));
  Write(files_[1].path(), std::string(10'000, 'x'));
  options_.members[1].path = files_[1].path();
  EXPECT_EQ(TryOpen().code(), Status::Code::kForeignFile);
  EXPECT_FALSE(std::filesystem::exists(files_[0].path()));
  EXPECT_EQ(test::Contents(files_[1].path()), std::string(10'000, 'x'));
}

TEST_F(SeveralMediaTest, AreRefusedWhereTheyCannotBe) {
  const auto why = [this](std::vector<ScmMember> members) {
    options_.members = std::move(members);
    options_.capacity_bytes = 0;
    for (const ScmMember& member : options_.members) options_.capacity_bytes += member.capacity_bytes;
    return std::string(options_.Validate().message());
  };
  const ScmMember file{.path = files_[0].path(), .capacity_bytes = 4 * kMiB};
  const ScmMember other{.path = files_[1].path(), .capacity_bytes = 4 * kMiB};
  EXPECT_EQ(why({file, other}), "");
  EXPECT_THAT(why({file}), HasSubstr("2 to 8"));
  EXPECT_THAT(why(std::vector<ScmMember>(9, file)), HasSubstr("2 to 8"));
  EXPECT_THAT(why({file, file}), HasSubstr("named twice"));
  EXPECT_THAT(why({file, {.path = files_[1].path(), .capacity_bytes = kMiB}}), HasSubstr("too little"));
  options_.recovery = Recovery::kRequire;
  EXPECT_THAT(why({file, {.medium = MediumKind::kAnonymous, .path = {}, .capacity_bytes = 4 * kMiB}}),
              HasSubstr("memory that forgets"));
  options_.recovery = Recovery::kWarm;
  EXPECT_THAT(why({file, {.capacity_bytes = 4 * kMiB}}), AllOf(HasSubstr("medium 2 of 2"), HasSubstr("path is empty")));
  EXPECT_THAT(why({file, {.path = files_[1].path(), .capacity_bytes = UINT64_MAX}}), testing::Not(""));
  ASSERT_EQ(why({file, other}), "");
  options_.capacity_bytes += 1;
  EXPECT_THAT(std::string(options_.Validate().message()), HasSubstr("not what the members have"));
  options_.capacity_bytes -= 1;
  options_.path = "/dev/shm/x";
  EXPECT_THAT(std::string(options_.Validate().message()), HasSubstr("contradict"));
  options_.path.clear();
  // One file by two names.
  options_.members[1].path = "/dev/shm/." + files_[0].path().substr(std::string("/dev/shm").size());
  EXPECT_THAT(
      std::string(TryOpen().message()),
      AllOf(HasSubstr(files_[0].path()), HasSubstr(options_.members[1].path + " are the same file: name it once")));
  EXPECT_FALSE(std::filesystem::exists(files_[0].path()));
}

}  // namespace
}  // namespace mezz
