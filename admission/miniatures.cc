// SPDX-License-Identifier: Apache-2.0
#include "admission/miniatures.h"

#include <algorithm>
#include <bit>

namespace mezz {
namespace {

// Scores are judged and decay each time that this many look-ups were made, as a share of the sampled SCM tier's blocks.
constexpr double kJudgeShare = 0.125;
constexpr uint32_t kJudgeLookupsMin = 64;
constexpr double kDecay = 0.98;
// Below this share of hits the blocks in the tier are useless.
constexpr double kStaleHitShare = 0.002;

}  // namespace

Miniatures::Miniatures(const Options& options, const FrequencySketch& sketch)
    : young_percent_(options.young_percent),
      sample_{.sketch = sketch, .block_bytes = std::max(1u, options.block_bytes), .write_cost = kWriteCost} {
  Size(options.dram_bytes, options.scm_bytes, /*ratio_min=*/1);
  ratio_at_first_ = sample_mask_.load(std::memory_order_relaxed) + 1;
  const size_t keys = (sample_.ghosts_max * kKeysPerTwoBlocks / 2 + kWays - 1) / kWays * kWays;
  sample_.keys.resize(std::max<size_t>(8 * kWays, keys));
  // Stale records stay queued until they are reached, so there is room for more than what fits.
  const size_t records = static_cast<size_t>(sample_.scm_bytes / sample_.block_bytes) * 9 / 8 + kWays;
  tiers_.reserve(kStrictnesses);
  for (size_t of = 0; of < kStrictnesses; ++of) tiers_.emplace_back(static_cast<Strictness>(of), records, &sample_);
}

void Miniatures::Size(uint64_t dram_bytes, uint64_t scm_bytes, uint64_t ratio_min) {
  const uint64_t blocks = std::max<uint64_t>(1, (dram_bytes + scm_bytes) / sample_.block_bytes);
  const uint64_t keys_max = sample_.keys.empty() ? kSampledBlocksMax : sample_.keys.size() * 2 / kKeysPerTwoBlocks;
  const uint64_t ratio = std::bit_ceil(std::max(ratio_min, (blocks + keys_max - 1) / keys_max));
  sample_mask_.store(ratio - 1, std::memory_order_relaxed);
  sample_.scm_bytes = std::max<uint64_t>(scm_bytes / ratio, sample_.block_bytes);
  sample_.young_bytes = sample_.scm_bytes * young_percent_ / 100;
  dram_bytes_ = dram_bytes / ratio;
  sample_.ghosts_max = static_cast<uint32_t>(std::max<uint64_t>(1, blocks / ratio));
  const uint64_t scm_blocks = sample_.scm_bytes / sample_.block_bytes;
  judge_every_ = std::max(kJudgeLookupsMin, static_cast<uint32_t>(kJudgeShare * static_cast<double>(scm_blocks)));
}

void Miniatures::SetCapacity(uint64_t dram_bytes, uint64_t scm_bytes) {
  if (dram_bytes + scm_bytes == 0) return;
  const std::lock_guard lock(mutex_);
  Size(dram_bytes, scm_bytes, ratio_at_first_);
  StartAnew();
}

void Miniatures::StartAnew() {
  std::ranges::fill(sample_.keys, SampledKey{});
  for (MiniatureTier& tier : tiers_) tier.StartAnew();
  lookups_ = found_ = behind_ = 0;
  decayed_lookups_ = 0;
  turning_ = false;
  swept_ = 0;
  histogram_ = {};
}

size_t Miniatures::dram_bytes() const {
  size_t bytes = sizeof(*this) + sample_.keys.size() * sizeof(SampledKey);
  for (const MiniatureTier& tier : tiers_) bytes += tier.dram_bytes();
  return bytes;
}

// Finds a key. One that is not known takes the place of the least useful one of its set.
SampledKey* Miniatures::Find(uint64_t hash) {
  const size_t sets = sample_.keys.size() / kWays;
  SampledKey* const set =
      &sample_.keys[static_cast<size_t>((static_cast<unsigned __int128>(hash) * sets) >> 64) * kWays];
  SampledKey* victim = nullptr;
  uint32_t victim_age = 0;
  bool victim_idle = false;
  for (SampledKey* key = set; key != set + kWays; ++key) {
    if (key->used != 0 && key->hash() == hash) {
      key->used = Now();
      return key;
    }
    const bool idle = key->in_dram == 0 &&
                      std::ranges::none_of(tiers_, [key](const MiniatureTier& tier) { return tier.Holds(*key); });
    const uint32_t age = key->used == 0 ? UINT32_MAX : static_cast<uint16_t>(Now() - key->used);
    if (victim == nullptr || (idle && !victim_idle) || (idle == victim_idle && age > victim_age)) {
      victim = key;
      victim_age = age;
      victim_idle = idle;
    }
  }
  for (MiniatureTier& tier : tiers_) tier.Forget(victim);
  *victim = SampledKey{.hash_low = static_cast<uint32_t>(hash),
                       .hash_high = static_cast<uint32_t>(hash >> 32),
                       .bytes = std::min(sample_.block_bytes, SampledKey::kBytesMax),
                       .views = {},
                       .used = Now()};
  return victim;
}

void Miniatures::Demote(MiniatureTier* tier, SampledKey* key, bool was_hit) {
  const uint64_t walked = tier->Demote(key, was_hit);
  walked_records_.store(walked_records_.load(std::memory_order_relaxed) + walked, std::memory_order_relaxed);
}

bool Miniatures::OnDramMiss(uint64_t hash, bool in_scm, bool enters_dram) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  events_ = std::max(events_ + 1, 1u);
  SampledKey* const key = Find(hash);
  key->in_dram = enters_dram ? 1 : 0;
  for (MiniatureTier& tier : tiers_) {
    if (tier.Holds(*key)) {
      tier.Hit(key);
    } else if (!enters_dram) {
      Demote(&tier, key, /*was_hit=*/false);
    }
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
  SampledKey* const key = Find(hash);
  key->in_dram = 0;
  bytes = std::min(bytes, SampledKey::kBytesMax);
  if (key->bytes != bytes) {
    for (MiniatureTier& tier : tiers_) tier.Forget(key);
    key->bytes = bytes;
  }
  sample_.write_cost = write_cost;
  for (MiniatureTier& tier : tiers_) Demote(&tier, key, was_hit);
}

// Whether the load has moved: the SCM tier finds far less than the latest blocks alone would.
bool Miniatures::HasMoved() {
  const uint32_t latest = TierOf(Strictness::kLatest).hits_in_turn();
  const bool behind = TierOf(Strictness::kFrequency).filled() && 2 * latest > 3 * found_ &&
                      latest > kMovedShare * static_cast<double>(lookups_);
  behind_ = behind ? behind_ + 1 : 0;
  since_moved_ += lookups_;
  return behind_ >= kMovedJudgements && since_moved_ > kMovesApart * (sample_.scm_bytes / sample_.block_bytes);
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
  for (MiniatureTier& tier : tiers_) tier.StartTurn();
  turning_ = turning_ && !TierOf(Strictness::kLatest).filled();
  if (turning_) return false;
  const auto score = [this](size_t of) { return tiers_[of].score(); };
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
  stale_.store(tiers_[strictest].hits() < kStaleHitShare * decayed_lookups_, std::memory_order_relaxed);
  for (MiniatureTier& tier : tiers_) tier.Decay(kDecay);
  decayed_lookups_ *= kDecay;
  return false;
}

// Sweeps two keys of the histogram at each look-up, so that no look-up pays for all.
void Miniatures::SweepHistogram() {
  for (int step = 0; step < 2; ++step) {
    const SampledKey& key = sample_.keys[swept_];
    if (key.used != 0) histogram_[sample_.FrequencyOf(key)] += key.bytes;
    if (++swept_ < sample_.keys.size()) continue;
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
