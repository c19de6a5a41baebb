// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "admission/curves/dram_models.h"

namespace mezz::sim {

// A stock cache with a CompressedSecondaryCache behind it, as RocksDB 11.8 couples them by default
// (cache/secondary_cache_adapter.cc, cache/compressed_secondary_cache.cc; kAdmPolicyPlaceholder). Both tiers hold
// blocks and placeholders, keys alone. The second is an LRUCache with the first one's shards and its own priority pool.
//
//   hit in the first tier     that is all
//   miss there, or a placeholder, which goes: the second tier is asked
//     block there, no placeholder was above   served from a copy, which takes room above while it is used; a
//                                             placeholder is put above
//     block there, a placeholder was above    moves up; a placeholder stays behind
//     none there                              a miss: the block comes into the first tier
//   a block leaves the first tier             the first time a placeholder is put below, the next time the block is
class PlaceholderTiers {
 public:
  enum class Found : uint8_t { kFirst, kSecondCopied, kSecondMoved, kMiss };
  struct Options {
    DramModelOptions first;
    std::vector<uint32_t> first_charges;     // by block; placeholders are free but for the slot they take
    DramModelOptions second;                 // LRUCache
    std::vector<uint32_t> second_charges{};  // by block: its record, and what goes with it
    uint32_t placeholder_charge = 0;         // in the second tier
  };

  // Told of each block written to the second tier.
  struct Writes {
    virtual ~Writes() = default;
    virtual void OnWrite(BlockId block) = 0;
  };
};

// As above, over either first tier.
template <typename First>
class CompressedSecondaryModel {
 public:
  using Found = PlaceholderTiers::Found;

  CompressedSecondaryModel(uint32_t blocks, const PlaceholderTiers::Options& options, PlaceholderTiers::Writes* writes)
      : options_(options),
        writes_(writes),
        first_charges_(std::vector<uint32_t>(blocks)),
        second_charges_(std::vector<uint32_t>(blocks)),
        first_(blocks, first_charges_, options.first),
        second_(blocks, second_charges_, options.second),
        placeholder_above_(blocks),
        placeholder_below_(blocks) {}

  Found Access(BlockId block, DramPriority priority) {
    bool placeholder = false;
    if (first_.Hit(block)) {
      if (!placeholder_above_[block]) return Found::kFirst;
      first_.Erase(block);
      placeholder = true;
    }
    if (!second_.Hit(block) || placeholder_below_[block]) {
      InsertAbove(block, priority, /*placeholder=*/false);
      return Found::kMiss;
    }
    if (!placeholder) {
      first_charges_.Set(block, options_.first_charges[block]);
      first_.MakeRoom(block, [this](BlockId leaving, bool) { Leave(leaving); });
      InsertAbove(block, priority, /*placeholder=*/true);
      return Found::kSecondCopied;
    }
    InsertBelow(block, /*placeholder=*/true);
    InsertAbove(block, priority, /*placeholder=*/false);
    return Found::kSecondMoved;
  }

  void Audit(std::vector<std::string>* violations) const {
    first_.Audit(violations);
    second_.Audit(violations);
  }

 private:
  void InsertAbove(BlockId block, DramPriority priority, bool placeholder) {
    placeholder_above_[block] = placeholder;
    first_charges_.Set(block, placeholder ? 0 : options_.first_charges[block]);
    first_.Insert(block, priority, [this](BlockId leaving, bool) { Leave(leaving); });
  }
  void Leave(BlockId block) {
    if (!placeholder_above_[block]) InsertBelow(block, /*placeholder=*/!second_.Hit(block));
  }
  void InsertBelow(BlockId block, bool placeholder) {
    if (second_.resident(block)) second_.Erase(block);
    placeholder_below_[block] = placeholder;
    second_charges_.Set(block, placeholder ? options_.placeholder_charge : options_.second_charges[block]);
    if (!placeholder) writes_->OnWrite(block);
    second_.Insert(block, DramPriority::kLow, [](BlockId, bool) {});
  }

  const PlaceholderTiers::Options& options_;
  PlaceholderTiers::Writes* const writes_;
  Charges first_charges_, second_charges_;
  First first_;
  LruModel second_;
  std::vector<bool> placeholder_above_, placeholder_below_;  // of those resident there: no bytes
};

}  // namespace mezz::sim
