// SPDX-License-Identifier: Apache-2.0
// The main of every test program. A program holds many sources; ctest runs one of them at a time:
//
//   PROGRAM --source=unit/cache/index_test.cc [--case=SUITE.NAME | --not=SUITE.NAME ...]
//
// --case and --not name TESTs as the source does, so each stands for all instances of a TEST_P. With --source the exit
// status is 77 if a case was skipped and none failed: ctest then says "Skipped".
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/seed.h"

namespace {

constexpr int kSkippedStatus = 77;

struct Selection {
  std::string source;
  std::string only;
  std::vector<std::string> except;

  bool Holds(const testing::TestInfo& test) const {
    std::string suite = test.test_suite_name(), name = test.name();
    suite.erase(0, suite.rfind('/') + 1);               // INSTANCE/SUITE
    name.erase(std::min(name.find('/'), name.size()));  // NAME/PARAMETER
    const std::string as_written = suite + "." + name;
    const std::string_view file = test.file();
    return file.size() > source.size() && file.ends_with(source) && file[file.size() - source.size() - 1] == '/' &&
           (only.empty() || as_written == only) && std::find(except.begin(), except.end(), as_written) == except.end();
  }
};

// Says on one line what was not tested and why: tools/check shows these lines. Of a failure it says the seed.
class MoreSaid final : public testing::EmptyTestEventListener {
  void OnTestEnd(const testing::TestInfo& test) override {
    const testing::TestResult& result = *test.result();
    if (result.Failed() && mezz::test::is_seed_drawn)
      std::printf("replay with MEZZ_SEED=%llu\n", static_cast<unsigned long long>(mezz::test::Seed()));
    for (int i = 0; result.Skipped() && i < result.total_part_count(); ++i) {
      const testing::TestPartResult& part = result.GetTestPartResult(i);
      if (part.skipped()) std::printf("skipped: %s.%s: %s\n", test.test_suite_name(), test.name(), part.message());
    }
  }
};

// GoogleTest's filter for what `selection` holds; empty if that is nothing.
std::string FilterOf(const Selection& selection) {
  std::string filter;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *all.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      const testing::TestInfo& test = *suite.GetTestInfo(j);
      if (selection.Holds(test)) filter += std::string(suite.name()) + "." + test.name() + ":";
    }
  }
  return filter;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  testing::UnitTest::GetInstance()->listeners().Append(new MoreSaid);
  Selection selection;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const size_t value = argument.find('=') + 1;
    if (argument.starts_with("--source=")) {
      selection.source = argument.substr(value);
    } else if (argument.starts_with("--case=")) {
      selection.only = argument.substr(value);
    } else if (argument.starts_with("--not=")) {
      selection.except.emplace_back(argument.substr(value));
    } else {
      std::fprintf(stderr, "%s: unknown argument %s (known: --source= --case= --not= --gtest_*)\n", argv[0], argv[i]);
      return 2;
    }
  }
  if (selection.source.empty()) return RUN_ALL_TESTS();
  // A filter of the caller's own wins: GoogleTest gives one to the children of its death tests.
  if (GTEST_FLAG_GET(filter) == "*") {
    const std::string filter = FilterOf(selection);
    if (filter.empty()) {
      std::fprintf(stderr, "%s: no test of %s is selected\n", argv[0], selection.source.c_str());
      return 2;
    }
    GTEST_FLAG_SET(filter, filter);
  }
  const int status = RUN_ALL_TESTS();
  return status == 0 && testing::UnitTest::GetInstance()->skipped_test_count() > 0 ? kSkippedStatus : status;
}
