// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cache/base/invalid.h"
#include "cache/base/text.h"
#include "fmt/format.h"
#include "integration/dram_budget.h"
#include "integration/option_table.h"
#include "integration/options.h"
#include "integration/tell.h"

namespace mezz {

namespace {

// Tells it once in this process, however often its URI is read.
void TellRetired(const OptionRow& row) {
  static std::mutex mutex;
  static auto* const told = new std::set<std::string_view>;  // never destroyed: caches may outlive our statics
  const std::lock_guard lock(mutex);
  if (!told->insert(row.key).second) return;
  Tell(fmt::format("the key {} is retired, and the next release refuses it: {}", row.key, row.instead));
}

class UriParser {
 public:
  UriParser(std::string_view scheme, HybridCacheOptions* options) : scheme_(scheme), options_(options) {}

  Status Parse(std::string_view uri) {
    if (!uri.starts_with(scheme_)) return Invalid("\"{}\": expected {}key=value;key=value...", uri, scheme_);
    std::string_view rest = uri.substr(scheme_.size());
    while (!rest.empty()) {
      const size_t end = rest.find(';');
      MEZZ_RETURN_IF_ERROR(Prefixed(ParseItem(rest.substr(0, end))));
      if (end == std::string_view::npos) break;
      rest.remove_prefix(end + 1);
    }
    return Status::Ok();
  }

  // Whether scm says where the tier's bytes live.
  bool names_place() const { return names_place_; }
  bool seen(std::string_view key) const { return std::find(seen_.begin(), seen_.end(), key) != seen_.end(); }

  Status Require(std::string_view key, std::string_view why) const {
    if (seen(key)) return Status::Ok();
    return Prefixed(Invalid("{} is missing: {}", key, why));
  }

  // dram_total was given as something, and not beside dram.
  Status CheckTotal() const {
    if (!seen("dram_total")) return Status::Ok();
    if (options_->dram_total_bytes == 0)
      return Prefixed(Status::InvalidArgument("dram_total=0 leaves no room: give all of our DRAM, or dram alone"));
    if (!seen("dram")) return Status::Ok();
    return Prefixed(TotalContradictsDram(*options_));
  }

  // The URI's user knows options by their keys.
  Status Prefixed(const Status& status) const {
    if (status.ok()) return status;
    const std::string message = fmt::format("{} {}", scheme_, InKeys(status.message()));
    switch (status.code()) {
      case Status::Code::kNotSupported:
        return Status::NotSupported(message);
      case Status::Code::kNoSpace:
        return Status::NoSpace(message);
      default:
        return Status::InvalidArgument(message);
    }
  }

 private:
  Status ParseItem(std::string_view item) {
    const size_t equals = item.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      return Invalid("\"{}\" is not key=value; the keys are {}", item, AcceptedKeys());
    }
    const std::string_view key = item.substr(0, equals);
    const std::string_view value = item.substr(equals + 1);
    const auto table = OptionTable();
    const auto row = std::find_if(table.begin(), table.end(),
                                  [&](const OptionRow& known) { return known.key == key && Takes(known); });
    if (row == table.end()) {
      return NotKnown(key, item);
    }
    if (value.empty()) return Invalid("{}= has an empty value", key);
    if (seen(key)) return Invalid("{} is given twice, again as {}", key, item);
    seen_.push_back(row->key);
    names_place_ |= row->key == "scm" && value.find('@') != std::string_view::npos;
    MEZZ_RETURN_IF_ERROR(row->kind.parse(row->key, value, options_));
    if (row->offered_to() == OfferedTo::kNobody) TellRetired(*row);
    return Status::Ok();
  }

  Status NotKnown(std::string_view key, std::string_view item) const {
    std::vector<std::string_view> keys;
    for (const OptionRow& row : OptionTable()) {
      if (Offers(row)) keys.push_back(row.key);
    }
    const std::string_view nearest = NearestWord(key, keys);
    return Invalid("the key \"{}\" (of {}) is unknown; {}the keys are {}", key, item,
                   nearest.empty() ? "" : fmt::format("did you mean {}? ", nearest), AcceptedKeys());
  }

  bool Takes(const OptionRow& row) const { return scheme_ == kHybridScheme || row.taken_by == TakenBy::kEveryUri; }

  bool Offers(const OptionRow& row) const { return Takes(row) && row.offered_to() != OfferedTo::kNobody; }

  std::string AcceptedKeys() const {
    std::string text;
    for (const OptionRow& row : OptionTable()) {
      if (!Offers(row)) continue;
      if (!text.empty()) text += ", ";
      text += row.key;
    }
    return text;
  }

  const std::string_view scheme_;
  HybridCacheOptions* const options_;
  std::vector<std::string_view> seen_;
  bool names_place_ = false;
};

// What every form of the URI needs, and what must not go together.
Status CheckMediumKeys(const UriParser& parser, const HybridCacheOptions& options) {
  MEZZ_RETURN_IF_ERROR(
      parser.Require("scm", "say how large the SCM tier is, and where, for example scm=1G@/mnt/pmem0/mezz"));
  if (parser.names_place()) {
    if (!parser.seen("medium") && !parser.seen("scm_path")) return Status::Ok();
    return parser.Prefixed(Status::InvalidArgument(
        "scm says behind the @ where its bytes live: leave out medium and scm_path, which say it again"));
  }
  if (options.scm.medium != MediumKind::kFile || parser.seen("scm_path")) return Status::Ok();
  return parser.Prefixed(
      Invalid("scm={} names no place: say where its bytes live, for example "
              "scm={}@/mnt/pmem0/mezz, scm={}@numa:1 or scm={}@dram",
              SizeText(options.scm.capacity_bytes), SizeText(options.scm.capacity_bytes),
              SizeText(options.scm.capacity_bytes), SizeText(options.scm.capacity_bytes)));
}

// Of a program's own caches: their databases' paths are the names.
Status CheckProgramsShare(const HybridCacheOptions& options) {
  if (options.share.empty() || options.share == kEachDatabase) return Status::Ok();
  return Invalid("share={}: a program's own caches are named by their databases: use share={}", options.share,
                 kEachDatabase);
}

Status ParseScmSide(std::string_view scheme, std::string_view uri, HybridCacheOptions* options, const Machine& machine,
                    BusErrorMode bus_errors = BusErrorMode::kFatal) {
  HybridCacheOptions parsed;
  parsed.scm.bus_errors = bus_errors;
  UriParser parser(scheme, &parsed);
  MEZZ_RETURN_IF_ERROR(parser.Parse(uri));
  MEZZ_RETURN_IF_ERROR(CheckMediumKeys(parser, parsed));
  MEZZ_RETURN_IF_ERROR(parser.CheckTotal());
  parsed.dram_bytes = 0;  // the cache above has a size of its own
  MEZZ_RETURN_IF_ERROR(parser.Prefixed(CheckProgramsShare(parsed)));
  MEZZ_RETURN_IF_ERROR(parser.Prefixed(scheme == kScmSecondaryScheme ? parsed.ValidateScmSecondary(machine)
                                                                     : parsed.ValidateScmSide(machine)));
  *options = std::move(parsed);
  return Status::Ok();
}

}  // namespace

Status ParseHybridUri(std::string_view uri, HybridCacheOptions* options, const Machine& machine) {
  HybridCacheOptions parsed;
  UriParser parser(kHybridScheme, &parsed);
  MEZZ_RETURN_IF_ERROR(parser.Parse(uri));
  if (!parser.seen("dram_total")) {
    MEZZ_RETURN_IF_ERROR(parser.Require(
        "dram", "say how large the DRAM tier is, for example dram=256M, or all of our DRAM: dram_total=256M"));
  }
  MEZZ_RETURN_IF_ERROR(parser.CheckTotal());
  MEZZ_RETURN_IF_ERROR(CheckMediumKeys(parser, parsed));
  if (parsed.share == kEachDatabase) {
    return parser.Prefixed(
        Status::InvalidArgument("share=* is for the caches of a program (preload): give the database a name"));
  }
  MEZZ_RETURN_IF_ERROR(parser.Prefixed(parsed.Validate(machine)));
  *options = std::move(parsed);
  return Status::Ok();
}

Status ParseWrapUri(std::string_view uri, HybridCacheOptions* options, const Machine& machine,
                    BusErrorMode bus_errors) {
  return ParseScmSide(kHybridScheme, uri, options, machine, bus_errors);
}

Status ParseScmSecondaryUri(std::string_view uri, HybridCacheOptions* options, const Machine& machine) {
  return ParseScmSide(kScmSecondaryScheme, uri, options, machine);
}

std::string HybridCacheOptions::ToUri() const {
  return fmt::format("{}{}", kHybridScheme, PrintItems(*this, /*secondary=*/false));
}

std::string HybridCacheOptions::ToScmSecondaryUri() const {
  return fmt::format("{}{}", kScmSecondaryScheme, PrintItems(*this, /*secondary=*/true));
}

}  // namespace mezz
