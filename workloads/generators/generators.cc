// SPDX-License-Identifier: Apache-2.0
#include "workloads/generators/generators.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

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

struct NamedGenerator {
  std::string_view name;
  std::unique_ptr<RequestSource> (*make)(const GeneratorOptions& options);
};
constexpr NamedGenerator kGenerators[] = {
    {"uniform", &MakeUniform}, {"zipf", &MakeZipf}, {"production", &MakeProduction}};

const NamedGenerator* FindGenerator(std::string_view name) {
  for (const NamedGenerator& generator : kGenerators) {
    if (generator.name == name) return &generator;
  }
  return nullptr;
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

Status GeneratorOptions::Validate() const {
  if (FindGenerator(name) == nullptr) {
    return Status::InvalidArgument(
        fmt::format("--trace=gen:{} is not known; one of gen:{}", name, fmt::join(GeneratorNames(), ", gen:")));
  }
  if (keys == 0 || keys > kGeneratorKeysMax) {
    return Status::InvalidArgument(
        fmt::format("--keys={} is out of range; a generator takes 1 to {} keys", keys, kGeneratorKeysMax));
  }
  if (std::isnan(skew) || skew > kSkewMax) {
    return Status::InvalidArgument(fmt::format("--skew={} is out of range; it goes from 0 to {}", skew, kSkewMax));
  }
  if (name == "production" && skew >= 1) {
    return Status::InvalidArgument(
        fmt::format("--skew={} is out of range; gen:production takes 0 up to, not including, 1", skew));
  }
  if (!(put_share >= 0 && put_share <= 1)) {
    return Status::InvalidArgument(fmt::format("--put_share={} is out of range; it goes from 0 to 1", put_share));
  }
  if (name == "production" && put_share > 0) {
    return Status::InvalidArgument(
        fmt::format("--put_share={}: gen:production has puts of its own; use gen:uniform or gen:zipf", put_share));
  }
  if (streams == 0 || stream >= streams) {
    return Status::InvalidArgument(fmt::format("substream {} of {} does not exist", stream, streams));
  }
  return Status::Ok();
}

Status MakeGenerator(const GeneratorOptions& options, std::unique_ptr<RequestSource>* source) {
  MEZZ_RETURN_IF_ERROR(options.Validate());
  *source = FindGenerator(options.name)->make(options);
  return Status::Ok();
}

}  // namespace mezz
