// SPDX-License-Identifier: Apache-2.0
#include "cache/scrubber.h"

#include <algorithm>
#include <chrono>
#include <new>

#include "cache/base/start_thread.h"

namespace mezz {

Scrubber::Scrubber(Index* index, const LogReader& reader, const ForkGuard& guard)
    : index_(index), reader_(reader), guard_(guard) {}

Scrubber::~Scrubber() { Stop(); }

void Scrubber::Stop() {
  if (background_ == nullptr) return;
  if (!guard_.InParent()) {
    // A child has no such thread to join, and a condition variable may not go while the parent's thread waits on it.
    [[maybe_unused]] Background* const left = background_.release();
    return;
  }
  {
    const std::lock_guard lock(background_->mutex);
    background_->stop = true;
  }
  background_->stop_changed.notify_all();
  background_->thread.join();
  background_.reset();
}

uint64_t Scrubber::Scrub(uint64_t bytes) {
  const std::lock_guard lock(scrub_mutex_);
  uint64_t checked = 0;
  for (uint64_t left = index_->slots(); left > 0 && checked < bytes; --left) {
    const uint64_t slot = next_slot_;
    next_slot_ = (next_slot_ + 1) % index_->slots();
    index_->VisitPinned(slot, reader_, [&](IndexWord word) {
      const record::Header header = reader_.HeaderOf(word);
      checked += std::max<uint64_t>(header.payload_bytes, 1);
      if (reader_.PayloadIsWhole(reader_.HeaderOf(word))) return;
      reader_.NoteMismatch(header.role, word);
      index_->RemoveLine(index_->Hash(header.key), word.line());
    });
  }
  return checked;
}

bool Scrubber::Start(uint64_t bytes_per_second) {
  background_.reset(new (std::nothrow) Background);
  if (background_ == nullptr) return false;
  background_->thread = StartThread("mezz-scrub", [this, bytes_per_second] { Run(bytes_per_second); });
  if (!background_->thread.joinable()) background_.reset();
  return background_ != nullptr;
}

void Scrubber::Run(uint64_t bytes_per_second) {
  constexpr std::chrono::milliseconds kPiece(100);
  constexpr uint64_t kPiecesPerSecond = 10;
  const uint64_t bytes_per_piece = std::max<uint64_t>(bytes_per_second / kPiecesPerSecond, 1);
  std::unique_lock lock(background_->mutex);
  while (!background_->stop_changed.wait_for(lock, kPiece, [this] { return background_->stop; })) {
    lock.unlock();
    Scrub(bytes_per_piece);
    lock.lock();
  }
}

}  // namespace mezz
