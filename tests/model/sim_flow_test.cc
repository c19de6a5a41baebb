// SPDX-License-Identifier: Apache-2.0
// The simulator against the live core: the same requests through HybridCore and its SCM tier, with an exact LRU for the
// DRAM tier, and through mezz_sim's models must ask the same questions, get the same answers and count the same.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "../unit/sim/test_traces.h"
#include "admission/curves/block_key.h"
#include "admission/curves/dram_models.h"
#include "admission/curves/two_tier.h"
#include "cache/layout.h"
#include "cache/pack/packer.h"
#include "integration/hybrid_core.h"
#include "tests/support/tier_fixture.h"

namespace mezz::sim {
namespace {

constexpr uint64_t kSegmentBytes = 256 << 10;
constexpr uint64_t kScmBytes = 20 * kSegmentBytes;
// Of ordered media: the fast one has the least that one of several may have.
constexpr uint64_t kFastBytes = 8 * kSegmentBytes, kSlowBytes = 16 * kSegmentBytes;
constexpr uint64_t kDramBytes = 1 << 20;
constexpr uint32_t kBlockBytes = 1024;  // as announced: the index then has words to spare, and displaces nothing

// Of 4,000 blocks of 1 to 8 KiB, four times what the tiers hold.
LoadedTrace TraceOf(const std::vector<BlockId>& accesses) {
  std::vector<Request> requests;
  for (const BlockId block : accesses) {
    const uint64_t hash = MixWord(block);
    requests.push_back({.key = block,
                        .value_bytes = static_cast<uint32_t>(1024 + hash % 7168),
                        .role = hash >> 32 & 15 ? BlockRole::kData : BlockRole::kIndex});
  }
  return LoadAll(VectorSource(std::move(requests)));
}

LoadedTrace MixedTrace(uint64_t seed) {
  std::mt19937_64 random(seed);
  return TraceOf(MixedAccesses(random, 60'000, 4000));
}

// A loop, of which DRAM finds nothing.
LoadedTrace LoopTrace() {
  std::vector<BlockId> accesses;
  for (uint32_t i = 0; i < 60'000; ++i) accesses.push_back(i % 5000);
  return TraceOf(accesses);
}

// The bytes of a trace's blocks: random ones for a share of a block, by its number, from none to more than is worth
// packing; and zeros.
class Contents {
 public:
  explicit Contents(const LoadedTrace& trace) : bytes_(trace.unique()) {
    for (BlockId block = 0; block < trace.unique(); ++block) {
      bytes_[block].resize(trace.bytes(block));
      uint64_t word = MixWord(trace.key(block));
      const size_t end = trace.bytes(block) * (word % 10) / 9 / sizeof(word) * sizeof(word);
      for (size_t at = 0; at < end; at += sizeof(word), word = MixWord(word))
        std::memcpy(bytes_[block].data() + at, &word, sizeof(word));
    }
  }
  SpanSource Of(BlockId block) const { return SpanSource{bytes_[block]}; }

 private:
  std::vector<std::vector<std::byte>> bytes_;
};

// What the codec makes of each block; of one that saves too little, all of it.
std::vector<uint32_t> CodecBytesOf(const LoadedTrace& trace, const Contents& contents, Codec codec) {
  std::vector<uint32_t> codec_bytes;
  for (BlockId block = 0; block < trace.unique(); ++block) {
    Counters counters;
    Packer packer(codec, &counters);  // a fresh one skips nothing
    const PackedBlock packed = packer.Pack(BlockRole::kData, trace.bytes(block), contents.Of(block));
    const bool packs = packed.outcome() == PackedBlock::Outcome::kPacked;
    codec_bytes.push_back(packs ? static_cast<uint32_t>(packed.bytes().size() - sizeof(layout::PackedPrefix))
                                : trace.bytes(block));
  }
  return codec_bytes;
}

// A trace with what its blocks hold, and what codecs make of them.
class FilledTrace {
 public:
  explicit FilledTrace(LoadedTrace loaded) : trace(std::move(loaded)), contents(trace) {}

  const std::vector<uint32_t>& codec_bytes(Codec codec) const {
    const auto known = codec_bytes_.find(codec);
    if (known != codec_bytes_.end()) return known->second;
    return codec_bytes_.emplace(codec, CodecBytesOf(trace, contents, codec)).first->second;
  }

  const LoadedTrace trace;
  const Contents contents;

 private:
  mutable std::map<Codec, std::vector<uint32_t>> codec_bytes_;
};

struct Seen {
  CounterSnapshot events;
  DecisionSnapshot decisions;
  uint64_t second_chances = 0;
  uint64_t packed_at_reclaim = 0;
  uint64_t requeued_segments = 0;
  uint64_t level_demotions = 0;
  uint64_t level_demoted_bytes = 0;
  uint64_t slow_hits = 0;
  uint64_t written_bytes = 0;
};

// What both runs are of.
struct Tiers {
  std::string_view policy;
  PackMode pack = PackMode::kOff;
  bool ordered = false;

  uint64_t scm_bytes() const { return ordered ? kFastBytes + kSlowBytes : kScmBytes; }
};

// What HybridCache does around its core, over a DRAM tier that is the simulator's.
class LiveRun {
 public:
  LiveRun(const FilledTrace& filled, const HybridCacheOptions& options, const std::vector<uint32_t>& charges)
      : trace_(filled.trace),
        contents_(filled.contents),
        charges_(charges),
        dram_(trace_.unique(), charges_, {.capacity = kDramBytes, .high_priority_pool = 0}) {
    EXPECT_EQ(HybridCore::Open(options, &core_).message(), "");
  }

  Seen Run() {
    for (const BlockId block : trace_.accesses()) Access(block);
    const CounterSnapshot events = core_->Snapshot();
    EXPECT_EQ(events[Event::kScmDisplaced], 0u);
    for (const std::string& violation : core_->scm().Audit().violations) ADD_FAILURE() << violation;
    return {
        events,
        core_->Decisions(),
        events[Event::kScmSecondChance],
        events[Event::kScmPackedAtReclaim],
        events[Event::kScmSegmentRequeued],
        events[Event::kScmDemoted],
        events[Event::kScmDemotedBytes],
        slow_hits_,
        events[Event::kScmWrittenBytes] - events.of(Event::kScmWrittenBytes, BlockRole::kOther)};  // segment headers
  }

 private:
  BlockKey KeyOf(BlockId block) const { return BlockKeyOf(trace_.key(block)); }

  void Access(BlockId block) {
    const BlockRole role = trace_.role(block);
    if (dram_.Hit(block)) return core_->dram_hits().Add(role);
    const BlockKey key = KeyOf(block);
    if (PinnedBlock found = core_->Find(key, role)) {
      slow_hits_ += IsOnSlow(found);
      const HybridCore::Serve serve = core_->OnScmHit(key, found);
      found.Release();
      if (serve == HybridCore::Serve::kInPlace) return core_->counters().Add(Event::kServedInPlace, role);
      if (serve == HybridCore::Serve::kCopy) return core_->counters().Add(Event::kServedCopied, role);
      InsertToDram(block);
      return core_->OnPromoted(key, role, serve);
    }
    core_->counters().Add(Event::kMiss, role);
    if (core_->wants_misses() && core_->OnMiss(key, role, trace_.bytes(block), Source(block)) != Placement::kDram)
      return;
    InsertToDram(block);
  }

  // Of ordered media the slow one has a model. (Of one medium nobody asks.)
  bool IsOnSlow(const PinnedBlock& found) const {
    const MediumModel* const model = core_->scm().ModelOf(found);
    return model != nullptr && std::string_view(model->name) == "cxl";
  }

  void InsertToDram(BlockId block) {
    dram_.Insert(block, DramPriority::kLow, [this](BlockId leaving, bool was_hit) {
      core_->OnDramEviction(KeyOf(leaving), trace_.role(leaving), trace_.bytes(leaving), was_hit, Source(leaving));
    });
  }

  SpanSource Source(BlockId block) const { return contents_.Of(block); }

  const LoadedTrace& trace_;
  const Contents& contents_;
  const Charges charges_;
  LruModel dram_;
  std::unique_ptr<HybridCore> core_;
  uint64_t slow_hits_ = 0;
};

std::vector<uint32_t> SizesOf(const LoadedTrace& trace) {
  std::vector<uint32_t> bytes;
  for (BlockId block = 0; block < trace.unique(); ++block) bytes.push_back(trace.bytes(block));
  return bytes;
}

Seen RunLive(const FilledTrace& filled, const Tiers& tiers) {
  const test::ScratchFile slow;
  HybridCacheOptions options;
  options.dram_bytes = kDramBytes;
  options.scm.capacity_bytes = tiers.scm_bytes();
  if (!tiers.ordered) {
    options.scm.medium = MediumKind::kAnonymous;
  } else {
    options.scm.members = {{.medium = MediumKind::kAnonymous, .capacity_bytes = kFastBytes},
                           {.path = slow.path(), .capacity_bytes = kSlowBytes, .level = Level::kSlow}};
    options.scm.member_models = {MediumModelName::kNone, MediumModelName::kCxl};
  }
  options.scm.segment_bytes = kSegmentBytes;
  options.scm.expected_block_bytes = kBlockBytes;
  options.scm.prepare = Prepare::kBeforeOpen;  // the models know no medium that grows
  options.scm.pack = tiers.pack;
  options.scm.dictionaries.sample_every = 0;  // the models know no dictionaries
  options.policy = tiers.policy;
  options.serve = ServeMode::kInPlace;
  return LiveRun(filled, options, SizesOf(filled.trace)).Run();
}

Seen RunSimulated(const FilledTrace& filled, const Tiers& tiers) {
  const LoadedTrace& trace = filled.trace;
  TwoTierOptions options;
  options.dram_cache = DramCache::kLru;
  options.dram = {.capacity = kDramBytes, .high_priority_pool = 0};
  options.scm = {.capacity = tiers.scm_bytes(),
                 .fast_capacity = tiers.ordered ? kFastBytes : 0,
                 .segment = kSegmentBytes,
                 .exact_capacity = false};
  options.dram_charges = SizesOf(trace);
  for (const uint32_t bytes : options.dram_charges)
    options.record_units.push_back(static_cast<uint32_t>(layout::RecordBytes(bytes)));
  PolicyOptions sizes;
  sizes.dram_bytes = kDramBytes;
  sizes.scm_bytes = options.scm.capacity;
  sizes.packs = tiers.pack != PackMode::kOff;
  sizes.block_bytes = kBlockBytes;
  if (const std::optional<Codec> codec = CodecOf(tiers.pack)) {
    options.pack = PackOptions{.codec = *codec,
                               .block_bytes = SizesOf(trace),
                               .codec_bytes = filled.codec_bytes(*codec),
                               .dram_bytes = kDramBytes,
                               .scm_bytes = options.scm.capacity};
  }
  std::unique_ptr<Policy> policy;
  EXPECT_TRUE(MakePolicy(tiers.policy, sizes, &policy).ok());
  const SimCounts counts = RunOn(trace, options, policy.get());
  return {counts.events,
          counts.decisions,
          counts.second_chances,
          counts.packed_at_reclaim,
          counts.requeued_segments,
          counts.level_demotions,
          counts.level_demoted_units,
          counts.slow.hits(),
          counts.scm_written_units};
}

// Empty: they are the same.
std::string Difference(const char* what, uint64_t live, uint64_t simulated) {
  if (live == simulated) return "";
  return std::string(what) + ": live " + std::to_string(live) + ", simulated " + std::to_string(simulated);
}

std::string FirstDifference(const Tiers& tiers, const FilledTrace& trace) {
  const Seen live = RunLive(trace, tiers);
  const Seen simulated = RunSimulated(trace, tiers);
  const PackMode pack = tiers.pack;
  for (const Event event : {Event::kDramHit, Event::kServedInPlace, Event::kServedCopied, Event::kScmPackedHit,
                            Event::kPromotion, Event::kMiss, Event::kInsertToScm, Event::kInsertBypassed,
                            Event::kDramEviction, Event::kCleanEviction, Event::kDemotion, Event::kRefusedPolicy}) {
    for (size_t role = 0; role < kBlockRoles; ++role) {
      const uint64_t l = live.events.of(event, static_cast<BlockRole>(role));
      const uint64_t s = simulated.events.of(event, static_cast<BlockRole>(role));
      if (l != s)
        return std::string(ToString(event)) + ": live " + std::to_string(l) + ", simulated " + std::to_string(s);
    }
  }
  EXPECT_GT(live.events[Event::kMiss], pack == PackMode::kOff ? 10'000u : 3000u);
  EXPECT_EQ(live.events[Event::kScmPackedPut] > 1000, pack != PackMode::kOff);
  EXPECT_EQ(live.events[Event::kPackRejected] > 100, pack != PackMode::kOff) << "some blocks were not to pack";
  EXPECT_GT(live.decisions.of(DecisionPoint::kReclaim, Action::kDrop), 0u) << "reclaim was to have been asked";
  EXPECT_EQ(live.decisions.invalid(), 0u);
  if (live.decisions.counts != simulated.decisions.counts)
    return "live\n" + live.decisions.ToString() + "simulated\n" + simulated.decisions.ToString();
  EXPECT_EQ(live.level_demotions > 1000, tiers.ordered);
  if (live.events[Event::kScmHit] > 2000) {
    EXPECT_EQ(live.slow_hits > 100, tiers.ordered);
  }
  for (const auto& [what, counted] : {std::pair{"second chances", &Seen::second_chances},
                                      {"packed at reclaim", &Seen::packed_at_reclaim},
                                      {"segments queued again", &Seen::requeued_segments},
                                      {"demotions between levels", &Seen::level_demotions},
                                      {"bytes demoted between levels", &Seen::level_demoted_bytes},
                                      {"hits on the slow level", &Seen::slow_hits},
                                      {"bytes written", &Seen::written_bytes}}) {
    const std::string difference = Difference(what, live.*counted, simulated.*counted);
    if (!difference.empty()) return difference;
  }
  return "";
}

// By policy, form, and whether the media are ordered.
class SimFlow : public ::testing::TestWithParam<std::tuple<std::string_view, PackMode, bool>> {
 protected:
  static Tiers TheTiers() {
    const auto [policy, pack, ordered] = GetParam();
    return {.policy = policy, .pack = pack, .ordered = ordered};
  }
  static std::string FirstDifferenceOn(const FilledTrace& trace) { return FirstDifference(TheTiers(), trace); }
};

// The live tier tells records apart by a tag of 25 bits where it notes what DRAM holds (ScmTier::NoteDramEviction), so
// one run in some hundred takes a stranger for resident. Its hash has another seed each time: what is no such chance
// comes again.
TEST_P(SimFlow, CountsWhatTheLiveCoreCounts) {
  static const FilledTrace trace(MixedTrace(test::Seed()));
  std::string difference = FirstDifferenceOn(trace);
  if (!difference.empty()) difference = FirstDifferenceOn(trace);
  EXPECT_EQ(difference, "");
}

// `adaptive` sends newcomers past DRAM then, some of them to SCM as proven.
TEST_P(SimFlow, CountsALoopAlike) {
  static const FilledTrace trace(LoopTrace());
  std::string difference = FirstDifferenceOn(trace);
  if (!difference.empty()) difference = FirstDifferenceOn(trace);
  EXPECT_EQ(difference, "");
  const Tiers tiers = TheTiers();
  if (tiers.policy != "adaptive" || tiers.pack != PackMode::kOff || tiers.ordered) return;
  const Seen simulated = RunSimulated(trace, tiers);
  EXPECT_GT(simulated.events[Event::kInsertBypassed], 1000u);
  EXPECT_GT(simulated.events[Event::kInsertToScm], 100u);
}

std::string NameOf(const ::testing::TestParamInfo<SimFlow::ParamType>& test) {
  std::string name(std::get<0>(test.param));
  name += '_';
  name.append(ToString(std::get<1>(test.param)));
  return std::get<2>(test.param) ? name + "_ordered" : name;
}

INSTANTIATE_TEST_SUITE_P(Policies, SimFlow,
                         ::testing::Combine(::testing::ValuesIn(PolicyNames()),
                                            ::testing::Values(PackMode::kOff, PackMode::kLz4, PackMode::kZstd),
                                            ::testing::Bool()),
                         &NameOf);

}  // namespace
}  // namespace mezz::sim
