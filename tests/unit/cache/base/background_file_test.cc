// SPDX-License-Identifier: Apache-2.0
#include "cache/base/background_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>
#include <iterator>

#include "tests/support/temporary_folder.h"

namespace mezz {
namespace {

class BackgroundFileTest : public ::testing::Test {
 protected:
  std::string Content() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.Path("file");
  std::unique_ptr<BackgroundFile> file_;
};

TEST_F(BackgroundFileTest, HoldsAllThatWasAppendedInItsOrder) {
  ASSERT_TRUE(BackgroundFile::Create(path_, 1 << 30, &file_).ok());
  std::string all;
  for (int i = 0; i < 300'000; ++i) {
    const std::string line = std::to_string(i) + "\n";
    ASSERT_TRUE(file_->Append(line));
    all += line;
  }
  ASSERT_TRUE(file_->Finish().ok());
  EXPECT_EQ(Content(), all);
  EXPECT_FALSE(file_->Append("more"));
  EXPECT_TRUE(file_->Finish().ok());
}

TEST_F(BackgroundFileTest, TakesNothingOfWhatHasNoRoom) {
  ASSERT_TRUE(BackgroundFile::Create(path_, 10, &file_).ok());
  EXPECT_TRUE(file_->Append("123456"));
  EXPECT_FALSE(file_->Append("abcdef"));
  EXPECT_TRUE(file_->Append("7890"));
  ASSERT_TRUE(file_->Finish().ok());
  EXPECT_EQ(Content(), "1234567890");
}

TEST_F(BackgroundFileTest, RefusesAFileThatExists) {
  std::ofstream(path_) << "precious";
  EXPECT_EQ(BackgroundFile::Create(path_, 10, &file_).code(), Status::Code::kForeignFile);
  EXPECT_EQ(BackgroundFile::Create("/nowhere/at/all", 10, &file_).code(), Status::Code::kIoError);
  EXPECT_EQ(Content(), "precious");
}

TEST_F(BackgroundFileTest, SaysThatItWasNotWritten) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit limit = before;
  limit.rlim_cur = 1 << 20;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  ASSERT_TRUE(BackgroundFile::Create(path_, 1 << 30, &file_).ok());
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(file_->Append(std::string(1 << 20, 'x')));
  const Status finished = file_->Finish();
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(finished.code(), Status::Code::kIoError);
  EXPECT_THAT(finished.message(), testing::HasSubstr(path_));
}

}  // namespace
}  // namespace mezz
