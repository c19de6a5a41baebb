// SPDX-License-Identifier: Apache-2.0
// Laser: key-value serving of data that is computed elsewhere (Laser in Kassa et al., ATC'21; "Hive Cache" in TOS'22):
// tables loaded in bulk, looked up by many services, renewed by a trickle of updates.
//
// Published:
//   read-dominated (ATC'21, TOS'22 abstracts); a look-up service over RocksDB, fed from streams and from daily tables
//   (Chen et al., "Realtime Data Processing at Facebook", SIGMOD'16).
// Assumed (ours; ATC'21's workload table was not at hand, and FAST'20 did not study Laser):
//   - get : put = 0.98 : 0.02, no seeks: look-ups are by whole key.
//   - keys are hashed, so popular keys have no popular neighbours; popularity follows Zipf's law of exponent 0.9.
//   - keys of 16 bytes; values of rows and feature vectors: a generalised Pareto of k = 0.2, sigma = 200, cut at
//     4,096: mean 250 bytes.
//   - the operation is drawn apart from the key, and so are sizes.
//   - 4 * 10^9 keys: about 1 TB of data behind a server with 64 to 256 GB of cache.
#include <fmt/format.h>

#include "workloads/generators/distributions.h"
#include "workloads/generators/generator.h"

namespace mezz {
namespace {

constexpr uint32_t kKeyBytes = 16;
constexpr CutPareto kValueBytes(0.2, 200, 4096);
constexpr double kPutShare = 0.02;
constexpr double kSkew = 0.9;

class Laser final : public Generator {
 public:
  explicit Laser(const GeneratorOptions& options)
      : Generator(options),
        skew_(options.skew < 0 ? kSkew : options.skew),
        ranks_(options.keys, skew_),
        key_of_rank_(options.keys, LayoutSeed(0)) {}

  std::string description() const override {
    return fmt::format("gen:laser, {} keys, skew {}, popular keys scattered", options().keys, skew_);
  }

 protected:
  Request Draw() override {
    Request request{.key = key_of_rank_(ranks_.Draw(keys()) - 1), .key_bytes = kKeyBytes};
    const bool is_put = operations().Uniform() < kPutShare;
    const double size = operations().Uniform();
    if (is_put) {
      request.operation = Operation::kPut;
      request.value_bytes = kValueBytes.Quantile(size);
    }
    return request;
  }

 private:
  double skew_;
  ZipfRanks ranks_;
  Permutation key_of_rank_;
};

}  // namespace

std::unique_ptr<RequestSource> MakeLaser(const GeneratorOptions& options) { return std::make_unique<Laser>(options); }

uint32_t LaserValueBytes(uint64_t key) { return kValueBytes.Quantile(UniformOf(Mix64(key))); }

}  // namespace mezz
