// SPDX-License-Identifier: Apache-2.0
#include "workloads/plan/price_book.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/unit/plan/example.h"

namespace mezz::plan {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string Shipped(const std::string& name) {
  std::ifstream file(BookPath(name));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The book, with one occurrence of `from` replaced, and the line that is then at fault.
struct Edit {
  const char* from;
  const char* to;
  const char* says;
  const char* line_of = nullptr;  // text of the line named; null: that of `to`
};

unsigned LineOf(const std::string& text, const std::string& what) {
  const size_t at = text.find(what);
  return at == std::string::npos
             ? 0
             : static_cast<unsigned>(std::count(text.begin(), text.begin() + static_cast<long>(at), '\n')) + 1;
}

TEST(PriceBook, TheShippedBooksAreRead) {
  for (const char* name : {"atc21.yaml", "2026.yaml"}) {
    PriceBook book;
    ASSERT_EQ(ReadPriceBook(BookPath(name), &book).message(), "");
    EXPECT_EQ(book.servers.size(), 2u);
    for (const Module& module : book.modules) {
      EXPECT_GT(module.price.value, 0) << module.name;
      EXPECT_LE(module.price.low, module.price.value) << module.name;
      EXPECT_GE(module.price.high, module.price.value) << module.name;
    }
  }
}

TEST(PriceBook, ScmMayBePricedAgainstDram) {
  PriceBook book;
  ASSERT_TRUE(ReadPriceBook(BookPath("atc21.yaml"), &book).ok());
  const auto optane = std::find_if(book.modules.begin(), book.modules.end(),
                                   [](const Module& module) { return module.name == "optane_128"; });
  ASSERT_NE(optane, book.modules.end());
  EXPECT_NEAR(optane->price.value, 0.38 * 128, 1e-9);
  EXPECT_TRUE(optane->of_dram);
  EXPECT_DOUBLE_EQ(book.dram_price_gb, 1);
  ASSERT_TRUE(ReadPriceBook(BookPath("2026.yaml"), &book).ok());
  EXPECT_NEAR(book.dram_price_gb, 885 / 64.0, 1e-9);  // the cheapest a GB
  const auto cxl = std::find_if(book.modules.begin(), book.modules.end(),
                                [](const Module& module) { return module.name == "cxl_128"; });
  ASSERT_NE(cxl, book.modules.end());
  EXPECT_NEAR(cxl->price.value, 1.18 * 2 * 885, 1e-9);
  EXPECT_NEAR(cxl->price.high, 1.25 * 2 * 885, 1e-9);
}

// DRAM that costs nothing is there already, wherever it stands in the book.
TEST(PriceBook, DramThatIsOwnedPricesNothing) {
  const std::string module =
      "  - {name: owned_64, kind: dram, size: 64G, slot: dimm, price: {value: 0, unit: USD/module, source: owned, "
      "date: "
      "2026-02-01}, watts: {value: 6, unit: W/module, source: x, date: 2026-06-30}}\n";
  for (const bool first : {true, false}) {
    std::string text = Shipped("2026.yaml");
    const size_t begin = text.find("modules:\n") + 9;
    const size_t end = text.find("\nenergy:") + 1;
    text.insert(first ? begin : end, module);
    PriceBook book;
    ASSERT_EQ(ParsePriceBook("book.yaml", text, &book).message(), "");
    EXPECT_NEAR(book.dram_price_gb, 885 / 64.0, 1e-9) << first;
  }
}

// No price of one is public: it is asked at both ends.
TEST(PriceBook, AFasterDriveIsDearerThanFlashAndItsPriceIsAssumed) {
  for (const auto& [name, fast] : {std::pair("2026.yaml", "fast_1.6T"), std::pair("atc21.yaml", "optane_ssd_1.6T")}) {
    PriceBook book;
    ASSERT_TRUE(ReadPriceBook(BookPath(name), &book).ok());
    const auto per_gb = [](const Module& module, double price) {
      return price / (static_cast<double>(module.bytes) / 1e9);
    };
    const auto drive = std::ranges::find(book.modules, fast, &Module::name);
    ASSERT_NE(drive, book.modules.end()) << name;
    EXPECT_EQ(drive->device, "optane_ssd");
    EXPECT_TRUE(drive->price.assumed);
    EXPECT_LT(drive->price.low, drive->price.value);
    EXPECT_GT(drive->price.high, drive->price.value);
    for (const Module& module : book.modules) {
      if (module.device != "nvme_flash") continue;
      EXPECT_GT(per_gb(*drive, drive->price.low), per_gb(module, module.price.high)) << name << ", " << module.name;
    }
  }
}

TEST(PriceBook, WhatIsWrongIsNamedWithItsLine) {
  const Edit edits[] = {
      {"cores: 32", "coers: 32", "\"coers\" is no key of a server"},
      {"as_of: 2026-06-30", "asof: 2026-06-30", "\"asof\" is no key of a price book"},
      {"value: 885, low", "vaule: 885, low", "\"vaule\" is no key of rdimm_64.price"},
      {"unit: USD/module, source: \"CFM, contracts 1Q26\"", "source: \"no unit\"", "rdimm_64.price lacks \"unit\""},
      {"unit: USD/module, source: \"CFM, contracts 1Q26\"", "unit: EUR/module, source: \"another\"",
       "the unit of rdimm_64.price is \"EUR/module\"; it is USD/module, USD/GB"},
      {"source: \"CFM, contracts 1Q26\", date: 2026-02-01", "date: 2026-02-01", "rdimm_64.price lacks \"source\"",
       "{value: 885"},
      {"source: \"CFM, contracts 1Q26\", date: 2026-02-01", "source: \"no date\"", "rdimm_64.price lacks \"date\""},
      {"value: 885, low: 820", "value: 885, low: 920", "rdimm_64.price: low <= value <= high does not hold"},
      {"value: 885", "value: many", "rdimm_64.price.value is \"many\"; it is to be a number"},
      {"value: 885", "value: -885", "is to be a number, not negative"},
      {"value: 450, low: 400, high: 600", "value: 450", "rdimm_32.price is assumed, so it needs low and high"},
      {"date: 2026-01-31", "date: 2026-13-31", "\"2026-13-31\"; it is to be a day"},
      {"date: 2026-01-31", "date: 2027-01-31", "of a later day than the book's as_of"},
      {"size: 96G", "size: 96 gig", "96 gig"},
      {"size: 128G, slot: cxl", "size: 128G, slot: sas", "takes a slot sas, which no server has"},
      {"device: cxl", "device: tape", "the SCM model tape is not known"},
      {"device: nvme_flash", "device: tape", "tape is not known; it is one of"},
      {"name: rdimm_96", "name: rdimm_64", "two modules are called rdimm_64", "{name: rdimm_64, kind: dram, size: 96G"},
      {"name: two_socket", "name: one_socket", "two servers are called one_socket",
       "- name: one_socket\n    sockets: 2"},
      {"cores: 64", "cores: 63", "they do not divide evenly", "- name: two_socket"},
      {"pue: {value: 1.2, low: 1.1", "pue: {value: 0.9, low: 0.9", "pue is below 1"},
      {"currency: USD", "currency: USD\ncurrency: USD", "has \"currency\" twice", "currency: USD\n\nservers"},
      {"kind: flash", "kind: tape", "it is dram, scm or flash"},
      {"slots: {dimm: 12, cxl: 4, nvme: 8}", "slots: {dimm: 12, cxl: 4.5, nvme: 8}", "a whole number from 1"},
      {"modules:\n", "modules: [\n", "this is no YAML", ""},
      {"modules:\n", "---\nmodules:\n", "a price book is one YAML document, and here are 2", ""},
      {"cores: 32", "cores: 65536", "one_socket.cores is 65536: a server has 4096 at most", ""},
  };
  for (const Edit& edit : edits) {
    std::string text = Shipped("2026.yaml");
    const size_t at = text.find(edit.from);
    ASSERT_NE(at, std::string::npos) << edit.from;
    text.replace(at, std::string(edit.from).size(), edit.to);
    PriceBook book;
    const Status status = ParsePriceBook("book.yaml", text, &book);
    EXPECT_FALSE(status.ok()) << edit.to;
    EXPECT_THAT(status.message(), HasSubstr(edit.says));
    const std::string line_of = edit.line_of == nullptr ? edit.to : edit.line_of;
    if (!line_of.empty()) {
      const unsigned line = LineOf(text, line_of);
      // A value over two lines is named by either.
      EXPECT_THAT(status.message(), testing::AnyOf(HasSubstr(fmt::format("book.yaml:{}:", line)),
                                                   HasSubstr(fmt::format("book.yaml:{}:", line - 1))))
          << edit.to;
    }
  }
}

TEST(PriceBook, WarnsWhenOlderThanAYearAndOfWhatIsAssumed) {
  PriceBook book;
  ASSERT_TRUE(ReadPriceBook(BookPath("2026.yaml"), &book).ok());
  const auto old = HasSubstr("days old");
  EXPECT_THAT(PriceBookWarnings(book, {2026, 11, 22}), Not(Contains(old)));
  EXPECT_THAT(PriceBookWarnings(book, {2027, 6, 30}), Not(Contains(old)));
  EXPECT_THAT(PriceBookWarnings(book, {2027, 7, 1}), Contains(HasSubstr("366 days old")));
  EXPECT_THAT(PriceBookWarnings(book, {2026, 1, 1}), Contains(HasSubstr("to come")));
  EXPECT_THAT(
      PriceBookWarnings(book, {2026, 11, 22}),
      Contains(testing::AllOf(HasSubstr("assumed"), HasSubstr("cxl_128.price"), Not(HasSubstr("rdimm_64.price")))));
}

TEST(PriceBook, AFileThatIsNotThereIsSaidToBe) {
  PriceBook book;
  EXPECT_THAT(ReadPriceBook("/nowhere/book.yaml", &book).message(),
              HasSubstr("--prices=/nowhere/book.yaml cannot be read"));
}

}  // namespace
}  // namespace mezz::plan
