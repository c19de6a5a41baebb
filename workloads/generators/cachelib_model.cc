// SPDX-License-Identifier: Apache-2.0
#include "workloads/generators/cachelib_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>

#include "cache/base/read_file.h"
#include "workloads/generators/distributions.h"

namespace mezz {
namespace {

using nlohmann::json;

constexpr uint64_t kModelKeysMax = 1ull << 40;

Status Damaged(const std::string& path, std::string_view entry, std::string_view want) {
  return Status::InvalidArgument(fmt::format("{}: entry \"{}\" is missing or damaged; want {}", path, entry, want));
}

Status ReadObject(const std::string& path, json* object) {
  std::string text;
  if (!ReadWholeFile(path, &text))
    return Status::NotFound(fmt::format("{}: there is no such file, or it cannot be read", path));
  *object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (object->is_object()) return Status::Ok();
  return Status::InvalidArgument(fmt::format("{}: this is not a JSON object", path));
}

Status ReadNumbers(const std::string& path, const json& object, const char* entry, std::vector<double>* numbers) {
  constexpr std::string_view kWant = "an array of positive numbers";
  const auto found = object.find(entry);
  if (found == object.end() || !found->is_array() || found->empty()) return Damaged(path, entry, kWant);
  for (const json& number : *found) {
    if (!number.is_number() || !(number.get<double>() >= 0) || !(number.get<double>() < 1e15)) {
      return Damaged(path, entry, kWant);
    }
    numbers->push_back(number.get<double>());
  }
  return std::accumulate(numbers->begin(), numbers->end(), 0.0) > 0 ? Status::Ok() : Damaged(path, entry, kWant);
}

std::vector<double> Cumulative(const std::vector<double>& weights) {
  std::vector<double> sums(weights.size());
  std::partial_sum(weights.begin(), weights.end(), sums.begin());
  const double total = sums.back();
  for (double& sum : sums) sum /= total;
  return sums;
}

Status ReadShares(const std::string& path, const json& pool, CachelibModel* model) {
  const std::pair<const char*, double*> entries[] = {{"getRatio", &model->get},
                                                     {"setRatio", &model->set},
                                                     {"delRatio", &model->del},
                                                     {"loneGetRatio", &model->lone_get},
                                                     {"loneSetRatio", &model->lone_set}};
  double total = 0;
  for (const auto& [name, share] : entries) {
    const auto found = pool.find(name);
    if (found == pool.end()) continue;
    *share = found->is_number() ? found->get<double>() : -1;
    if (!(*share >= 0 && *share <= 1)) return Damaged(path, name, "a share from 0 to 1");
    total += *share;
  }
  if (!(model->get + model->set + model->del > 0)) return Damaged(path, "getRatio", "requests for popular keys");
  for (const auto& [name, share] : entries) *share /= total;  // as CacheBench does: they need not add up to 1
  return Status::Ok();
}

Status ReadPopularity(const std::string& path, CachelibModel* model) {
  json object;
  std::vector<double> keys;
  std::vector<double> weights;
  MEZZ_RETURN_IF_ERROR(ReadObject(path, &object));
  MEZZ_RETURN_IF_ERROR(ReadNumbers(path, object, "popularityBuckets", &keys));
  MEZZ_RETURN_IF_ERROR(ReadNumbers(path, object, "popularityWeights", &weights));
  if (keys.size() != weights.size()) {
    return Damaged(path, "popularityWeights", fmt::format("{} numbers, as popularityBuckets has", keys.size()));
  }
  double end = 0;
  for (double count : keys) {
    end += std::floor(count);
    model->bucket_end.push_back(static_cast<uint64_t>(end));
  }
  model->bucket_cumulative = Cumulative(weights);
  const double lone = model->lone_get + model->lone_set;
  const double lone_keys = std::accumulate(weights.begin(), weights.end(), 0.0) * lone / (1 - lone);
  model->lone_keys = static_cast<uint64_t>(lone > 0 ? std::max(1.0, lone_keys) : 0);
  if (end >= 1 && end + lone_keys <= static_cast<double>(kModelKeysMax)) return Status::Ok();
  return Damaged(path, "popularityBuckets", fmt::format("1 to {} keys in all", kModelKeysMax));
}

Status ReadSizes(const std::string& path, CachelibModel* model) {
  json object;
  std::vector<double> sizes;
  std::vector<double> weights;
  MEZZ_RETURN_IF_ERROR(ReadObject(path, &object));
  MEZZ_RETURN_IF_ERROR(ReadNumbers(path, object, "valSizeRange", &sizes));
  MEZZ_RETURN_IF_ERROR(ReadNumbers(path, object, "valSizeRangeProbability", &weights));
  if (sizes.size() != weights.size()) {
    return Damaged(path, "valSizeRange", fmt::format("{} sizes, as valSizeRangeProbability has", weights.size()));
  }
  for (double size : sizes) {
    if (size > UINT32_MAX) return Damaged(path, "valSizeRange", "sizes below 4 GiB");
    model->value_bytes.push_back(static_cast<uint32_t>(std::max(1.0, size)));
  }
  model->value_cumulative = Cumulative(weights);
  return Status::Ok();
}

// config.json has the distributions of its only pool in test_config itself, or in a list.
Status FindPool(const std::string& path, const json& config, json* pool) {
  const auto test = config.find("test_config");
  if (test == config.end() || !test->is_object()) return Damaged(path, "test_config", "an object");
  *pool = *test;
  const auto pools = test->find("poolDistributions");
  if (pools == test->end()) return Status::Ok();
  if (!pools->is_array() || pools->empty() || !pools->front().is_object()) {
    return Damaged(path, "poolDistributions", "a list of one object");
  }
  if (pools->size() > 1) {
    return Status::NotSupported(
        fmt::format("{}: it has {} pools; only models of one pool can be generated", path, pools->size()));
  }
  *pool = pools->front();
  return Status::Ok();
}

}  // namespace

uint32_t CachelibModel::ValueBytes(uint64_t key) const {
  const double uniform = UniformOf(Mix64(key));
  const auto found = std::upper_bound(value_cumulative.begin(), value_cumulative.end() - 1, uniform);
  return value_bytes[static_cast<size_t>(found - value_cumulative.begin())];
}

Status CachelibModel::Load(const std::string& folder, CachelibModel* model) {
  const std::string path = folder + "/config.json";
  json config;
  json pool;
  MEZZ_RETURN_IF_ERROR(ReadObject(path, &config));
  MEZZ_RETURN_IF_ERROR(FindPool(path, config, &pool));
  CachelibModel read;
  MEZZ_RETURN_IF_ERROR(ReadShares(path, pool, &read));
  std::string files[2];
  for (size_t i = 0; i < 2; ++i) {
    const char* entry = i == 0 ? "popDistFile" : "valSizeDistFile";
    const auto found = pool.find(entry);
    if (found == pool.end() || !found->is_string()) return Damaged(path, entry, "the name of a file beside it");
    files[i] = folder + "/" + std::filesystem::path(found->get<std::string>()).filename().string();
  }
  MEZZ_RETURN_IF_ERROR(ReadPopularity(files[0], &read));
  MEZZ_RETURN_IF_ERROR(ReadSizes(files[1], &read));
  *model = std::move(read);
  return Status::Ok();
}

}  // namespace mezz
