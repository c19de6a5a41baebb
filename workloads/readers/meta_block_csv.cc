// SPDX-License-Identifier: Apache-2.0
// Meta's block storage cache traces as CacheLib publishes them (storage/202312): columns by name; getChunkData.* reads
// and putChunk.* writes io_size bytes from byte io_offset of a block, op_count times. Blocks are text. They are
// numbered in the order they come and lie side by side in the space of keys, so that extents of two blocks never touch,
// however many there are; a hash would leave too few bits for the place within the block. Costs some 24 bytes of memory
// for each block, and two files of one recording number their blocks apart.
#include "admission/curves/key_map.h"
#include "workloads/readers/block_io.h"
#include "workloads/readers/key_hash.h"
#include "workloads/readers/named_csv.h"
#include "workloads/readers/trace_formats.h"

namespace mezz {
namespace {

constexpr uint64_t kBlockBytesMax = kExtentBytesMax;  // 2^30, so that 2^34 blocks fit

enum : size_t { kTime, kBlock, kSize, kOffset, kOp, kOpCount };

class MetaBlockCsv final : public NamedCsv {
 public:
  explicit MetaBlockCsv(std::string path)
      : NamedCsv(std::move(path), {{"op_time", false},
                                   {"block_id", true},
                                   {"io_size", true},
                                   {"io_offset", true},
                                   {"op_name", true},
                                   {"op_count", false}}) {}

  Status Rewind() override {
    empty_ = 0;
    return NamedCsv::Rewind();
  }
  std::vector<std::string> remarks() const override {
    std::vector<std::string> remarks = NamedCsv::remarks();
    if (empty_ > 0) remarks.push_back(EmptyIoRemark(empty_));
    return remarks;
  }

 private:
  bool TakeRow(Row* row) override {
    Request& request = row->request;
    uint64_t seconds = 0, bytes = 0, offset = 0;
    if (!ParseColumn(kTime, UINT64_MAX / 1'000'000, &seconds)) return false;
    if (!ParseColumn(kSize, kBlockBytesMax, &bytes) || !ParseColumn(kOffset, kBlockBytesMax, &offset)) return false;
    if (!ParseColumn(kOpCount, kRowCountMax, &row->count)) return false;
    if (bytes == 0) {
      empty_ += row->count;
      row->count = 0;
    }
    if (offset + bytes > kBlockBytesMax) return FailColumn(kOffset, "a place from which io_size bytes end below 2^30");
    if (field(kOp).starts_with("putChunk")) {
      request.operation = Operation::kPut;
    } else if (!field(kOp).starts_with("getChunkData")) {
      return FailColumn(kOp, "getChunkData.* or putChunk.*");
    }
    request.key = blocks_.Number(HashKey(field(kBlock))) * kBlockBytesMax + offset;
    request.extent_bytes = static_cast<uint32_t>(bytes);
    request.time_us = seconds * 1'000'000;
    return true;
  }

  uint64_t empty_ = 0;
  KeyMap blocks_;  // kept by Rewind(), which so gives the same keys
};

bool LooksLikeMetaBlockCsv(std::string_view head) {
  return HeaderNames(head, {"block_id", "io_size", "io_offset", "op_name"});
}

}  // namespace

constexpr TraceFormat kMetaBlockFormat = {.name = "meta_block_csv",
                                          .about = "Meta's block storage CSV",
                                          .matches = &LooksLikeMetaBlockCsv,
                                          .make = &MakeReader<MetaBlockCsv>};

}  // namespace mezz
