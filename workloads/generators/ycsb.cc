// SPDX-License-Identifier: Apache-2.0
// YCSB's core workloads A to F: B. Cooper et al., "Benchmarking Cloud Serving Systems with YCSB", SoCC'10.
//
// Published (workloads/workload[a-f] and workload_template of YCSB): the mixes below; records of 10 fields of 100
// bytes; scans of 1 to 100 records, uniform; popularity is Zipf's law of exponent 0.99, scattered: ranks are drawn for
// 10^10 items and hashed to records, so the most popular takes 3.8 % whatever the number of records; in D it is Zipf's
// over the records from the latest inserted backwards; records are inserted in hashed order.
// Ours:
//   - the table keeps its size: an insert writes over the oldest record, which is then the newest.
//   - a read-modify-write of F is two requests, a get and a put of the same key.
//   - an update rewrites the whole record, as YCSB's binding for RocksDB does.
//   - a substream's latest records are those it inserted itself.
#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <utility>

#include "workloads/generators/distributions.h"
#include "workloads/generators/generator.h"

namespace mezz {
namespace {

constexpr uint32_t kRecordBytes = 10 * 100;
constexpr double kSkew = 0.99;
constexpr uint64_t kItems = 10'000'000'000;  // ScrambledZipfianGenerator's
constexpr uint64_t kScanLengthMax = 100;

enum class Popularity : uint8_t { kZipfian, kLatest };

// Shares; what is left of 1 are read-modify-writes.
struct Mix {
  std::string_view name;
  double read, update, insert, scan;
  Popularity popularity;
};
constexpr Mix kMixes[] = {
    {"ycsb_a", 0.5, 0.5, 0, 0, Popularity::kZipfian},   {"ycsb_b", 0.95, 0.05, 0, 0, Popularity::kZipfian},
    {"ycsb_c", 1, 0, 0, 0, Popularity::kZipfian},       {"ycsb_d", 0.95, 0, 0.05, 0, Popularity::kLatest},
    {"ycsb_e", 0, 0, 0.05, 0.95, Popularity::kZipfian}, {"ycsb_f", 0.5, 0, 0, 0, Popularity::kZipfian},
};

const Mix& MixOf(std::string_view name) {
  for (const Mix& mix : kMixes) {
    if (mix.name == name) return mix;
  }
  return kMixes[0];
}

class Ycsb final : public Generator {
 public:
  explicit Ycsb(const GeneratorOptions& options)
      : Generator(options),
        mix_(MixOf(options.name)),
        ranks_(mix_.popularity == Popularity::kLatest ? options.keys : kItems, kSkew),
        key_of_number_(options.keys, LayoutSeed(0)),
        hash_seed_(LayoutSeed(1)) {
    Restart();
  }

  std::string description() const override { return fmt::format("gen:{}, {} records", mix_.name, options().keys); }

 protected:
  void Restart() override {
    modified_.reset();
    newest_ = options().keys - 1;
    next_ = options().keys + options().stream;
  }

  Request Draw() override {
    if (modified_) return Put(*std::exchange(modified_, std::nullopt));
    double what = operations().Uniform();
    if (what < mix_.read) return Request{.key = DrawKey()};
    if ((what -= mix_.read) < mix_.update) return Put(DrawKey());
    if ((what -= mix_.update) < mix_.insert) return Insert();
    if (what - mix_.insert < mix_.scan) {
      return Request{.key = DrawKey(),
                     .operation = Operation::kSeek,
                     .scan_length = static_cast<uint32_t>(1 + operations().Below(kScanLengthMax))};
    }
    modified_ = DrawKey();
    return Request{.key = *modified_};
  }

 private:
  static Request Put(uint64_t key) {
    return Request{.key = key, .operation = Operation::kPut, .value_bytes = kRecordBytes};
  }
  Request Insert() {
    newest_ = std::exchange(next_, next_ + options().streams);
    return Put(KeyOfNumber(newest_));
  }

  uint64_t DrawKey() {
    const uint64_t rank = ranks_.Draw(keys());
    if (mix_.popularity == Popularity::kLatest) return KeyOfNumber(newest_ - (rank - 1));
    return Mix64(rank ^ hash_seed_) % options().keys;
  }
  uint64_t KeyOfNumber(uint64_t number) const { return key_of_number_(number % options().keys); }

  const Mix& mix_;
  ZipfRanks ranks_;
  Permutation key_of_number_;
  uint64_t hash_seed_;
  std::optional<uint64_t> modified_;  // read, to be written next
  uint64_t newest_ = 0;               // records are numbered in the order they were inserted
  uint64_t next_ = 0;
};

}  // namespace

std::unique_ptr<RequestSource> MakeYcsb(const GeneratorOptions& options) { return std::make_unique<Ycsb>(options); }

uint32_t YcsbValueBytes(uint64_t) { return kRecordBytes; }

}  // namespace mezz
