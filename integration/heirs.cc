// SPDX-License-Identifier: Apache-2.0
#include "integration/heirs.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "integration/block_entries.h"

namespace mezz {
namespace {

// Outputs that a thread writes without having read anything. Usually there is one at a time; more where input blocks
// are larger.
constexpr uint32_t kOutputsUnreadMax = 64;

// What one thread has read.
//
//   keys            null --NoteParent, under Readers::mutex--> the table, until the thread ends
//   blocks_read     +1 for each input, by the thread
//   keys_unfound    + keys for each input that was found, by the thread; 0 once an output's key is found, by whoever
//                   wrote it, and at ForgetParents. A hint: one of two that meet may be lost
//
// Atomics are relaxed: each is whole by itself and publishes nothing.
struct Reader {
  std::unique_ptr<ParentTable> keys;
  std::atomic<uint64_t> blocks_read{0};
  mutable std::atomic<uint64_t> keys_unfound{0};
  // Of the thread alone:
  uint32_t outputs_since_read = kOutputsUnreadMax;
  Standing since = Standing::kNowhere, last = Standing::kNowhere;  // by order: since the last output, and before it
  uint32_t outputs_by_order = 0;                                   // so many more
  uint64_t blocks_of_others = 0;                                   // when last looked at
  uint32_t outputs_since_others_read = kOutputsUnreadMax;
  std::vector<uint64_t> hashes;  // scratch

  std::optional<Parent> Find(uint64_t hash) const { return keys == nullptr ? std::nullopt : keys->Find(hash); }
  // More keys were noted than the table holds, and no output had any of the latest.
  bool HasForgotten() const { return keys_unfound.load(std::memory_order_relaxed) > ParentTable::kKeys; }
};

// All threads' readers.
struct Readers {
  std::mutex mutex;
  std::vector<const Reader*> all;  // guarded by mutex
  std::atomic<size_t> bytes{0};    // changed under mutex; relaxed: a figure
};
Readers& AllReaders() {
  static Readers* const readers = new Readers;  // never destroyed: threads may end after statics
  return *readers;
}

// none --ReaderOfThisThread--> a reader --the thread destroys its own objects--> none, for ever
thread_local constinit Reader* this_thread_reader = nullptr;
thread_local constinit bool this_thread_ends = false;

struct ReaderOwner {
  ~ReaderOwner() {
    this_thread_ends = true;
    const std::unique_ptr<Reader> reader(std::exchange(this_thread_reader, nullptr));
    if (reader == nullptr) return;
    Readers& readers = AllReaders();
    const std::lock_guard lock(readers.mutex);
    std::erase(readers.all, reader.get());
    readers.bytes.fetch_sub(sizeof(Reader) + (reader->keys == nullptr ? 0 : ParentTable::kBytes),
                            std::memory_order_relaxed);
  }
};

// Null: the thread ends.
Reader* ReaderOfThisThread() {
  if (this_thread_reader != nullptr) [[likely]]
    return this_thread_reader;
  if (this_thread_ends) return nullptr;
  static thread_local ReaderOwner owner;
  static_cast<void>(owner);
  auto reader = std::make_unique<Reader>();
  Readers& readers = AllReaders();
  const std::lock_guard lock(readers.mutex);
  readers.all.push_back(reader.get());
  readers.bytes.fetch_add(sizeof(Reader), std::memory_order_relaxed);
  return this_thread_reader = reader.release();
}

ParentTable& TableOf(Reader* reader) {
  if (reader->keys == nullptr) {
    auto made = std::make_unique<ParentTable>();
    Readers& readers = AllReaders();
    const std::lock_guard lock(readers.mutex);
    reader->keys = std::move(made);
    readers.bytes.fetch_add(ParentTable::kBytes, std::memory_order_relaxed);
  }
  return *reader->keys;
}

Lineage ByOrder(Reader* reader) {
  const Standing best = std::max(std::exchange(reader->since, Standing::kNowhere), reader->last);
  Lineage lineage{.kind = Lineage::Kind::kHeir, .best = best};
  lineage.percent[static_cast<size_t>(best)] = 100;
  return lineage;
}

Lineage ByKeys(const Reader& reader) {
  Lineage::Sum sum;
  for (const uint64_t hash : reader.hashes) sum.Add(reader.Find(hash).value_or(Parent{}));
  const Lineage lineage = sum.Result();
  if (lineage.best == Standing::kNowhere) return reader.HasForgotten() ? Lineage{} : lineage;
  reader.keys_unfound.store(0, std::memory_order_relaxed);
  return lineage;
}

// Of what any thread has read, long ago or not.
Lineage FromOthers(Reader* own) {
  Readers& readers = AllReaders();
  const std::lock_guard lock(readers.mutex);
  uint64_t blocks = 0;
  bool forgotten = false;
  for (const Reader* const other : readers.all) {
    if (other != own) blocks += other->blocks_read.load(std::memory_order_relaxed);
    forgotten |= other->HasForgotten();
  }
  ++own->outputs_since_others_read;
  if (std::exchange(own->blocks_of_others, blocks) != blocks) own->outputs_since_others_read = 0;
  Lineage::Sum sum;
  for (const uint64_t hash : own->hashes) {
    Parent best;
    for (const Reader* const other : readers.all) {
      const std::optional<Parent> found = other->Find(hash);
      if (!found) continue;
      other->keys_unfound.store(0, std::memory_order_relaxed);
      if (found->standing > best.standing) best = *found;
    }
    sum.Add(best);
  }
  const Lineage lineage = sum.Result();
  if (lineage.best != Standing::kNowhere) return lineage;
  return forgotten || own->outputs_since_others_read > kOutputsUnreadMax ? Lineage{} : lineage;
}

uint64_t NextSalt() {
  static std::atomic<uint64_t> salts{0};
  return salts.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

Heirs::Heirs() : salt_(NextSalt()) {}

void Heirs::NoteParent(std::span<const std::byte> block, Standing standing, uint8_t frequency) const {
  Reader* const reader = ReaderOfThisThread();
  if (reader == nullptr) return;
  reader->blocks_read.store(reader->blocks_read.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  reader->outputs_since_read = 0;
  reader->since = std::max(reader->since, standing);
  reader->last = standing;
  if (standing == Standing::kNowhere) return;
  if (!HashEntries(block, salt_, &reader->hashes)) {
    reader->outputs_by_order = kOutputsByOrder;
    return;
  }
  ParentTable& keys = TableOf(reader);
  const auto entries = static_cast<uint16_t>(std::min<size_t>(reader->hashes.size(), UINT16_MAX));
  for (const uint64_t hash : reader->hashes) keys.Note(hash, {standing, frequency, entries});
  reader->keys_unfound.store(reader->keys_unfound.load(std::memory_order_relaxed) + reader->hashes.size(),
                             std::memory_order_relaxed);
}

Lineage Heirs::LineageOf(std::span<const std::byte> block) const {
  Reader* const reader = ReaderOfThisThread();
  if (reader == nullptr) return {};
  const bool reads = reader->outputs_since_read < kOutputsUnreadMax;
  if (reads) ++reader->outputs_since_read;
  const bool by_order = reader->outputs_by_order > 0;
  if (by_order) --reader->outputs_by_order;
  if (!HashEntries(block, salt_, &reader->hashes) || (reads && by_order)) return reads ? ByOrder(reader) : Lineage{};
  if (!reads) return FromOthers(reader);
  reader->since = Standing::kNowhere;
  return ByKeys(*reader);
}

void Heirs::ForgetParents() {
  if (this_thread_reader == nullptr) return;
  Reader& reader = *this_thread_reader;
  if (reader.keys != nullptr) reader.keys->Clear();
  reader.keys_unfound.store(0, std::memory_order_relaxed);
  reader.since = reader.last = Standing::kNowhere;
  reader.outputs_by_order = 0;
  reader.outputs_since_read = kOutputsUnreadMax;
}

size_t Heirs::dram_bytes() { return AllReaders().bytes.load(std::memory_order_relaxed); }

}  // namespace mezz
