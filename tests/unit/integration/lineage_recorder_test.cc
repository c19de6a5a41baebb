// SPDX-License-Identifier: Apache-2.0
// Flushes and compactions of a real database, over a stock cache, as they stand in the recording.
#include "integration/lineage_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "admission/curves/lineage_csv.h"
#include "integration/warming.h"
#include "tests/support/open_db.h"

namespace mezz::test {
namespace {

using ::testing::HasSubstr;

constexpr int kKeys = 1000;

struct Line {
  std::string event, block, role;
  int keys = 0;
  std::string parents;

  std::string file() const { return block.substr(0, block.find('.')); }
  bool is(std::string_view what) const { return event == what && role == "data"; }
};

class LineageRecorderTest : public ::testing::Test, protected ScratchDb {
 protected:
  void SetUp() override {
    options_.disable_auto_compactions = true;
    if (!kWarmsWithCompactions) GTEST_SKIP() << "this RocksDB does not warm the cache with what a compaction writes";
  }
  ~LineageRecorderTest() override { Close(); }

  void Record(LineageRecorderOptions options = {}) {
    options.path = recording_;
    ASSERT_EQ(LineageRecorder::Open(options, rocksdb::NewLRUCache(4 << 20), &recorder_).message(), "");
    options_.listeners = {recorder_->listener()};
    options_.table_factory = TablesOf(recorder_->cache(), kBestWarming);
    Open();
  }
  void WriteAll() {
    for (int i = 0; i < kKeys; ++i) ASSERT_TRUE(db_->Put({}, Key(i), std::string(400, 'v')).ok());
    ASSERT_TRUE(db_->Flush({}).ok());
  }
  void Compact() { ASSERT_TRUE(db_->CompactRange({}, nullptr, nullptr).ok()); }
  void ReadAll() {
    std::string value;
    for (int i = 0; i < kKeys; ++i) ASSERT_TRUE(db_->Get({}, Key(i), &value).ok());
  }
  Status Finish() {
    Close();
    return recorder_->Finish();
  }
  static std::string Key(int i) { return "key" + std::to_string(100'000 + i); }

  std::vector<Line> Lines() const {
    std::ifstream file(recording_);
    std::string text;
    std::getline(file, text);
    EXPECT_EQ(text, kLineageCsvHeader);
    std::vector<Line> lines;
    while (std::getline(file, text)) {
      EXPECT_EQ(std::ranges::count(text, ','), 6) << "a whole line";
      std::istringstream fields(text);
      std::string bytes, keys, time;
      Line line;
      for (std::string* field : {&line.event, &line.block, &line.role, &bytes, &keys, &time, &line.parents})
        std::getline(fields, *field, ',');
      if (!keys.empty()) line.keys = std::stoi(keys);
      lines.push_back(line);
    }
    return lines;
  }

  const std::string recording_ = folder_.Path("blocks.csv");
  std::unique_ptr<LineageRecorder> recorder_;
};

// "3:1.5 2:1.5+2.9" as blocks with their keys.
std::map<std::set<std::string>, int> SharesOf(const Line& line) {
  std::map<std::set<std::string>, int> shares;
  std::istringstream text(line.parents);
  for (std::string share; text >> share;) {
    std::set<std::string> in;
    std::istringstream names(share.substr(share.find(':') + 1));
    for (std::string name; std::getline(names, name, '+');) in.insert(name);
    shares[in] += std::stoi(share);
  }
  return shares;
}

TEST_F(LineageRecorderTest, EachKeyOfACompactedBlockIsNamedWithTheBlocksItStoodIn) {
  Record();
  WriteAll();
  WriteAll();
  Compact();
  ASSERT_EQ(Finish().message(), "");
  std::map<std::string, int> flushed;  // blocks and keys
  std::map<std::string, int> handed_on;
  int compacted = 0;
  for (const Line& line : Lines()) {
    if (line.is("flushed")) flushed[line.block] = line.keys;
    if (!line.is("compacted")) continue;
    compacted += line.keys;
    int keys = 0;
    for (const auto& [in, count] : SharesOf(line)) {
      EXPECT_EQ(in.size(), 2u) << "both tables have each key";
      for (const std::string& block : in) handed_on[block] += count;
      keys += count;
    }
    EXPECT_EQ(keys, line.keys);
  }
  EXPECT_EQ(compacted, kKeys);
  EXPECT_EQ(handed_on, flushed);
}

TEST_F(LineageRecorderTest, WhatCompactionsLookUpIsTold) {
  Record();
  WriteAll();
  ReadAll();
  WriteAll();
  Compact();
  ReadAll();
  ASSERT_EQ(Finish().message(), "");
  std::map<std::string, int> lines;
  std::set<std::string> deleted;
  for (const Line& line : Lines()) {
    if (line.event == "deleted") deleted.insert(line.block);
    if (line.role == "data") ++lines[line.event];
  }
  EXPECT_EQ(lines["read"], 2 * kKeys) << "one a Get";
  EXPECT_EQ(lines["compaction_read"], lines["flushed"]) << "each block once";
  EXPECT_EQ(deleted, (std::set<std::string>{"0", "1"}));
}

// The first compaction's parents, and those of what it wrote.
TEST_F(LineageRecorderTest, ACompactionsParentsAreItsOwn) {
  Record();
  for (int i = 0; i < 2; ++i) {
    WriteAll();
    WriteAll();
    Compact();
  }
  ASSERT_EQ(Finish().message(), "");
  std::set<std::string> deleted;
  for (const Line& line : Lines()) {
    if (line.event == "deleted") deleted.insert(line.block);
    for (const auto& [in, count] : SharesOf(line)) {
      for (const std::string& block : in) EXPECT_FALSE(deleted.contains(block.substr(0, block.find('.')))) << block;
    }
  }
  EXPECT_EQ(deleted.size(), 5u);
}

TEST_F(LineageRecorderTest, ABlockThatIsMissedHasItsLineOnceItsBytesCome) {
  Record();
  WriteAll();
  ASSERT_EQ(Finish().message(), "");
  std::filesystem::remove(recording_);
  Record();  // another cache, and the same tables
  ReadAll();
  ReadAll();
  WriteAll();
  Compact();
  ASSERT_EQ(Finish().message(), "");
  int reads = 0;
  for (const Line& line : Lines()) {
    if (line.is("read")) ++reads;
    if (!line.is("compacted")) continue;
    for (const auto& [in, count] : SharesOf(line)) EXPECT_EQ(in.size(), 2u) << "in what was read, and written";
  }
  EXPECT_EQ(reads, 2 * kKeys);
}

// A database that is larger than what may be recorded serves all the same.
TEST_F(LineageRecorderTest, EndsAtItsLimits) {
  const auto record = [&](const LineageRecorderOptions& options, const char* reason) {
    SCOPED_TRACE(reason);
    Record(options);
    WriteAll();
    ReadAll();
    const Status finished = Finish();
    EXPECT_EQ(finished.code(), Status::Code::kNoSpace);
    EXPECT_THAT(finished.message(), HasSubstr(reason));
    EXPECT_LE(std::filesystem::file_size(recording_), 4096u);
    EXPECT_GT(Lines().size(), 10u);
    std::filesystem::remove(recording_);
    std::filesystem::remove_all(path_);
  };
  record({.path = "", .file_bytes_max = 4096}, "its file");
  record({.path = "", .memory_bytes_max = 4096}, "of memory");
  record({.path = "", .waiting_bytes_max = 4096}, "waiting for the disk");
}

TEST_F(LineageRecorderTest, RefusesAFileThatExists) {
  std::ofstream(recording_) << "precious";
  EXPECT_EQ(LineageRecorder::Open({.path = recording_}, rocksdb::NewLRUCache(1 << 20), &recorder_).code(),
            Status::Code::kForeignFile);
}

}  // namespace
}  // namespace mezz::test
