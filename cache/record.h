// SPDX-License-Identifier: Apache-2.0
// A record in all its life: how it is written, sealed, checked, moved and read. Nobody else touches its bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "cache/block_source.h"
#include "cache/layout.h"
#include "cache/media/bus_errors.h"
#include "cache/media/medium.h"
#include "cache/types.h"

namespace mezz {

class Authenticator;

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
// The payload's bytes before its MAC.
inline uint32_t PayloadBytes(const Header& header) {
  const uint32_t mac_bytes = (header.flags & layout::kRecordKeyed) != 0 ? layout::kMacBytes : 0;
  return header.payload_bytes < mac_bytes ? 0 : header.payload_bytes - mac_bytes;
}
// As it is stored, without its MAC.
inline std::span<const std::byte> PayloadOf(const Header& header) {
  return {reinterpret_cast<const std::byte*>(&header + 1), PayloadBytes(header)};
}
// That a record's payload ends with; an authenticator may be null.
inline uint32_t MacBytes(const Authenticator* authenticator) {
  return authenticator != nullptr ? layout::kMacBytes : 0;
}
// Of the medium, for a payload of `bytes` bytes.
inline uint64_t BytesFor(uint64_t bytes, const Authenticator* authenticator) {
  return layout::RecordBytes(bytes + MacBytes(authenticator));
}

// Of the record whose stored payload that is.
inline const Header& HeaderOf(std::span<const std::byte> payload) {
  return *(reinterpret_cast<const Header*>(payload.data()) - 1);
}

inline bool IsPacked(const Header& header) { return (header.flags & layout::kRecordPacked) != 0; }

// Calls the source; what it throws is a failure too.
bool Fill(const BlockSource& source, size_t offset, size_t bytes, std::byte* to) noexcept;

// Bytes that the checksums of a payload and of a header cover stand in layout.h.
uint32_t PayloadChecksum(std::span<const std::byte> payload);

// The checksum a record of this source would carry; nothing if the source gives up or throws.
std::optional<uint32_t> SourceChecksum(size_t bytes, BlockSource source);

// Of the bytes stored: PayloadChecksum of them, as long as they are as they were sealed.
inline uint32_t StoredChecksum(const Header& header) { return header.payload_checksum ^ layout::KeyFold(header.key); }

// The payload is as it was sealed, under this key. REQUIRES: IsWhole (header_checksum.h). Reads all of it: some 0.05 ns
// a byte in DRAM; with an authenticator, which asks for its MAC instead of a checksum that anyone can make, 0.5. False
// too if the memory is not there any more (bus_errors.h).
bool PayloadIsWhole(const Header& header, const Authenticator* authenticator = nullptr);

enum class Steady : uint8_t { kHere, kLost, kNoMemory };  // kLost: they are not there any more (bus_errors.h)
// For what must not be left half-way, as a Try leaves it: these bytes of the medium; or, if bus errors are contained, a
// copy of them in memory of this thread, good until its next call.
Steady SteadyBytes(std::span<const std::byte> bytes, std::span<const std::byte>* steady);

// The header at `place`, copied, if it is whole and of a role; else nothing: a walk over records ends here.
std::optional<Header> ReadHeader(const Medium& medium, Place place);

// Streams a record of `bytes` payload bytes and these flags to `place`, where BytesFor(bytes) are reserved, and drains.
// With an authenticator the record gets a MAC. False: the source gave up or threw, or the medium did not take all of
// it; the space then carries a void record, if it carries anything, so that walks go on behind it. Nothing is thrown.
// The line with the header is streamed last: it carries the payload's checksum.
bool Write(const Medium& medium, Place place, const BlockKey& key, BlockRole role, size_t bytes, BlockSource source,
           uint8_t flags = 0, const Authenticator* authenticator = nullptr);

// Copies the record at `from`, whose header is `header`, to `to`, and drains. Its payload keeps its checksum and
// MAC, so bytes that were damaged before stay recognisable as damaged. False, and a void record as of Write: some of
// the memory is not there any more.
[[nodiscard]] bool Copy(const Medium& medium, uint64_t from, const Header& header, Place to);

}  // namespace record
}  // namespace mezz
