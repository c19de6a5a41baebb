// SPDX-License-Identifier: Apache-2.0
#include "workloads/requests/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>

#include "tests/support/temporary_folder.h"
#include "workloads/readers/open_trace.h"
#include "workloads/requests/tracked_source.h"

namespace mezz {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

// A screen that is a buffer, and a clock that the test turns.
class Screen {
 public:
  Screen() : file_(open_memstream(&text_, &bytes_)) {}
  ~Screen() {
    std::fclose(file_);
    std::free(text_);
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  ProgressScreen Of(bool is_terminal) {
    return {.file = file_, .is_terminal = is_terminal, .now = [this] { return now_; }};
  }
  void Pass(std::chrono::steady_clock::duration time) { now_ += time; }
  // What was written since the last call.
  std::string Take() {
    std::fflush(file_);
    const std::string all(text_, bytes_);
    return all.substr(std::exchange(taken_, all.size()));
  }

 private:
  char* text_ = nullptr;
  size_t bytes_ = 0;
  std::FILE* const file_;
  size_t taken_ = 0;
  std::chrono::steady_clock::time_point now_{};
};

TEST(Progress, OnATerminalIsALineThatIsRedrawnAndGoes) {
  Screen screen;
  Progress progress(screen.Of(/*is_terminal=*/true));
  progress.Phase("reading a.trace", /*announce=*/true, " requests");
  EXPECT_THAT(screen.Take(), MatchesRegex("\r\\[ {20}\\] 0 requests  reading a.trace +")) << "no line of its own";
  screen.Pass(seconds(10));
  progress.Update(250, 1000, 5'000'000);
  // 5 million in 10 s; a quarter took 10 s, so the rest takes 30.
  const std::string drawn = screen.Take();
  EXPECT_THAT(drawn, HasSubstr("\r[=====               ] 25 %, 500k requests/s, 30 s left  reading a.trace"));
  EXPECT_EQ(drawn.size(), 80u) << "79 columns";
  EXPECT_THAT(drawn, Not(HasSubstr("\n")));
  screen.Pass(milliseconds(100));
  progress.Update(300, 1000);
  EXPECT_EQ(screen.Take(), "") << "not so soon";
  screen.Pass(milliseconds(100));
  progress.Update(300, 1000);
  EXPECT_THAT(screen.Take(), HasSubstr("30 %"));
  progress.End();
  EXPECT_EQ(screen.Take(), "\r" + std::string(79, ' ') + "\r");
  progress.End();
  EXPECT_EQ(screen.Take(), "") << "it is gone";
}

TEST(Progress, InAFileIsALineAMinute) {
  Screen screen;
  {
    Progress progress(screen.Of(/*is_terminal=*/false));
    progress.Phase("running a.trace", /*announce=*/false, " accesses");
    for (int second = 1; second <= 150; ++second) {
      screen.Pass(seconds(1));
      progress.Update(second * 1000, 7'200'000);
      const std::string line = screen.Take();
      const std::string wanted = second == 60    ? "running a.trace: 1 %, 1k accesses/s, 1 h 59 min left\n"
                                 : second == 120 ? "running a.trace: 2 %, 1k accesses/s, 1 h 58 min left\n"
                                                 : "";
      EXPECT_EQ(line, wanted) << second;
    }
    progress.Phase("the next", /*announce=*/true);
    EXPECT_EQ(screen.Take(), "the next\n");
    screen.Pass(seconds(59));
    progress.Update(1, 2);
    EXPECT_EQ(screen.Take(), "") << "a phase has its own minute";
    screen.Pass(seconds(1));
    progress.Update(1, 3);
    EXPECT_EQ(screen.Take(), "the next: 33 %, 2 min 00 s left\n") << "no unit, no rate";
  }
  EXPECT_EQ(screen.Take(), "") << "nothing to wipe";
}

TEST(Progress, WithoutATotalSaysHowMuchAndHowFast) {
  Screen screen;
  Progress progress(screen.Of(/*is_terminal=*/true));
  progress.Phase("reading", false, " requests");
  screen.Pass(seconds(2));
  progress.Update(3'000'000, 0);
  EXPECT_THAT(screen.Take(),
              AllOf(HasSubstr("3M requests, 1.5M requests/s"), Not(HasSubstr("left")), Not(HasSubstr("%"))));
}

TEST(Progress, OfTheFirstMomentSaysNoRate) {
  Screen screen;
  Progress progress(screen.Of(/*is_terminal=*/true));
  progress.Phase("reading", false, " requests");
  screen.Pass(milliseconds(200));
  progress.Update(1, 1000);
  EXPECT_THAT(screen.Take(), AllOf(HasSubstr("0 %"), Not(HasSubstr("/s")), Not(HasSubstr("left"))));
}

TEST(Progress, QuietSaysNothing) {
  testing::internal::CaptureStderr();
  {
    Progress progress(/*quiet=*/true);
    progress.Phase("reading");
    progress.Update(1, 2);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

// Percent is of the file's own bytes, whatever they hold; the rate is of requests.
TEST(TrackedSource, TellsHowMuchOfTheFileIsRead) {
  TemporaryFolder folder;
  const std::string path = folder.Path("keys.be64");
  std::ofstream(path, std::ios::binary) << std::string(8 * 100'000, '\x01');
  for (const bool again : {false, true}) {
    Screen screen;
    Progress progress(screen.Of(/*is_terminal=*/true));
    std::unique_ptr<RequestSource> source;
    ASSERT_TRUE(OpenTrace(path, "be64", &source).ok());
    source = TrackProgress(std::move(source), &progress);
    const Status ready = again ? source->Rewind() : Status::Ok();
    ASSERT_TRUE(ready.ok());
    Request request;
    uint64_t requests = 0;
    std::string middle;
    for (; source->Next(&request); ++requests) {
      if (requests == 50'000) {
        screen.Pass(seconds(5));
        (void)screen.Take();
      }
      if (requests == 60'000) middle = screen.Take();
    }
    EXPECT_EQ(requests, 100'000u);
    // A reader is a buffer of 64 KiB ahead.
    EXPECT_THAT(middle, MatchesRegex("\r\\[=+ +\\] [56][0-9] %, 10[.0-9]*k requests/s, [34] s left  reading .*"));
    EXPECT_THAT(screen.Take(), testing::EndsWith("\r" + std::string(79, ' ') + "\r"));
  }
}

TEST(TrackedSource, WithoutProgressIsTheSource) {
  TemporaryFolder folder;
  const std::string path = folder.Path("keys.be64");
  std::ofstream(path, std::ios::binary) << std::string(80, '\x01');
  std::unique_ptr<RequestSource> source;
  ASSERT_TRUE(OpenTrace(path, "be64", &source).ok());
  const RequestSource* const plain = source.get();
  EXPECT_EQ(TrackProgress(std::move(source), nullptr).get(), plain);
}

}  // namespace
}  // namespace mezz
