// SPDX-License-Identifier: Apache-2.0
#include "admission/curves/sampler.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>

namespace mezz::plan {
namespace {

constexpr uint64_t kSaltWord = 0x63757276656d657aull;

}  // namespace

uint64_t Sampler::ThresholdOf(double rate) {
  return rate >= 1 ? UINT64_MAX : std::max<uint64_t>(1, static_cast<uint64_t>(std::ldexp(rate, 64))) - 1;
}

Sampler::Sampler(const Options& options)
    : options_(options), salt_(MixWord(options.seed ^ kSaltWord)), threshold_(ThresholdOf(options.rate_max)) {}

void Sampler::Add(uint64_t key, BlockRole role, uint32_t bytes) {
  assert(Keeps(key));
  const uint32_t known = numbers_.size();
  const uint32_t number = numbers_.Number(key);
  if (number == known) {
    blocks_.push_back({.key = key, .requests = 0, .bytes = bytes, .role = role, .age = 0});
    heap_.push_back(Hash(key));
    std::ranges::push_heap(heap_);
    if (heap_.size() > options_.blocks_max) Lower();
  }
  Block& block = blocks_[number];
  ++block.requests;
  block.resized = block.resized || (block.bytes != 0 && bytes != 0 && block.bytes != bytes);
  if (block.bytes == 0) block.bytes = bytes;
  if (!overflown_) log_.push_back(number);
  if (blocks_.size() < (uint64_t{options_.left_max} + 1) * options_.blocks_max && log_.size() < options_.log_max)
    return;
  Compact();
  if (log_.size() < options_.log_max - options_.log_max / 8) return;
  overflown_ = true;
  log_ = {};
}

void Sampler::SetBytes(uint64_t key, uint32_t bytes) {
  if (const auto number = numbers_.Find(key)) blocks_[*number].bytes = bytes;
}

void Sampler::Lower() {
  std::ranges::pop_heap(heap_);
  threshold_ = heap_.back() - 1;
  heap_.pop_back();
}

// Numbers the blocks of the sample anew, in the same order, and leaves the others out of the log.
void Sampler::Compact() {
  if (blocks_.size() == blocks()) return;
  std::vector<uint32_t> now(blocks_.size(), kNoBlock);
  std::vector<Block> kept;
  kept.reserve(std::bit_ceil(blocks()));  // from which doubling never passes twice blocks_max
  numbers_ = KeyMap();
  for (uint32_t number = 0; number < blocks_.size(); ++number) {
    if (!Keeps(blocks_[number].key) || blocks_[number].requests == 0) continue;
    now[number] = numbers_.Number(blocks_[number].key);
    kept.push_back(blocks_[number]);
  }
  blocks_ = std::move(kept);
  assert(blocks_.size() == blocks());
  const auto left = [&](uint32_t number) { return now[number] == kNoBlock; };
  const auto left_before = [&](size_t place) {
    return static_cast<size_t>(std::count_if(log_.begin(), log_.begin() + static_cast<ptrdiff_t>(place), left));
  };
  mark_ -= left_before(mark_);
  front_ -= left_before(front_);
  std::erase_if(log_, left);
  for (uint32_t& number : log_) number = now[number];
}

void Sampler::DropToMark() {
  assert(!overflown_ && front_ <= mark_ && mark_ <= log_.size());
  for (Block& block : blocks_) {
    block.requests = 0;
    block.age = static_cast<uint8_t>(std::min<int>(block.age + 1, UINT8_MAX));
  }
  for (size_t i = front_; i < log_.size(); ++i) blocks_[log_[i]].age = 0;
  std::vector<uint32_t> log;  // the front, latest first
  log.reserve(log_.capacity());
  std::vector<bool> seen(blocks_.size(), false);
  for (size_t i = mark_; i-- > 0;) {
    const uint32_t number = log_[i];
    if (!seen[number] && blocks_[number].age <= kAgeMax && Keeps(blocks_[number].key)) log.push_back(number);
    seen[number] = true;
  }
  std::ranges::reverse(log);
  front_ = log.size();
  log.insert(log.end(), log_.begin() + static_cast<ptrdiff_t>(mark_), log_.end());
  log_ = std::move(log);
  mark_ = front_;
  for (const uint32_t number : log_) ++blocks_[number].requests;
  heap_.clear();
  active_ = 0;
  for (const Block& block : blocks_) {
    if (block.requests == 0 || !Keeps(block.key)) continue;
    heap_.push_back(Hash(block.key));
    active_ += block.age == 0;
  }
  std::ranges::make_heap(heap_);
  Compact();
}

double Sampler::rate() const {
  const double below = threshold_ == UINT64_MAX ? 1.0 : std::ldexp(static_cast<double>(threshold_) + 1, -64);
  return below * options_.share;
}

uint64_t Sampler::requests() {
  Compact();
  uint64_t sum = 0;
  for (const Block& block : blocks_) sum += block.requests;
  return sum;
}

uint64_t Sampler::footprint_bytes() {
  Compact();
  uint64_t sum = 0;
  for (const Block& block : blocks_) sum += block.bytes == 0 ? options_.block_bytes : block.bytes;
  return sum;
}

uint64_t Sampler::request_bytes() {
  Compact();
  uint64_t sum = 0;
  for (const Block& block : blocks_) sum += block.requests * (block.bytes == 0 ? options_.block_bytes : block.bytes);
  return sum;
}

uint64_t Sampler::resized() {
  Compact();
  return static_cast<uint64_t>(std::ranges::count(blocks_, true, &Block::resized));
}

uint64_t Sampler::memory_bytes() const {
  return numbers_.bytes() + blocks_.capacity() * sizeof(Block) + heap_.capacity() * sizeof(uint64_t) +
         log_.capacity() * sizeof(uint32_t);
}

BlockTrace Sampler::Take(const std::string& name) {
  Compact();
  TraceBlocks known;
  for (const Block& block : blocks_) {
    known.keys.push_back(block.key);
    known.bytes.push_back(block.bytes == 0 ? options_.block_bytes : block.bytes);
    known.roles.push_back(block.role);
  }
  BlockTrace trace(name, options_.block_bytes, std::move(known));
  trace.SetAccesses(std::move(log_));
  blocks_ = {};
  heap_ = {};
  numbers_ = KeyMap();
  return trace;
}

}  // namespace mezz::plan
