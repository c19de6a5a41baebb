// SPDX-License-Identifier: Apache-2.0
// Twitter's cache traces (Yang et al., OSDI'20): `timestamp_s,key,key_size,value_size,client_id,op,ttl`, no header.
// Keys are text and hashed; one may hold commas. What changes a value in place (incr, append, ...) is a merge. TTLs are
// not used.
#include <fmt/format.h>

#include "workloads/readers/fields.h"
#include "workloads/readers/key_hash.h"
#include "workloads/readers/trace_file.h"
#include "workloads/readers/trace_formats.h"

namespace mezz {
namespace {

constexpr uint64_t kSecondsMax = UINT64_MAX / 1'000'000;

enum : size_t { kTime, kKey, kKeySize, kValueSize, kClient, kOp, kTtl, kFields };

struct OpName {
  std::string_view name;
  Operation operation;
};
constexpr OpName kOps[] = {{"get", Operation::kGet},       {"gets", Operation::kGet},     {"set", Operation::kPut},
                           {"add", Operation::kPut},       {"replace", Operation::kPut},  {"cas", Operation::kPut},
                           {"append", Operation::kMerge},  {"incr", Operation::kMerge},   {"decr", Operation::kMerge},
                           {"prepend", Operation::kMerge}, {"delete", Operation::kDelete}};

const OpName* FindOp(std::string_view name) {
  const auto* found = std::ranges::find(kOps, name, &OpName::name);
  return found == std::end(kOps) ? nullptr : found;
}

class TwitterCsv final : public TraceFile {
 public:
  explicit TwitterCsv(std::string path) : TraceFile(std::move(path)) {}

  bool Next(Request* request) override {
    std::string_view line;
    if (!TakeFilledLine(&line)) return false;
    std::array<std::string_view, kFields> fields;
    if (!SplitAround(line, ',', kKey, &fields)) {
      return Fail(
          fmt::format("fewer than {} fields in \"{}\"; want "
                      "timestamp,key,key_size,value_size,client_id,op,ttl",
                      size_t{kFields}, Shown(line)));
    }
    return TakeFields(fields, request);
  }

 private:
  bool TakeFields(const std::array<std::string_view, kFields>& fields, Request* request) {
    uint64_t seconds = 0, key_bytes = 0, value_bytes = 0, client = 0;
    if (!ParseField("timestamp", fields[kTime], kSecondsMax, &seconds)) return false;
    if (!ParseField("key_size", fields[kKeySize], UINT32_MAX, &key_bytes)) return false;
    if (!ParseField("value_size", fields[kValueSize], UINT32_MAX, &value_bytes)) return false;
    if (!ParseField("client_id", fields[kClient], UINT32_MAX, &client)) return false;
    const OpName* op = FindOp(fields[kOp]);
    if (op == nullptr) return Fail(fmt::format("field op is \"{}\"; want get, set, delete, ...", Shown(fields[kOp])));
    *request = Request{.key = HashKey(fields[kKey]),
                       .operation = op->operation,
                       .key_bytes = static_cast<uint32_t>(key_bytes),
                       .value_bytes = static_cast<uint32_t>(value_bytes),
                       .time_us = seconds * 1'000'000,
                       .client = static_cast<uint32_t>(client)};
    return true;
  }
};

bool LooksLikeTwitterCsv(std::string_view head) {
  return FirstLinesAre(head, [](std::string_view line) {
    std::array<std::string_view, kFields> fields;
    return SplitAround(line, ',', kKey, &fields) && IsNumber(fields[kTime]) && FindOp(fields[kOp]) != nullptr &&
           IsNumber(fields[kTtl]);
  });
}

}  // namespace

constexpr TraceFormat kTwitterFormat = {.name = "twitter_csv",
                                        .about = "Twitter's cache-trace CSV",
                                        .matches = &LooksLikeTwitterCsv,
                                        .make = &MakeReader<TwitterCsv>};

}  // namespace mezz
