// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

namespace mezz {

// The outcome of a set-up step. The message is one sentence that names the option, its value and what to do.
// Run-time events never return a Status: they are a miss or a refusal, and a counter.
class [[nodiscard]] Status {
 public:
  enum class Code { kOk, kInvalidArgument, kNotFound, kForeignFile, kBusy, kNoSpace, kIoError, kNotSupported };

  Status() = default;
  static Status Ok() { return {}; }
  static Status InvalidArgument(std::string message) { return {Code::kInvalidArgument, std::move(message)}; }
  static Status NotFound(std::string message) { return {Code::kNotFound, std::move(message)}; }
  static Status ForeignFile(std::string message) { return {Code::kForeignFile, std::move(message)}; }
  static Status Busy(std::string message) { return {Code::kBusy, std::move(message)}; }
  static Status NoSpace(std::string message) { return {Code::kNoSpace, std::move(message)}; }
  static Status IoError(std::string message) { return {Code::kIoError, std::move(message)}; }
  static Status NotSupported(std::string message) { return {Code::kNotSupported, std::move(message)}; }

  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }
  // The same outcome with `prefix` in front of its message.
  Status WithPrefix(const std::string& prefix) const { return {code_, prefix + message_}; }

 private:
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  Code code_ = Code::kOk;
  std::string message_;
};

}  // namespace mezz

#define MEZZ_RETURN_IF_ERROR(expr)                                                  \
  do {                                                                              \
    if (::mezz::Status mezz_status = (expr); !mezz_status.ok()) return mezz_status; \
  } while (false)
