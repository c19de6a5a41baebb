// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "admission/curves/block_trace.h"
#include "cache/layout.h"
#include "cache/options.h"
#include "cache/pack/auto_skip.h"
#include "cache/pack/mean_share.h"
#include "cache/pack/packer.h"
#include "cache/status.h"

namespace mezz::sim {

// How many times smaller a codec makes source text in blocks of 4 KiB: the ratio if none is given.
constexpr double RatioOfSourceText(PackMode mode) {
  return mode == PackMode::kOff ? 1 : mode == PackMode::kZstd ? 3.25 : 2.25;
}

// How many times smaller a codec makes blocks: one ratio for all, or one drawn for each from a distribution, by the
// hash of the block's key. So a block packs the same in every run with the same seed.
class PackRatios {
 public:
  explicit PackRatios(double ratio = 1) : ratios_{{ratio, 1}} {}
  // Parses a ratio such as "2.1", or the name of a file with lines "ratio,weight", where # begins a comment. For
  // anything else, the error names flag and line.
  static Status Parse(const std::string& text, PackRatios* ratios);

  double Of(uint64_t key, uint64_t seed) const;

  static constexpr double kRatioMax = 1000;

 private:
  struct Ratio {
    double ratio;
    double cumulated;  // weight of this and of all before it; 1 for the last
  };
  std::vector<Ratio> ratios_;
};

// A model of Packer without bytes: the same blocks pack, are rejected and are skipped, and PackedBytes returns the
// same.
class PackModel {
 public:
  // `block_bytes` and `codec_bytes` have, for each block of `trace`, its size and that of the codec's output, even if
  // that is larger. All arguments must outlive this.
  PackModel(Codec codec, const BlockTrace& trace, const std::vector<uint32_t>& block_bytes,
            const std::vector<uint32_t>& codec_bytes)
      : codec_(codec), trace_(trace), block_bytes_(block_bytes), codec_bytes_(codec_bytes) {}

  // As Packer::Wants.
  bool Wants(BlockId block);
  // As Packer::Pack, for a block for which Wants said yes. False: it would save too little.
  bool Pack(BlockId block);
  // As ScmTier::PackedBytesExpected.
  uint32_t PackedBytes(uint32_t bytes) const {
    return static_cast<uint32_t>(uint64_t{bytes} * mean_share_.value() / MeanShare::kWhole);
  }

  // The payload of the block's packed record.
  uint32_t payload_bytes(BlockId block) const {
    return static_cast<uint32_t>(sizeof(layout::PackedPrefix)) + codec_bytes_[block];
  }
  uint64_t record_bytes(BlockId block) const { return layout::RecordBytes(payload_bytes(block)); }
  uint64_t tries() const { return tries_; }  // of these, the next one counts those in vain
  uint64_t rejected() const { return rejected_; }

 private:
  const Codec codec_;
  const BlockTrace& trace_;
  const std::vector<uint32_t>& block_bytes_;
  const std::vector<uint32_t>& codec_bytes_;
  std::array<AutoSkip, kBlockRoles> auto_skip_;
  MeanShare mean_share_;
  uint64_t tries_ = 0;
  uint64_t rejected_ = 0;
};

}  // namespace mezz::sim
