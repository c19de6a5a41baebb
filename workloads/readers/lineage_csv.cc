// SPDX-License-Identifier: Apache-2.0
// The format stands in admission/curves/lineage_csv.h.
#include "admission/curves/lineage_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "workloads/readers/fields.h"
#include "workloads/readers/named_csv.h"
#include "workloads/readers/trace_formats.h"

namespace mezz {
namespace {

enum : size_t { kEvent, kBlock, kRole, kBytes, kKeys, kTime, kParents };

// "12.345" as KeyInFile. False: it is something else.
bool ParseBlock(std::string_view text, uint64_t* key) {
  const size_t dot = text.find('.');
  uint64_t file = 0, block = 0;
  if (dot == std::string_view::npos || !ParseNumber(text.substr(0, dot), 10, &file)) return false;
  if (!ParseNumber(text.substr(dot + 1), 10, &block) || file > UINT32_MAX || block > UINT32_MAX) return false;
  *key = KeyInFile(static_cast<uint32_t>(file), static_cast<uint32_t>(block));
  return true;
}

class LineageCsv final : public NamedCsv {
 public:
  explicit LineageCsv(std::string path)
      : NamedCsv(std::move(path), {{"event", true},
                                   {"block", true},
                                   {"role", true},
                                   {"bytes", true},
                                   {"keys", true},
                                   {"time_us", true},
                                   {"parents", true}}) {}

  std::span<const BlockEvent> events() const override { return events_; }
  Status Rewind() override {
    events_.clear();
    return NamedCsv::Rewind();
  }

 private:
  bool TakeRow(Row* row) override {
    if (std::exchange(given_, false)) events_.clear();
    if (field(kEvent) == kUserLookUpName) {
      Request& r = row->request;
      uint32_t keys = 0;
      given_ = TakeBlock(&r.key, &r.role, &r.value_bytes, &keys) && ParseColumn(kTime, &r.time_us);
      return given_;
    }
    row->count = 0;
    const std::optional<BlockEventKind> kind = ValueOfWord<BlockEventKind>(field(kEvent));
    if (!kind) return FailColumn(kEvent, "read, compaction_read, flushed, compacted or deleted");
    BlockEvent event{.kind = *kind};
    if (!ParseColumn(kTime, &event.time_us)) return false;
    if (event.kind == BlockEventKind::kFileDeleted) {
      uint64_t file = 0;
      if (!ParseColumn(kBlock, UINT32_MAX, &file)) return false;
      event.key = KeyInFile(static_cast<uint32_t>(file), 0);
    } else if (!TakeBlock(&event.key, &event.role, &event.bytes, &event.keys) || !TakeParents(&event)) {
      return false;
    }
    events_.push_back(std::move(event));
    return true;
  }

  bool TakeBlock(uint64_t* key, BlockRole* role, uint32_t* bytes, uint32_t* keys) {
    if (!ParseBlock(field(kBlock), key)) return FailColumn(kBlock, "FILE.BLOCK, two numbers below 2^32");
    const std::optional<BlockRole> named = ValueOfWord<BlockRole>(field(kRole));
    if (!named) return FailColumn(kRole, "data, index, filter, dictionary, blob or other");
    *role = *named;
    if (!ParseColumn(kBytes, bytes) || *bytes == 0) return FailColumn(kBytes, "a number from 1 on");
    uint64_t number = 0;
    if (!field(kKeys).empty() && !ParseColumn(kKeys, kBlockKeysMax, &number)) return false;
    *keys = static_cast<uint32_t>(number);
    return true;
  }
  // "30:1.5 7:1.5+2.9 2:"
  bool TakeParents(BlockEvent* event) {
    constexpr std::string_view kWant = "KEYS:PARENT+PARENT of compaction_read blocks, in a row of compacted";
    std::string_view text = field(kParents);
    if (text.empty()) return true;
    if (event->kind != BlockEventKind::kCompacted) return FailColumn(kParents, kWant);
    uint64_t sum = 0;
    while (!text.empty()) {
      const size_t end = std::min(text.find(' '), text.size());
      if (!TakeShare(text.substr(0, end), event, &sum)) return FailColumn(kParents, kWant);
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    if (sum != event->keys) return FailColumn(kParents, fmt::format("shares of all {} keys", event->keys));
    return true;
  }

  static bool TakeShare(std::string_view text, BlockEvent* event, uint64_t* sum) {
    const size_t colon = text.find(':');
    uint64_t keys = 0;
    if (colon == std::string_view::npos || !ParseNumber(text.substr(0, colon), 10, &keys)) return false;
    if (keys == 0 || keys > kBlockKeysMax) return false;
    *sum += keys;
    std::string_view parents = text.substr(colon + 1);
    if (parents.empty()) event->parents.push_back({.keys = static_cast<uint32_t>(keys)});
    while (!parents.empty()) {
      const size_t end = std::min(parents.find('+'), parents.size());
      uint64_t parent = 0;
      if (!ParseBlock(parents.substr(0, end), &parent) || end + 1 == parents.size()) return false;
      event->parents.push_back({.keys = static_cast<uint32_t>(keys), .parent = parent});
      keys = 0;
      parents.remove_prefix(std::min(end + 1, parents.size()));
    }
    return true;
  }

  std::vector<BlockEvent> events_;  // since the request before, or before the one that was given
  bool given_ = false;              // a request was, and nothing was read since
};

bool LooksLikeLineageCsv(std::string_view head) { return HeaderNames(head, {"event", "block", "keys", "parents"}); }

}  // namespace

constexpr TraceFormat kLineageFormat = {
    .name = "lineage_csv",
    .about = "our recording of blocks, with those that flushes and compactions write",
    .matches = &LooksLikeLineageCsv,
    .make = &MakeReader<LineageCsv>};

}  // namespace mezz
