// SPDX-License-Identifier: Apache-2.0
// What a buyer could have instead, against naive models of the same rules: maps, and lists searched from end to end.
#include "workloads/sim/alternatives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <list>
#include <map>
#include <set>

#include "cache/layout.h"
#include "test_traces.h"
#include "workloads/sim/compressed_secondary.h"
#include "workloads/sim/memory_mode.h"
#include "workloads/sim/options.h"
#include "workloads/sim/page_cache.h"
#include "workloads/sim/runner.h"

namespace mezz::sim {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

constexpr uint32_t kBlocks = 150;

// Of strict LRU lists of charged blocks, oldest first.
struct NaiveLru {
  struct Item {
    BlockId block;
    uint64_t charge;
  };
  uint64_t capacity;
  std::list<Item> items{};

  auto Find(BlockId block) { return std::ranges::find(items, block, &Item::block); }
  uint64_t usage() const {
    uint64_t sum = 0;
    for (const Item& item : items) sum += item.charge;
    return sum;
  }
  bool Hit(BlockId block) {
    const auto at = Find(block);
    if (at == items.end()) return false;
    items.splice(items.end(), items, at);
    return true;
  }
  std::vector<BlockId> MakeRoom(uint64_t charge) {
    std::vector<BlockId> left;
    while (usage() + charge > capacity && !items.empty()) {
      left.push_back(items.front().block);
      items.pop_front();
    }
    return left;
  }
};

// One of Memory Mode: which place is in which set is asked of the model; that sets are fair is a test of its own.
struct NaiveMemoryMode {
  NaiveLru cache;
  std::map<uint32_t, std::pair<uint32_t, bool>> lines{};  // by set: place, dirty
  std::map<BlockId, uint32_t> places{};
  std::vector<uint32_t> freed{};
  uint32_t taken = 0;
  SimCounts counts{};

  bool Touch(const NearMemory& model, uint32_t place, bool write) {
    const uint32_t set = model.SetOf(place);
    const auto line = lines.find(set);
    const bool hit = line != lines.end() && line->second.first == place;
    const bool dirty = line != lines.end() && line->second.second;
    if (!hit && dirty) ++counts.demotions;
    lines[set] = {place, write || (hit && dirty)};
    return hit;
  }
  void Access(const NearMemory& model, BlockId block) {
    if (cache.Hit(block)) {
      ++(Touch(model, places[block], false) ? counts.dram_hits : counts.promotions);
      return;
    }
    ++counts.misses;
    for (const BlockId gone : cache.MakeRoom(1)) freed.push_back(places[gone]);
    cache.items.push_back({block, 1});
    if (freed.empty()) {
      places[block] = taken++;
    } else {
      places[block] = freed.back();
      freed.pop_back();
    }
    Touch(model, places[block], true);
  }
};

LoadedTrace MixedTrace(std::mt19937_64& random) {
  const std::vector<BlockId> blocks = MixedAccesses(random, 3000, kBlocks);
  return LoadKeys({blocks.begin(), blocks.end()});
}

TEST(MemoryMode, HitsAndWritesBackAsTheNaiveModelDoes) {
  std::mt19937_64 random(test::Seed());
  for (int round = 0; round < 30; ++round) {
    const LoadedTrace trace = MixedTrace(random);
    const auto far = static_cast<uint32_t>(2 + random() % 100);
    const auto near = static_cast<uint32_t>(1 + random() % far);
    const AlternativeOptions options{.dram_cache = DramCache::kLru,
                                     .dram = {.capacity = far, .high_priority_pool = 0},
                                     .near_places = near,
                                     .far_places = far,
                                     .seed = random()};
    std::vector<std::string> violations;
    const SimCounts got = RunAlternative(Alternative::kMemoryMode, trace, options, &violations);
    EXPECT_EQ(violations, std::vector<std::string>());
    NaiveMemoryMode naive{.cache = {.capacity = far}};
    const NearMemory sets(near, far, options.seed);
    for (const BlockId block : trace.accesses()) naive.Access(sets, block);
    ASSERT_EQ(got.dram_hits, naive.counts.dram_hits) << "round " << round;
    ASSERT_EQ(got.promotions, naive.counts.promotions);
    ASSERT_EQ(got.misses, naive.counts.misses);
    ASSERT_EQ(got.demotions, naive.counts.demotions);
  }
}

TEST(MemoryMode, GivesEachSetOfNearMemoryItsShareOfThePlaces) {
  const NearMemory memory(100, 430, test::Seed());
  const NearMemory other(100, 430, test::Seed() + 1);
  std::map<uint32_t, int> places;
  int moved = 0;
  for (uint32_t place = 0; place < 430; ++place) {
    ++places[memory.SetOf(place)];
    moved += memory.SetOf(place) != other.SetOf(place);
  }
  ASSERT_EQ(places.size(), 100u);
  for (const auto& [set, count] : places) EXPECT_EQ(count, set < 30 ? 5 : 4);
  EXPECT_GT(moved, 300) << "another seed deals pages out anew";
  for (uint32_t place = 430; place < 1000; ++place) EXPECT_LT(memory.SetOf(place), 100u);
}

TEST(MemoryMode, WithAsMuchDramAsScmIsAllDram) {
  std::mt19937_64 random(test::Seed());
  const LoadedTrace trace = MixedTrace(random);
  AlternativeOptions options{.dram = {.capacity = 40}, .near_places = 40, .far_places = 40};
  std::vector<std::string> violations;
  options.dram_cache = DramCache::kLru;
  const SimCounts memory_mode = RunAlternative(Alternative::kMemoryMode, trace, options, &violations);
  const SimCounts dram = RunAlternative(Alternative::kDramOnly, trace, options, &violations);
  EXPECT_EQ(violations, std::vector<std::string>());
  EXPECT_EQ(memory_mode.dram_hits, dram.dram_hits);
  EXPECT_EQ(memory_mode.misses, dram.misses);
  EXPECT_EQ(memory_mode.demotions, 0u);
}

// A stock cache with a CompressedSecondaryCache, both strict LRU; each keeps blocks or placeholders.
struct NaivePlaceholderTiers {
  NaiveLru first, second;
  const std::vector<uint32_t>&first_charges, &second_charges;
  std::set<BlockId> above{}, below{};  // placeholders
  uint64_t writes = 0;

  void Leave(const std::vector<BlockId>& blocks) {
    for (const BlockId block : blocks) {
      if (!above.contains(block)) PutBelow(block, /*placeholder=*/!second.Hit(block));
    }
  }
  void PutBelow(BlockId block, bool placeholder) {
    if (second.Hit(block)) second.items.pop_back();
    if (placeholder) {
      below.insert(block);
    } else {
      below.erase(block);
      ++writes;
    }
    const uint64_t charge = placeholder ? 3 : second_charges[block];
    second.MakeRoom(charge);
    second.items.push_back({block, charge});
  }
  void PutAbove(BlockId block, bool placeholder) {
    const uint64_t charge = placeholder ? 0 : first_charges[block];
    Leave(first.MakeRoom(charge));
    first.items.push_back({block, charge});
    if (placeholder) {
      above.insert(block);
    } else {
      above.erase(block);
    }
  }
  PlaceholderTiers::Found Access(BlockId block) {
    bool placeholder = false;
    if (first.Hit(block)) {
      if (!above.contains(block)) return PlaceholderTiers::Found::kFirst;
      first.items.pop_back();
      placeholder = true;
    }
    const bool found = second.Hit(block) && !below.contains(block);
    if (found && !placeholder) {
      Leave(first.MakeRoom(first_charges[block]));
      PutAbove(block, true);
      return PlaceholderTiers::Found::kSecondCopied;
    }
    if (found) PutBelow(block, true);
    PutAbove(block, false);
    return found ? PlaceholderTiers::Found::kSecondMoved : PlaceholderTiers::Found::kMiss;
  }
};

struct CountWrites final : PlaceholderTiers::Writes {
  void OnWrite(BlockId) override { ++count; }
  uint64_t count = 0;
};

TEST(CompressedSecondary, FindsBlocksWhereTheNaiveModelDoes) {
  std::mt19937_64 random(test::Seed());
  std::set<PlaceholderTiers::Found> found;
  for (int round = 0; round < 30; ++round) {
    PlaceholderTiers::Options options{.first = {.capacity = 50 + random() % 500, .high_priority_pool = 0},
                                      .first_charges = {},
                                      .second = {.capacity = 50 + random() % 500, .high_priority_pool = 0},
                                      .placeholder_charge = 3};
    for (uint32_t block = 0; block < kBlocks; ++block) {
      options.first_charges.push_back(static_cast<uint32_t>(1 + random() % 20));
      options.second_charges.push_back(static_cast<uint32_t>(4 + random() % 9));
    }
    CountWrites writes;
    CompressedSecondaryModel<LruModel> model(kBlocks, options, &writes);
    NaivePlaceholderTiers naive{.first = {.capacity = options.first.capacity},
                                .second = {.capacity = options.second.capacity},
                                .first_charges = options.first_charges,
                                .second_charges = options.second_charges};
    for (const BlockId block : MixedAccesses(random, 3000, kBlocks)) {
      const PlaceholderTiers::Found want = naive.Access(block);
      ASSERT_EQ(model.Access(block, DramPriority::kLow), want) << "round " << round;
      found.insert(want);
    }
    EXPECT_EQ(writes.count, naive.writes);
    ExpectSound(model);
  }
  EXPECT_EQ(found.size(), 4u) << "every way was walked";
}

TEST(CompressedSecondary, AuditsOverAHyperClockCache) {
  std::mt19937_64 random(test::Seed());
  PlaceholderTiers::Options options{.first = {.capacity = 300},
                                    .first_charges = std::vector<uint32_t>(kBlocks, 10),
                                    .second = {.capacity = 400},
                                    .second_charges = std::vector<uint32_t>(kBlocks, 5)};
  CountWrites writes;
  CompressedSecondaryModel<HccModel> model(kBlocks, options, &writes);
  for (const BlockId block : MixedAccesses(random, 5000, kBlocks)) model.Access(block, DramPriority::kLow);
  ExpectSound(model);
}

// The kernel's two lists: what left is remembered with the bytes that had left or been activated by then.
struct NaivePageCache {
  struct Page {
    BlockId block;
    uint64_t charge;
    bool referenced;
  };
  uint64_t capacity;
  uint32_t ratio;
  std::deque<Page> inactive{}, active{};  // oldest first
  std::map<BlockId, uint64_t> left{};
  uint64_t age = 0;

  static uint64_t Bytes(const std::deque<Page>& list) {
    uint64_t sum = 0;
    for (const Page& page : list) sum += page.charge;
    return sum;
  }
  bool Read(BlockId block, uint64_t charge) {
    const auto is_it = [&](const Page& page) { return page.block == block; };
    if (const auto at = std::ranges::find_if(active, is_it); at != active.end()) {
      at->referenced = true;
      return true;
    }
    if (const auto at = std::ranges::find_if(inactive, is_it); at != inactive.end()) {
      if (at->referenced) {
        inactive.erase(at);
        active.push_back({block, charge, false});
        age += charge;
      } else {
        at->referenced = true;
      }
      return true;
    }
    const bool refaults = left.contains(block) && age - left[block] <= Bytes(active);
    while (Bytes(inactive) + Bytes(active) + charge > capacity) {
      while (Bytes(inactive) * ratio < Bytes(active)) {
        inactive.push_back(active.front());
        active.pop_front();
      }
      left[inactive.front().block] = age;
      age += inactive.front().charge;
      inactive.pop_front();
    }
    (refaults ? active : inactive).push_back({block, charge, true});
    if (refaults) age += charge;
    return false;
  }
};

TEST(PageCache, HitsWhereTheNaiveModelDoes) {
  std::mt19937_64 random(test::Seed());
  for (int round = 0; round < 40; ++round) {
    std::vector<uint32_t> bytes;
    for (uint32_t block = 0; block < kBlocks; ++block) bytes.push_back(static_cast<uint32_t>(1 + random() % 20));
    const Charges charges(bytes);
    const uint64_t capacity = 20 + random() % 900;
    const auto ratio = static_cast<uint32_t>(1 + random() % 4);
    PageCacheModel model(kBlocks, charges, capacity, ratio);
    NaivePageCache naive{.capacity = capacity, .ratio = ratio};
    for (const BlockId block : MixedAccesses(random, 2000, kBlocks)) {
      ASSERT_EQ(model.Read(block), naive.Read(block, bytes[block])) << "round " << round << ", capacity " << capacity;
    }
    ExpectSound(model);
  }
}

TEST(PageCache, KeepsAnActiveListAsLongAsTheKernelDoes) {
  EXPECT_EQ(InactiveRatio(5e8), 1u);
  EXPECT_EQ(InactiveRatio(1.5 * (1 << 30)), 3u);
  EXPECT_EQ(InactiveRatio(100.0 * (1 << 30)), 31u);
}

SimRow RowOf(const LoadedTrace& trace, SimOptions options, const std::string& policy, double share,
             const std::string& ratio = "") {
  options.policies = {policy};
  options.threads = 1;
  EXPECT_EQ(ParsePacking("off", ratio, &options).message(), "");
  options.totals = {{.text = "t", .share = share}};
  SimReport report;
  EXPECT_EQ(RunTrace(trace, options, &report).message(), "");
  return report.rows.empty() ? SimRow{} : report.rows[0];
}

TEST(Alternatives, OfOneTierAreTheStockCacheOfTheirCapacity) {
  std::mt19937_64 random(test::Seed());
  const LoadedTrace trace = MixedTrace(random);
  SimOptions strict;
  strict.dram_cache = DramCache::kLru;
  strict.high_priority_pool = 0;
  const auto half = [&](const std::string& policy) { return RowOf(trace, strict, policy, 0.5).counts; };
  EXPECT_EQ(half("naive_scm").misses, half("lru").misses) << "an LRUCache of both parts";
  strict.dram_share = 0.25;
  const SimCounts part = half("dram_only");
  strict.dram_share = 0.75;
  const SimCounts more = half("dram_only");
  EXPECT_LT(more.misses, part.misses);
  EXPECT_EQ(part.scm_hits() + part.scm_writes(), 0u);
}

// Each with the DRAM and SCM of the same total. Memory that compresses inline holds more than memory that does not.
TEST(Alternatives, FollowTheirCapacities) {
  std::mt19937_64 random(test::Seed());
  const LoadedTrace trace = LoadMixed(random, 20'000, 1000);
  const auto misses = [&](const std::string& policy, const std::string& ratio = "") {
    return RowOf(trace, SimOptions(), policy, 0.2, ratio).counts.misses;
  };
  EXPECT_LT(misses("adaptive"), misses("memory_mode")) << "near memory adds no capacity";
  EXPECT_LT(misses("memory_mode"), misses("dram_only"));
  for (const char* compressing : {"compressed", "page_cache", "inline_memory"}) {
    EXPECT_LT(misses(compressing, "3"), misses(compressing, "1")) << compressing;
    EXPECT_LT(misses(compressing, "3"), misses("dram_only")) << compressing;
  }
}

TEST(Alternatives, CompressByLz4sRatioWhateverThePolicyBesideThemPacksWith) {
  const LoadedTrace trace = LoadKeys({1, 2, 3, 4, 1, 2, 3, 4});
  SimOptions options;
  options.policies = {"adaptive", "compressed", "inline_memory"};
  Capacity capacity;
  ASSERT_TRUE(PlanCapacity(trace, options, {.text = "t", .share = 1}, &capacity).ok());
  const auto expect = [&](const std::string& pack, const std::string& ratio, uint32_t codec_bytes) {
    ASSERT_EQ(ParsePacking(pack, ratio, &options).message(), "");
    EXPECT_THAT(MakeAlternativeOptions(trace, options, capacity, Alternative::kCompressed).second_charges,
                Each(codec_bytes));
    uint64_t scm_block_bytes = 0;
    EXPECT_THAT(MakeInlineMemoryOptions(trace, options, capacity, &scm_block_bytes).record_units,
                Each(layout::RecordBytes(codec_bytes)));
  };
  for (const char* pack : {"off", "lz4", "zstd"}) expect(pack, "", 1821);  // of 4096 bytes, 2.25 times smaller
  expect("zstd", "2", 2048);
}

TEST(Alternatives, RunWithBytesToo) {
  std::vector<Request> requests;
  std::mt19937_64 random(test::Seed());
  for (const BlockId block : MixedAccesses(random, 30'000, 4000)) {
    requests.emplace_back();
    requests.back().key = block;
    requests.back().value_bytes = static_cast<uint32_t>(1000 + MixWord(block) % 7000);
  }
  const LoadedTrace trace = LoadAll(VectorSource(std::move(requests)));
  SimOptions bytes;
  bytes.sizes = Sizes::kBytes;
  bytes.warmup = 0.25;
  for (const std::string_view name : AlternativeNames()) {
    const SimRow row = RowOf(trace, bytes, std::string(name), 0.9);
    EXPECT_EQ(row.counts.accesses, 22'500u);
    EXPECT_GT(row.counts.misses, 0u) << name;
    EXPECT_EQ(row.scm_unit_bytes, 1u);
    EXPECT_GT(row.optane100_ns, 81) << name;
    if (name != "compressed" && name != "page_cache" && name != "dram_only") {
      EXPECT_GT(row.optane100_ns, row.cxl_ns) << name << " depends on the medium";
    }
  }
}

TEST(Alternatives, AreNamedWhereAPolicyIsNot) {
  SimOptions options;
  options.traces = {"t"};
  options.policies = {"memory_modes"};
  ASSERT_TRUE(ParseTotals("0.1", &options.totals).ok());
  EXPECT_THAT(options.Validate().message(), HasSubstr("memory_mode, compressed, page_cache"));
  options.policies = {"memory_mode"};
  EXPECT_TRUE(options.Validate().ok());
  EXPECT_THAT(ParsePacking("off", "2", &options).message(), HasSubstr("compressed, page_cache, inline_memory"));
  for (const std::string_view name : AlternativeNames()) {
    ASSERT_TRUE(AlternativeOf(name).has_value());
    EXPECT_FALSE(IsReference(name));
  }
}

}  // namespace
}  // namespace mezz::sim
