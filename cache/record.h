// SPDX-License-Identifier: Apache-2.0
// A record in all its life: how it is written, sealed, checked, moved and read. Nobody else touches its bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

#include "cache/layout.h"
#include "cache/media/medium.h"
#include "cache/types.h"

namespace mezz {

// Copies bytes [offset, offset + bytes) of a block into `to`; false, or an exception, abandons the put. Non-owning,
// never null.
class BlockSource {
 public:
  template <typename F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, BlockSource>)
      BlockSource(F&& copy)  // NOLINT: implicit, like a function reference
      : object_(const_cast<void*>(static_cast<const void*>(&copy))),
        call_([](void* object, size_t offset, size_t bytes, std::byte* to) -> bool {
          return (*static_cast<std::remove_reference_t<F>*>(object))(offset, bytes, to);
        }) {}
  bool operator()(size_t offset, size_t bytes, std::byte* to) const { return call_(object_, offset, bytes, to); }

 private:
  void* object_;
  bool (*call_)(void*, size_t, size_t, std::byte*);
};

// Of bytes that lie in memory. Put, Compare and their like take it as a temporary.
struct SpanSource {
  std::span<const std::byte> bytes;

  bool operator()(size_t offset, size_t count, std::byte* to) const {
    if (count != 0) std::memcpy(to, bytes.data() + offset, count);
    return true;
  }
};

namespace record {

using Header = layout::RecordHeader;

// Where a record lies. Its bytes may be read while its segment is pinned, and may be written by whoever reserved them.
struct Place {
  uint64_t offset = 0;    // from the start of the medium; a multiple of kLineBytes
  uint32_t sequence = 0;  // low half of its segment's
};

inline const Header& HeaderAt(const Medium& medium, uint64_t offset) {
  return *reinterpret_cast<const Header*>(medium.base() + offset);
}
// As it is stored.
inline std::span<const std::byte> PayloadOf(const Header& header) {
  return {reinterpret_cast<const std::byte*>(&header + 1), header.payload_bytes};
}

inline bool IsPacked(const Header& header) { return (header.flags & layout::kRecordPacked) != 0; }

// Calls the source; what it throws is a failure too.
bool Fill(const BlockSource& source, size_t offset, size_t bytes, std::byte* to) noexcept;

// Bytes that the checksums of a payload and of a header cover stand in layout.h.
uint32_t PayloadChecksum(std::span<const std::byte> payload);

// The checksum a record of this source would carry; nothing if the source gives up or throws.
std::optional<uint32_t> SourceChecksum(size_t bytes, BlockSource source);

// The payload is as it was sealed. REQUIRES: IsWhole (header_checksum.h). Reads all of it: some 0.05 ns a byte in DRAM.
bool PayloadIsWhole(const Header& header);

// The header at `place`, copied, if it is whole; else nothing: a walk over records ends here.
std::optional<Header> ReadHeader(const Medium& medium, Place place);

// Streams a record of `bytes` payload bytes and these flags to `place`, where layout::RecordBytes(bytes) are reserved,
// and drains. False: the source gave up or threw; the space then carries a void record, so that walks go on behind it.
// Nothing is thrown. The line with the header is streamed last: it carries the payload's checksum.
bool Write(const Medium& medium, Place place, const BlockKey& key, BlockRole role, size_t bytes, BlockSource source,
           uint8_t flags = 0);

// Copies the record at `from`, whose header is `header`, to `to`, and drains. Its payload keeps its checksum, so bytes
// that were damaged before stay recognisable as damaged.
void Copy(const Medium& medium, uint64_t from, const Header& header, Place to);

}  // namespace record
}  // namespace mezz
