// SPDX-License-Identifier: Apache-2.0
// Every operation of a trace, put to a real database and checked byte by byte.
#include "workloads/replay/caches/database_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>

#include "rocksdb/cache.h"
#include "tests/support/temporary_folder.h"
#include "workloads/replay/caches/database.h"
#include "workloads/replay/caches/open_databases.h"
#include "workloads/replay/caches/window.h"

namespace mezz {
namespace {

using ::testing::HasSubstr;

// By the number of databases.
class Target : public ::testing::TestWithParam<unsigned> {
 protected:
  void SetUp() override {
    options_.trace = "gen:uniform";
    options_.keys = 100;
    options_.ops = 1;
    options_.dbs = GetParam();
    options_.db_dir = folder_.Path("db");
    ASSERT_TRUE(DatabaseWorkload::Open(options_, &progress_, &workload_).ok());
    ASSERT_TRUE(Database::Claim(options_, *workload_, &database_).ok());
    ASSERT_TRUE(database_->Load(&progress_, stop_).ok());
    ASSERT_TRUE(database_->PathFor(0, &path_).ok());
    cache_.cache = rocksdb::NewLRUCache(1 << 20);
    ASSERT_TRUE(OpenClone(options_, path_, cache_.cache, {}, &dbs_).ok());
  }

  static Request Of(Operation operation, uint64_t key, uint32_t batch_left = 0) {
    Request request;
    request.operation = operation;
    request.key = key;
    request.value_bytes = 300;
    request.batch_left = batch_left;
    return request;
  }
  // The error; empty if every request was served.
  std::string Serve(const std::vector<Request>& requests, bool may_be_missing) {
    DatabaseTarget target(dbs_, cache_, {.verify = true, .may_be_missing = may_be_missing});
    result_ = {};
    target.Begin();
    for (const Request& request : requests) {
      if (!target.Execute(request)) break;
    }
    target.End();
    target.AddTo(&result_);
    return target.error();
  }

  TemporaryFolder folder_;
  Progress progress_{/*quiet=*/true};
  std::atomic<bool> stop_{false};
  ReplayOptions options_;
  std::unique_ptr<DatabaseWorkload> workload_;
  std::unique_ptr<Database> database_;
  std::string path_;  // of the clone
  BuiltCache cache_;
  Databases dbs_;
  WindowResult result_;
};

TEST_P(Target, ServesEveryOperation) {
  const std::vector<Request> requests = {
      Of(Operation::kGet, 1),          Of(Operation::kPut, 1),         Of(Operation::kGet, 1),
      Of(Operation::kMerge, 2),        Of(Operation::kMerge, 2),       Of(Operation::kGet, 2),
      Of(Operation::kDelete, 3),       Of(Operation::kGet, 3),         Of(Operation::kMultiGet, 1, 3),
      Of(Operation::kMultiGet, 3, 2),  Of(Operation::kMultiGet, 2, 1), Of(Operation::kMultiGet, 99, 0),
      Of(Operation::kMultiGet, 50, 0), Of(Operation::kSeek, 3)};
  EXPECT_EQ(Serve(requests, /*may_be_missing=*/true), "");
  EXPECT_EQ(result_.operations,
            (std::map<std::string, uint64_t>{
                {"get", 4}, {"put", 1}, {"merge", 2}, {"delete", 1}, {"multiget", 2}, {"seek", 1}}));
  EXPECT_EQ(result_.not_found, 2u);
  EXPECT_GT(result_.roles[static_cast<size_t>(RoleSlot::kData)].lookups(), 0u);
}

TEST_P(Target, EachKeyLiesInItsOwnDatabaseAlone) {
  ASSERT_EQ(dbs_.all().size(), GetParam());
  std::string value;
  for (uint64_t key = 0; key < options_.keys; ++key) {
    const DatabaseKey encoded = EncodeKey(key);
    for (const auto& db : dbs_.all()) {
      const rocksdb::Status status = db->Get({}, {encoded.data(), encoded.size()}, &value);
      EXPECT_EQ(status.ok(), db.get() == dbs_.Of(key)) << "key " << key << ": " << status.ToString();
    }
  }
}

TEST_P(Target, AMissingKeyIsAnErrorWhereNothingWasDeleted) {
  EXPECT_EQ(Serve({Of(Operation::kDelete, 7)}, false), "");
  EXPECT_THAT(Serve({Of(Operation::kGet, 7)}, false), HasSubstr("key 7"));
  EXPECT_THAT(Serve({Of(Operation::kMultiGet, 6, 1), Of(Operation::kMultiGet, 7, 0)}, false), HasSubstr("NotFound"));
}

TEST_P(Target, AWrongValueIsAnError) {
  const DatabaseKey key = EncodeKey(5);
  ASSERT_TRUE(dbs_.Of(5)->Put({}, {key.data(), key.size()}, "wrong").ok());
  EXPECT_THAT(Serve({Of(Operation::kGet, 5)}, true), HasSubstr("bytes are wrong"));
  EXPECT_THAT(Serve({Of(Operation::kMultiGet, 5)}, true), HasSubstr("bytes are wrong"));
  EXPECT_THAT(Serve({Of(Operation::kSeek, 5)}, true), HasSubstr("bytes are wrong"));
}

class OneBatch final : public RequestFeed {
 public:
  explicit OneBatch(const std::vector<Request>& requests) : requests_(requests) {}
  std::span<const Request> Next() override { return std::exchange(requests_, {}); }

 private:
  std::span<const Request> requests_;
};

// Settling takes twice as long here as all of the window before it: only a window that pays for it is that long.
TEST_P(Target, WhatAWindowLeavesDueIsPaidForWithinItOrNotAtAll) {
  using Clock = std::chrono::steady_clock;
  const std::vector<Request> requests = {Of(Operation::kPut, 1), Of(Operation::kGet, 1)};
  for (const bool within : {true, false}) {
    ThreadTeam team(1);
    OneBatch feed(requests);
    const Clock::time_point began = Clock::now();
    const WindowSettings settings{.settle_within = within, .settle = [&] {
                                    const Clock::time_point ended = Clock::now();
                                    while (Clock::now() - ended < 2 * (ended - began)) {
                                    }
                                    return Status::Ok();
                                  }};
    const TargetFactory<DatabaseTarget> make = [&] {
      return std::make_unique<DatabaseTarget>(dbs_, cache_, TargetSettings{});
    };
    WindowResult result;
    ASSERT_TRUE(RunWindow(make, cache_, settings, &team, {&feed}, &progress_, stop_, nullptr, &result).ok());
    EXPECT_EQ(result.ops, 2u);
    EXPECT_GT(result.settle_seconds, 0);
    EXPECT_EQ(result.seconds > result.settle_seconds, within) << result.seconds << " " << result.settle_seconds;
  }
}

TEST_P(Target, WorkThatIsDueIsAwaited) {
  rocksdb::DB* const db = dbs_.Of(1);
  const DatabaseKey key = EncodeKey(1);
  ASSERT_TRUE(db->PauseBackgroundWork().ok());
  ASSERT_TRUE(db->Put({}, {key.data(), key.size()}, "x").ok());
  rocksdb::FlushOptions later;
  later.wait = false;
  ASSERT_TRUE(db->Flush(later).ok());
  std::thread goes_on([db] { EXPECT_TRUE(db->ContinueBackgroundWork().ok()); });
  AwaitBackgroundWork(db, stop_);
  goes_on.join();
  uint64_t due = 1;
  ASSERT_TRUE(db->GetIntProperty(rocksdb::DB::Properties::kNumImmutableMemTable, &due));
  EXPECT_EQ(due, 0u);
}

INSTANTIATE_TEST_SUITE_P(Databases, Target, ::testing::Values(1u, 3u));

}  // namespace
}  // namespace mezz
