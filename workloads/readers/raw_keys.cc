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

constexpr TraceFormat kBigEndian64Format = {.name = "be64",
                                            .about = "raw big-endian 64-bit keys (scarab-recs)",
                                            .kind = TraceFormat::Kind::kBinary,
                                            .file_name_parts = {"scarab", ".be64"},
                                            .make = &MakeReader<RawKeys<uint64_t, std::endian::big>>};
constexpr TraceFormat kBigEndian32Format = {.name = "be32",
                                            .about = "raw big-endian 32-bit keys (orm-busy, web07)",
                                            .kind = TraceFormat::Kind::kBinary,
                                            .file_name_parts = {"orm-", "web07", "web12", ".be32"},
                                            .make = &MakeReader<RawKeys<uint32_t, std::endian::big>>};
constexpr TraceFormat kLittleEndian64Format = {.name = "le64",
                                               .about = "raw little-endian 64-bit keys",
                                               .kind = TraceFormat::Kind::kBinary,
                                               .file_name_parts = {".le64"},
                                               .make = &MakeReader<RawKeys<uint64_t, std::endian::little>>};
constexpr TraceFormat kLittleEndian32Format = {.name = "le32",
                                               .about = "raw little-endian 32-bit keys",
                                               .kind = TraceFormat::Kind::kBinary,
                                               .file_name_parts = {".le32"},
                                               .make = &MakeReader<RawKeys<uint32_t, std::endian::little>>};

}  // namespace mezz
