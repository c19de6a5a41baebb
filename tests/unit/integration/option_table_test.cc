// SPDX-License-Identifier: Apache-2.0
#include "integration/option_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>

namespace mezz {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const OptionRow& Row(std::string_view key) {
  const auto table = OptionTable();
  return *std::find_if(table.begin(), table.end(), [&](const OptionRow& row) { return row.key == key; });
}

// `text` without the marks of Markdown.
std::string Plain(std::string_view text) {
  std::string plain(text);
  std::erase(plain, '`');
  return plain;
}

TEST(OptionTable, NamesEachKeyOnceAndDocumentsIt) {
  std::set<std::string_view> keys;
  for (const OptionRow& row : OptionTable()) {
    EXPECT_TRUE(keys.insert(row.key).second) << row.key;
    const bool retired = row.offered_to == OfferedTo::kNobody;
    EXPECT_EQ(row.meaning.empty(), retired) << row.key;
    EXPECT_EQ(row.instead.empty(), !retired) << row.key;
    for (const std::string_view text : {row.values, row.fallback, retired ? row.instead : row.meaning}) {
      EXPECT_FALSE(text.empty()) << row.key;
      EXPECT_EQ(text.find('|'), std::string_view::npos) << row.key << " would break the table";
    }
  }
}

// A key more takes the place of another: who would set it, to what?
TEST(OptionTable, OffersTwentyOneKeysSevenOfThemToExperts) {
  const auto offered = [](OfferedTo whom) {
    const auto table = OptionTable();
    return std::count_if(table.begin(), table.end(), [&](const OptionRow& row) { return row.offered_to == whom; });
  };
  EXPECT_EQ(offered(OfferedTo::kEverybody), 14);
  EXPECT_EQ(offered(OfferedTo::kExperts), 7);
}

TEST(OptionTable, TheDocumentedDefaultIsTheDefault) {
  for (const OptionRow& row : OptionTable()) {
    if (row.offered_to == OfferedTo::kNobody) continue;  // it is documented nowhere
    if (row.fallback.starts_with("required") || row.fallback == "none" || row.key == "segment")
      continue;  // no value of the URI
    std::string fallback = Plain(row.fallback);
    if (row.key == "dram_cache") fallback = std::string(ToString(kDefaultDramCache));  // it depends on the release
    HybridCacheOptions options;
    const HybridCacheOptions untouched;
    EXPECT_EQ(row.parse(row, fallback, &options).message(), "") << row.key;
    EXPECT_EQ(row.print(options), row.print(untouched)) << row.key;
  }
  EXPECT_THAT(std::string(Row("dram_cache").fallback), HasSubstr(std::string(ToString(kDefaultDramCache))));
}

TEST(OptionTable, EachDocumentedChoiceIsTaken) {
  for (const std::string_view key : {"dram_cache", "strict", "model", "prepare", "verify", "pack", "scrub_on_close",
                                     "core_dump", "serve", "blobs"}) {
    const OptionRow& row = Row(key);
    const std::string values = Plain(row.values) + ", ";
    for (size_t at = 0; at < values.size(); at = values.find(", ", at) + 2) {
      const std::string value = values.substr(at, values.find(", ", at) - at);
      HybridCacheOptions options;
      EXPECT_EQ(row.parse(row, value, &options).message(), "");
      EXPECT_EQ(row.print(options), value) << key;
    }
  }
}

TEST(OptionTable, IsWhatTheOperationsPageShows) {
  std::ifstream file(MEZZ_SOURCE_DIR "/docs/reference/options.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  size_t at = 0;
  for (const OfferedTo whom : {OfferedTo::kEverybody, OfferedTo::kExperts}) {
    const std::string want = OptionsAsMarkdown(whom);
    at = page.find(want.substr(0, want.find('\n')), at);
    ASSERT_NE(at, std::string::npos) << "docs/reference/options.md lacks a table of options; it should be\n" << want;
    const size_t end = page.find("\n\n", at) + 1;
    EXPECT_EQ(page.substr(at, end - at), want) << "put the second into docs/reference/options.md";
    at = end;
  }
}

TEST(InKeys, SpeaksOfKeysNotOfMembers) {
  EXPECT_EQ(InKeys("capacity_bytes=1 is too small"), "scm=1 is too small");
  EXPECT_EQ(InKeys("medium=dram needs more: lower capacity_bytes"), "the medium dram needs more: lower scm");
  EXPECT_EQ(InKeys("path=/a/path=b is a path"), "the medium /a/path=b is a path");
  EXPECT_EQ(InKeys("numa_node=7 is empty"), "the medium numa:7 is empty");
  EXPECT_EQ(InKeys("my_capacity_bytes, segment_bytes_max"), "my_capacity_bytes, segment_bytes_max");
}

TEST(SizeText, IsExactAndShort) {
  EXPECT_EQ(SizeText(0), "0");
  EXPECT_EQ(SizeText(1023), "1023");
  EXPECT_EQ(SizeText(1536), "1536");
  EXPECT_EQ(SizeText(3 << 20), "3M");
  EXPECT_EQ(SizeText(1ull << 62), "4194304T");
}

}  // namespace
}  // namespace mezz
