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
struct Reader {
  Reader();
  ~Reader();

  ParentTable keys;
  std::atomic<uint64_t> blocks_read{0};  // stored by the thread, read by any, relaxed: it publishes nothing
  // Of the thread alone:
  uint32_t outputs_since_read = kOutputsUnreadMax;
  Standing since = Standing::kNowhere, last = Standing::kNowhere;  // by order: since the last output, and before it
  bool unreadable = false;                                         // a parent's keys could not be read
  uint64_t blocks_of_others = 0;                                   // when last looked at
  uint32_t outputs_since_others_read = kOutputsUnreadMax;
  FileId output{0};              // whose block it wrote last
  std::vector<uint64_t> hashes;  // scratch
};

// All threads' readers.
struct Readers {
  std::mutex mutex;
  std::vector<const Reader*> all;  // guarded by mutex
};
Readers& AllReaders() {
  static Readers* const readers = new Readers;  // never destroyed: threads may end after statics
  return *readers;
}

Reader::Reader() {
  const std::lock_guard lock(AllReaders().mutex);
  AllReaders().all.push_back(this);
}
Reader::~Reader() {
  const std::lock_guard lock(AllReaders().mutex);
  std::erase(AllReaders().all, this);
}

thread_local std::unique_ptr<Reader> this_thread_reader;

Reader& ReaderOfThisThread() {
  if (this_thread_reader == nullptr) this_thread_reader = std::make_unique<Reader>();
  return *this_thread_reader;
}

Lineage ByOrder(Reader* reader) {
  const Standing best = std::max(std::exchange(reader->since, Standing::kNowhere), reader->last);
  Lineage lineage{.kind = Lineage::Kind::kHeir, .best = best};
  lineage.percent[static_cast<size_t>(best)] = 100;
  return lineage;
}

template <typename Find>
Lineage ByKeys(const std::vector<uint64_t>& hashes, Find find) {
  Lineage::Sum sum;
  for (const uint64_t hash : hashes) sum.Add(find(hash).value_or(Parent{}));
  return sum.Result();
}

// Of what other threads have read: nothing, if they have not read for long.
std::optional<Lineage> FromOthers(Reader* own) {
  Readers& readers = AllReaders();
  const std::lock_guard lock(readers.mutex);
  uint64_t blocks = 0;
  for (const Reader* const other : readers.all) {
    if (other != own) blocks += other->blocks_read.load(std::memory_order_relaxed);
  }
  ++own->outputs_since_others_read;
  if (std::exchange(own->blocks_of_others, blocks) != blocks) own->outputs_since_others_read = 0;
  if (own->outputs_since_others_read > kOutputsUnreadMax) return std::nullopt;
  return ByKeys(own->hashes, [&](uint64_t hash) {
    std::optional<Parent> best;
    for (const Reader* const other : readers.all) {
      const std::optional<Parent> found = other->keys.Find(hash);
      if (found && (!best || found->standing > best->standing)) best = found;
    }
    return best;
  });
}

}  // namespace

void Heirs::NoteParent(std::span<const std::byte> block, Standing standing, uint8_t frequency) const {
  Reader& reader = ReaderOfThisThread();
  reader.blocks_read.store(reader.blocks_read.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  reader.outputs_since_read = 0;
  reader.since = std::max(reader.since, standing);
  reader.last = standing;
  if (standing == Standing::kNowhere) return;
  if (!HashEntries(block, salt(), &reader.hashes)) {
    reader.unreadable = true;
    return;
  }
  const auto entries = static_cast<uint16_t>(std::min<size_t>(reader.hashes.size(), UINT16_MAX));
  for (const uint64_t hash : reader.hashes) reader.keys.Note(hash, {standing, frequency, entries});
}

Lineage Heirs::LineageOf(FileId file, std::span<const std::byte> block) const {
  Reader& reader = ReaderOfThisThread();
  reader.output = file;
  const bool reads = reader.outputs_since_read < kOutputsUnreadMax;
  if (reads) ++reader.outputs_since_read;
  if (!HashEntries(block, salt(), &reader.hashes) || (reads && reader.unreadable))
    return reads ? ByOrder(&reader) : Lineage{};
  if (reads) return ByKeys(reader.hashes, [&](uint64_t hash) { return reader.keys.Find(hash); });
  return FromOthers(&reader).value_or(Lineage{});
}

void Heirs::ForgetParents() {
  if (this_thread_reader == nullptr) return;
  Reader& reader = *this_thread_reader;
  reader.keys.Clear();
  reader.since = reader.last = Standing::kNowhere;
  reader.unreadable = false;
}

FileId Heirs::TakeOutput() {
  return this_thread_reader == nullptr ? FileId{0} : std::exchange(this_thread_reader->output, FileId{0});
}

size_t Heirs::dram_bytes() {
  Readers& readers = AllReaders();
  const std::lock_guard lock(readers.mutex);
  return readers.all.size() * (sizeof(Reader) + ParentTable::kKeys * sizeof(uint64_t));
}

}  // namespace mezz
