// SPDX-License-Identifier: Apache-2.0
#include "workloads/report/result_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/temporary_folder.h"
#include "workloads/program/program.h"

namespace mezz {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr char kGood[] = R"({"program": "mezz_replay", "schema": 1, "rows": [{"cache": "hcc"}]})";

class ResultFile : public ::testing::Test {
 protected:
  Status Read(const std::string& content) {
    return ReadResult("from", folder_.Write("result.json", content), &result_);
  }

  TemporaryFolder folder_;
  json result_;
};

TEST_F(ResultFile, IsReadWhole) {
  ASSERT_EQ(Read(kGood).message(), "");
  EXPECT_EQ(result_, json::parse(kGood));
}

TEST_F(ResultFile, OfAPathThatIsNotUtf8IsWrittenAllTheSame) {
  json result = json::parse(kGood);
  result["command_line"] = "--trace=\xff\xfe";
  const std::string path = folder_.Path("result.json");
  ASSERT_TRUE(WriteJson(path, result, /*indent=*/2).ok());
  ASSERT_EQ(ReadResult("from", path, &result_).message(), "");
  EXPECT_EQ(result_["command_line"], "--trace=\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(result_["rows"], result["rows"]);
}

TEST_F(ResultFile, ThatIsForeignIsRefusedByName) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "not JSON"},
      {"cache,ops\nhcc,1\n", "not JSON"},
      {"[1, 2]", "no object"},
      {"{}", "does not name the program"},
      {R"({"program": 7})", "does not name the program"},
      {R"({"program": "mezz_sim", "schema": 1, "rows": []})", "it is of mezz_sim"},
      {R"({"program": "mezz_replay", "rows": []})", "its schema is missing"},
      {R"({"program": "mezz_replay", "schema": 2, "rows": []})", "its schema is 2, and 1 is known"},
      {R"({"program": "mezz_replay", "schema": 1})", "no rows"},
      {R"({"program": "mezz_replay", "schema": 1, "rows": {}})", "no rows"},
      {R"({"program": "mezz_replay", "schema": 1, "rows": [7]})", "a row without a cache"},
      {R"({"program": "mezz_replay", "schema": 1, "rows": [{"cache": 7}]})", "a row without a cache"},
  };
  for (const auto& [content, why] : cases) {
    const Status status = Read(content);
    EXPECT_EQ(status.code(), Status::Code::kForeignFile) << content;
    EXPECT_THAT(status.message(), HasSubstr(why)) << content;
    EXPECT_THAT(status.message(), HasSubstr("--from=" + folder_.Path("result.json"))) << content;
  }
}

TEST_F(ResultFile, CutOffAnywhereIsRefused) {
  const std::string good = kGood;
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(Read(good.substr(0, size)).ok()) << size;
  }
}

TEST_F(ResultFile, ThatCannotBeReadIsSaid) {
  for (const std::string& path : {folder_.Path("absent"), folder_.Path("")}) {
    const Status status = ReadResult("compare", path, &result_);
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(status.message(), HasSubstr("--compare=" + path));
  }
}

}  // namespace
}  // namespace mezz
