// SPDX-License-Identifier: Apache-2.0
#include "cache/scrubber.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <system_error>

namespace mezz {

Scrubber::Scrubber(Index* index, const LogReader& reader, Counters* counters, const ForkGuard& guard)
    : index_(index), reader_(reader), counters_(counters), guard_(guard) {}

Scrubber::~Scrubber() {
  if (!thread_.joinable()) return;
  if (!guard_.InParent()) {
    new std::thread(std::move(thread_));  // a child has no such thread to join, and may not let go of it either
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stop_changed_.notify_all();
  thread_.join();
}

uint64_t Scrubber::Scrub(uint64_t bytes) {
  const std::lock_guard lock(scrub_mutex_);
  uint64_t checked = 0;
  for (uint64_t left = index_->slots(); left > 0 && checked < bytes; --left) {
    const uint64_t slot = next_slot_;
    next_slot_ = (next_slot_ + 1) % index_->slots();
    index_->VisitPinned(slot, reader_, [&](IndexWord word) {
      const record::Header& header = reader_.HeaderOf(word);
      checked += std::max<uint64_t>(header.payload_bytes, 1);
      if (record::PayloadIsWhole(header)) return;
      counters_->Add(Event::kScmChecksumMismatch, header.role);
      index_->RemoveRecord({slot, word});
    });
  }
  return checked;
}

bool Scrubber::Start(uint64_t bytes_per_second) {
  try {
    thread_ = std::thread([this, bytes_per_second] { Run(bytes_per_second); });
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

void Scrubber::Run(uint64_t bytes_per_second) {
  constexpr std::chrono::milliseconds kPiece(100);
  constexpr uint64_t kPiecesPerSecond = 10;
  const uint64_t bytes_per_piece = std::max<uint64_t>(bytes_per_second / kPiecesPerSecond, 1);
  std::unique_lock lock(mutex_);
  while (!stop_changed_.wait_for(lock, kPiece, [this] { return stop_; })) {
    lock.unlock();
    Scrub(bytes_per_piece);
    lock.lock();
  }
}

}  // namespace mezz
