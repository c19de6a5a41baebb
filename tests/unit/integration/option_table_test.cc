// SPDX-License-Identifier: Apache-2.0
#include "integration/option_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "cache/base/text.h"

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
    const bool retired = row.offered_to() == OfferedTo::kNobody;
    EXPECT_EQ(row.meaning.empty(), retired) << row.key;
    EXPECT_EQ(row.values.empty(), retired || !row.kind.words.empty()) << row.key << " says its words twice, or nothing";
    for (const std::string_view text : {row.values, row.fallback, row.meaning})
      EXPECT_EQ(text.find('|'), std::string_view::npos) << row.key << " would break the table";
  }
}

// A key more takes the place of another: who would set it, to what?
TEST(OptionTable, OffersTwentyOneKeysSevenOfThemToExperts) {
  const auto offered = [](OfferedTo whom) {
    const auto table = OptionTable();
    return std::count_if(table.begin(), table.end(), [&](const OptionRow& row) { return row.offered_to() == whom; });
  };
  EXPECT_EQ(offered(OfferedTo::kEverybody), 14);
  EXPECT_EQ(offered(OfferedTo::kExperts), 7);
}

TEST(OptionTable, TheDocumentedDefaultIsTheDefault) {
  for (const OptionRow& row : OptionTable()) {
    if (row.fallback.empty()) continue;  // it is what the row prints
    if (row.fallback.starts_with("required") || row.fallback == "none" || row.key == "segment")
      continue;  // no value of the URI
    HybridCacheOptions options;
    const HybridCacheOptions untouched;
    EXPECT_EQ(row.kind.parse(row.key, Plain(row.fallback), &options).message(), "") << row.key;
    EXPECT_EQ(row.kind.print(options), row.kind.print(untouched)) << row.key;
  }
}

TEST(OptionTable, EachDocumentedChoiceIsTaken) {
  const auto takes = [](const OptionRow& row, std::string_view value) {
    HybridCacheOptions options;
    EXPECT_EQ(row.kind.parse(row.key, value, &options).message(), "");
    return row.kind.print(options);
  };
  for (const OptionRow& row : OptionTable()) {
    for (const std::string_view word : row.kind.words) {
      const std::string printed = takes(row, word);
      EXPECT_TRUE(printed == word || printed.empty()) << row.key << "=" << word << ": " << printed;
    }
  }
  EXPECT_EQ(takes(Row("heirs"), "off"), "off");
  for (const std::string_view value : {"off", "sampled", "always", "keyed:FILE"}) {
    EXPECT_THAT(Plain(Row("verify").values), HasSubstr(std::string(value)));
    EXPECT_EQ(takes(Row("verify"), value), value);
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
