// SPDX-License-Identifier: Apache-2.0
// Raw keys, one after the other, look-ups only. Most significant byte first: scarab-recs (64 bits, signed), orm-busy
// and web07 (32 bits). Least significant first: what tools on most machines write. A signed key keeps its bits, so
// negative keys sort after the positive ones.
#include <bit>

#include "workloads/readers/bytes.h"
#include "workloads/readers/trace_file.h"
#include "workloads/readers/trace_formats.h"

namespace mezz {
namespace {

template <typename Key, std::endian kOrder>
class RawKeys final : public TraceFile {
 public:
  explicit RawKeys(std::string path) : TraceFile(std::move(path)) {}

  bool Next(Request* request) override {
    const uint8_t* bytes = Take(sizeof(Key), "the last key");
    if (bytes == nullptr) return false;
    *request = Request{.key = LoadAs<Key, kOrder>(bytes)};
    return true;
  }
};

}  // namespace

std::unique_ptr<RequestSource> MakeBigEndian64(std::string path) {
  return std::make_unique<RawKeys<uint64_t, std::endian::big>>(std::move(path));
}
std::unique_ptr<RequestSource> MakeBigEndian32(std::string path) {
  return std::make_unique<RawKeys<uint32_t, std::endian::big>>(std::move(path));
}
std::unique_ptr<RequestSource> MakeLittleEndian64(std::string path) {
  return std::make_unique<RawKeys<uint64_t, std::endian::little>>(std::move(path));
}
std::unique_ptr<RequestSource> MakeLittleEndian32(std::string path) {
  return std::make_unique<RawKeys<uint32_t, std::endian::little>>(std::move(path));
}

}  // namespace mezz
