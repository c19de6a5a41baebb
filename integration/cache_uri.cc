// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include "admission/policy.h"
#include "cache/base/text.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "integration/options.h"

namespace mezz {

namespace {

constexpr int kNumaNodeMax = 1023;  // the kernel's MAX_NUMNODES is at most 1024

enum KeySide : unsigned { kScmSide = 1, kDramSide = 2 };

// A setter reads `value` into the options; `key` is there for its messages.
struct KeySpec {
  std::string_view key;
  KeySide side;
  Status (*set)(std::string_view key, std::string_view value, HybridCacheOptions* options);
};

Status BadValue(std::string_view key, std::string_view value, std::string_view accepted) {
  return Status::InvalidArgument(fmt::format("{}={}: accepted are {}", key, value, accepted));
}

// Digits only: no sign, no space, no fraction.
template <typename Int>
bool ParseDigits(std::string_view text, Int* value) {
  if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos) return false;
  return std::from_chars(text.data(), text.data() + text.size(), *value).ec == std::errc();
}

Status SetBool(std::string_view key, std::string_view value, bool* to) {
  if (value != "true" && value != "false" && value != "1" && value != "0") {
    return BadValue(key, value, "true, false, 1 and 0");
  }
  *to = value == "true" || value == "1";
  return Status::Ok();
}

Status SetDram(std::string_view key, std::string_view value, HybridCacheOptions* options) {
  return ParseBytes(key, value, &options->dram_bytes);
}

Status SetScm(std::string_view key, std::string_view value, HybridCacheOptions* options) {
  return ParseBytes(key, value, &options->scm.capacity_bytes);
}

Status SetScmPath(std::string_view, std::string_view value, HybridCacheOptions* options) {
  options->scm.path = value;
  return Status::Ok();
}

Status SetMedium(std::string_view key, std::string_view value, HybridCacheOptions* options) {
  constexpr std::string_view kNuma = "numa:";
  if (value == "file") {
    options->scm.medium = MediumKind::kFile;
  } else if (value == "anon") {
    options->scm.medium = MediumKind::kAnonymous;
  } else if (value.starts_with(kNuma) && ParseDigits(value.substr(kNuma.size()), &options->scm.numa_node) &&
             options->scm.numa_node <= kNumaNodeMax) {
    options->scm.medium = MediumKind::kNumaNode;
  } else {
    return BadValue(key, value, fmt::format("file, anon and numa:N with N from 0 to {}", kNumaNodeMax));
  }
  return Status::Ok();
}

Status SetModel(std::string_view, std::string_view value, HybridCacheOptions* options) {
  return ParseMediumModel(value, &options->scm.model);
}

Status SetDramCache(std::string_view key, std::string_view value, HybridCacheOptions* options) {
  if (value != "hcc" && value != "lru") return BadValue(key, value, "hcc and lru");
  options->dram_cache = value == "hcc" ? DramCacheKind::kHyperClock : DramCacheKind::kLru;
  return Status::Ok();
}

Status SetServe(std::string_view key, std::string_view value, HybridCacheOptions* options) {
  for (const ServeMode mode : {ServeMode::kAuto, ServeMode::kInPlace, ServeMode::kCopy}) {
    if (value == ToString(mode)) {
      options->serve = mode;
      return Status::Ok();
    }
  }
  return BadValue(key, value, "auto, in_place and copy");
}

Status SetPolicy(std::string_view key, std::string_view value, HybridCacheOptions* options) {
  const auto& names = PolicyNames();
  if (std::find(names.begin(), names.end(), value) == names.end()) {
    return BadValue(key, value, fmt::format("{}", fmt::join(names, ", ")));
  }
  options->policy = value;
  return Status::Ok();
}

Status SetWriteBudget(std::string_view key, std::string_view value, HybridCacheOptions* options) {
  if (value == "0") {
    options->write_budget_bytes_per_second = 0;
    return Status::Ok();
  }
  return ParseBytes(key, value, &options->write_budget_bytes_per_second);
}

Status SetSegment(std::string_view key, std::string_view value, HybridCacheOptions* options) {
  return ParseBytes(key, value, &options->scm.segment_bytes);
}

Status SetBlock(std::string_view key, std::string_view value, HybridCacheOptions* options) {
  uint64_t bytes = 0;
  MEZZ_RETURN_IF_ERROR(ParseBytes(key, value, &bytes));
  if (bytes > std::numeric_limits<uint32_t>::max()) return BadValue(key, value, "sizes below 4G");
  options->scm.expected_block_bytes = static_cast<uint32_t>(bytes);
  return Status::Ok();
}

Status SetStrict(std::string_view key, std::string_view value, HybridCacheOptions* options) {
  return SetBool(key, value, &options->strict_capacity_limit);
}

Status SetVerify(std::string_view key, std::string_view value, HybridCacheOptions* options) {
  bool always = false;
  if (!SetBool(key, value, &always).ok()) return ParseVerifyMode(value, &options->scm.verify);
  options->scm.verify = always ? VerifyMode::kAlways : VerifyMode::kOff;
  return Status::Ok();
}

Status SetShardBits(std::string_view key, std::string_view value, HybridCacheOptions* options) {
  if (!ParseDigits(value, &options->dram_shard_bits) || options->dram_shard_bits > 19) {
    return BadValue(key, value, "0 to 19 (leave the key out for RocksDB's choice)");
  }
  return Status::Ok();
}

constexpr KeySpec kKeys[] = {
    {"dram", kDramSide, SetDram},
    {"scm", kScmSide, SetScm},
    {"scm_path", kScmSide, SetScmPath},
    {"medium", kScmSide, SetMedium},
    {"model", kScmSide, SetModel},
    {"dram_cache", kDramSide, SetDramCache},
    {"serve", kDramSide, SetServe},  // the SecondaryCache interface always copies
    {"policy", kScmSide, SetPolicy},
    {"write_budget", kScmSide, SetWriteBudget},
    {"segment", kScmSide, SetSegment},
    {"block", kScmSide, SetBlock},
    {"strict", kDramSide, SetStrict},
    {"verify", kScmSide, SetVerify},
    {"shard_bits", kDramSide, SetShardBits},
};

// The judges of the parts name an option as its struct does.
std::string InKeys(std::string_view message) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {{"capacity_bytes=", "scm="},
                                                                      {"segment_bytes=", "segment="},
                                                                      {"expected_block_bytes=", "block="},
                                                                      {"path=", "scm_path="},
                                                                      {"numa_node=", "medium=numa:"}};
  for (const auto& [name, key] : kNames) {
    if (message.starts_with(name)) return fmt::format("{}{}", key, message.substr(name.size()));
  }
  return std::string(message);
}

class UriParser {
 public:
  UriParser(std::string_view scheme, unsigned sides, HybridCacheOptions* options)
      : scheme_(scheme), sides_(sides), options_(options) {}

  Status Parse(std::string_view uri) {
    if (!uri.starts_with(scheme_)) {
      return Status::InvalidArgument(fmt::format("\"{}\": expected {}key=value;key=value...", uri, scheme_));
    }
    std::string_view rest = uri.substr(scheme_.size());
    while (!rest.empty()) {
      const size_t end = rest.find(';');
      MEZZ_RETURN_IF_ERROR(Prefixed(ParseItem(rest.substr(0, end))));
      if (end == std::string_view::npos) break;
      rest.remove_prefix(end + 1);
    }
    return Status::Ok();
  }

  bool seen(std::string_view key) const {
    for (size_t i = 0; i < std::size(kKeys); ++i) {
      if (kKeys[i].key == key) return seen_[i];
    }
    return false;
  }

  Status Require(std::string_view key, std::string_view why) const {
    if (seen(key)) return Status::Ok();
    return Prefixed(Status::InvalidArgument(fmt::format("{} is missing: {}", key, why)));
  }

  // The URI's user knows options by their keys.
  Status Prefixed(const Status& status) const {
    if (status.ok()) return status;
    const std::string message = fmt::format("{} {}", scheme_, InKeys(status.message()));
    return status.code() == Status::Code::kNotSupported ? Status::NotSupported(message)
                                                        : Status::InvalidArgument(message);
  }

 private:
  Status ParseItem(std::string_view item) {
    const size_t equals = item.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      return Status::InvalidArgument(fmt::format("\"{}\" is not key=value; the keys are {}", item, AcceptedKeys()));
    }
    const std::string_view key = item.substr(0, equals);
    const std::string_view value = item.substr(equals + 1);
    const KeySpec* spec = std::find_if(std::begin(kKeys), std::end(kKeys), [&](const KeySpec& known) {
      return known.key == key && (known.side & sides_) != 0;
    });
    if (spec == std::end(kKeys)) {
      return Status::InvalidArgument(
          fmt::format("the key \"{}\" (of {}) is unknown; the keys are {}", key, item, AcceptedKeys()));
    }
    if (value.empty()) return Status::InvalidArgument(fmt::format("{}= has an empty value", key));
    bool& seen_before = seen_[static_cast<size_t>(spec - kKeys)];
    if (seen_before) return Status::InvalidArgument(fmt::format("{} is given twice, again as {}", key, item));
    seen_before = true;
    return spec->set(key, value, options_);
  }

  std::string AcceptedKeys() const {
    std::string text;
    for (const KeySpec& spec : kKeys) {
      if ((spec.side & sides_) == 0) continue;
      if (!text.empty()) text += ", ";
      text += spec.key;
    }
    return text;
  }

  const std::string_view scheme_;
  const unsigned sides_;
  HybridCacheOptions* const options_;
  std::array<bool, std::size(kKeys)> seen_{};
};

// What every form of the URI needs, and what must not go together.
Status CheckMediumKeys(const UriParser& parser, const HybridCacheOptions& options) {
  MEZZ_RETURN_IF_ERROR(parser.Require("scm", "say how large the SCM tier is, for example scm=1G"));
  if (options.scm.medium == MediumKind::kFile) {
    return parser.Require("scm_path", "medium=file needs the file to use, for example scm_path=/mnt/pmem0/mezz");
  }
  return Status::Ok();
}

void AppendSize(std::string* uri, std::string_view key, uint64_t bytes) {
  constexpr std::string_view kSuffixes = "KMGT";
  size_t shift = 0;
  while (shift < kSuffixes.size() && bytes != 0 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++shift;
  }
  *uri += fmt::format(";{}={}", key, bytes);
  if (shift > 0) *uri += kSuffixes[shift - 1];
}

void AppendScmSide(std::string* uri, const HybridCacheOptions& options) {
  const ScmOptions& scm = options.scm;
  AppendSize(uri, "scm", scm.capacity_bytes);
  switch (scm.medium) {
    case MediumKind::kFile:
      *uri += fmt::format(";scm_path={};medium=file", scm.path);
      break;
    case MediumKind::kNumaNode:
      *uri += fmt::format(";medium=numa:{}", scm.numa_node);
      break;
    case MediumKind::kAnonymous:
      *uri += ";medium=anon";
      break;
  }
  *uri += fmt::format(";model={};policy={}", ToString(scm.model), options.policy);
  if (options.write_budget_bytes_per_second != 0) {
    AppendSize(uri, "write_budget", options.write_budget_bytes_per_second);
  }
  if (scm.segment_bytes != 0) AppendSize(uri, "segment", scm.segment_bytes);
  AppendSize(uri, "block", scm.expected_block_bytes);
  *uri += fmt::format(";verify={}", ToString(scm.verify));
}

}  // namespace

Status ParseHybridUri(std::string_view uri, HybridCacheOptions* options) {
  HybridCacheOptions parsed;
  UriParser parser(kHybridScheme, kScmSide | kDramSide, &parsed);
  MEZZ_RETURN_IF_ERROR(parser.Parse(uri));
  MEZZ_RETURN_IF_ERROR(parser.Require("dram", "say how large the DRAM tier is, for example dram=256M"));
  MEZZ_RETURN_IF_ERROR(CheckMediumKeys(parser, parsed));
  MEZZ_RETURN_IF_ERROR(parser.Prefixed(parsed.Validate()));
  *options = std::move(parsed);
  return Status::Ok();
}

Status ParseWrapUri(std::string_view uri, HybridCacheOptions* options) {
  HybridCacheOptions parsed;
  UriParser parser(kHybridScheme, kScmSide | kDramSide, &parsed);
  MEZZ_RETURN_IF_ERROR(parser.Parse(uri));
  MEZZ_RETURN_IF_ERROR(CheckMediumKeys(parser, parsed));
  MEZZ_RETURN_IF_ERROR(parser.Prefixed(parsed.ValidateScmSide()));
  *options = std::move(parsed);
  return Status::Ok();
}

Status ParseScmSecondaryUri(std::string_view uri, HybridCacheOptions* options) {
  HybridCacheOptions parsed;
  UriParser parser(kScmSecondaryScheme, kScmSide, &parsed);
  MEZZ_RETURN_IF_ERROR(parser.Parse(uri));
  MEZZ_RETURN_IF_ERROR(CheckMediumKeys(parser, parsed));
  MEZZ_RETURN_IF_ERROR(parser.Prefixed(parsed.ValidateScmSide()));
  *options = std::move(parsed);
  return Status::Ok();
}

std::string HybridCacheOptions::ToUri() const {
  std::string items;
  AppendSize(&items, "dram", dram_bytes);
  items += fmt::format(";dram_cache={};serve={}", mezz::ToString(dram_cache), mezz::ToString(serve));
  if (strict_capacity_limit) items += ";strict=true";
  if (dram_shard_bits >= 0) items += fmt::format(";shard_bits={}", dram_shard_bits);
  AppendScmSide(&items, *this);
  return fmt::format("{}{}", kHybridScheme, items.substr(1));
}

std::string HybridCacheOptions::ToScmSecondaryUri() const {
  std::string items;
  AppendScmSide(&items, *this);
  return fmt::format("{}{}", kScmSecondaryScheme, items.substr(1));
}

}  // namespace mezz
