// SPDX-License-Identifier: Apache-2.0
#include "integration/block_entries.h"

#include <array>
#include <cstring>
#include <optional>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace mezz {
namespace {

constexpr size_t kSequenceBytes = 8;  // of sequence number and type, behind the user key
constexpr size_t kWordBytes = sizeof(uint32_t);
constexpr uint32_t kRestartsMask = (1u << 28) - 1;  // above are flags
constexpr uint32_t kValuesApart = 1u << 28;

uint32_t WordAt(const std::byte* at) {
  uint32_t word = 0;
  std::memcpy(&word, at, kWordBytes);
  return word;
}

class Cursor {
 public:
  explicit Cursor(std::span<const std::byte> bytes) : at_(bytes.data()), end_(at_ + bytes.size()) {}

  size_t left() const { return static_cast<size_t>(end_ - at_); }
  const std::byte* at() const { return at_; }
  void Skip(size_t bytes) { at_ += bytes; }
  std::optional<uint32_t> Varint() {
    uint32_t value = 0;
    for (unsigned shift = 0; shift < 32 && at_ != end_; shift += 7) {
      const auto byte = static_cast<uint32_t>(*at_++);
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return std::nullopt;
  }

 private:
  const std::byte* at_;
  const std::byte* end_;
};

// visit(key) for each entry, the user key.
template <typename Visit>
bool Visited(std::span<const std::byte> block, Visit visit) {
  if (block.size() < 2 * kWordBytes) return false;
  const uint32_t footer = WordAt(block.data() + block.size() - kWordBytes);
  if ((footer & kValuesApart) != 0) return false;
  const size_t restarts = footer & kRestartsMask;
  const size_t tail = (restarts + 1) * kWordBytes;  // at least: a hash index may stand between
  if (restarts == 0 || tail > block.size()) return false;
  std::array<char, kEntryKeyBytesMax> key;
  size_t key_bytes = 0;
  bool any = false;
  for (Cursor cursor(block); cursor.left() >= tail;) {
    Cursor entry = cursor;
    const auto shared = entry.Varint(), own = entry.Varint(), value = entry.Varint();
    const bool whole = shared && own && value && *shared <= key_bytes && *own <= entry.left() &&
                       *value <= entry.left() - *own && size_t{*shared} + *own <= key.size();
    // The restarts begin with a zero, which would be a key of no bytes.
    if (!whole || *shared + *own < kSequenceBytes) return any && WordAt(cursor.at()) == 0;
    std::memcpy(key.data() + *shared, entry.at(), *own);
    key_bytes = *shared + *own;
    visit(std::string_view(key.data(), key_bytes - kSequenceBytes));
    any = true;
    entry.Skip(size_t{*own} + *value);
    cursor = entry;
  }
  return false;
}

}  // namespace

bool HashEntries(std::span<const std::byte> block, uint64_t salt, std::vector<uint64_t>* hashes) {
  hashes->clear();
  const bool whole = Visited(
      block, [&](std::string_view key) { hashes->push_back(XXH3_64bits_withSeed(key.data(), key.size(), salt)); });
  if (!whole) hashes->clear();
  return whole;
}

bool VisitEntries(std::span<const std::byte> block, const std::function<void(std::string_view key)>& visit) {
  return Visited(block, visit);
}

uint64_t HashOfEntry(std::string_view key, uint64_t salt) { return XXH3_64bits_withSeed(key.data(), key.size(), salt); }

}  // namespace mezz
