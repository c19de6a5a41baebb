// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csv.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "workloads/readers/csv_layout.h"

namespace mezz {

// One record, the fields that are wanted by their role. libcsv gives each field once, in a buffer that it uses again.
class CsvRecord {
 public:
  static constexpr size_t kBytesMax = 64 << 10;

  CsvRecord() { csv_init(&parser_, 0); }
  ~CsvRecord() { csv_free(&parser_); }
  CsvRecord(const CsvRecord&) = delete;
  CsvRecord& operator=(const CsvRecord&) = delete;

  void Start(char delimiter, const CsvLayout* layout) {
    csv_fini(&parser_, nullptr, nullptr, nullptr);
    csv_set_delim(&parser_, static_cast<unsigned char>(delimiter));
    layout_ = layout;
    skip_empty_ = delimiter == ' ';
    Clear();
  }
  // Forgets a record that is not whole.
  void Reset() {
    csv_fini(&parser_, nullptr, nullptr, nullptr);
    Clear();
  }
  void Clear() {
    column_ = 0;
    records_ = 0;
    fed_ = 0;
    text_bytes_ = 0;
    fields_.fill({});
  }
  // A line without its end.
  void Feed(std::string_view line) {
    fed_ += line.size() + 1;
    csv_parse(&parser_, line.data(), line.size(), &OnField, &OnRecord, this);
    csv_parse(&parser_, "\n", 1, &OnField, &OnRecord, this);
  }

  size_t records() const { return records_; }  // since Clear()
  size_t fields() const { return last_fields_; }
  size_t fed() const { return fed_; }
  std::string_view field(CsvRole role) const {
    const Place& place = fields_[static_cast<size_t>(role)];
    return {text_.data() + place.at, place.bytes};
  }

 private:
  struct Place {
    uint32_t at = 0, bytes = 0;
  };

  static void OnField(void* bytes, size_t size, void* self) {
    static_cast<CsvRecord*>(self)->TakeField(static_cast<const char*>(bytes), size);
  }
  static void OnRecord(int /*end*/, void* self) {
    auto* record = static_cast<CsvRecord*>(self);
    ++record->records_;
    record->last_fields_ = record->column_;
    record->column_ = 0;
  }
  void TakeField(const char* bytes, size_t size) {
    if (skip_empty_ && size == 0) return;
    const size_t column = column_++;
    if (column >= layout_->role_of.size()) return;
    const uint8_t role = layout_->role_of[column];
    if (role == CsvLayout::kUnused || text_bytes_ + size > text_.size()) return;
    std::memcpy(text_.data() + text_bytes_, bytes, size);
    fields_[role] = {static_cast<uint32_t>(text_bytes_), static_cast<uint32_t>(size)};
    text_bytes_ += size;
  }

  csv_parser parser_;
  const CsvLayout* layout_ = nullptr;
  bool skip_empty_ = false;
  size_t column_ = 0, records_ = 0, last_fields_ = 0, fed_ = 0, text_bytes_ = 0;
  std::array<Place, kCsvRoles> fields_{};
  std::vector<char> text_ = std::vector<char>(2 * kBytesMax);
};

}  // namespace mezz
