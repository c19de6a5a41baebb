// SPDX-License-Identifier: Apache-2.0
#include "cache/wal/wal_file.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "cache/wal/wal_store.h"

namespace mezz {

using wal_layout::ChunkHeader;

WalFile::~WalFile() {
  // One that is in the directory ends with its store.
  if (slot_ == kNoSlot) store_->GiveBack(extents_);
}

std::pair<WalFile::Extent, uint64_t> WalFile::ExtentOf(uint64_t position, uint64_t length, size_t* ordinal) const {
  const std::lock_guard lock(mutex_);
  const auto next = std::ranges::upper_bound(extents_, position, {}, &Extent::start);
  assert(next != extents_.begin());
  *ordinal = static_cast<size_t>(next - extents_.begin()) - 1;
  return {extents_[*ordinal], next == extents_.end() ? length : std::min(length, next->start)};
}

bool WalFile::Read(uint64_t position, size_t bytes, char* to, size_t* got, Cursor* cursor) const {
  const wal_layout::Geometry& geometry = store_->geometry();
  const uint64_t length = this->length();
  *got = 0;
  while (*got < bytes && position < length) {
    size_t ordinal = 0;
    const auto [extent, end] = ExtentOf(position, length, &ordinal);
    const std::byte* const base = store_->medium().base() + geometry.ExtentAt(extent.number);
    if (cursor->at == 0 || cursor->ordinal != ordinal || cursor->position > position)
      *cursor = {.ordinal = ordinal, .at = sizeof(wal_layout::ExtentHeader), .position = extent.start};
    while (*got < bytes && position < end) {
      ChunkHeader header;
      if (cursor->at + sizeof(header) >= geometry.extent_bytes) return false;
      std::memcpy(&header, base + cursor->at, sizeof(header));
      if (header.bytes == 0 || header.bytes > geometry.extent_bytes - cursor->at - sizeof(header)) return false;
      const uint64_t behind = cursor->position + header.bytes;
      if (position < behind) {
        const size_t count = std::min<uint64_t>(bytes - *got, behind - position);
        std::memcpy(to + *got, base + cursor->at + sizeof(header) + (position - cursor->position), count);
        *got += count;
        position += count;
      }
      if (position < behind) break;
      cursor->at += RoundUp(sizeof(header) + header.bytes, kLineBytes);
      cursor->position = behind;
    }
  }
  return true;
}

}  // namespace mezz
