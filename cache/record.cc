// SPDX-License-Identifier: Apache-2.0
#include "cache/record.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "cache/authenticator.h"
#include "cache/base/atomic.h"
#include "cache/base/if_memory.h"
#include "cache/base/thread_buffer.h"
#include "cache/header_checksum.h"

namespace mezz::record {
namespace {

// A record is written from a buffer on the stack, so that RocksDB copies into L1 and the medium sees only streamed,
// whole lines. One buffer holds the usual 4 to 8 KiB block with its header.
constexpr size_t kWriteBufferBytes = 8192 + kLineBytes;

// XXH3 over pieces, which equals that over the whole. A record in one piece needs no state.
class RunningChecksum {
 public:
  explicit RunningChecksum(bool one_piece) : one_piece_(one_piece) {
    XXH3_INITSTATE(&state_);
    if (!one_piece_) XXH3_64bits_reset_withSeed(&state_, layout::kChecksumSeed);
  }
  void Add(std::span<const std::byte> piece) {
    if (one_piece_) {
      sum_ = PayloadChecksum(piece);
    } else {
      XXH3_64bits_update(&state_, piece.data(), piece.size());
    }
  }
  uint32_t Sum() const { return one_piece_ ? sum_ : static_cast<uint32_t>(XXH3_64bits_digest(&state_)); }

 private:
  const bool one_piece_;
  uint32_t sum_ = 0;
  XXH3_state_t state_;
};

// A payload as it goes to the medium: the bytes of the source, then their MAC.
class Payload {
 public:
  Payload(const Header& header, size_t bytes, const BlockSource& source, const Authenticator* authenticator,
          bool one_piece)
      : bytes_(bytes), source_(source), checksum_(one_piece) {
    if (authenticator != nullptr) mac_.emplace(*authenticator, header);
  }
  // The next `count` bytes, from `at` on. False: the source gave up.
  bool Fill(uint64_t at, size_t count, std::byte* to) {
    const size_t of_block = std::min<uint64_t>(count, bytes_ - std::min(at, bytes_));
    if (!record::Fill(source_, at, of_block, to)) return false;
    checksum_.Add({to, of_block});
    if (!mac_) return true;
    mac_->Add({to, of_block});
    if (count == of_block) return true;
    const Mac mac = mac_->Finish();
    std::memcpy(to + of_block, mac.data() + (at + of_block - bytes_), count - of_block);
    return true;
  }
  uint32_t Checksum() const { return checksum_.Sum(); }

 private:
  const uint64_t bytes_;
  const BlockSource& source_;
  RunningChecksum checksum_;
  std::optional<Authenticator::Running> mac_;
};

// Streams the first line: the sealed header, and the beginning of the payload. It makes the record visible to walks.
bool StreamFirstLine(const Medium& medium, uint64_t offset, Header header, std::byte* first_line) {
  header.checksum = HeaderChecksum(header);
  std::memcpy(first_line, &header, sizeof(header));
  const bool stored = medium.Stream(medium.base() + offset, first_line, kLineBytes);
  medium.Drain();
  return stored;
}

}  // namespace

// A source is foreign code, which may throw.
bool Fill(const BlockSource& source, size_t offset, size_t bytes, std::byte* to) noexcept {
  if (bytes == 0) return true;
  try {
    return source(offset, bytes, to);
  } catch (...) {
    return false;
  }
}

uint32_t PayloadChecksum(std::span<const std::byte> payload) {
  return static_cast<uint32_t>(XXH3_64bits_withSeed(payload.data(), payload.size(), layout::kChecksumSeed));
}

std::optional<uint32_t> SourceChecksum(size_t bytes, BlockSource source) {
  std::byte buffer[kWriteBufferBytes];
  RunningChecksum checksum(bytes <= sizeof(buffer));
  size_t done = 0;
  do {
    const size_t piece = std::min(sizeof(buffer), bytes - done);
    if (!Fill(source, done, piece, buffer)) return std::nullopt;
    checksum.Add({buffer, piece});
    done += piece;
  } while (done < bytes);
  return checksum.Sum();
}

bool PayloadIsWhole(const Header& header, const Authenticator* authenticator) {
  return BusErrors::TryTest([&] {
    MEZZ_READS_MEDIUM(&header, sizeof(header) + header.payload_bytes);
    return authenticator != nullptr ? authenticator->Accepts(header)
                                    : PayloadChecksum(PayloadOf(header)) == StoredChecksum(header);
  });
}

Steady SteadyBytes(std::span<const std::byte> bytes, std::span<const std::byte>* steady) {
  *steady = bytes;
  if (!BusErrors::contained()) [[likely]]
    return Steady::kHere;
  struct SteadyCopy;
  std::byte* copy = nullptr;
  (void)IfThereIsMemory([&] {
    MEZZ_TEST_POINT("record.steady_bytes");
    copy = ThreadBuffer<SteadyCopy>::AtLeast(bytes.size());
  });
  if (copy == nullptr) return Steady::kNoMemory;
  *steady = {copy, bytes.size()};
  return CopyBytes(bytes, copy) ? Steady::kHere : Steady::kLost;
}

std::optional<Header> ReadHeader(const Medium& medium, Place place) {
  Header header;
  MEZZ_READS_MEDIUM(medium.base() + place.offset, sizeof(header));
  if (!CopyBytes({medium.base() + place.offset, sizeof(header)}, &header)) return std::nullopt;
  if (!IsWhole(header, place.sequence) || !HasRole(header)) return std::nullopt;
  return header;
}

bool Write(const Medium& medium, Place place, const BlockKey& key, BlockRole role, size_t bytes, BlockSource source,
           uint8_t flags, const Authenticator* authenticator) {
  assert(place.offset % kLineBytes == 0);
  alignas(kLineBytes) std::byte buffer[kWriteBufferBytes];
  alignas(kLineBytes) std::byte first_line[kLineBytes];
  std::byte* const to = medium.base() + place.offset;
  const uint64_t record_bytes = BytesFor(bytes, authenticator);
  Header header{.key = key,
                .payload_bytes = static_cast<uint32_t>(bytes + MacBytes(authenticator)),
                .payload_checksum = 0,
                .sequence = place.sequence,
                .role = role,
                .flags = static_cast<uint8_t>(flags | (authenticator != nullptr ? layout::kRecordKeyed : 0)),
                .checksum = 0};
  Payload payload(header, bytes, source, authenticator, record_bytes <= sizeof(buffer));

  bool filled = true, stored = true;
  uint64_t done = 0;           // bytes of the record that are final, header included
  size_t at = sizeof(Header);  // where the next payload byte goes in the buffer: the header leaves room once
  while (done < record_bytes && filled) {
    const uint64_t piece = std::min<uint64_t>(sizeof(buffer), record_bytes - done);
    const uint64_t payload_done = done == 0 ? 0 : done - sizeof(Header);
    const size_t count = std::min<uint64_t>(piece - at, header.payload_bytes - payload_done);
    filled = payload.Fill(payload_done, count, buffer + at);
    const size_t kept = filled ? count : 0;  // what a source left half-done stays off the medium
    std::memset(buffer + at + kept, 0, piece - at - kept);
    // The first line is held back until the checksum in it is known.
    if (done == 0) std::memcpy(first_line, buffer, kLineBytes);
    const size_t skip = done == 0 ? kLineBytes : 0;
    if (piece > skip && filled) stored &= medium.Stream(to + done + skip, buffer + skip, piece - skip);
    done += piece;
    at = 0;
  }
  const bool whole = filled && stored;
  if (!whole) header.flags = layout::kRecordVoid;
  // A void record's is wrong by intent: if its flag flips, what lies there is no block.
  const uint32_t sum = whole ? payload.Checksum() : ~payload.Checksum();
  header.payload_checksum = sum ^ layout::KeyFold(key);
  return StreamFirstLine(medium, place.offset, header, first_line) && whole;
}

bool Copy(const Medium& medium, uint64_t from, const Header& header, Place to) {
  const uint64_t bytes = layout::RecordBytes(header.payload_bytes);
  std::byte* const source = medium.base() + from;
  alignas(kLineBytes) std::byte first_line[kLineBytes];
  MEZZ_READS_MEDIUM(source, bytes);
  bool copied = CopyBytes({source, kLineBytes}, first_line);
  if (!copied) std::memset(first_line, 0, kLineBytes);
  if (copied && bytes > kLineBytes)
    copied = medium.Stream(medium.base() + to.offset + kLineBytes, source + kLineBytes, bytes - kLineBytes);
  Header renewed = header;
  renewed.sequence = to.sequence;
  if (!copied) {
    renewed.flags = layout::kRecordVoid;
    renewed.payload_checksum = ~renewed.payload_checksum;
  }
  return StreamFirstLine(medium, to.offset, renewed, first_line) && copied;
}

}  // namespace mezz::record
