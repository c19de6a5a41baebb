// SPDX-License-Identifier: Apache-2.0
// Blob metadata: the directory of a blob store (Tectonic, one of the three production workloads of Kassa et al., ATC'21
// and TOS'22), kept in ZippyDB, which lies on RocksDB. After Z. Cao, S. Dong, S. Vemuri and D. Du, "Characterizing,
// Modeling, and Benchmarking RocksDB Key-Value Workloads at Facebook", FAST'20, whose ZippyDB is this very use: keys
// are hot by range, and within a range by a power law; values and scans have generalised Pareto sizes; gets, puts and
// seeks are mixed. gen:production is the same stream under its first name.
//
// Published (the fit to Meta's ZippyDB, as RocksDB's pull requests #4788, #5953, #9711 and public benchmark scripts
// give it; the paper's own tables were not at hand):
//   range hotness a e^(bx) + c e^(dx) over 30 ranges, with b, c, d below; within a range a power law of exponent
//   0.3467; value size Pareto k = 0.2615, sigma = 25.45; scan length Pareto k = 2.517, sigma = 14.236;
//   get : put : seek = 0.83 : 0.14 : 0.03; keys of 48 bytes, 50 million of them (kKeys has them at --scale=256);
//   read-dominated (ATC'21).
// Assumed (ours; ATC'21's workload table was not at hand):
//   - a. With the published 14.18, db_bench's mixgraph sends 79 % of all requests to one of its 30 ranges, which says
//     more about the fit's first point than about the workload. kRangeHotA makes the hottest range take 25 %.
//   - hot ranges lie anywhere in the key space, and a range's popular keys anywhere in the range: seeded permutations.
//   - the operation is drawn apart from the key. (mixgraph derives both from one number: a key that is put is never
//     read.) So are sizes.
//   - scans longer than kScanLengthMax, and values larger than kValueBytesMax, do not happen: the distributions are
//     cut there and renormalised. With k > 1 the published scan length has no mean at all; mixgraph takes it modulo
//     10,000.
//   - an unwritten key has the value size its hash picks from the same distribution.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "workloads/generators/distributions.h"
#include "workloads/generators/generator.h"

namespace mezz {
namespace {

constexpr size_t kRanges = 30;
constexpr double kRangeHotA = 0.735;  // assumed; published: 14.18
constexpr double kRangeHotB = -2.917;
constexpr double kRangeHotC = 0.0164;
constexpr double kRangeHotD = -0.08082;
constexpr double kWithinRangeSkew = 1 - 0.3467;  // F(x) ~ x^0.3467 means density ~ x^-0.6533
constexpr double kGetShare = 0.83;
constexpr double kPutShare = 0.14;
constexpr uint32_t kKeyBytes = 48;
constexpr uint32_t kValueBytesMax = 1024;  // db_bench's default of mix_max_value_size
constexpr uint32_t kScanLengthMax = 1000;  // assumed

constexpr CutPareto kValueBytes(0.2615, 25.45, kValueBytesMax);
constexpr CutPareto kScanLength(2.517, 14.236, kScanLengthMax);

class BlobMetadata final : public Generator {
 public:
  explicit BlobMetadata(const GeneratorOptions& options)
      : Generator(options), skew_(options.skew < 0 ? kWithinRangeSkew : options.skew) {
    const size_t ranges = std::min<uint64_t>(kRanges, options.keys);
    LayOutRanges(ranges);
    SetHotness(ranges);
  }

  std::string description() const override {
    return fmt::format("gen:{}, {} keys in {} ranges, skew {:.4f} within a range", options().name, options().keys,
                       ranges_.size(), skew_);
  }

 protected:
  Request Draw() override {
    Request request{.key = DrawKey(), .key_bytes = kKeyBytes};
    const double what = operations().Uniform();
    const double size = operations().Uniform();
    if (what >= kGetShare + kPutShare) {
      request.operation = Operation::kSeek;
      request.scan_length = kScanLength.Quantile(size);
    } else if (what >= kGetShare) {
      request.operation = Operation::kPut;
      request.value_bytes = kValueBytes.Quantile(size);
    }
    return request;
  }

 private:
  struct Range {
    uint64_t first_key;
    uint64_t keys;
    Permutation key_of_rank;
  };

  void LayOutRanges(size_t ranges) {
    const uint64_t total = options().keys;
    for (size_t i = 0; i < ranges; ++i) {
      const auto first = static_cast<uint64_t>(static_cast<unsigned __int128>(total) * i / ranges);
      const auto end = static_cast<uint64_t>(static_cast<unsigned __int128>(total) * (i + 1) / ranges);
      ranges_.push_back({first, end - first, Permutation(end - first, LayoutSeed(i))});
    }
    Random shuffle(LayoutSeed(kRanges));
    for (size_t i = ranges; i > 1; --i) std::swap(ranges_[i - 1], ranges_[shuffle.Below(i)]);
  }

  void SetHotness(size_t ranges) {
    for (size_t i = 0; i < ranges; ++i) {
      const double x = static_cast<double>(i + 1);
      cumulative_.push_back(kRangeHotA * std::exp(kRangeHotB * x) + kRangeHotC * std::exp(kRangeHotD * x));
    }
    std::partial_sum(cumulative_.begin(), cumulative_.end(), cumulative_.begin());
    for (double& share : cumulative_) share /= cumulative_.back();
  }

  uint64_t DrawKey() {
    const double hotness = keys().Uniform();
    const auto found = std::upper_bound(cumulative_.begin(), cumulative_.end() - 1, hotness);
    const Range& range = ranges_[static_cast<size_t>(found - cumulative_.begin())];
    const double rank = std::floor(static_cast<double>(range.keys) * std::pow(keys().Uniform(), 1 / (1 - skew_)));
    return range.first_key + range.key_of_rank(std::min(static_cast<uint64_t>(rank), range.keys - 1));
  }

  double skew_;
  std::vector<Range> ranges_;
  std::vector<double> cumulative_;
};

}  // namespace

std::unique_ptr<RequestSource> MakeBlobMetadata(const GeneratorOptions& options) {
  return std::make_unique<BlobMetadata>(options);
}

uint32_t BlobMetadataValueBytes(uint64_t key) { return kValueBytes.Quantile(UniformOf(Mix64(key))); }

}  // namespace mezz
