// SPDX-License-Identifier: Apache-2.0
// The parts of the SCM tier by themselves, on a small medium: an index, a log and what reads and writes records.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "cache/index.h"
#include "cache/log_reader.h"
#include "cache/record.h"
#include "cache/segment_log.h"
#include "tests/support/tier_fixture.h"

namespace mezz::test {

// Zeroed memory, copied to with plain stores.
class HeapMedium : public Medium {
 public:
  // `begins`: as Medium::begins, for several media.
  explicit HeapMedium(uint64_t bytes, std::vector<uint64_t> begins = {0})
      : memory_(static_cast<std::byte*>(std::aligned_alloc(4096, bytes)), std::free) {
    base_ = memory_.get();
    bytes_ = bytes;
    begins_ = std::move(begins);
    std::memset(base_, 0, bytes);
    stream_ = [](void* to, const void* from, size_t count) { std::memcpy(to, from, count); };
    drain_ = [] {};
  }

 private:
  std::unique_ptr<std::byte, void (*)(void*)> memory_;
};

inline constexpr uint64_t kSmallSegmentBytes = 64 << 10;

struct Core {
  explicit Core(uint32_t segments, uint32_t provided = UINT32_MAX)
      : medium(segments * kSmallSegmentBytes),
        log(medium, medium.bytes(), kSmallSegmentBytes, /*format_id=*/7, &counters, guard),
        index(1000, /*hash_seed=*/5),
        reader(medium, &log, &counters) {
    log.Provide(std::min(segments, provided));
  }

  // A record of `key` in the open segment of `lane`, a new one if need be. Empty: no room.
  std::optional<SegmentLog::Reservation> Reserve(unsigned lane, uint64_t bytes) {
    auto where = log.Reserve(lane, bytes);
    if (!where && log.Advance(lane, bytes, SegmentLog::For::kWriter)) where = log.Reserve(lane, bytes);
    return where;
  }
  bool Put(uint64_t key, size_t payload_bytes, unsigned heat = 0, unsigned lane = 0) {
    const auto where = Reserve(lane, layout::RecordBytes(payload_bytes));
    if (!where) return false;
    const auto fill = [&](size_t offset, size_t bytes, std::byte* to) {
      std::memcpy(to, Payload(key, 0, payload_bytes).data() + offset, bytes);
      return true;
    };
    EXPECT_TRUE(record::Write(medium, where->place, Key(key), BlockRole::kData, payload_bytes, fill));
    const KeyHash hash = index.Hash(Key(key));
    const BlockKey block_key = Key(key);
    KeyReader key_reader(reader, block_key);
    index.Publish(hash, IndexWord::Make(hash.tag, where->place.offset / kLineBytes, false, heat), key_reader,
                  [](IndexWord) { return uint64_t{0}; });
    log.Leave(*where);
    return true;
  }
  // The word of the key's record, which is whole; the empty word if there is none.
  IndexWord Find(uint64_t key) {
    const BlockKey block_key = Key(key);
    KeyReader key_reader(reader, block_key);
    const auto entry = index.Find(index.Hash(block_key), key_reader);
    if (!entry) return IndexWord();
    const record::Header& header = key_reader.HeaderOf(entry.word);
    EXPECT_TRUE(Same(record::PayloadOf(header), Payload(key, 0, header.payload_bytes))) << "key " << key;
    key_reader.Unpin(entry.word);
    return entry.word;
  }
  SegmentId SegmentOf(uint64_t key) { return reader.SegmentOf(Find(key)); }
  void ExpectSound() {
    std::vector<std::string> violations;
    log.Audit(&violations);
    for (const std::string& violation : violations) ADD_FAILURE() << violation;
  }

  ForkGuard guard;
  Counters counters;
  HeapMedium medium;
  SegmentLog log;
  Index index;
  LogReader reader;
};

// Eight segments, and what no test of them may leave behind.
class CoreTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kSegments = 8;
  static constexpr size_t kQuarter = 14'000;  // four records fill a segment, the first one too

  void TearDown() override {
    core.ExpectSound();
    EXPECT_EQ(core.log.PinnedSegments(), 0u) << "a pin leaked";
  }
  bool Resident(uint64_t key) { return !core.Find(key).empty(); }
  uint64_t Count(Event event) { return core.counters.Snapshot()[event]; }

  Core core{kSegments};
};

}  // namespace mezz::test
