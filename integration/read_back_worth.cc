// SPDX-License-Identifier: Apache-2.0
#include "integration/read_back_worth.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "cache/base/if_memory.h"

namespace mezz {

bool ReadBackWorth::Pays(Score* database) {
  const std::lock_guard lock(mutex_);
  const bool pays = database->sampled < kSamplesToJudgeMin ||
                    uint64_t{database->asked} * 100 >= uint64_t{database->sampled} * kAskedPercentMin;
  if (pays || ++database->left_out == kProbedOneIn) {
    database->left_out = 0;
    return true;
  }
  return false;
}

void ReadBackWorth::BeginFile(FileId file, std::shared_ptr<Score> database) noexcept {
  const std::lock_guard lock(mutex_);
  reading_ = kFiles;
  if (owner_ == nullptr && !IfThereIsMemory([&] { owner_ = std::make_unique<Samples>(); })) return;
  samples_.store(owner_.get(), std::memory_order_release);
  reading_ = std::exchange(next_, (next_ + 1) % kFiles);
  File& place = files_[reading_];
  JudgeLocked(&place);
  place.id = file;
  place.database = std::move(database);
}

void ReadBackWorth::NoteBlock(const BlockKey& key) noexcept {
  const uint64_t hash = BlockHash(key);
  if (hash % kSampledOneIn != 0) return;
  const std::lock_guard lock(mutex_);
  if (reading_ == kFiles || files_[reading_].database == nullptr) return;
  const auto place = static_cast<uint32_t>(reading_) + 1;
  assert(place < 1u << kTagShift);
  (*owner_)[PlaceOf(hash)].store(TagOf(hash) | place, std::memory_order_relaxed);
  ++files_[reading_].sampled;
}

void ReadBackWorth::NoteSampledHit(uint64_t hash, Samples* samples) noexcept {
  std::atomic<uint32_t>& sample = (*samples)[PlaceOf(hash)];
  uint32_t word = sample.load(std::memory_order_relaxed);
  const uint32_t place = word & ((1u << kTagShift) - 1);
  if (place == 0 || word - place != TagOf(hash)) return;
  if (sample.compare_exchange_strong(word, 0, std::memory_order_relaxed))
    files_[place - 1].hits.fetch_add(1, std::memory_order_relaxed);
}

void ReadBackWorth::OnFileDeleted(FileId file) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::ranges::find_if(files_, [&](const File& known) { return known.database != nullptr && known.id == file; });
  if (found != files_.end()) JudgeLocked(&*found);
}

void ReadBackWorth::JudgeLocked(File* file) {
  if (file->database == nullptr) return;
  Score& score = *file->database;
  score.sampled += file->sampled;
  // A sample of a place's former file may be hit late.
  score.asked += std::min(file->hits.load(std::memory_order_relaxed), file->sampled);
  while (score.sampled >= kSamplesToForget) {
    score.sampled /= 2;
    score.asked /= 2;
  }
  file->database.reset();
  file->sampled = 0;
  file->hits.store(0, std::memory_order_relaxed);
}

}  // namespace mezz
