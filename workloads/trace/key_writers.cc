// SPDX-License-Identifier: Apache-2.0
// Formats of bare keys.
#include <fmt/format.h>

#include <bit>

#include "workloads/readers/bytes.h"
#include "workloads/trace/writers.h"

namespace mezz {
namespace {

class TextKeysWriter final : public TraceWriter {
 public:
  explicit TextKeysWriter(std::unique_ptr<OutputFile> file) : file_(std::move(file)) {}

  Status Write(const Request& request) override {
    char line[24];
    const auto end = fmt::format_to(line, "{}\n", request.key);
    return file_->Append({line, static_cast<size_t>(end - line)});
  }
  Status Finish() override { return file_->Finish(); }

 private:
  const std::unique_ptr<OutputFile> file_;
};

class BigEndian64Writer final : public TraceWriter {
 public:
  explicit BigEndian64Writer(std::unique_ptr<OutputFile> file) : file_(std::move(file)) {}

  Status Write(const Request& request) override {
    char bytes[sizeof(request.key)];
    StoreAs<std::endian::big>(bytes, request.key);
    return file_->Append({bytes, sizeof(bytes)});
  }
  Status Finish() override { return file_->Finish(); }

 private:
  const std::unique_ptr<OutputFile> file_;
};

}  // namespace

std::unique_ptr<TraceWriter> MakeTextKeysWriter(std::unique_ptr<OutputFile> file, const WriterOptions&) {
  return std::make_unique<TextKeysWriter>(std::move(file));
}
std::unique_ptr<TraceWriter> MakeBigEndian64Writer(std::unique_ptr<OutputFile> file, const WriterOptions&) {
  return std::make_unique<BigEndian64Writer>(std::move(file));
}

}  // namespace mezz
