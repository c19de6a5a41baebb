// SPDX-License-Identifier: Apache-2.0
#include "workloads/rocksdb/block_packing.h"

#include <fmt/format.h>
#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "cache/pack/codec_rules.h"
#include "rocksdb/db.h"
#include "rocksdb/table.h"

namespace mezz {
namespace {

constexpr size_t kBlockBytesDefault = 4096;
constexpr uint32_t kEntriesPerRestart = 16;  // BlockBasedTableOptions::block_restart_interval's default
constexpr size_t kSequenceBytes = 8;         // behind each key in a table

void AppendVarint(std::string* to, size_t value) {
  for (; value >= 0x80; value >>= 7) to->push_back(static_cast<char>(value | 0x80));
  to->push_back(static_cast<char>(value));
}

void AppendFixed(std::string* to, uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) to->push_back(static_cast<char>(value >> shift));
}

size_t BlockBytesOf(rocksdb::DB* db) {
  const rocksdb::Options options = db->GetOptions();
  const auto* const table = options.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>();
  return table != nullptr ? table->block_size : kBlockBytesDefault;
}

// Sizes of the same blocks before and after.
class Packed {
 public:
  void Add(size_t bytes, size_t packed_bytes) {
    bytes_ += bytes;
    packed_bytes_ += packed_bytes;
    ratios_.push_back(static_cast<double>(bytes) / static_cast<double>(std::max<size_t>(1, packed_bytes)));
  }
  BlockPacking::Ratios TakeRatios() {
    BlockPacking::Ratios ratios;
    if (ratios_.empty()) return ratios;
    ratios.mean = static_cast<double>(bytes_) / static_cast<double>(std::max<uint64_t>(1, packed_bytes_));
    std::ranges::sort(ratios_);
    ratios.blocks = std::move(ratios_);
    return ratios;
  }
  uint64_t bytes() const { return bytes_; }

 private:
  uint64_t bytes_ = 0;
  uint64_t packed_bytes_ = 0;
  std::vector<double> ratios_;
};

size_t Lz4Bytes(const std::string& block, std::string* buffer) {
  const auto bytes = static_cast<int>(block.size());
  buffer->resize(static_cast<size_t>(LZ4_compressBound(bytes)));
  return static_cast<size_t>(
      LZ4_compress_default(block.data(), buffer->data(), bytes, static_cast<int>(buffer->size())));
}

size_t ZstdBytes(const std::string& block, std::string* buffer) {
  buffer->resize(ZSTD_compressBound(block.size()));
  return ZSTD_compress(buffer->data(), buffer->size(), block.data(), block.size(), kZstdLevel);
}

std::string RatiosText(std::string_view codec, const BlockPacking::Ratios& ratios) {
  std::string text = fmt::format("{} {:.2f} (", codec, ratios.mean);
  std::string_view separator;
  for (const double share : {0.05, 0.25, 0.5, 0.75, 0.95})
    text += fmt::format("{}{:.0f} %: {:.2f}", std::exchange(separator, ", "), 100 * share, ratios.Quantile(share));
  return text + ")";
}

}  // namespace

void DataBlock::Add(std::string_view key, std::string_view value) {
  size_t shared = 0;
  if (entries_++ % kEntriesPerRestart == 0) {
    restarts_.push_back(static_cast<uint32_t>(block_.size()));
  } else {
    while (shared < std::min(key.size(), last_key_.size()) && key[shared] == last_key_[shared]) ++shared;
  }
  last_key_ = key;
  AppendVarint(&block_, shared);
  AppendVarint(&block_, key.size() - shared + kSequenceBytes);
  AppendVarint(&block_, value.size());
  block_.append(key.substr(shared));
  block_.append(kSequenceBytes, '\0');
  block_.append(value);
}

std::string DataBlock::Finish() {
  for (const uint32_t restart : restarts_) AppendFixed(&block_, restart);
  AppendFixed(&block_, static_cast<uint32_t>(restarts_.size()));
  std::string finished = std::move(block_);
  *this = {};
  return finished;
}

rocksdb::Status SampleBlockPacking(rocksdb::DB* db, const std::vector<std::string>& keys, BlockPacking* packing) {
  *packing = {};
  rocksdb::ReadOptions options;
  options.fill_cache = false;
  const std::unique_ptr<rocksdb::Iterator> it(db->NewIterator(options));
  const size_t block_bytes = BlockBytesOf(db);
  DataBlock block;
  Packed lz4;
  Packed zstd;
  std::string buffer;
  for (const std::string& key : keys) {
    for (it->Seek(key); it->Valid() && block.bytes() < block_bytes; it->Next())
      block.Add({it->key().data(), it->key().size()}, {it->value().data(), it->value().size()});
    if (!it->status().ok()) return it->status();
    const std::string bytes = block.Finish();
    if (bytes.size() <= sizeof(uint32_t) || bytes.size() > LZ4_MAX_INPUT_SIZE) continue;
    lz4.Add(bytes.size(), Lz4Bytes(bytes, &buffer));
    zstd.Add(bytes.size(), ZstdBytes(bytes, &buffer));
    ++packing->blocks;
  }
  if (packing->blocks == 0) return rocksdb::Status::OK();
  packing->block_bytes = lz4.bytes() / packing->blocks;
  packing->lz4 = lz4.TakeRatios();
  packing->zstd = zstd.TakeRatios();
  return rocksdb::Status::OK();
}

std::string ToString(const BlockPacking& packing) {
  if (packing.blocks == 0) return "no data blocks to pack";
  return fmt::format("{} blocks of {} bytes pack, on the whole and by quantile: {}; {}", packing.blocks,
                     packing.block_bytes, RatiosText("lz4", packing.lz4), RatiosText("zstd", packing.zstd));
}

std::string RatiosFile(const BlockPacking::Ratios& ratios) {
  std::string file = "# ratio,weight\n";
  // What does not pack is kept as it is, and no less than 1 is a ratio.
  for (const double ratio : ratios.blocks) file += fmt::format("{:.4f},1\n", std::max(1.0, ratio));
  return file;
}

}  // namespace mezz
