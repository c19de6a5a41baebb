// SPDX-License-Identifier: Apache-2.0
#include "tests/support/check/memory_model.h"

#include <algorithm>
#include <bit>

namespace mezz::check {
namespace {

bool Acquires(std::memory_order order) {
  return order == std::memory_order_acquire || order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst || order == std::memory_order_consume;
}
bool Releases(std::memory_order order) {
  return order == std::memory_order_release || order == std::memory_order_acq_rel || order == std::memory_order_seq_cst;
}

}  // namespace

void MemoryModel::Reset() {
  clocks_ = {};
  locations_.clear();
  pool_used_ = 0;
  lines_.clear();
  for (auto& lines : undrained_) lines.clear();
}

MemoryModel::Location* MemoryModel::Find(const void* at, uint64_t newest) {
  Location*& found = locations_[at];
  if (found != nullptr) return found;
  if (pool_used_ == pool_.size()) pool_.push_back(std::make_unique<Location>());
  found = pool_[pool_used_++].get();
  found->at = at;
  found->stores.assign(1, {newest, Clock()});
  for (auto& seen : found->seen) seen.clear();
  found->sc_floor = 0;
  found->threads = 0;
  found->written = false;
  return found;
}

unsigned MemoryModel::Readable(const Location& location, unsigned thread, std::memory_order order) const {
  size_t oldest = order == std::memory_order_seq_cst ? location.sc_floor : 0;
  for (unsigned other = 0; other < kThreadsMax; ++other) {
    // What this thread knows that `other` has read or written, it may not go behind.
    const auto& seen = location.seen[other];
    for (auto it = seen.rbegin(); it != seen.rend(); ++it) {
      if (it->step > clocks_[thread][other]) continue;
      oldest = std::max(oldest, it->index);
      break;
    }
  }
  return static_cast<unsigned>(location.stores.size() - oldest);
}

uint64_t MemoryModel::Value(const Location& location, unsigned age) {
  return location.stores[location.stores.size() - 1 - age].value;
}

uint64_t MemoryModel::Load(Location* location, unsigned thread, unsigned age, std::memory_order order) {
  const size_t index = location->stores.size() - 1 - age;
  if (Acquires(order)) Acquire(thread, location->stores[index].released);
  Remember(location, thread, index, order);
  return location->stores[index].value;
}

void MemoryModel::Store(Location* location, unsigned thread, uint64_t value, std::memory_order order) {
  location->stores.push_back({value, Releases(order) ? clocks_[thread] : Clock()});
  location->written = true;
  Remember(location, thread, location->stores.size() - 1, order);
}

void MemoryModel::Exchange(Location* location, unsigned thread, uint64_t value, std::memory_order order) {
  Clock released = location->stores.back().released;  // the release sequence goes on
  if (Acquires(order)) Acquire(thread, released);
  if (Releases(order)) released.Join(clocks_[thread]);
  location->stores.push_back({value, released});
  location->written = true;
  Remember(location, thread, location->stores.size() - 1, order);
}

void MemoryModel::Remember(Location* location, unsigned thread, size_t index, std::memory_order order) {
  location->seen[thread].push_back({clocks_[thread][thread], index});
  location->threads |= 1u << thread;
  if (order == std::memory_order_seq_cst) location->sc_floor = std::max(location->sc_floor, index);
}

std::optional<std::string> MemoryModel::Read(unsigned thread, uintptr_t at, size_t bytes) {
  Step(thread);
  for (uintptr_t line = at / kLineBytes; line <= (at + bytes - 1) / kLineBytes; ++line) {
    Line& known = lines_[line];
    if (known.writer != thread && known.written_at > clocks_[thread][known.writer])
      return "reads bytes that thread " + std::to_string(known.writer) + " writes at the same time";
    if (known.writer != thread && !known.drained)
      return "reads bytes that thread " + std::to_string(known.writer) + " has not drained";
    known.read_at[thread] = clocks_[thread][thread];
  }
  return std::nullopt;
}

std::optional<std::string> MemoryModel::Write(unsigned thread, uintptr_t at, size_t bytes, bool drained) {
  Step(thread);
  for (uintptr_t line = at / kLineBytes; line <= (at + bytes - 1) / kLineBytes; ++line) {
    Line& known = lines_[line];
    if (known.writer != thread && known.written_at > clocks_[thread][known.writer])
      return "writes bytes that thread " + std::to_string(known.writer) + " writes at the same time";
    for (unsigned other = 0; other < kThreadsMax; ++other) {
      if (other != thread && known.read_at[other] > clocks_[thread][other])
        return "writes bytes that thread " + std::to_string(other) + " reads at the same time";
    }
    known.writer = thread;
    known.written_at = clocks_[thread][thread];
    known.drained = drained;
    if (!drained) undrained_[thread].push_back(line);
  }
  return std::nullopt;
}

void MemoryModel::Drain(unsigned thread) {
  Step(thread);
  for (const uintptr_t line : undrained_[thread]) {
    Line& known = lines_[line];
    if (known.writer != thread) continue;
    known.drained = true;
    known.written_at = clocks_[thread][thread];  // that is when they became visible
  }
  undrained_[thread].clear();
}

bool MemoryModel::IsShared(const void* at) const {
  const auto found = locations_.find(at);
  return found != locations_.end() && found->second->written && std::popcount(found->second->threads) > 1;
}

bool MemoryModel::CollectShared(std::unordered_set<const void*>* shared) const {
  bool grown = false;
  for (size_t i = 0; i < pool_used_; ++i) {
    if (pool_[i]->written && std::popcount(pool_[i]->threads) > 1) grown |= shared->insert(pool_[i]->at).second;
  }
  return grown;
}

}  // namespace mezz::check
