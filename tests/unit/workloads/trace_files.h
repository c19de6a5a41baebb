// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../../support/requests.h"
#include "tests/support/temporary_folder.h"

namespace mezz {

// Traces that a test writes, each under the same name, and reads to their end.
class TraceFiles : public ::testing::Test {
 protected:
  explicit TraceFiles(std::string name = "trace") : name_(std::move(name)) {}

  RequestsRead ReadAs(const std::string& content, const OpenOptions& options = {}) const {
    return ReadRequests(folder_.Write(name_, content), options);
  }
  // Of a trace that is sound.
  std::vector<Request> Read(const std::string& content, const std::string& format = "") const {
    const RequestsRead read = ReadAs(content, {.format = format});
    EXPECT_TRUE(read.status.ok()) << read.status.message();
    return read.requests;
  }
  std::string Refused(const std::string& content, const std::string& format = "") const {
    return std::string(ReadAs(content, {.format = format}).status.message());
  }

  const std::string name_;
  TemporaryFolder folder_;
};

}  // namespace mezz
