// SPDX-License-Identifier: Apache-2.0
#include "admission/miniatures.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace mezz {
namespace {

// Scores are judged and decay each time that this many look-ups were made, as a share of the sampled SCM tier's blocks.
constexpr double kJudgeShare = 0.125;
constexpr uint32_t kJudgeLookupsMin = 64;
constexpr double kDecay = 0.98;
// The weight of one drop in the mean frequency of what is dropped.
constexpr double kDroppedWeight = 0.01;
// Below this share of hits the blocks in the tier are useless.
constexpr double kStaleHitShare = 0.002;

}  // namespace

Miniatures::Miniatures(const Options& options, const FrequencySketch& sketch)
    : sketch_(sketch), block_bytes_(std::max(1u, options.block_bytes)), young_percent_(options.young_percent) {
  Size(options.dram_bytes, options.scm_bytes, /*ratio_min=*/1);
  ratio_at_first_ = sample_mask_.load(std::memory_order_relaxed) + 1;
  keys_.resize(std::max<size_t>(8 * kWays, (ghosts_max_ * kKeysPerTwoBlocks / 2 + kWays - 1) / kWays * kWays));
  // Stale records stay queued until they are reached, so there is room for more than what fits.
  const size_t records = static_cast<size_t>(scm_bytes_ / block_bytes_) * 9 / 8 + kWays;
  for (size_t of = 0; of < kStrictnesses; ++of)
    tiers_.emplace_back(static_cast<Strictness>(of) <= Strictness::kLatest ? 0 : records, records);
}

void Miniatures::Size(uint64_t dram_bytes, uint64_t scm_bytes, uint64_t ratio_min) {
  const uint64_t blocks = std::max<uint64_t>(1, (dram_bytes + scm_bytes) / block_bytes_);
  const uint64_t keys_max = keys_.empty() ? kSampledBlocksMax : keys_.size() * 2 / kKeysPerTwoBlocks;
  const uint64_t ratio = std::bit_ceil(std::max(ratio_min, (blocks + keys_max - 1) / keys_max));
  sample_mask_.store(ratio - 1, std::memory_order_relaxed);
  scm_bytes_ = std::max<uint64_t>(scm_bytes / ratio, block_bytes_);
  young_bytes_ = scm_bytes_ * young_percent_ / 100;
  dram_bytes_ = dram_bytes / ratio;
  ghosts_max_ = static_cast<uint32_t>(std::max<uint64_t>(1, blocks / ratio));
  const uint64_t scm_blocks = scm_bytes_ / block_bytes_;
  judge_every_ = std::max(kJudgeLookupsMin, static_cast<uint32_t>(kJudgeShare * static_cast<double>(scm_blocks)));
}

void Miniatures::SetCapacity(uint64_t dram_bytes, uint64_t scm_bytes) {
  if (dram_bytes + scm_bytes == 0) return;
  const std::lock_guard lock(mutex_);
  Size(dram_bytes, scm_bytes, ratio_at_first_);
  StartAnew();
}

void Miniatures::StartAnew() {
  std::ranges::fill(keys_, Key{});
  for (Tier& tier : tiers_) {
    tier.young.Clear();
    tier.proven.Clear();
    tier.used_bytes = tier.young_bytes = 0;
    tier.hits = tier.write_cost = tier.dropped_frequency = 0;
    tier.hits_in_turn = 0;
    tier.filled = false;
  }
  lookups_ = found_ = behind_ = 0;
  decayed_lookups_ = 0;
  turning_ = false;
  swept_ = 0;
  histogram_ = {};
}

size_t Miniatures::dram_bytes() const {
  size_t bytes = sizeof(*this) + keys_.size() * sizeof(Key) + tiers_.size() * sizeof(Tier);
  for (const Tier& tier : tiers_) bytes += tier.young.dram_bytes() + tier.proven.dram_bytes();
  return bytes;
}

// Finds a key. Null: it is not known, and `make` is false.
Miniatures::Key* Miniatures::Find(uint64_t hash, bool make) {
  const size_t sets = keys_.size() / kWays;
  Key* const set = &keys_[static_cast<size_t>((static_cast<unsigned __int128>(hash) * sets) >> 64) * kWays];
  Key* victim = nullptr;
  uint32_t victim_age = 0;
  bool victim_idle = false;
  for (Key* key = set; key != set + kWays; ++key) {
    if (key->used != 0 && key->hash() == hash) {
      key->used = Now();
      return key;
    }
    const bool idle = key->in_dram == 0 &&
                      std::ranges::all_of(key->views, [](const View& view) { return view.place == Place::kNowhere; });
    const uint32_t age = key->used == 0 ? UINT32_MAX : static_cast<uint16_t>(Now() - key->used);
    if (victim == nullptr || (idle && !victim_idle) || (idle == victim_idle && age > victim_age)) {
      victim = key;
      victim_age = age;
      victim_idle = idle;
    }
  }
  if (!make) return nullptr;
  Recycle(victim);
  victim->hash_low = static_cast<uint32_t>(hash);
  victim->hash_high = static_cast<uint32_t>(hash >> 32);
  victim->bytes = std::min(block_bytes_, kKeyBytesMax);
  victim->used = Now();
  return victim;
}

void Miniatures::Recycle(Key* key) {
  for (size_t of = 0; of < kStrictnesses; ++of) Forget(of, key);
  *key = Key{};
}

void Miniatures::Forget(size_t of, Key* key) {
  View& view = key->views[of];
  if (view.place == Place::kNowhere) return;
  assert(tiers_[of].used_bytes >= key->bytes && (view.place != Place::kYoung || tiers_[of].young_bytes >= key->bytes));
  tiers_[of].used_bytes -= key->bytes;
  if (view.place == Place::kYoung) tiers_[of].young_bytes -= key->bytes;
  view.place = Place::kNowhere;
  view.number = 0;
}

bool Miniatures::OnDramMiss(uint64_t hash, bool in_scm, bool enters_dram) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  events_ = std::max(events_ + 1, 1u);
  Key* const key = Find(hash, /*make=*/true);
  key->in_dram = enters_dram ? 1 : 0;
  for (size_t of = 0; of < kStrictnesses; ++of) {
    View& view = key->views[of];
    if (view.place == Place::kNowhere) {
      if (!enters_dram) Demote(of, key, /*was_hit=*/false);
      continue;
    }
    tiers_[of].hits += 1;
    ++tiers_[of].hits_in_turn;
    view.heat = std::min(view.heat + 1u, 3u);
  }
  found_ += in_scm ? 1 : 0;
  decayed_lookups_ += 1;
  SweepHistogram();
  return ++lookups_ >= judge_every_ && Judge();
}

void Miniatures::OnDramEviction(uint64_t hash, uint32_t bytes, bool was_hit, double write_cost) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  events_ = std::max(events_ + 1, 1u);
  Key* const key = Find(hash, /*make=*/true);
  key->in_dram = 0;
  bytes = std::min(bytes, kKeyBytesMax);
  if (key->bytes != bytes) {
    for (size_t of = 0; of < kStrictnesses; ++of) Forget(of, key);
    key->bytes = bytes;
  }
  write_cost_ = write_cost;
  for (size_t of = 0; of < kStrictnesses; ++of) Demote(of, key, was_hit);
}

void Miniatures::Demote(size_t of, Key* key, bool was_hit) {
  Tier& tier = tiers_[of];
  View& view = key->views[of];
  if (view.place != Place::kNowhere) return;
  const auto strictness = static_cast<Strictness>(of);
  if (tier.filled && !Admits(tier, strictness, *key, view, was_hit)) {
    view.number = ++tier.ghosts & kNumberMask;
    return;
  }
  const bool proven =
      strictness <= Strictness::kLatest || (strictness != Strictness::kDramFirst && HasGhost(tier, view));
  MakeRoom(of, key->bytes);
  view.heat = HeatOfNew(proven ? Generation::kProven : Generation::kYoung);
  Put(of, static_cast<uint32_t>(key - keys_.data()), proven);
}

bool Miniatures::Admits(const Tier& tier, Strictness strictness, const Key& key, const View& view, bool was_hit) const {
  if (!AsksForEvidence(strictness)) return true;
  if (!was_hit && !HasGhost(tier, view)) return false;
  return strictness == Strictness::kEvidence || FrequencyOf(key) >= kOverDropped * tier.dropped_frequency;
}

void Miniatures::Put(size_t of, uint32_t slot, bool proven) {
  Tier& tier = tiers_[of];
  Key& key = keys_[slot];
  View& view = key.views[of];
  Queue& queue = proven ? tier.proven : tier.young;
  if (queue.full()) {  // of records that are stale, or smaller than expected
    const Record oldest = queue.Pop();
    Key& other = keys_[oldest.slot];
    if (other.views[of].place != Place::kNowhere && oldest.IsOf(other.views[of])) Forget(of, &other);
  }
  view.number = ++tier.writes & kNumberMask;
  view.place = proven ? Place::kProven : Place::kYoung;
  queue.Push({.slot = slot & 0xfffu, .number = static_cast<uint32_t>(view.number)});
  tier.used_bytes += key.bytes;
  if (!proven) tier.young_bytes += key.bytes;
  tier.write_cost += write_cost_ * key.bytes / block_bytes_;
}

void Miniatures::MakeRoom(size_t of, uint64_t bytes) {
  Tier& tier = tiers_[of];
  unsigned walked = 0;
  for (; walked < kWalkedPerEventMax && tier.used_bytes + bytes > scm_bytes_; ++walked) {
    if (tier.young.empty() && tier.proven.empty()) break;
    tier.filled = true;
    const bool young = tier.proven.empty() || (tier.young_bytes > young_bytes_ && !tier.young.empty());
    const Record record = young ? tier.young.Pop() : tier.proven.Pop();
    Key& key = keys_[record.slot];
    View& view = key.views[of];
    const Place expected = young ? Place::kYoung : Place::kProven;
    if (view.place != expected || !record.IsOf(view)) continue;
    Forget(of, &key);
    // As AdaptivePolicy::OnReclaim.
    if (key.in_dram == 0 && view.heat >= (young ? 1 : HeatOfSpared(static_cast<Strictness>(of))) &&
        walked < kWalkedPerEventMax / 2) {
      --view.heat;
      Put(of, record.slot, /*proven=*/true);
      continue;
    }
    view.number = ++tier.ghosts & kNumberMask;
    if (!young && key.in_dram == 0)
      tier.dropped_frequency += kDroppedWeight * (FrequencyOf(key) - tier.dropped_frequency);
  }
  walked_records_.store(walked_records_.load(std::memory_order_relaxed) + walked, std::memory_order_relaxed);
}

// Whether the load has moved: the SCM tier finds far less than the latest blocks alone would.
bool Miniatures::HasMoved() {
  const uint32_t latest = TierOf(Strictness::kLatest).hits_in_turn;
  const bool behind = TierOf(Strictness::kFrequency).filled && 2 * latest > 3 * found_ &&
                      latest > kMovedShare * static_cast<double>(lookups_);
  behind_ = behind ? behind_ + 1 : 0;
  since_moved_ += lookups_;
  return behind_ >= kMovedJudgements && since_moved_ > kMovesApart * (scm_bytes_ / block_bytes_);
}

// Judges the scores. True: the load has moved.
bool Miniatures::Judge() {
  if (HasMoved()) {
    StartAnew();
    since_moved_ = 0;
    turning_ = true;
    verdict_.store(Strictness::kLatest, std::memory_order_relaxed);
    return true;
  }
  lookups_ = found_ = 0;
  for (Tier& tier : tiers_) tier.hits_in_turn = 0;
  turning_ = turning_ && !TierOf(Strictness::kLatest).filled;
  if (turning_) return false;
  const auto score = [this](size_t of) { return tiers_[of].hits - tiers_[of].write_cost; };
  constexpr auto kFirst = static_cast<size_t>(Strictness::kLatest);
  double best_score = score(kFirst);
  for (size_t of = kFirst; of < kStrictnesses; ++of) best_score = std::max(best_score, score(of));
  const double enough = best_score - kEquals * std::max(1.0, best_score);
  size_t strictest = kFirst;
  for (size_t of = kFirst; of < kStrictnesses; ++of) {
    if (score(of) >= enough) strictest = of;
  }
  constexpr auto kOnce = static_cast<size_t>(Strictness::kOnce);
  if (strictest == kFirst && score(kOnce) > kOnceOverLatest * score(kFirst)) strictest = kOnce;
  verdict_.store(static_cast<Strictness>(strictest), std::memory_order_relaxed);
  stale_.store(tiers_[strictest].hits < kStaleHitShare * decayed_lookups_, std::memory_order_relaxed);
  for (Tier& tier : tiers_) {
    tier.hits *= kDecay;
    tier.write_cost *= kDecay;
  }
  decayed_lookups_ *= kDecay;
  return false;
}

// Sweeps two keys of the histogram at each look-up, so that no look-up pays for all.
void Miniatures::SweepHistogram() {
  for (int step = 0; step < 2; ++step) {
    const Key& key = keys_[swept_];
    if (key.used != 0) histogram_[FrequencyOf(key)] += key.bytes;
    if (++swept_ < keys_.size()) continue;
    swept_ = 0;
    const auto room = static_cast<uint64_t>(kHotShare * static_cast<double>(dram_bytes_));
    uint64_t hot_bytes = 0;
    unsigned frequency = FrequencySketch::kMax;
    for (; frequency > 1; --frequency) {
      hot_bytes += histogram_[frequency];
      if (hot_bytes > room) break;
    }
    uint64_t bytes = 0, asked_bytes = 0;
    for (unsigned f = 1; f <= FrequencySketch::kMax; ++f) {
      bytes += histogram_[f];
      asked_bytes += f * histogram_[f];
    }
    // Where the hot are hardly hotter than the rest, as under uniform access, a promotion gains nothing, and the block
    // lies in both tiers.
    const bool skewed = static_cast<double>(frequency * bytes) >= kHotOverMean * static_cast<double>(asked_bytes);
    hot_frequency_.store(skewed || frequency == 1 ? frequency : kNothingIsHot, std::memory_order_relaxed);
    histogram_ = {};
  }
}

}  // namespace mezz
