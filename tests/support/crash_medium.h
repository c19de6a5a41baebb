// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "cache/media/medium.h"
#include "tests/support/random.h"

namespace mezz::test {

// A medium in memory that knows which of its words a cut of power might lose: all that were streamed since the last
// drain, each for itself; or, as a page cache's, since WriteBack last wrote their page. One thread. Calls on it stand
// in a Scope, because streams and drains name no medium.
class CrashMedium final : public Medium {
 public:
  using Image = std::vector<std::byte>;
  static constexpr size_t kWordBytes = 8;  // what the processor stores as one

  explicit CrashMedium(Image image, bool paged = false) : paged_(paged), durable_(std::move(image)), seen_(durable_) {
    base_ = seen_.data();
    bytes_ = seen_.size();
    stream_ = [](void* to, const void* from, size_t bytes) { active_->DoStream(to, from, bytes); };
    drain_ = [] { active_->DoDrain(); };
    if (paged_) {
      persist_ = [](const void* from, size_t bytes) {
        active_->DoPersist(from, bytes);
        return true;
      };
    }
  }

  class Scope {
   public:
    explicit Scope(CrashMedium* medium) : before_(std::exchange(active_, medium)) {}
    ~Scope() { active_ = before_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    CrashMedium* const before_;
  };

  static int WriteBack(void* pages, size_t bytes) {
    active_->DoWriteBack(static_cast<std::byte*>(pages), bytes);
    return 0;
  }

  // Called after each stream and before each drain: the moments between which nothing changes.
  std::function<void()> on_step;

  // Words that a crash now may keep or lose.
  size_t pending() const { return pending_.size(); }
  size_t pending_at(size_t i) const { return pending_[i].first; }  // where; they stand in the order of their stores
  // What the medium holds after a crash that keeps the pending words `kept` says yes to, and loses the others.
  template <typename Kept>
  Image After(Kept kept) const {
    Image image = durable_;
    for (size_t i = 0; i < pending_.size(); ++i) {
      if (kept(i)) std::memcpy(image.data() + pending_[i].first, &pending_[i].second, kWordBytes);
    }
    return image;
  }
  // As if the process were killed: all that was stored is there.
  Image AfterKill() const { return seen_; }

 private:
  void DoStream(void* to, const void* from, size_t bytes) {
    const auto at = static_cast<size_t>(static_cast<std::byte*>(to) - seen_.data());
    assert(at % kLineBytes == 0 && bytes % kLineBytes == 0 && at + bytes <= seen_.size());
    for (size_t word = 0; word < bytes; word += kWordBytes) {
      uint64_t value = 0;
      std::memcpy(&value, static_cast<const std::byte*>(from) + word, kWordBytes);
      if (std::memcmp(seen_.data() + at + word, &value, kWordBytes) == 0) continue;
      std::memcpy(seen_.data() + at + word, &value, kWordBytes);
      pending_.emplace_back(at + word, value);
    }
    if (on_step) on_step();
  }
  // `begin` is that of a page, as far as the medium goes: pages begin with the medium.
  void DoWriteBack(const std::byte* begin, size_t bytes) {
    if (on_step) on_step();
    const auto from = static_cast<size_t>(begin - seen_.data());
    const auto written = [&](const auto& word) { return word.first >= from && word.first < from + bytes; };
    std::memcpy(durable_.data() + from, begin, bytes);
    std::erase_if(pending_, written);
  }
  void DoPersist(const void* begin, size_t bytes) {
    constexpr uint64_t kPage = 4096;
    const auto from = static_cast<uint64_t>(static_cast<const std::byte*>(begin) - seen_.data());
    const uint64_t first = from / kPage * kPage;
    DoWriteBack(seen_.data() + first, std::min<uint64_t>(RoundUp(from + bytes, kPage), seen_.size()) - first);
  }
  void DoDrain() {
    if (on_step) on_step();
    if (paged_) return;
    durable_ = seen_;
    pending_.clear();
  }

  static inline CrashMedium* active_ = nullptr;
  const bool paged_;
  Image durable_;
  Image seen_;
  std::vector<std::pair<size_t, uint64_t>> pending_;
};

}  // namespace mezz::test
