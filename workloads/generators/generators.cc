// SPDX-License-Identifier: Apache-2.0
#include "workloads/generators/generators.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "workloads/generators/cachelib.h"
#include "workloads/generators/generator.h"

namespace mezz {
namespace {

class Uniform final : public Generator {
 public:
  explicit Uniform(const GeneratorOptions& options) : Generator(options) {}
  std::string description() const override { return fmt::format("gen:uniform, {} keys{}", options().keys, Puts()); }

 protected:
  Request Draw() override { return Request{.key = keys().Below(options().keys)}; }
};

// What --skew may be.
enum class Skew : uint8_t { kAny, kBelowOne, kFixed };

struct NamedGenerator {
  std::string_view name;
  std::unique_ptr<RequestSource> (*make)(const GeneratorOptions& options);
  Skew skew;
  uint64_t keys;                          // where --keys says nothing
  uint32_t (*value_bytes)(uint64_t key);  // null: no sizes of its own
  bool takes_puts = false;                // --put_share
};

constexpr uint64_t kKeys = 1'000'000;
constexpr uint64_t kMessagingKeys = 1'000'000'000;           // messaging.cc says why
constexpr uint64_t kBlobMetadataKeys = 256 * 50'000'000ull;  // FAST'20's data set at --scale=256
constexpr uint64_t kLaserKeys = 4'000'000'000;

constexpr NamedGenerator kGenerators[] = {
    {"uniform", &MakeUniform, Skew::kAny, kKeys, nullptr, true},
    {"zipf", &MakeZipf, Skew::kAny, kKeys, nullptr, true},
    {"production", &MakeBlobMetadata, Skew::kBelowOne, kKeys, &BlobMetadataValueBytes},
    {"messaging", &MakeMessaging, Skew::kAny, kMessagingKeys, &MessagingValueBytes},
    {"blob_metadata", &MakeBlobMetadata, Skew::kBelowOne, kBlobMetadataKeys, &BlobMetadataValueBytes},
    {"laser", &MakeLaser, Skew::kAny, kLaserKeys, &LaserValueBytes},
    {"ycsb_a", &MakeYcsb, Skew::kFixed, kKeys, &YcsbValueBytes},
    {"ycsb_b", &MakeYcsb, Skew::kFixed, kKeys, &YcsbValueBytes},
    {"ycsb_c", &MakeYcsb, Skew::kFixed, kKeys, &YcsbValueBytes},
    {"ycsb_d", &MakeYcsb, Skew::kFixed, kKeys, &YcsbValueBytes},
    {"ycsb_e", &MakeYcsb, Skew::kFixed, kKeys, &YcsbValueBytes},
    {"ycsb_f", &MakeYcsb, Skew::kFixed, kKeys, &YcsbValueBytes},
};
// Its keys and sizes are in its folder.
constexpr NamedGenerator kCachelib = {"cachelib", nullptr, Skew::kFixed, 0, nullptr};
constexpr std::string_view kCachelibPrefix = "cachelib:";

const NamedGenerator* FindGenerator(std::string_view name) {
  if (name.starts_with(kCachelibPrefix) && name.size() > kCachelibPrefix.size()) return &kCachelib;
  const auto* found = std::ranges::find(kGenerators, name, &NamedGenerator::name);
  return found == std::end(kGenerators) ? nullptr : found;
}

Status LoadCachelib(const GeneratorOptions& options, std::shared_ptr<const CachelibModel>* model) {
  auto loaded = std::make_shared<CachelibModel>();
  MEZZ_RETURN_IF_ERROR(CachelibModel::Load(options.name.substr(kCachelibPrefix.size()), loaded.get()));
  *model = std::move(loaded);
  return Status::Ok();
}

uint64_t Scaled(uint64_t keys, uint64_t scale) { return std::max<uint64_t>(1, keys / scale); }

Status ValidateSkew(const GeneratorOptions& o, const NamedGenerator& generator) {
  if (std::isnan(o.skew) || o.skew > kSkewMax) {
    return Status::InvalidArgument(fmt::format("--skew={} is out of range; it goes from 0 to {}", o.skew, kSkewMax));
  }
  if (generator.skew == Skew::kBelowOne && o.skew >= 1) {
    return Status::InvalidArgument(
        fmt::format("--skew={} is out of range; gen:{} takes 0 up to, not including, 1", o.skew, o.name));
  }
  if (generator.skew == Skew::kFixed && o.skew >= 0) {
    return Status::InvalidArgument(
        fmt::format("--skew={}: gen:{} has a popularity of its own; drop --skew, or use gen:zipf", o.skew, o.name));
  }
  return Status::Ok();
}

}  // namespace

std::unique_ptr<RequestSource> MakeUniform(const GeneratorOptions& options) {
  return std::make_unique<Uniform>(options);
}

const std::vector<std::string_view>& GeneratorNames() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const NamedGenerator& generator : kGenerators) all.push_back(generator.name);
    return all;
  }();
  return names;
}

std::string KnownGenerators() {
  return fmt::format("gen:{}, gen:cachelib:FOLDER", fmt::join(GeneratorNames(), ", gen:"));
}

Status GeneratorOptions::Validate() const {
  const NamedGenerator* generator = FindGenerator(name);
  if (generator == nullptr) {
    return Status::InvalidArgument(fmt::format("--trace=gen:{} is not known; one of {}", name, KnownGenerators()));
  }
  if (keys > kGeneratorKeysMax) {
    return Status::InvalidArgument(
        fmt::format("--keys={} is out of range; a generator takes 1 to {} keys", keys, kGeneratorKeysMax));
  }
  if (scale == 0) return Status::InvalidArgument("--scale=0 divides nothing; it goes from 1");
  MEZZ_RETURN_IF_ERROR(ValidateSkew(*this, *generator));
  if (!(put_share >= 0 && put_share <= 1)) {
    return Status::InvalidArgument(fmt::format("--put_share={} is out of range; it goes from 0 to 1", put_share));
  }
  if (put_share > 0 && !generator->takes_puts) {
    return Status::InvalidArgument(
        fmt::format("--put_share={}: gen:{} has puts of its own; use gen:uniform or gen:zipf", put_share, name));
  }
  if (streams == 0 || stream >= streams) {
    return Status::InvalidArgument(fmt::format("substream {} of {} does not exist", stream, streams));
  }
  return Status::Ok();
}

Status GeneratorKeys(const GeneratorOptions& options, uint64_t* keys) {
  MEZZ_RETURN_IF_ERROR(options.Validate());
  uint64_t own = FindGenerator(options.name)->keys;
  if (options.keys == 0 && own == 0) {
    std::shared_ptr<const CachelibModel> model;
    MEZZ_RETURN_IF_ERROR(LoadCachelib(options, &model));
    own = model->keys();
  }
  *keys = Scaled(options.keys > 0 ? options.keys : own, options.scale);
  return Status::Ok();
}

Status MakeGenerator(const GeneratorOptions& options, std::unique_ptr<RequestSource>* source) {
  MEZZ_RETURN_IF_ERROR(options.Validate());
  GeneratorOptions resolved = options;
  MEZZ_RETURN_IF_ERROR(GeneratorKeys(options, &resolved.keys));
  resolved.scale = 1;
  const NamedGenerator* generator = FindGenerator(options.name);
  if (generator != &kCachelib) {
    *source = generator->make(resolved);
    return Status::Ok();
  }
  std::shared_ptr<const CachelibModel> model;
  MEZZ_RETURN_IF_ERROR(LoadCachelib(options, &model));
  *source = MakeCachelib(resolved, std::move(model));
  return Status::Ok();
}

bool GeneratorHasSizes(std::string_view name) {
  const NamedGenerator* generator = FindGenerator(name);
  return generator != nullptr && (generator == &kCachelib || generator->value_bytes != nullptr);
}

Status GeneratorValueSizes(const GeneratorOptions& options, ValueSizes* sizes) {
  MEZZ_RETURN_IF_ERROR(options.Validate());
  const NamedGenerator* generator = FindGenerator(options.name);
  if (generator != &kCachelib) {
    *sizes = generator->value_bytes;
    return Status::Ok();
  }
  std::shared_ptr<const CachelibModel> model;
  MEZZ_RETURN_IF_ERROR(LoadCachelib(options, &model));
  *sizes = [model](uint64_t key) { return model->ValueBytes(key); };
  return Status::Ok();
}

}  // namespace mezz
