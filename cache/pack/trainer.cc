// SPDX-License-Identifier: Apache-2.0
#include "cache/pack/trainer.h"

#include <zdict.h>
#include <zstd.h>

#include <algorithm>
#include <cassert>
#include <new>
#include <numeric>

#include "cache/base/start_thread.h"
#include "cache/pack/packer.h"

namespace mezz {
namespace {

constexpr size_t kSegmentShare = 16;    // all dictionaries together fill half of a segment at most
constexpr size_t kSamplesPerByte = 32;  // ZDICT's advice is a hundred; 16 MiB or so of samples gain a hundredth
constexpr uint64_t kGainDenominator = 20;

size_t DictionaryBytes(const DictionaryRules& rules, uint64_t segment_bytes) {
  const size_t most = std::min<size_t>(Dictionary::kBytesMax, segment_bytes / kSegmentShare);
  return std::min<size_t>(most, rules.sample_bytes_max / kSamplesPerByte);
}

// The size of each sample from `first` on, packed with this dictionary, or with none (null). A sample that does not
// pack has its own size.
std::vector<size_t> PackedBytes(const SampleSet& set, size_t first, size_t offset, const Dictionary* dictionary) {
  const std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> state(ZSTD_createCCtx(), ZSTD_freeCCtx);
  if (state == nullptr) throw std::bad_alloc();
  std::vector<std::byte> to;
  std::vector<size_t> packed_bytes;
  for (size_t i = first; i < set.sizes.size(); ++i) {
    const size_t bytes = set.sizes[i];
    const size_t most = Packer::CodecBytesMax(Codec::kZstd, bytes);
    to.resize(std::max(to.size(), most));
    const size_t packed = PackFrame(state.get(), dictionary, {set.bytes.get() + offset, bytes}, {to.data(), most});
    packed_bytes.push_back(ZSTD_isError(packed) != 0 ? bytes : sizeof(layout::PackedPrefix) + packed);
    offset += bytes;
  }
  return packed_bytes;
}

// The result for the samples that were held back: their size in all, and that of those which pack with any dictionary.
struct Trial {
  uint64_t whole = 0, never = 0;  // of all, and of those that do not pack at all
  uint64_t with_none = 0, with_live = 0, with_fresh = 0;

  // What never packs says nothing of a dictionary.
  bool FreshGains() const {
    return (with_fresh - never) * kGainDenominator <= (std::min(with_none, with_live) - never) * (kGainDenominator - 1);
  }
  uint32_t Share(uint64_t packed) const { return static_cast<uint32_t>(packed * Samples::kWhole / whole); }
};

Trial Judge(const SampleSet& set, size_t first, const Dictionary* live, const Dictionary* fresh) {
  const size_t offset =
      std::accumulate(set.sizes.begin(), set.sizes.begin() + static_cast<ptrdiff_t>(first), size_t{0});
  const auto none = PackedBytes(set, first, offset, nullptr);
  const auto with_live = live != nullptr ? PackedBytes(set, first, offset, live) : none;
  const auto with_fresh = fresh != nullptr ? PackedBytes(set, first, offset, fresh) : none;
  Trial trial;
  for (size_t i = 0; i < none.size(); ++i) {
    const size_t bytes = set.sizes[first + i];
    trial.whole += bytes;
    trial.with_none += none[i];
    trial.with_live += with_live[i];
    trial.with_fresh += with_fresh[i];
    if (std::min({none[i], with_live[i], with_fresh[i]}) == bytes) trial.never += bytes;
  }
  return trial;
}

}  // namespace

Trainer::Trainer(const DictionaryRules& rules, uint64_t segment_bytes, Counters* counters, const ForkGuard& guard)
    : dictionary_bytes_(DictionaryBytes(rules, segment_bytes)),
      counters_(counters),
      guard_(guard),
      state_(std::make_unique<State>(rules, kSamplesPerByte * dictionary_bytes_)) {}

Trainer::~Trainer() {
  Stop();
  // A child has no such thread to join, and its parent's may have held anything.
  if (state_->thread.joinable()) (void)state_.release();
}

bool Trainer::Start(Store store) {
  assert(!state_->thread.joinable());
  store_ = std::move(store);
  state_->thread = StartThread("mezz-train", [this] { Run(); });
  return state_->thread.joinable();
}

void Trainer::Stop() {
  if (!state_->thread.joinable() || !guard_.InParent()) return;
  state_->wakeup.End();
  state_->thread.join();
}

void Trainer::Settle() const {
  if (guard_.InParent() && state_->thread.joinable()) state_->wakeup.WaitUntilHandled();
}

uint64_t Trainer::dram_bytes() const {
  return sizeof(*this) + state_->dictionaries.dram_bytes() + state_->samples.dram_bytes();
}

void Trainer::Run() {
  while (state_->wakeup.Await()) {
    if (leash_.load(std::memory_order_acquire) != Leash::kHeld) Work();
  }
}

void Trainer::Work() {
  Collect();
  if (KnowsNumbers()) TrainDue();
  Collect();
  StoreMissing();
}

void Trainer::TrainDue() {
  for (size_t i = 0; i < kBlockRoles; ++i) {
    const auto role = static_cast<BlockRole>(i);
    SampleSet set = state_->samples.Take(role);
    if (set.bytes.get() == nullptr) continue;
    bool useful = !state_->dictionaries.NextNumber();  // no slot: it was not the samples' fault
    try {
      if (!useful) useful = Train(role, set);
    } catch (const std::bad_alloc&) {
    }
    set = SampleSet();
    state_->samples.Rest(role, useful);
  }
}

void Trainer::Collect() {
  const auto collected = state_->dictionaries.Collect();
  for (size_t i = 0; i < kBlockRoles; ++i) {
    if (collected[i] != 0) counters_->Add(Event::kDictionaryCollected, static_cast<BlockRole>(i), collected[i]);
  }
}

void Trainer::StoreMissing() {
  for (unsigned slot = 0; slot < Dictionaries::kSlots; ++slot) {
    const Dictionaries::Lease held = state_->dictionaries.Take(slot);
    if (held && state_->dictionaries.place(slot) == 0) store_(*held);
  }
}

// Trains a dictionary for the role. True: it became the live one.
bool Trainer::Train(BlockRole role, const SampleSet& set) {
  Dictionaries& dictionaries = state_->dictionaries;
  const auto number = dictionaries.NextNumber();
  const size_t trained_on = set.sizes.size() / 8 * 7;
  assert(number);
  if (trained_on == 0) return false;
  std::vector<std::byte> bytes(dictionary_bytes_);
  const size_t trained = ZDICT_trainFromBuffer(bytes.data(), bytes.size(), set.bytes.get(), set.sizes.data(),
                                               static_cast<unsigned>(trained_on));
  bytes.resize(ZDICT_isError(trained) != 0 ? 0 : trained);
  auto fresh = Dictionary::Make(bytes, *number, role);

  const Dictionary* const live = dictionaries.live(role);
  const Trial trial = Judge(set, trained_on, live, fresh.get());
  if (fresh != nullptr && trial.with_fresh != trial.never && trial.FreshGains()) {
    dictionaries.Publish(std::move(fresh));
    state_->samples.Expect(role, *number, trial.Share(trial.with_fresh));
    counters_->Add(Event::kDictionaryTrained, role);
    return true;
  }
  counters_->Add(Event::kDictionaryUseless, role);
  if (live == nullptr) return false;
  if (trial.with_live >= trial.with_none) {
    dictionaries.Retire(role);
    state_->samples.Expect(role, 0, 0);
  } else {
    state_->samples.Expect(role, live->number(), trial.Share(trial.with_live));
  }
  return false;
}

}  // namespace mezz
