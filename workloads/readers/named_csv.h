// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/readers/trace_file.h"

namespace mezz {

// A CSV file whose first line names its columns, in any order; columns that a format does not know are passed over. A
// format derives, lists the columns it knows and implements TakeRow(). Fields are not quoted.
class NamedCsv : public TraceFile {
 public:
  bool Next(Request* request) final;
  Status Rewind() override;
  double sample_rate() const override { return sample_rate_; }
  std::vector<std::string> remarks() const override;

 protected:
  struct Column {
    std::string_view name;
    bool required;
  };
  // A row may stand for several requests. Where the request's `recorded` is known, the first `misses` of them missed.
  struct Row {
    Request request;
    uint64_t count = 1;
    uint64_t misses = 0;
  };
  // More requests in one row are damage.
  static constexpr uint64_t kRowCountMax = 1'000'000;

  NamedCsv(std::string path, std::vector<Column> columns);

  // The row whose fields are at hand, into *row, which is empty; or Fail().
  virtual bool TakeRow(Row* row) = 0;

  // By place in the list of columns; empty if the file lacks it.
  std::string_view field(size_t column) const { return fields_[column]; }
  // The field as a number, *value as it was if the file lacks it; or Fail().
  bool ParseColumn(size_t column, uint64_t max, uint64_t* value);
  template <typename T>
  bool ParseColumn(size_t column, T* value) {
    uint64_t number = *value;
    if (!ParseColumn(column, std::numeric_limits<T>::max(), &number)) return false;
    *value = static_cast<T>(number);
    return true;
  }
  bool FailColumn(size_t column, std::string_view want);

 private:
  bool TakeHeader(std::string_view line);
  bool SplitRow(std::string_view line);
  void TakeComment(std::string_view line);

  const std::vector<Column> columns_;
  std::vector<size_t> places_;            // in the file -> in columns_, or its size: not known
  std::vector<bool> present_;             // by column
  std::vector<std::string_view> fields_;  // by column; the last takes what is not known
  double sample_rate_ = 1;
  Row row_;  // row_.count of it are still to be given
};

// Whether the first line of `head` names `columns`.
bool HeaderNames(std::string_view head, std::initializer_list<std::string_view> columns);

}  // namespace mezz
