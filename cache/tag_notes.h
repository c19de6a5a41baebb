// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "cache/base/atomic.h"
#include "cache/types.h"

namespace mezz {

// Notes the tags of keys that were put, erased or displaced while an index is filled again with records of an earlier
// life, from the youngest to the oldest. No older record of such a key may follow. There is one bit for each of the
// 2^25 tags that index words carry, so a word can be taken out of the index without knowing its key. After n notes one
// record in 2^25 / n is passed over because of another key, which costs a miss.
//
//   state:  kOpen --Close--> kClosing --Close, once each stripe's mutex was passed--> kClosed (release stores)
//           In a child made by fork() all of it is zero, which is kClosed too: the child notes nothing, and takes no
//           lock that a thread of its parent may hold
//
// Note and IfUnnoted of a tag exclude each other by its stripe's mutex, also in kClosing. So once Note has returned,
// what IfUnnoted ran for that tag is over and visible, and nothing more will run. The state is read with acquire, so
// that this also holds for a thread that finds it closed.
//
// Takes 4 MiB of address space, whose pages are taken as they are written and given back by Close. Thread-safe. Lock
// order: the index's split mutex, then a stripe's.
class TagNotes {
 public:
  static constexpr unsigned kTagBits = 25;

  TagNotes();
  ~TagNotes();
  TagNotes(const TagNotes&) = delete;
  TagNotes& operator=(const TagNotes&) = delete;

  bool ok() const { return memory_ != nullptr; }  // false: there was no memory, and nothing else may be called
  bool is_open() const { return state_->load(std::memory_order_acquire) == kOpen; }

  void Note(uint32_t tag) {
    assert(tag < 1u << kTagBits);
    if (state_->load(std::memory_order_acquire) == kClosed) [[likely]]
      return;
    const std::lock_guard lock(StripeOf(tag));
    WordOf(tag) |= BitOf(tag);
  }

  enum class Seen : uint8_t { kUnnoted, kNoted, kClosed };
  // Calls run() if the tag was not noted. It must not call Note.
  template <typename Run>
  Seen IfUnnoted(uint32_t tag, Run&& run) {
    const std::lock_guard lock(StripeOf(tag));
    if (!is_open()) return Seen::kClosed;
    if ((WordOf(tag) & BitOf(tag)) != 0) return Seen::kNoted;
    run();
    return Seen::kUnnoted;
  }

  // Ends the notes for ever: once it has returned, IfUnnoted runs nothing any more.
  void Close();

 private:
  static constexpr uint64_t kClosed = 0, kOpen = 1, kClosing = 2;
  static constexpr uint64_t kPage = 4096;
  static constexpr uint64_t kBytes = kPage + (uint64_t{1} << kTagBits) / 8;
  static constexpr size_t kStripes = 64;
  struct alignas(kLineBytes) Stripe {
    Mutex mutex;
  };

  // Tags of one word have one stripe.
  Mutex& StripeOf(uint32_t tag) { return stripes_[tag / 64 % kStripes].mutex; }
  uint64_t& WordOf(uint32_t tag) { return words_[tag / 64]; }
  static uint64_t BitOf(uint32_t tag) { return uint64_t{1} << tag % 64; }

  void* memory_ = nullptr;             // own mapping: a page for state_, then the bits
  Atomic<uint64_t>* state_ = nullptr;  // in it
  uint64_t* words_ = nullptr;          // in it; guarded by the stripes
  std::array<Stripe, kStripes> stripes_;
};

}  // namespace mezz
