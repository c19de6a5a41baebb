// SPDX-License-Identifier: Apache-2.0
#include "integration/parent_keys.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "integration/block_entries.h"

namespace mezz {
namespace {

std::atomic<size_t> all_bytes{0};  // relaxed: a figure

}  // namespace

ParentKeys::ParentKeys(ParentKeys&& other) noexcept { *this = std::move(other); }

ParentKeys& ParentKeys::operator=(ParentKeys&& other) noexcept {
  Clear();
  text_.swap(other.text_);
  notes_.swap(other.notes_);
  std::swap(counted_, other.counted_);
  return *this;
}

void ParentKeys::Clear() {
  std::vector<char>().swap(text_);
  std::vector<Note>().swap(notes_);
  all_bytes.fetch_sub(std::exchange(counted_, 0), std::memory_order_relaxed);
}

void ParentKeys::Count() {
  const size_t bytes = text_.capacity() + notes_.capacity() * sizeof(Note);
  all_bytes.fetch_add(bytes - counted_, std::memory_order_relaxed);  // wraps where there are fewer
  counted_ = bytes;
}

size_t ParentKeys::bytes_of_all() { return all_bytes.load(std::memory_order_relaxed); }

// 1, 2, 4 and 8 in the quarters of kBytesMax, and beyond it none.
size_t ParentKeys::Stride() const {
  const size_t used = text_.size() + notes_.size() * sizeof(Note);
  return used >= kBytesMax ? 0 : size_t{1} << used / (kBytesMax / 4);
}

void ParentKeys::Add(std::span<const std::byte> block, Standing standing, uint8_t frequency) {
  const size_t stride = Stride();
  if (stride == 0) return;
  const size_t first = notes_.size(), text = text_.size();
  size_t seen = 0;
  const bool whole = VisitEntries(block, [&](std::string_view key) {
    if (seen++ % stride == 0) Add(key, {.standing = standing, .frequency = frequency});
  });
  if (!whole) {
    notes_.resize(first);
    text_.resize(text);
  }
  const auto entries = static_cast<uint16_t>(std::clamp<size_t>(seen / stride, 1, UINT16_MAX));
  for (size_t i = first; i < notes_.size(); ++i) notes_[i].parent.entries = entries;
  Count();
}

void ParentKeys::Add(std::string_view key, const Parent& parent) {
  notes_.push_back(
      {.at = static_cast<uint32_t>(text_.size()), .bytes = static_cast<uint16_t>(key.size()), .parent = parent});
  text_.insert(text_.end(), key.begin(), key.end());
}

void ParentKeys::Sort(bool reversed) {
  const auto text_of = [this](const Note& note) { return std::string_view(text_.data() + note.at, note.bytes); };
  std::ranges::sort(notes_, [&](const Note& a, const Note& b) {
    const int order = text_of(a).compare(text_of(b));
    if (order != 0) return reversed ? order > 0 : order < 0;
    return a.parent.standing > b.parent.standing;
  });
  const auto same = [&](const Note& a, const Note& b) { return text_of(a) == text_of(b); };
  notes_.erase(std::unique(notes_.begin(), notes_.end(), same), notes_.end());
}

void ParentKeys::MoveTail(size_t first, ParentKeys* to) const {
  ParentKeys tail;
  for (size_t i = first; i < size(); ++i) tail.Add(key(i), parent(i));
  tail.Count();
  *to = std::move(tail);
}

}  // namespace mezz
