// SPDX-License-Identifier: Apache-2.0
// How a record is written, sealed, checked, moved and read. No other source touches its bytes.
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

// Where a record lies. Its bytes may be read while its segment is pinned; only the thread that reserved them may write.
struct Place {
  uint64_t offset = 0;    // from the start of the medium; a multiple of kLineBytes
  uint32_t sequence = 0;  // low half of its segment's sequence
};

inline const Header& HeaderAt(const Medium& medium, uint64_t offset) {
  return *reinterpret_cast<const Header*>(medium.base() + offset);
}
// The size of the payload without its MAC.
inline uint32_t PayloadBytes(const Header& header) {
  const uint32_t mac_bytes = (header.flags & layout::kRecordKeyed) != 0 ? layout::kMacBytes : 0;
  return header.payload_bytes < mac_bytes ? 0 : header.payload_bytes - mac_bytes;
}
// The payload as stored, without its MAC.
inline std::span<const std::byte> PayloadOf(const Header& header) {
  return {reinterpret_cast<const std::byte*>(&header + 1), PayloadBytes(header)};
}
// The size of the MAC that a record's payload ends with: 0 where `authenticator` is null.
inline uint32_t MacBytes(const Authenticator* authenticator) {
  return authenticator != nullptr ? layout::kMacBytes : 0;
}
// Bytes of the medium that a record with a payload of `bytes` bytes takes.
inline uint64_t BytesFor(uint64_t bytes, const Authenticator* authenticator) {
  return layout::RecordBytes(bytes + MacBytes(authenticator));
}

// The header of the record whose stored payload this is.
inline const Header& HeaderOf(std::span<const std::byte> payload) {
  return *(reinterpret_cast<const Header*>(payload.data()) - 1);
}

inline bool IsPacked(const Header& header) { return (header.flags & layout::kRecordPacked) != 0; }

// Calls the source. False: it failed or threw.
bool Fill(const BlockSource& source, size_t offset, size_t bytes, std::byte* to) noexcept;

// The checksum of a payload. layout.h says which bytes the checksums of payload and header cover.
uint32_t PayloadChecksum(std::span<const std::byte> payload);

// The checksum that a record of this source would carry. Empty: the source failed or threw.
std::optional<uint32_t> SourceChecksum(size_t bytes, BlockSource source);

// The PayloadChecksum that the stored bytes had when they were sealed.
inline uint32_t StoredChecksum(const Header& header) { return header.payload_checksum ^ layout::KeyFold(header.key); }

// Whether the payload is as it was sealed under this key. It is judged by its checksum; with an authenticator by its
// MAC, which nobody can make without the key. Reads all of the payload: about 0.05 ns a byte in DRAM, and 0.5 with an
// authenticator. False also if the memory failed (bus_errors.h). REQUIRES: IsWhole (header_checksum.h).
bool PayloadIsWhole(const Header& header, const Authenticator* authenticator = nullptr);

enum class Steady : uint8_t { kHere, kLost, kNoMemory };  // kLost: their memory failed (bus_errors.h)
// These bytes of the medium for code that a bus error must not leave half-way. If bus errors are contained, it is a
// copy in memory of this thread, valid until the thread's next call.
Steady SteadyBytes(std::span<const std::byte> bytes, std::span<const std::byte>* steady);

// A copy of the header at `place`, if it is whole and of a known role. Empty: a walk over records ends here.
std::optional<Header> ReadHeader(const Medium& medium, Place place);

// Streams a record of `bytes` payload bytes and these flags to `place`, where BytesFor(bytes) are reserved, and drains.
// With an authenticator the record gets a MAC. The line with the header is streamed last, as it carries the payload's
// checksum. Returns false if the source failed or threw, or if the medium did not take all of the record. The space
// then holds a void record, if it holds anything, so that walks go on behind it. Throws nothing.
bool Write(const Medium& medium, Place place, const BlockKey& key, BlockRole role, size_t bytes, BlockSource source,
           uint8_t flags = 0, const Authenticator* authenticator = nullptr);

// Copies the record at `from`, whose header is `header`, to `to`, and drains. The payload keeps its checksum and MAC,
// so bytes that were damaged before are still found to be damaged. False: some of the memory failed, and `to` holds a
// void record, as after Write.
[[nodiscard]] bool Copy(const Medium& medium, uint64_t from, const Header& header, Place to);

}  // namespace record
}  // namespace mezz
