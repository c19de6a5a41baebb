// SPDX-License-Identifier: Apache-2.0
#include "tests/support/check/tiny_tier.h"

#include <sys/random.h>

#include <cstring>
#include <string>
#include <string_view>

#include "cache/media/near_media.h"
#include "cache/media/preparer.h"
#include "cache/media/wipe.h"
#include "tests/support/check/core.h"
#include "tests/support/check/explorer.h"

namespace mezz {
namespace {

// One medium at a time, always the same bytes at the same address.
class TinyMedium : public Medium {
 public:
  static constexpr uint64_t kBytesMax = 16 * check::kTinySegmentBytes;

  explicit TinyMedium(uint64_t bytes) {
    alignas(4096) static std::byte memory[kBytesMax];
    std::memset(memory, 0, bytes);
    base_ = memory;
    bytes_ = bytes;
    info_.description = "the checker's memory";
    stream_ = [](void* to, const void* from, size_t count) {
      check::StreamData(to, count);
      std::memcpy(to, from, count);
    };
    drain_ = check::DrainData;
  }
};

}  // namespace

// What cache/options.cc and cache/media/ would answer. All of the medium is ready at once.
Status ScmOptions::Validate() const { return Status::Ok(); }
uint64_t ScmOptions::EffectiveSegmentBytes() const { return segment_bytes; }
Recovery ScmOptions::EffectiveRecovery() const { return recovery; }
std::string ScmOptions::ToString() const { return "tiny"; }
std::string ScmOptions::MediumText() const { return "tiny"; }
ScmOptions ScmOptions::Effective() const { return *this; }
bool ScmOptions::Remembers() const { return false; }
uint64_t ScmOptions::SlowBegin() const { return UINT64_MAX; }
std::vector<MediumModelName> ScmOptions::Models() const { return {model}; }
std::string_view ToString(PackMode) { return "tiny"; }
std::string_view ToString(MediumKind) { return "tiny"; }

ChildRules::ChildRules() : installed_(false), entry_(nullptr) {}
ChildRules::~ChildRules() = default;

class Preparer::Work {
 public:
  uint64_t bytes;
};
Preparer::Preparer(PreparePlan plan) { works_.emplace_back(new Work{plan.bytes}); }
Preparer::~Preparer() = default;
void Preparer::StartMembers(const std::function<void(size_t, uint64_t)>&, const std::function<void(const Status&)>&) {}
Status Preparer::Wait() const { return Status::Ok(); }
void Preparer::Stop() {}
uint64_t Preparer::ready_bytes() const { return works_[0]->bytes; }
uint64_t Preparer::ready_bytes(size_t) const { return works_[0]->bytes; }

std::atomic<bool> BusErrors::contained_{false};
bool BusErrors::TryContained(void (*)(const void*), const void*) { return false; }
Status ContainBusErrors() { return Status::Ok(); }
BusErrorWatch::BusErrorWatch(std::span<const std::byte>, std::function<void(uint64_t offset)>) : entry_(nullptr) {}
BusErrorWatch::~BusErrorWatch() = default;

bool Wipe(const Medium&, uint64_t, uint64_t) { return true; }
NearMedia FindNearMedia(const ScmOptions&) { return {}; }

Status OpenMedium(const ScmOptions& options, std::unique_ptr<Medium>* medium, bool* existing,
                  std::unique_ptr<Preparer>* preparer) {
  *existing = false;
  *medium = std::make_unique<TinyMedium>(options.capacity_bytes);
  PreparePlan plan;
  plan.bytes = options.capacity_bytes;
  *preparer = std::make_unique<Preparer>(std::move(plan));
  return Status::Ok();
}

namespace check {

TinyTier::TinyTier(uint32_t segments, SurvivorJudge* judge) {
  ScmOptions options;
  options.medium = MediumKind::kAnonymous;
  options.segment_bytes = kTinySegmentBytes;
  options.capacity_bytes = segments * kTinySegmentBytes;
  options.expected_block_bytes = 60'000;  // one bucket
  options.pack = PackMode::kOff;          // hits are read in place, and no thread runs but the trial's
  Require(ScmTier::Open(options, &tier_, judge).ok(), "the tier opens");
}

BlockKey TinyTier::Key(uint64_t key) {
  BlockKey block_key;
  block_key.words[0] = key;
  block_key.words[1] = ~key;
  return block_key;
}

bool TinyTier::Put(uint64_t key, uint64_t version, size_t bytes, Generation generation) {
  const auto fill = [&](size_t, size_t count, std::byte* to) {
    const uint64_t words[2] = {key, version};
    for (size_t at = 0; at < count; at += 16) std::memcpy(to + at, words, std::min<size_t>(16, count - at));
    return true;
  };
  return tier_->Put(Key(key), BlockRole::kData, bytes, fill, generation) == PutResult::kStored;
}

uint64_t TinyTier::Read(uint64_t key, const PinnedBlock& block) {
  const auto payload = block.payload();
  ReadData(payload.data(), payload.size());
  uint64_t words[2];
  std::memcpy(words, payload.data(), sizeof(words));
  Require(words[0] == key, "a hit has the bytes of its own key");
  for (size_t at = 16; at + 16 <= payload.size(); at += 16)
    Require(std::memcmp(payload.data() + at, words, 16) == 0, "a hit has the bytes of one put");
  return words[1];
}

std::optional<uint64_t> TinyTier::Find(uint64_t key, Heat heat) {
  const PinnedBlock block = tier_->Find(Key(key), BlockRole::kData, heat);
  if (!block) return std::nullopt;
  return Read(key, block);
}

void TinyTier::ExpectSound() {
  const ScmAudit audit = tier_->Audit();
  if (!audit.violations.empty()) Fail("audit: " + audit.violations.front());
  Require(audit.live_pins == 0, "no pin is left");
}

}  // namespace check
}  // namespace mezz

// Equal runs need equal seeds.
extern "C" ssize_t getrandom(void* buffer, size_t bytes, unsigned) {
  std::memset(buffer, 0x5a, bytes);
  return static_cast<ssize_t>(bytes);
}
