// SPDX-License-Identifier: Apache-2.0
#include "integration/option_table.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <limits>
#include <utility>
#include <vector>

#include "admission/policy.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "integration/metrics_target.h"

namespace mezz {
namespace {

using Options = HybridCacheOptions;

constexpr int kNumaNodeMax = 1023;  // the kernel's MAX_NUMNODES is at most 1024
constexpr int kShardBitsMax = 19;   // RocksDB makes no cache with more
constexpr std::string_view kKeyedBy = "keyed:";
constexpr std::string_view kNuma = "numa:";

Status BadValue(const OptionRow& row, std::string_view value, std::string_view accepted) {
  return Status::InvalidArgument(fmt::format("{}={}: accepted are {}", row.key, value, accepted));
}

// Digits only: no sign, no space, no fraction.
template <typename Int>
bool ParseDigits(std::string_view text, Int* value) {
  if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos) return false;
  return std::from_chars(text.data(), text.data() + text.size(), *value).ec == std::errc();
}

// The value that prints as `value`.
template <typename Enum>
Status ParseEnum(const OptionRow& row, std::string_view value, std::initializer_list<Enum> all, Enum* to) {
  std::string accepted;
  for (const Enum one : all) {
    if (value == ToString(one)) {
      *to = one;
      return Status::Ok();
    }
    accepted += fmt::format("{}{}", accepted.empty() ? "" : ", ", ToString(one));
  }
  return BadValue(row, value, accepted);
}

// Of a row whose values are those of an enum in the SCM tier's options.
template <auto kMember, auto... kAll>
Status ParseScmEnum(const OptionRow& row, std::string_view value, Options* options) {
  return ParseEnum(row, value, {kAll...}, &(options->scm.*kMember));
}
template <auto kMember>
std::string PrintScmEnum(const Options& options) {
  return std::string(ToString(options.scm.*kMember));
}

bool ParseBool(std::string_view value, bool* to) {
  *to = value == "true" || value == "1";
  return *to || value == "false" || value == "0";
}

// 0 means none.
Status ParseRate(const OptionRow& row, std::string_view value, uint64_t* to) {
  if (value != "0") return ParseBytes(row.key, value, to);
  *to = 0;
  return Status::Ok();
}

Status ParseWarmDram(const OptionRow& row, std::string_view value, Options* options) {
  options->warm_dram_bytes.reset();
  return value == "all" ? Status::Ok() : ParseRate(row, value, &options->warm_dram_bytes.emplace());
}

// 0 means none.
Status ParseTime(const OptionRow& row, std::string_view value, uint64_t* to_ms) {
  const bool in_ms = value.ends_with("ms");
  const std::string_view digits = value.substr(0, value.size() - (in_ms ? 2 : value.ends_with("s") ? 1 : 0));
  uint64_t count = 0;
  const bool read = ParseDigits(digits, &count) && (count == 0 || digits.size() != value.size());
  if (!read || count > kRecoveryBudgetMsMax)
    return BadValue(row, value, "a whole number with s or ms, of a day at most, and 0");
  *to_ms = in_ms ? count : count * 1000;
  return Status::Ok();
}

std::string TimeText(uint64_t ms) {
  if (ms == 0) return "0";
  return ms % 1000 == 0 ? fmt::format("{}s", ms / 1000) : fmt::format("{}ms", ms);
}

bool ParseMemory(std::string_view text, MediumKind* medium, int* node) {
  if (text == ToString(MediumKind::kAnonymous)) {
    *medium = MediumKind::kAnonymous;
    return true;
  }
  if (!text.starts_with(kNuma) || !ParseDigits(text.substr(kNuma.size()), node) || *node > kNumaNodeMax) return false;
  *medium = MediumKind::kNumaNode;
  return true;
}

Status ParseMedium(const OptionRow& row, std::string_view value, Options* options) {
  ScmOptions& scm = options->scm;
  if (value == ToString(MediumKind::kFile)) {
    scm.medium = MediumKind::kFile;
  } else if (value == "anon") {  // its former name
    scm.medium = MediumKind::kAnonymous;
  } else if (!ParseMemory(value, &scm.medium, &scm.numa_node)) {
    return BadValue(row, value, fmt::format("file, dram and numa:N with N from 0 to {}", kNumaNodeMax));
  }
  return Status::Ok();
}

// SIZE or SIZE@PLACE. *has_place: the latter.
Status ParsePlace(const OptionRow& row, std::string_view value, ScmMember* member, bool* has_place) {
  const size_t at = value.find('@');
  MEZZ_RETURN_IF_ERROR(ParseBytes(row.key, value.substr(0, at), &member->capacity_bytes));
  *has_place = at != std::string_view::npos;
  if (!*has_place) return Status::Ok();
  const std::string_view place = value.substr(at + 1);
  if (ParseMemory(place, &member->medium, &member->numa_node)) return Status::Ok();
  member->path = place;
  if (const size_t lost = FindLostMedium(place); lost != place.size()) {
    return Status::InvalidArgument(
        fmt::format("{}={}: behind the \"{}\" in {} stands no SIZE@PLACE: write one, or leave the \"{}\" out; a path "
                    "that has it there cannot be given",
                    row.key, value, place[lost], place, place[lost]));
  }
  if (place.find('/') != std::string_view::npos) return Status::Ok();
  return BadValue(
      row, value,
      fmt::format("a size and, behind @, a path with a /, dram, or numa:N with N from 0 to {}", kNumaNodeMax));
}

// Each of several media may have its own.
Status ParseModel(const OptionRow& row, std::string_view value, Options* options) {
  ScmOptions& scm = options->scm;
  if (value.find(',') == std::string_view::npos) return ParseMediumModel(value, &scm.model);
  for (std::string_view rest = value;;) {
    const size_t end = rest.find(',');
    if (!ParseMediumModel(rest.substr(0, end), &scm.member_models.emplace_back()).ok())
      return BadValue(row, value, "none, optane100 and cxl, for all media, or one of these for each");
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  if (scm.member_models.size() <= kMembersMax) return Status::Ok();
  return BadValue(row, value, fmt::format("one model for all media, or one for each of 2 to {}", kMembersMax));
}

Status ParseScm(const OptionRow& row, std::string_view value, Options* options) {
  ScmOptions& scm = options->scm;
  std::vector<ScmMember> members;
  bool all_have_places = true, slow = false;
  for (std::string_view rest = value;;) {
    const size_t end = EndOfPlace(rest);
    bool has_place = false;
    MEZZ_RETURN_IF_ERROR(ParsePlace(row, rest.substr(0, end), &members.emplace_back(), &has_place));
    all_have_places &= has_place;
    scm.capacity_bytes += std::min(members.back().capacity_bytes, UINT64_MAX - scm.capacity_bytes);
    if (slow) members.back().level = Level::kSlow;
    if (end == rest.size()) break;
    if (rest[end] == '>' && std::exchange(slow, true))
      return BadValue(row, value, "one > at most, between the fast media and the slow ones");
    rest.remove_prefix(end + 1);
  }
  if (members.size() > kMembersMax)
    return BadValue(row, value, fmt::format("one medium, and 2 to {} behind each other", kMembersMax));
  if (members.size() > 1) {
    if (!all_have_places) return BadValue(row, value, "SIZE@PLACE for each of several media");
    scm.members = std::move(members);
  } else if (all_have_places) {
    scm.medium = members[0].medium;
    scm.path = members[0].path;
    scm.numa_node = members[0].numa_node;
  }
  return Status::Ok();
}

std::string PlaceText(const ScmMember& member) {
  const bool bare = !member.path.empty() && member.path.find('/') == std::string::npos;
  const std::string place = (bare ? "./" : "") + member.Name();
  return fmt::format("{}{}{}", SizeText(member.capacity_bytes), place.empty() ? "" : "@", place);
}

std::string PrintScm(const Options& options) {
  const ScmOptions& scm = options.scm;
  if (scm.members.empty()) {
    return PlaceText(
        {.medium = scm.medium, .path = scm.path, .numa_node = scm.numa_node, .capacity_bytes = scm.capacity_bytes});
  }
  std::string text;
  Level level = Level::kFast;
  for (const ScmMember& member : scm.members) {
    const char* const separator = text.empty() ? "" : std::exchange(level, member.level) != member.level ? ">" : ",";
    text += separator + PlaceText(member);
  }
  return text;
}

Status ParsePolicy(const OptionRow& row, std::string_view value, Options* options) {
  const auto& names = PolicyNames();
  if (std::find(names.begin(), names.end(), value) == names.end()) {
    return BadValue(row, value, fmt::format("{}", fmt::join(names, ", ")));
  }
  options->policy = value;
  return Status::Ok();
}

Status ParseBlock(const OptionRow& row, std::string_view value, Options* options) {
  uint64_t bytes = 0;
  MEZZ_RETURN_IF_ERROR(ParseBytes(row.key, value, &bytes));
  if (bytes > std::numeric_limits<uint32_t>::max()) return BadValue(row, value, "sizes below 4G");
  options->scm.expected_block_bytes = static_cast<uint32_t>(bytes);
  return Status::Ok();
}

// A file may be named in a value, and by a retired key.
Status TakeFile(const OptionRow& row, std::string_view file, std::string* to) {
  if (!to->empty() && *to != file)
    return Status::InvalidArgument(
        fmt::format("{} names the file {}, and {} is named already: name one", row.key, file, *to));
  *to = file;
  return Status::Ok();
}

// `keyed` alone leaves the file to verify_key_file.
Status ParseVerify(const OptionRow& row, std::string_view value, Options* options) {
  if (value.starts_with(kKeyedBy) && value != kKeyedBy) {
    options->scm.verify = VerifyMode::kKeyed;
    return TakeFile(row, value.substr(kKeyedBy.size()), &options->scm.verify_key_file);
  }
  if (bool all; ParseBool(value, &all)) {
    options->scm.verify = all ? VerifyMode::kAlways : VerifyMode::kOff;
    return Status::Ok();
  }
  if (ParseEnum(row, value, {VerifyMode::kOff, VerifyMode::kSampled, VerifyMode::kAlways, VerifyMode::kKeyed},
                &options->scm.verify)
          .ok()) {
    return Status::Ok();
  }
  return BadValue(row, value, "off, sampled, always and keyed:FILE (or false and true)");
}

std::string PrintVerify(const Options& options) {
  const ScmOptions& scm = options.scm;
  const bool by_file = scm.verify == VerifyMode::kKeyed && !scm.verify_key_file.empty();
  return by_file ? fmt::format("{}{}", kKeyedBy, scm.verify_key_file) : std::string(ToString(scm.verify));
}

bool ParseNumber(std::string_view text, double* value) {
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && stop == text.data() + text.size();
}

// A path begins so that it is no rate, and no misspelt word.
bool IsCurvePath(std::string_view file) {
  return file.starts_with('/') || file.starts_with("./") || file.starts_with("../");
}

// on, off, RATE, FILE or RATE:FILE.
Status ParseCurve(const OptionRow& row, std::string_view value, Options* options) {
  options->curve = value != "off";
  if (value == "on" || value == "off") return Status::Ok();
  const std::string_view rate = value.substr(0, value.find(':'));
  const bool has_rate = ParseNumber(rate, &options->curve_rate);
  if (has_rate && rate.size() == value.size()) return Status::Ok();
  const std::string_view file = has_rate ? value.substr(rate.size() + 1) : value;
  if (IsCurvePath(file)) return TakeFile(row, file, &options->curve_file);
  return BadValue(row, value,
                  "on, off, a share of the blocks above 0 to 1, a path that begins with / or ./, and SHARE:PATH");
}

std::string RateText(const Options& options) {
  return options.curve_rate == kCurveRateDefault ? "" : fmt::format("{}", options.curve_rate);
}

std::string PrintCurve(const Options& options) {
  if (!options.curve) return "off";
  const std::string rate = RateText(options);
  if (options.curve_file.empty()) return rate.empty() ? "on" : rate;
  return fmt::format("{}{}{}{}", rate, rate.empty() ? "" : ":", IsCurvePath(options.curve_file) ? "" : "./",
                     options.curve_file);
}

// A former form said whether the medium is in it.
Status ParseCoreDump(const OptionRow& row, std::string_view value, Options* options) {
  if (bool medium = false; ParseBool(value, &medium)) {
    options->scm.core_dump = medium ? CoreDump::kAll : CoreDump::kDram;
    return Status::Ok();
  }
  return ParseEnum(row, value, {CoreDump::kDram, CoreDump::kAll, CoreDump::kNone}, &options->scm.core_dump);
}

Status ParseStrict(const OptionRow& row, std::string_view value, Options* options) {
  return ParseBool(value, &options->strict_capacity_limit) ? Status::Ok()
                                                           : BadValue(row, value, "true, false, 1 and 0");
}

Status ParseFaultsMax(const OptionRow& row, std::string_view value, Options* options) {
  return ParseDigits(value, &options->scm.faults_max)
             ? Status::Ok()
             : BadValue(row, value, "a whole number below 4294967296, and 0 for never");
}

Status ParseShardBits(const OptionRow& row, std::string_view value, Options* options) {
  int bits = -1;
  if (value != "-1" && (!ParseDigits(value, &bits) || bits > kShardBitsMax)) {
    return BadValue(row, value, fmt::format("0 to {}, and -1 for a choice by size", kShardBitsMax));
  }
  options->dram_shard_bits = bits;
  return Status::Ok();
}

constexpr std::pair<std::string_view, SharePriority> kPriorities[] = {
    {"low", SharePriority::kLow}, {"normal", SharePriority::kNormal}, {"high", SharePriority::kHigh}};

bool ParsePercent(std::string_view value, std::optional<unsigned>* to) {
  if (value.ends_with('%')) value.remove_suffix(1);
  unsigned percent = 0;
  if (!ParseDigits(value, &percent) || percent > 100) return false;
  *to = percent;
  return true;
}

// NAME:reserve=10%,max=40%. Whether the limits fit those of others is judged where the share is added.
Status ParseShare(const OptionRow& row, std::string_view value, Options* options) {
  const std::string_view name = value.substr(0, value.find(':'));
  if (name.empty()) return BadValue(row, value, "NAME and NAME:LIMIT,...");
  std::optional<unsigned> reserve, max, dram_reserve, dram_max;
  std::optional<SharePriority> priority;
  std::string_view rest = name.size() == value.size() ? std::string_view() : value.substr(name.size());
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::string_view limit = rest.substr(0, rest.find(','));
    rest.remove_prefix(limit.size());
    const size_t equals = std::min(limit.find('='), limit.size());
    const std::string_view key = limit.substr(0, equals);
    const std::string_view given = limit.substr(std::min(equals + 1, limit.size()));
    std::optional<unsigned>* const percent = key == "reserve"        ? &reserve
                                             : key == "max"          ? &max
                                             : key == "dram_reserve" ? &dram_reserve
                                             : key == "dram_max"     ? &dram_max
                                                                     : nullptr;
    const auto named = std::ranges::find(kPriorities, given, &std::pair<std::string_view, SharePriority>::first);
    const bool is_priority = key == "priority" && named != std::end(kPriorities) && !priority;
    if (is_priority) priority = named->second;
    if (!is_priority && (percent == nullptr || *percent || !ParsePercent(given, percent))) {
      return Status::InvalidArgument(fmt::format(
          "{}={}: \"{}\" is no limit; each of reserve=P%, max=P%, dram_reserve=P%, dram_max=P% with P from 0 to 100, "
          "and priority=low, normal or high may be given once",
          row.key, value, limit));
    }
  }
  DatabaseLimits limits;
  limits.scm = {.reserved_percent = reserve.value_or(0),
                .max_percent = max.value_or(100),
                .priority = priority.value_or(SharePriority::kNormal)};
  limits.dram = {.reserved_percent = dram_reserve.value_or(limits.scm.reserved_percent),
                 .max_percent = dram_max.value_or(limits.scm.max_percent),
                 .priority = limits.scm.priority};
  MEZZ_RETURN_IF_ERROR(CheckLimits(name, limits.scm, 0));
  MEZZ_RETURN_IF_ERROR(CheckLimits(name, limits.dram, 0, "dram_"));
  options->share = name;
  options->share_limits = limits;
  return Status::Ok();
}

std::string PrintShare(const Options& options) {
  if (options.share.empty()) return "";
  const ShareLimits& scm = options.share_limits.scm;
  const ShareLimits& dram = options.share_limits.dram;
  std::string text = options.share, separator = ":";
  const auto add = [&](bool wanted, const std::string& limit) {
    if (!wanted) return;
    text += separator + limit;
    separator = ",";
  };
  add(scm.reserved_percent != 0, fmt::format("reserve={}%", scm.reserved_percent));
  add(scm.max_percent != 100, fmt::format("max={}%", scm.max_percent));
  for (const auto& [name, priority] : kPriorities)
    add(priority == scm.priority && priority != SharePriority::kNormal, fmt::format("priority={}", name));
  add(dram.reserved_percent != scm.reserved_percent, fmt::format("dram_reserve={}%", dram.reserved_percent));
  add(dram.max_percent != scm.max_percent, fmt::format("dram_max={}%", dram.max_percent));
  return text;
}

constexpr OptionRow kTable[] = {
    {.key = "dram",
     .member = "",
     .values = "size",
     .fallback = "required without `dram_total` (preload: the program's own cache)",
     .meaning = "the DRAM tier",
     .taken_by = TakenBy::kDramTier,
     .parse = [](const OptionRow& row, std::string_view v,
                 Options* o) { return ParseBytes(row.key, v, &o->dram_bytes); },
     .print =
         [](const Options& o) { return o.dram_bytes == 0 || o.dram_total_bytes != 0 ? "" : SizeText(o.dram_bytes); }},
    {.key = "dram_total",
     .member = "",
     .values = "size",
     .fallback = "required without `dram` (preload: the program's own cache)",
     .meaning = "instead of `dram`: all of our DRAM. The DRAM tier gets what index, policy and our other structures "
                "leave. A program's own cache is resized to that",
     .taken_by = TakenBy::kNotSecondary,
     .parse = [](const OptionRow& row, std::string_view v,
                 Options* o) { return ParseBytes(row.key, v, &o->dram_total_bytes); },
     .print = [](const Options& o) { return o.dram_total_bytes == 0 ? "" : SizeText(o.dram_total_bytes); }},
    {.key = "dram_cache",
     .member = "",
     .values = "`hcc`, `lru`",
     .fallback = "`hcc` (7.8: `lru`)",
     .meaning = "",
     .taken_by = TakenBy::kDramTier,
     .parse =
         [](const OptionRow& row, std::string_view v, Options* o) {
           return ParseEnum(row, v, {DramCacheKind::kHyperClock, DramCacheKind::kLru}, &o->dram_cache);
         },
     .print = [](const Options& o) { return std::string(ToString(o.dram_cache)); },
     .offered_to = OfferedTo::kNobody,
     .instead = "leave it out: the DRAM tier is HyperClockCache, and on RocksDB 7.8 LRUCache"},
    {.key = "shard_bits",
     .member = "",
     .values = "-1 to 19",
     .fallback = "-1",
     .meaning = "",
     .taken_by = TakenBy::kDramTier,
     .parse = ParseShardBits,
     .print = [](const Options& o) { return std::to_string(o.dram_shard_bits); },
     .offered_to = OfferedTo::kNobody,
     .instead = "leave it out: the cache chooses by the size of the DRAM tier"},
    {.key = "strict",
     .member = "",
     .values = "`true`, `false`",
     .fallback = "`false`",
     .meaning = "",
     .taken_by = TakenBy::kDramTier,
     .parse = ParseStrict,
     .print = [](const Options& o) { return std::string(o.strict_capacity_limit ? "true" : "false"); },
     .offered_to = OfferedTo::kNobody,
     .instead = "leave it out: the DRAM tier takes what is in use; a program may set "
                "HybridCacheOptions::strict_capacity_limit"},
    {.key = "scm",
     .member = "capacity_bytes",
     .values = "SIZE@PLACE, eight segments to 4T. PLACE: a file to create or reuse, a devdax device, `numa:N`, `dram`",
     .fallback = "required",
     .meaning =
         "the SCM tier, and where its bytes live. `numa:N`: memory of node N (CXL); `dram`: memory of the process, "
         "which ends with it; a file in `/dev/shm` does not. Costs 9.4 bytes of DRAM for each `block` bytes. "
         "Several, as `64G@/mnt/pmem0/mezz,64G@/mnt/pmem1/mezz`, are [one tier over all]"
         "(../how-to/devices.md#several-media); `64G@numa:1>256G@/mnt/pmem0/mezz` has a fast and a slow one. "
         "In a path `,` and `>` stand before letters only",
     .taken_by = TakenBy::kEveryUri,
     .parse = ParseScm,
     .print = PrintScm},
    {.key = "scm_path",
     .member = "",
     .values = "a file",
     .fallback = "none",
     .meaning = "",
     .taken_by = TakenBy::kEveryUri,
     .parse = [](const OptionRow& row, std::string_view v, Options* o) { return TakeFile(row, v, &o->scm.path); },
     .print = [](const Options&) { return std::string(); },
     .offered_to = OfferedTo::kNobody,
     .instead = "name the file behind the size: scm=1G@/mnt/pmem0/mezz"},
    {.key = "medium",
     .member = "",
     .values = "`file`, `numa:N`, `dram`",
     .fallback = "`file`",
     .meaning = "",
     .taken_by = TakenBy::kEveryUri,
     .parse = ParseMedium,
     .print = [](const Options&) { return std::string(); },
     .offered_to = OfferedTo::kNobody,
     .instead = "name the medium behind the size: scm=1G@dram, scm=1G@numa:1"},
    {.key = "model",
     .member = "",
     .values = "`none`, `optane100`, `cxl`",
     .fallback = "`none`",
     .meaning =
         "declared emulation of a slower medium; never for production. Of several media one each: `cxl,optane100`",
     .taken_by = TakenBy::kEveryUri,
     .parse = ParseModel,
     .print = [](const Options& o) { return o.scm.ModelText(); },
     .offered_to = OfferedTo::kExperts},
    {.key = "segment",
     .member = "segment_bytes",
     .values = "a power of two, 256K to 64M",
     .fallback = "`scm` / 256, from 256K to 4M",
     .meaning =
         "what is reclaimed at once, and the largest block. Larger: longer reclaims, and a small tier wastes more",
     .taken_by = TakenBy::kEveryUri,
     .parse = [](const OptionRow& row, std::string_view v,
                 Options* o) { return ParseBytes(row.key, v, &o->scm.segment_bytes); },
     .print = [](const Options& o) { return o.scm.segment_bytes == 0 ? "" : SizeText(o.scm.segment_bytes); },
     .offered_to = OfferedTo::kExperts},
    {.key = "block",
     .member = "expected_block_bytes",
     .values = "size, 64 to `segment`",
     .fallback = "4K",
     .meaning = "the usual size of a block, by which index and policy are sized. Larger than blocks are: too few index "
                "words, so blocks are displaced. Smaller: more DRAM for words that nothing needs",
     .taken_by = TakenBy::kEveryUri,
     .parse = ParseBlock,
     .print = [](const Options& o) { return SizeText(o.scm.expected_block_bytes); }},
    {.key = "prepare",
     .member = "",
     .values = "`background`, `open`",
     .fallback = "`background`",
     .meaning = "",
     .taken_by = TakenBy::kEveryUri,
     .parse = ParseScmEnum<&ScmOptions::prepare, Prepare::kBackground, Prepare::kBeforeOpen>,
     .print = PrintScmEnum<&ScmOptions::prepare>,
     .offered_to = OfferedTo::kNobody,
     .instead = "leave it out: the medium is prepared beside the first use"},
    {.key = "recovery",
     .member = "",
     .values = "`auto`, `discard`, `warm`, `require`",
     .fallback = "`auto`",
     .meaning = "what becomes of the blocks that an earlier process left in the file of `scm`: `warm` finds them again "
                "([reliability](../explanation/reliability.md)), `discard` forgets them, "
                "`require` finds them or refuses to open. "
                "`dram` and `numa` start cold, and `warm` says so; `auto` is `warm` for a file or device, and "
                "`discard` for those",
     .taken_by = TakenBy::kEveryUri,
     .parse =
         ParseScmEnum<&ScmOptions::recovery, Recovery::kAuto, Recovery::kDiscard, Recovery::kWarm, Recovery::kRequire>,
     .print = PrintScmEnum<&ScmOptions::recovery>},
    {.key = "recovery_budget",
     .member = "recovery_budget_ms",
     .values = "time, as `30s` or `500ms`, a day at most, or 0: none",
     .fallback = "0",
     .meaning = "",
     .taken_by = TakenBy::kEveryUri,
     .parse = [](const OptionRow& row, std::string_view v,
                 Options* o) { return ParseTime(row, v, &o->scm.recovery_budget_ms); },
     .print = [](const Options& o) { return TimeText(o.scm.recovery_budget_ms); },
     .offered_to = OfferedTo::kNobody,
     .instead = "leave it out: recovery goes on beside the first requests until all is back"},
    {.key = "warm_dram",
     .member = "",
     .values = "size, `all`, or 0: none",
     .fallback = "`all`",
     .meaning = "with `recovery`: how much of the DRAM tier outlives a restart "
                "([how](../explanation/reliability.md#what-dram-held)). So many bytes of blocks go back into it at "
                "their first SCM hit; and when the cache is closed, as many are written to SCM that only DRAM has, "
                "which takes 5 s at most. Smaller: a close writes less",
     .taken_by = TakenBy::kNotSecondary,  // a stock cache shows nobody what it holds
     .parse = ParseWarmDram,
     .print = [](const Options& o) { return o.warm_dram_bytes ? SizeText(*o.warm_dram_bytes) : std::string(); },
     .offered_to = OfferedTo::kExperts},
    {.key = "erase",
     .member = "",
     .values = "`volatile`, `durable`",
     .fallback = "`volatile`",
     .meaning = "",
     .taken_by = TakenBy::kEveryUri,
     .parse = ParseScmEnum<&ScmOptions::erase, EraseMode::kVolatile, EraseMode::kDurable>,
     .print = PrintScmEnum<&ScmOptions::erase>,
     .offered_to = OfferedTo::kNobody,
     .instead =
         "leave it out: RocksDB's keys never change their bytes; a program with other keys sets ScmOptions::erase"},
    {.key = "verify",
     .member = "",
     .values = "`off`, `sampled`, `always`, `keyed:FILE`",
     .fallback = "`sampled`",
     .meaning =
         "checksums of payloads at hits, about 0.1 ns a byte (`sampled`: about 4 bytes a hit); `true` is "
         "`always`, `false` is `off`. `keyed`: a code that nobody can make without the 32 random bytes in FILE (mode "
         "0600), at every hit, about 0.5 ns a byte ([security](../explanation/security.md)). With another key the "
         "blocks are discarded",
     .taken_by = TakenBy::kEveryUri,
     .parse = ParseVerify,
     .print = PrintVerify},
    {.key = "verify_key_file",
     .member = "",
     .values = "a file of 32 random bytes, 0600",
     .fallback = "none",
     .meaning = "",
     .taken_by = TakenBy::kEveryUri,
     .parse = [](const OptionRow& row, std::string_view v,
                 Options* o) { return TakeFile(row, v, &o->scm.verify_key_file); },
     .print = [](const Options& o) { return o.scm.verify == VerifyMode::kKeyed ? "" : o.scm.verify_key_file; },
     .offered_to = OfferedTo::kNobody,
     .instead = "use verify=keyed:FILE"},
    {.key = "faults_max",
     .member = "",
     .values = "a number, or 0: never",
     .fallback = "16",
     .meaning = "",
     .taken_by = TakenBy::kEveryUri,
     .parse = ParseFaultsMax,
     .print = [](const Options& o) { return std::to_string(o.scm.faults_max); },
     .offered_to = OfferedTo::kNobody,
     .instead = "leave it out: sixteen faults close the SCM tier"},
    {.key = "bus_errors",
     .member = "",
     .values = "`fatal`, `contain`",
     .fallback = "`fatal`",
     .meaning =
         "memory that is not there any more, poisoned or of a file that was cut off, sends SIGBUS. `contain`, the "
         "default of `mezzanine_preload`: where the cache itself reads or writes it, that is a counted miss, and its "
         "segment is taken out of use; a handler for SIGBUS is installed. What RocksDB reads in place ends the process "
         "either way: with `serve=copy` nothing is "
         "([what is promised](../explanation/reliability.md#memory-that-fails-while-it-is-used))",
     .taken_by = TakenBy::kEveryUri,
     .parse = ParseScmEnum<&ScmOptions::bus_errors, BusErrorMode::kFatal, BusErrorMode::kContain>,
     .print = PrintScmEnum<&ScmOptions::bus_errors>},
    {.key = "pack",
     .member = "",
     .values = "`off`, `image`, `lz4`, `zstd`, `auto`",
     .fallback = "`auto`",
     .meaning =
         "whether records are packed: more blocks fit, and each hit of a packed one is unpacked. `image`: blocks that "
         "came back as compressed SSTs hold them, others with LZ4. `auto`: raw, with `lz4` or `zstd`, by what a miss "
         "costs now. The index grows with the blocks that fit, to four times the DRAM at most",
     .taken_by = TakenBy::kEveryUri,
     .parse = ParseScmEnum<&ScmOptions::pack, PackMode::kOff, PackMode::kImage, PackMode::kLz4, PackMode::kZstd,
                           PackMode::kAuto>,
     .print = PrintScmEnum<&ScmOptions::pack>},
    {.key = "pack_stage",
     .member = "pack_stage_bytes",
     .values = "64K to 64M, or 0: none",
     .fallback = "0",
     .meaning = "",
     .taken_by = TakenBy::kEveryUri,
     .parse = [](const OptionRow& row, std::string_view v,
                 Options* o) { return ParseRate(row, v, &o->scm.pack_stage_bytes); },
     .print = [](const Options& o) { return SizeText(o.scm.pack_stage_bytes); },
     .offered_to = OfferedTo::kNobody,
     .instead = "leave it out: a thread packs what compactions write, and a request what it demotes"},
    {.key = "scrub",
     .member = "scrub_bytes_per_second",
     .values = "bytes a second, or 0: none",
     .fallback = "0",
     .meaning = "",
     .taken_by = TakenBy::kEveryUri,
     .parse = [](const OptionRow& row, std::string_view v,
                 Options* o) { return ParseRate(row, v, &o->scm.scrub_bytes_per_second); },
     .print = [](const Options& o) { return SizeText(o.scm.scrub_bytes_per_second); },
     .offered_to = OfferedTo::kNobody,
     .instead = "leave it out: verify=always checks every hit"},
    {.key = "scrub_on_close",
     .member = "",
     .values = "`true`, `false`",
     .fallback = "`false`",
     .meaning = "overwrites all that was stored when the cache is closed, which takes what writing it takes "
                "([security](../explanation/security.md)). A killed process leaves it, for the next one to do so",
     .taken_by = TakenBy::kEveryUri,
     .parse =
         [](const OptionRow& row, std::string_view v, Options* o) {
           return ParseBool(v, &o->scm.scrub_on_close) ? Status::Ok() : BadValue(row, v, "true, false, 1 and 0");
         },
     .print = [](const Options& o) { return std::string(o.scm.scrub_on_close ? "true" : "false"); }},
    {.key = "core_dump",
     .member = "",
     .values = "`dram`, `all`, `none`",
     .fallback = "`dram`",
     .meaning = "which blocks a core dump holds: `dram` those of the DRAM tier, `all` the medium too, `none` neither, "
                "which needs RocksDB 8.9 or later ([security](../explanation/security.md))",
     .taken_by = TakenBy::kEveryUri,
     .parse = ParseCoreDump,
     .print = PrintScmEnum<&ScmOptions::core_dump>},
    {.key = "policy",
     .member = "",
     .values = "`adaptive` and the others of [policies](../explanation/policies.md)",
     .fallback = "`adaptive`",
     .meaning = "decides what moves between the tiers",
     .taken_by = TakenBy::kEveryUri,
     .parse = ParsePolicy,
     .print = [](const Options& o) { return o.policy; }},
    {.key = "write_budget",
     .member = "",
     .values = "bytes a second, or 0: none",
     .fallback = "0",
     .meaning = "what `adaptive` may have written; the other policies do not keep to it. Larger: more wear, reads that "
                "wait for writes, and more blocks kept",
     .taken_by = TakenBy::kEveryUri,
     .parse = [](const OptionRow& row, std::string_view v,
                 Options* o) { return ParseRate(row, v, &o->write_budget_bytes_per_second); },
     .print = [](const Options& o) { return SizeText(o.write_budget_bytes_per_second); },
     .offered_to = OfferedTo::kExperts},
    {.key = "serve",
     .member = "",
     .values = "`auto`, `in_place`, `copy`",
     .fallback = "`auto`",
     .meaning = "how an SCM hit that is not promoted is answered",
     .taken_by = TakenBy::kNotSecondary,  // the SecondaryCache interface always copies
     .parse =
         [](const OptionRow& row, std::string_view v, Options* o) {
           return ParseEnum(row, v, {ServeMode::kAuto, ServeMode::kInPlace, ServeMode::kCopy}, &o->serve);
         },
     .print = [](const Options& o) { return std::string(ToString(o.serve)); },
     .offered_to = OfferedTo::kExperts},
    {.key = "blobs",
     .member = "",
     .values = "`both`, `scm`",
     .fallback = "`both`",
     .meaning = "where BlobDB's values may lie. `scm`: in the SCM tier alone, which leaves DRAM to keys "
                "([companions](../how-to/separate_values.md)). Not with RocksDB 7.8",
     .taken_by = TakenBy::kNotSecondary,  // what enters a stock cache is its own choice
     .parse =
         [](const OptionRow& row, std::string_view v, Options* o) {
           return ParseEnum(row, v, {BlobPlacement::kBoth, BlobPlacement::kScm}, &o->blobs);
         },
     .print = [](const Options& o) { return std::string(ToString(o.blobs)); },
     .offered_to = OfferedTo::kExperts},
    {.key = "heirs",
     .member = "",
     .values = "`on`, `off`",
     .fallback = "`on`",
     .meaning = "whether blocks that a compaction writes take the places of those that it read "
                "([heirs](../explanation/heirs.md)). `off`: RocksDB's own warming, if there is "
                "any, goes to DRAM",
     .taken_by = TakenBy::kNotSecondary,  // a stock cache has its own way with what it is offered
     .parse =
         [](const OptionRow& row, std::string_view v, Options* o) {
           o->heirs = v == "on";
           return o->heirs || v == "off" ? Status::Ok() : BadValue(row, v, "on and off");
         },
     .print = [](const Options& o) { return std::string(o.heirs ? "" : "off"); },
     .offered_to = OfferedTo::kExperts},
    {.key = "curve",
     .member = "",
     .values = "`off`, `on`, a share of the blocks above 0 to 1, a path to write, SHARE:PATH",
     .fallback = "`off`",
     .meaning = "whether the cache keeps a sample of its look-ups, for hit ratios at other sizes "
                "([planning](../explanation/planning.md#live-curves)). Takes 8 MiB of DRAM at most. The share is 0.01 "
                "unless said; larger: sure of smaller caches, and more hits pay. The path begins with `/` or `./`: the "
                "curve goes there with each report and when the cache goes, and `mezz_plan --curve=` reads it",
     .taken_by = TakenBy::kNotSecondary,  // a stock cache tells nobody of its hits
     .parse = ParseCurve,
     .print = PrintCurve},
    {.key = "curve_rate",
     .member = "",
     .values = "above 0 to 1",
     .fallback = "0.01",
     .meaning = "",
     .taken_by = TakenBy::kNotSecondary,
     .parse =
         [](const OptionRow& row, std::string_view v, Options* o) {
           return ParseNumber(v, &o->curve_rate) ? Status::Ok() : BadValue(row, v, "numbers above 0 and up to 1");
         },
     .print = [](const Options& o) { return o.curve ? "" : RateText(o); },
     .offered_to = OfferedTo::kNobody,
     .instead = "use curve=RATE, or curve=RATE:FILE"},
    {.key = "curve_file",
     .member = "",
     .values = "a file to write",
     .fallback = "none",
     .meaning = "",
     .taken_by = TakenBy::kNotSecondary,
     .parse = [](const OptionRow& row, std::string_view v, Options* o) { return TakeFile(row, v, &o->curve_file); },
     .print = [](const Options& o) { return o.curve ? "" : o.curve_file; },
     .offered_to = OfferedTo::kNobody,
     .instead = "use curve=FILE"},
    {.key = "share",
     .member = "",
     .values =
         "NAME, or NAME:LIMIT,... of `reserve=P%`, `max=P%`, `priority=low`, `normal` or `high`, `dram_reserve=P%`, "
         "`dram_max=P%`",
     .fallback = "none",
     .meaning = "one of several databases of a process that share the cache which the rest of the URI names "
                "([shares](../how-to/run.md#shares)). `reserve` and `max` are of both tiers, unless DRAM has its own. "
                "preload: `*`, each further cache of the program by its database's path, from RocksDB 8.9 on",
     .taken_by = TakenBy::kNotSecondary,
     .parse = ParseShare,
     .print = PrintShare},
    {.key = "metrics",
     .member = "",
     .values = "`unix:PATH`, `tcp:127.0.0.1:PORT`, `tcp-any:ADDRESS:PORT`, `file:PATH`",
     .fallback = "none",
     .meaning =
         "where monitoring finds the figures ([metrics](../how-to/watch.md#metrics)): a socket that answers HTTP, "
         "or a file that is written every ten seconds. `tcp` takes loopback addresses only: who reaches a socket "
         "needs no password",
     .taken_by = TakenBy::kEveryUri,
     .parse =
         [](const OptionRow&, std::string_view v, Options* o) {
           o->metrics = v;
           MetricsTarget target;
           return ParseMetricsTarget(v, &target);
         },
     .print = [](const Options& o) { return o.metrics; }},
};

std::string_view ToString(TakenBy taken_by) {
  switch (taken_by) {
    case TakenBy::kEveryUri:
      return "all";
    case TakenBy::kNotSecondary:
      return "`mezzanine`, preload";
    case TakenBy::kDramTier:
      return "`mezzanine`; preload ignores it";
  }
  return "?";
}

constexpr std::string_view kSeparators = ",>";

// The word behind the separator at `at`, up to where a size or a path's part would end.
struct Behind {
  Behind(std::string_view value, size_t at)
      : word(value.substr(at + 1, value.find_first_of(",>/@", at + 1) - at - 1)),
        end(at + 1 + word.size() < value.size() ? value[at + 1 + word.size()] : '\0') {}
  bool StartsWithDigit() const { return !word.empty() && word[0] >= '0' && word[0] <= '9'; }
  // Whether a path goes on there. Nothing, a blank, a number, a place, and what has an @ behind it were to be a medium.
  bool IsOfPath() const {
    constexpr std::string_view kNoName = " \t+-.";
    const bool is_memory = end != '/' && (word == ToString(MediumKind::kAnonymous) || word.starts_with(kNuma));
    return !word.empty() && !StartsWithDigit() && kNoName.find(word[0]) == std::string_view::npos && !is_memory &&
           end != '@';
  }

  const std::string_view word;
  const char end;  // 0: the value ends
};

bool IsWordCharacter(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; }

// Whole words only. One that ends in '=' is an option of its own, so it stands where an option stands: a path may hold
// anything.
void ReplaceWord(std::string_view word, std::string_view by, std::string* text) {
  const bool is_option = word.back() == '=';
  for (size_t at = text->find(word); at != std::string::npos; at = text->find(word, at)) {
    const size_t end = at + word.size();
    const char before = at == 0 ? ' ' : (*text)[at - 1];
    const bool whole =
        is_option ? before == ' ' : !IsWordCharacter(before) && (end == text->size() || !IsWordCharacter((*text)[end]));
    if (whole) text->replace(at, word.size(), by);
    at += whole ? by.size() : word.size();
  }
}

}  // namespace

std::span<const OptionRow> OptionTable() { return kTable; }

std::string PrintItems(const Options& options, bool secondary) {
  const Options untouched;
  std::string items;
  for (const OptionRow& row : kTable) {
    if (secondary && row.taken_by != TakenBy::kEveryUri) continue;
    const std::string value = row.print(options);
    if (row.offered_to == OfferedTo::kNobody && value == row.print(untouched)) continue;
    if (!value.empty()) items += fmt::format("{}{}={}", items.empty() ? "" : ";", row.key, value);
  }
  return items;
}

std::string OptionsAsMarkdown(OfferedTo whom) {
  std::string text = "| key | values | default | what it is | taken by |\n|---|---|---|---|---|\n";
  for (const OptionRow& row : kTable) {
    if (row.offered_to != whom) continue;
    text += fmt::format("| `{}` | {} | {} | {} | {} |\n", row.key, row.values, row.fallback, row.meaning,
                        ToString(row.taken_by));
  }
  return text;
}

size_t EndOfPlace(std::string_view value) {
  for (size_t at = value.find_first_of(kSeparators); at != std::string_view::npos;
       at = value.find_first_of(kSeparators, at + 1)) {
    const Behind behind(value, at);
    if (behind.StartsWithDigit() && behind.end == '@') return at;
  }
  return value.size();
}

size_t FindLostMedium(std::string_view path) {
  for (size_t at = path.find_first_of(kSeparators); at != std::string_view::npos;
       at = path.find_first_of(kSeparators, at + 1)) {
    if (!Behind(path, at).IsOfPath()) return at;
  }
  return path.size();
}

std::string InKeys(std::string_view message) {
  std::string text(message);
  for (const OptionRow& row : kTable) {
    if (row.member.empty()) continue;
    ReplaceWord(row.member, row.member.ends_with('=') ? fmt::format("{}=", row.key) : std::string(row.key), &text);
  }
  ReplaceWord("path=", "the medium ", &text);
  ReplaceWord("members:", "scm:", &text);
  ReplaceWord("numa_node=", "the medium numa:", &text);
  ReplaceWord("medium=dram", "the medium dram", &text);
  ReplaceWord("verify_key_file=", "verify=keyed:", &text);
  ReplaceWord("curve_rate=", "curve=", &text);
  return text;
}

}  // namespace mezz
