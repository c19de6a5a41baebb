// SPDX-License-Identifier: Apache-2.0
#include "integration/heir_reader.h"

#include <algorithm>
#include <cassert>

#include "integration/block_entries.h"
#include "rocksdb/sst_file_reader.h"
#include "rocksdb/table.h"

namespace mezz {
namespace {

// Keys whose parents are known before a block with one of them is read: a block has fewer.
constexpr size_t kKeysAhead = ParentTable::kKeys / 4;
// Deleted keys that a search steps over, which may lie in blocks that nobody wants.
constexpr uint64_t kDeletedKeysMax = 64;

}  // namespace

// As the database's own tables, but for what nobody needs here. Index and filters are not cached: they are read for us
// alone. The cache is not ours to keep alive.
rocksdb::Options HeirReader::OptionsFor(const Table& table, rocksdb::Env* env) const {
  rocksdb::BlockBasedTableOptions format;
  format.block_cache = std::shared_ptr<rocksdb::Cache>(std::shared_ptr<void>(), cache_);
  format.cache_index_and_filter_blocks = false;
  format.max_auto_readahead_size = 0;
  rocksdb::Options options;
  options.env = env;
  options.comparator = table.comparator;
  options.use_direct_reads = table.direct;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(format));
  return options;
}

std::optional<size_t> HeirReader::Read(const Table& table, const ParentKeys& keys, const std::function<bool()>& stops) {
  if (parents_ == nullptr) parents_ = std::make_unique<ParentTable>();
  parents_->Clear();
  const std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(PacedFiles(table.files, &pace_));
  rocksdb::SstFileReader reader(OptionsFor(table, env.get()));
  if (!reader.Open(table.path).ok()) return std::nullopt;
  rocksdb::ReadOptions how;
  how.total_order_seek = true;
  how.max_skippable_internal_keys = kDeletedKeysMax;
  const uint64_t entries = std::max<uint64_t>(1, reader.GetTableProperties()->num_entries);
  if (keys.size() * 100 >= entries * kPiecesPercentMin) how.readahead_size = kPieceBytes;
  const std::unique_ptr<rocksdb::Iterator> at(reader.NewIterator(how));
  size_t known = 0;
  for (size_t i = 0; i < keys.size(); ++i) {
    for (; known < std::min(i + kKeysAhead, keys.size()); ++known)
      parents_->Note(HashOfEntry(keys.key(known), /*salt=*/0), keys.parent(known));
    if (stops()) return keys.size();
    const rocksdb::Slice key(keys.key(i).data(), keys.key(i).size());
    if (at->Valid() && table.comparator->Compare(at->key(), key) > 0) continue;  // it is no longer there
    at->Seek(key);
    if (at->Valid()) continue;
    if (at->status().ok()) return i;
    if (at->status().IsIOError()) return std::nullopt;
    // A merge without its operator, a blob, many deletions: the block has been read all the same.
  }
  return keys.size();
}

Lineage HeirReader::LineageOf(std::span<const std::byte> block) {
  assert(parents_ != nullptr);
  counts_.blocks.fetch_add(1, std::memory_order_relaxed);
  Lineage::Sum sum;
  if (HashEntries(block, /*salt=*/0, &hashes_)) {
    for (const uint64_t hash : hashes_) sum.Add(parents_->Find(hash).value_or(Parent{}));
  }
  return sum.Result();
}

}  // namespace mezz
