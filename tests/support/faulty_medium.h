// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <random>
#include <utility>
#include <vector>

#include "cache/layout.h"
#include "cache/media/bus_errors.h"
#include "cache/media/medium.h"
#include "cache/media/spin_clock.h"
#include "cache/options.h"
#include "tests/support/lost_pages.h"

namespace mezz::test {

// What goes wrong, by chance: one store in so many of those behind the superblock; 0: never.
struct FaultRates {
  uint32_t dropped = 0;  // nothing of it arrives
  uint32_t torn = 0;     // the first words of it arrive
  uint32_t flipped = 0;  // all of it, but for one bit
  uint32_t slow = 0;     // it takes 0.1 to 1 ms longer, others meanwhile do not
};

// Another medium, which fails: by chance as it is written, and in ranges that the kernel knows of. Of those the whole
// pages kill who touches them, as poison would. One at a time, because stores name no medium.
class FaultyMedium final : public Medium {
 public:
  FaultyMedium(std::unique_ptr<Medium> medium, FaultRates rates, uint64_t seed, std::vector<BadRange> bad = {})
      : medium_(std::move(medium)), bad_(std::move(bad)), rates_(rates), random_(seed) {
    assert(active_ == nullptr);
    active_ = this;
    base_ = medium_->base();
    bytes_ = medium_->bytes();
    begins_ = medium_->begins();
    info_ = medium_->info();
    stream_ = [](void* to, const void* from, size_t bytes) {
      active_->Store(static_cast<std::byte*>(to), static_cast<const std::byte*>(from), bytes);
    };
    drain_ = [] { active_->medium_->Drain(); };
    persist_ = [](const void* from, size_t bytes) {
      return active_->Persisted(static_cast<const std::byte*>(from), bytes);
    };
    Protect(PROT_NONE);
  }
  ~FaultyMedium() override {
    Protect(PROT_READ | PROT_WRITE);
    active_ = nullptr;
  }

  // For ScmTier::Open.
  static auto Wrap(FaultRates rates, uint64_t seed, std::vector<BadRange> bad = {}) {
    return [=](std::unique_ptr<Medium> medium) -> std::unique_ptr<Medium> {
      return std::make_unique<FaultyMedium>(std::move(medium), rates, seed, bad);
    };
  }
  static FaultyMedium& Active() { return *active_; }

  void KeepChanges() override { medium_->KeepChanges(); }
  const MediumInfo& member_info(size_t member) const override { return medium_->member_info(member); }
  void GiveUpRest() const override { medium_->GiveUpRest(); }
  uint64_t bytes_before() const override { return medium_->bytes_before(); }
  std::vector<BadRange> BadRanges() const override { return bad_; }

  // As memory that decays: a bit anywhere behind the superblock. REQUIRES: nobody reads or writes there meanwhile.
  void FlipABit() {
    const uint64_t at = layout::kSuperblockSpace + random_() % (bytes_ - layout::kSuperblockSpace);
    if (!AnyMeets(bad_, at, at + 1)) base_[at] ^= static_cast<std::byte>(1u << random_() % 8);
  }
  // As memory that does not answer any more (lost_pages.h).
  void LosePage(uint64_t at) { test::LosePages(base_ + at / kPageBytes * kPageBytes); }
  // All of one of several media.
  void LoseMember(size_t member) {
    const uint64_t end = member + 1 < begins_.size() ? begins_[member + 1] : bytes_;
    test::LosePages(base_ + begins_[member], end - begins_[member]);
  }
  // The next so many stores.
  void Fail(FaultRates rates, uint64_t stores = UINT64_MAX) {
    const std::lock_guard lock(mutex_);
    rates_ = rates;
    stores_left_ = stores;
  }
  // Of the superblock's copies, which do not take a store; torn: but for its first lines; unwritten: they take it, and
  // the system says that it cannot write it back. For so many stores to either.
  struct SuperblockFails {
    bool first = false, second = false, torn = false, unwritten = false;
    uint64_t stores = UINT64_MAX;
  };
  void FailSuperblock(SuperblockFails fails) {
    const std::lock_guard lock(mutex_);
    superblock_ = fails;
  }
  uint64_t failed_stores() const { return failed_stores_; }
  uint64_t slow_stores() const { return slow_stores_; }  // which may arrive

 private:
  void Protect(int how) {
    for (const BadRange& range : bad_) {
      const uint64_t begin = (range.begin + kPageBytes - 1) / kPageBytes * kPageBytes;
      const uint64_t end = range.end / kPageBytes * kPageBytes;
      if (begin < end) mprotect(base_ + begin, end - begin, how);
    }
  }
  // Where it, or one of several media, begins.
  uint64_t OffsetOf(const std::byte* at) const {
    const auto offset = static_cast<uint64_t>(at - base_);
    return offset - begins_[MemberAt(offset)];
  }
  bool IsSuperblock(const std::byte* at) const { return OffsetOf(at) < layout::kSuperblockSpace; }
  bool Fails(const std::byte* copy) const { return OffsetOf(copy) == 0 ? superblock_.first : superblock_.second; }
  bool Persisted(const std::byte* from, size_t bytes) {
    const bool written = medium_->Persist(from, bytes);
    const std::lock_guard lock(mutex_);
    return written && !(IsSuperblock(from) && superblock_.unwritten && Fails(from));
  }
  // How long this store is to take.
  uint64_t SpikeNs(const std::byte* to) {
    const std::lock_guard lock(mutex_);
    if (rates_.slow == 0 || IsSuperblock(to) || random_() % rates_.slow != 0) return 0;
    ++slow_stores_;
    return 100'000 + random_() % 900'000;
  }
  void Store(std::byte* to, const std::byte* from, size_t bytes) {
    if (const uint64_t spike = SpikeNs(to)) SpinClock::SpinUntilNs(SpinClock::NowNs() + spike);
    const std::lock_guard lock(mutex_);
    if (IsSuperblock(to)) {
      if (superblock_.stores-- == 0) superblock_ = {};
      const bool fails = Fails(to) && !superblock_.unwritten;
      const size_t kept = superblock_.torn ? 2 * kLineBytes : 0;  // with what changes
      if (!fails || kept != 0) (void)medium_->Stream(to, from, fails ? kept : bytes);
      return;
    }
    if (stores_left_-- == 0) rates_ = {};
    const auto happens = [this](uint32_t one_in) { return one_in != 0 && random_() % one_in == 0; };
    const bool dropped = happens(rates_.dropped), torn = happens(rates_.torn), flipped = happens(rates_.flipped);
    failed_stores_ += dropped || torn || flipped ? 1 : 0;
    if (dropped) return;
    // Nothing is thrown through the lock by memory that is lost.
    if (torn) {
      const size_t kept = random_() % bytes / sizeof(uint64_t) * sizeof(uint64_t);
      (void)BusErrors::Try([&] {
        for (size_t i = 0; i < kept; ++i) to[i] = from[i];
      });
      return;
    }
    if (!medium_->Stream(to, from, bytes) || !flipped) return;
    medium_->Drain();
    to[random_() % bytes] ^= static_cast<std::byte>(1u << random_() % 8);
  }

  static inline FaultyMedium* active_ = nullptr;
  const std::unique_ptr<Medium> medium_;
  const std::vector<BadRange> bad_;
  std::mutex mutex_;
  FaultRates rates_;  // GUARDED_BY(mutex_), as is the rest
  uint64_t stores_left_ = UINT64_MAX;
  SuperblockFails superblock_;
  std::mt19937_64 random_;
  uint64_t failed_stores_ = 0, slow_stores_ = 0;
};

}  // namespace mezz::test
