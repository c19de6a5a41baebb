// SPDX-License-Identifier: Apache-2.0
// The choice beside every purchase: the baseline's own DRAM, parted into a DRAM tier and a packed second tier.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/plan/answer.h"
#include "workloads/plan/judge.h"

namespace mezz::plan {

enum class NoPurchaseVerdict : uint8_t {
  kNotAsked,     // the baseline has SCM already, or the curve is of one tier
  kRaw,          // the curve is of raw records: it says nothing of packed ones
  kNoGain,       // all of the memory as DRAM serves better: the blocks hardly pack, or they fit
  kMisses,       // packing serves better, but misses a target
  kRecommended,  // packing serves better and meets the targets
};
// not_asked, raw, no_gain, misses, recommended.
std::string_view ToString(NoPurchaseVerdict verdict);

// One way to part the memory. It costs what the baseline costs.
struct MemorySplit {
  uint64_t dram_bytes = 0;    // dram_total=: with index and policy
  uint64_t packed_bytes = 0;  // scm=
  double pack_ratio = 0;      // how many times less a record written takes than a raw one; 1: nothing is packed
  Figures figures{};
  Verdict targets{};
  std::string uri{};
};

struct NoPurchase {
  NoPurchaseVerdict verdict = NoPurchaseVerdict::kNotAsked;
  std::vector<MemorySplit> splits;  // by DRAM, ascending
  size_t best = kNone;              // of them: one that meets the targets before one that does not, then the fastest
  std::string uri;                  // configures the best one; empty: there is no reason to
};

// Judges each share of kBlockCacheShares (alternatives.h) as DRAM and the rest as packed, in the form of the question's
// curve. Packing takes time of a core for each record, since the costs of operations may be those of raw records. A
// split serves better if its mean time is less than the baseline's, at the middle and at the bad end of the brackets.
// Below kPackingPaysFrom (cache/pack/codec_rules.h), where the cache's own report advises against it, there is no gain.
NoPurchase PackWhatYouHave(const Question& question, const Answer& answer);

// One line, without the URI; empty for kNotAsked.
std::string NoPurchaseSentence(const Question& question, const Answer& answer, const NoPurchase& found);
// docs/reference/plan.md, "The JSON". Null for kNotAsked.
nlohmann::json NoPurchaseJson(const Question& question, const Answer& answer, const NoPurchase& found);

}  // namespace mezz::plan
