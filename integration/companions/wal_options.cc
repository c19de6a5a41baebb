// SPDX-License-Identifier: Apache-2.0
#include "integration/companions/wal_options.h"

#include <algorithm>
#include <set>

#include "cache/base/invalid.h"
#include "cache/base/text.h"
#include "fmt/format.h"

namespace mezz {
namespace {

constexpr std::string_view kKeys = "path, size, fallback, model and base";

Status ParseItem(std::string_view key, std::string_view value, WalFileSystemOptions* options) {
  if (key == "path") {
    options->medium.path = value;
  } else if (key == "size") {
    return ParseBytes("size", value, &options->medium.size);
  } else if (key == "model") {
    return ParseWord("model", value, &options->medium.model);
  } else if (key == "base") {
    options->base = value;
  } else if (key == "fallback") {
    return ParseBool(key, value, &options->fallback);
  } else {
    return Invalid("the key \"{}\" is unknown; the keys are {}", key, kKeys);
  }
  return Status::Ok();
}

Status ParseItems(std::string_view rest, WalFileSystemOptions* options) {
  std::set<std::string_view> seen;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(';'), rest.size());
    const std::string_view item = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const size_t equals = item.find('=');
    if (equals == std::string_view::npos || equals == 0)
      return Invalid("\"{}\" is not key=value; the keys are {}", item, kKeys);
    const std::string_view key = item.substr(0, equals), value = item.substr(equals + 1);
    if (value.empty()) return Invalid("{}= has an empty value", key);
    MEZZ_RETURN_IF_ERROR(ParseItem(key, value, options));
    if (!seen.insert(key).second) return Invalid("{} is given twice, again as {}", key, item);
  }
  for (const std::string_view key : {"path", "size"}) {
    if (!seen.contains(key)) return Invalid("{} is missing", key);
  }
  return options->Validate();
}

}  // namespace

Status ParseWalUri(std::string_view uri, WalFileSystemOptions* options) {
  *options = {};
  if (!uri.starts_with(kWalScheme)) return Invalid("\"{}\": expected {}path=...;size=...", uri, kWalScheme);
  const Status status = ParseItems(uri.substr(kWalScheme.size()), options);
  return status.ok() ? status : status.WithPrefix(fmt::format("{} ", kWalScheme));
}

std::string WalFileSystemOptions::ToUri() const {
  return fmt::format("{}path={};size={};fallback={};model={}{}{}", kWalScheme, medium.path, medium.size, fallback,
                     ToString(medium.model), base.empty() ? "" : ";base=", base);
}

}  // namespace mezz
