// SPDX-License-Identifier: Apache-2.0
// Raw keys, one after the other, most significant byte first: scarab-recs (64 bits, signed), orm-busy and web07
// (32 bits). Look-ups only. A signed key keeps its bits, so negative keys sort after the positive ones.
#include <cstddef>

#include "workloads/readers/trace_file.h"
#include "workloads/readers/trace_formats.h"

namespace mezz {
namespace {

template <size_t kKeyBytes>
class BigEndianKeys final : public TraceFile {
 public:
  explicit BigEndianKeys(std::string path) : TraceFile(std::move(path)) {}

  bool Next(Request* request) override {
    const uint8_t* bytes = Take(kKeyBytes, "the last key");
    if (bytes == nullptr) return false;
    uint64_t key = 0;
    for (size_t i = 0; i < kKeyBytes; ++i) key = key << 8 | bytes[i];
    *request = Request{.key = key};
    return true;
  }
};

}  // namespace

std::unique_ptr<RequestSource> MakeBigEndian64(std::string path) {
  return std::make_unique<BigEndianKeys<8>>(std::move(path));
}
std::unique_ptr<RequestSource> MakeBigEndian32(std::string path) {
  return std::make_unique<BigEndianKeys<4>>(std::move(path));
}

}  // namespace mezz
