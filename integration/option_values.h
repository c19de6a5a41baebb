// SPDX-License-Identifier: Apache-2.0
// How the values of the URI's keys are read and printed: the kinds of values in the table of keys, which alone includes
// this.
#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "cache/base/invalid.h"
#include "cache/base/text.h"
#include "integration/media_text.h"
#include "integration/option_table.h"
#include "integration/share_text.h"

namespace mezz {

// A member of the options, or of those of the SCM tier in them.
template <typename Options, typename Value>
auto& In(Options& options, Value HybridCacheOptions::*member) {
  return options.*member;
}
template <typename Options, typename Value>
auto& In(Options& options, Value ScmOptions::*member) {
  return options.scm.*member;
}
template <auto kMember>
using ValueOf = std::remove_reference_t<decltype(In(std::declval<HybridCacheOptions&>(), kMember))>;

// --- the kinds of values ---

// One of the words of an enumeration.
template <auto kMember>
inline constexpr ValueKind kWord = {[](std::string_view key, std::string_view value, HybridCacheOptions* o) {
                                      return ParseWord(key, value, &In(*o, kMember));
                                    },
                                    [](const HybridCacheOptions& o) { return std::string(ToString(In(o, kMember))); },
                                    kWordsOf<ValueOf<kMember>>};

inline constexpr std::string_view kTrueFalse[] = {"true", "false"};
template <auto kMember>
inline constexpr ValueKind kBool = {[](std::string_view key, std::string_view value, HybridCacheOptions* o) {
                                      return ParseBool(key, value, &In(*o, kMember));
                                    },
                                    [](const HybridCacheOptions& o) { return fmt::format("{}", In(o, kMember)); },
                                    kTrueFalse};

// Bytes; none is not said.
template <auto kMember>
inline constexpr ValueKind kSize = {
    [](std::string_view key, std::string_view value, HybridCacheOptions* o) {
      constexpr uint64_t kMax = std::numeric_limits<ValueOf<kMember>>::max();
      uint64_t bytes = 0;
      MEZZ_RETURN_IF_ERROR(ParseBytes(key, value, &bytes));
      if (bytes > kMax) return Invalid("{}={}: accepted are sizes below {}", key, value, SizeText(kMax + 1));
      In(*o, kMember) = static_cast<ValueOf<kMember>>(bytes);
      return Status::Ok();
    },
    [](const HybridCacheOptions& o) { return In(o, kMember) == 0 ? "" : SizeText(In(o, kMember)); }};

// Bytes, or 0: none.
inline Status ParseSizeOrZero(std::string_view key, std::string_view value, uint64_t* bytes) {
  if (value != "0") return ParseBytes(key, value, bytes);
  *bytes = 0;
  return Status::Ok();
}
template <auto kMember>
inline constexpr ValueKind kSizeOrZero = {[](std::string_view key, std::string_view value, HybridCacheOptions* o) {
                                            return ParseSizeOrZero(key, value, &In(*o, kMember));
                                          },
                                          [](const HybridCacheOptions& o) { return SizeText(In(o, kMember)); }};

template <auto kMember>
inline constexpr ValueKind kNumber = {[](std::string_view key, std::string_view value, HybridCacheOptions* o) {
                                        using Limits = std::numeric_limits<ValueOf<kMember>>;
                                        if (ParseNumber(value, &In(*o, kMember))) return Status::Ok();
                                        return Invalid("{}={}: accepted are whole numbers from {} to {}", key, value,
                                                       Limits::min(), Limits::max());
                                      },
                                      [](const HybridCacheOptions& o) { return fmt::format("{}", In(o, kMember)); }};

// Judged by Validate.
template <auto kMember>
inline constexpr ValueKind kText = {[](std::string_view, std::string_view value, HybridCacheOptions* o) {
                                      In(*o, kMember) = value;
                                      return Status::Ok();
                                    },
                                    [](const HybridCacheOptions& o) { return In(o, kMember); }};

// A file may be named in the value of one key, and by a retired one.
inline Status TakeFile(std::string_view key, std::string_view file, std::string* to) {
  if (!to->empty() && *to != file)
    return Invalid("{} names the file {}, and {} is named already: name one", key, file, *to);
  *to = file;
  return Status::Ok();
}
// Printed by that other key, where `kOther` says so.
template <auto kMember, auto kOther>
inline constexpr ValueKind kFile = {
    [](std::string_view key, std::string_view value, HybridCacheOptions* o) {
      return TakeFile(key, value, &In(*o, kMember));
    },
    [](const HybridCacheOptions& o) { return kOther(o) ? std::string() : In(o, kMember); }};

// --- values of their own ---

// dram_total makes one of it, which is not said.
inline constexpr ValueKind kDram = {kSize<&HybridCacheOptions::dram_bytes>.parse, [](const HybridCacheOptions& o) {
                                      return o.dram_total_bytes != 0 ? ""
                                                                     : kSize<&HybridCacheOptions::dram_bytes>.print(o);
                                    }};

inline constexpr ValueKind kMedia = {
    [](std::string_view key, std::string_view value, HybridCacheOptions* o) { return ParseMedia(key, value, &o->scm); },
    [](const HybridCacheOptions& o) { return MediaText(o.scm); }};

inline constexpr ValueKind kModels = {[](std::string_view key, std::string_view value, HybridCacheOptions* o) {
                                        return ParseModels(key, value, &o->scm);
                                      },
                                      [](const HybridCacheOptions& o) { return o.scm.ModelText(); },
                                      kWordsOf<MediumModelName>};

// Said behind the size.
inline constexpr ValueKind kMedium = {
    [](std::string_view key, std::string_view value, HybridCacheOptions* o) {
      ScmOptions& scm = o->scm;
      scm.medium = value == ToString(MediumKind::kFile) ? MediumKind::kFile : MediumKind::kAnonymous;
      const bool named = value == ToString(MediumKind::kFile) || value == "anon" ||  // a former name of dram
                         ParseMemory(value, &scm.medium, &scm.numa_node);
      return named ? Status::Ok() : Invalid("{}={}: accepted are file, {}", key, value, MemoryForms());
    },
    [](const HybridCacheOptions&) { return std::string(); }};

inline constexpr ValueKind kTime = {
    [](std::string_view key, std::string_view value, HybridCacheOptions* o) {
      return ParseTime(key, value, &o->scm.recovery_budget_ms);
    },
    [](const HybridCacheOptions& o) {
      const uint64_t ms = o.scm.recovery_budget_ms;
      return ms == 0 ? "0" : ms % 1000 == 0 ? fmt::format("{}s", ms / 1000) : fmt::format("{}ms", ms);
    }};

inline constexpr ValueKind kWarmDram = {
    [](std::string_view key, std::string_view value, HybridCacheOptions* o) {
      o->warm_dram_bytes.reset();
      return value == "all" ? Status::Ok() : ParseSizeOrZero(key, value, &o->warm_dram_bytes.emplace());
    },
    [](const HybridCacheOptions& o) { return o.warm_dram_bytes ? SizeText(*o.warm_dram_bytes) : std::string(); }};

inline constexpr std::string_view kKeyedBy = "keyed:";

// `keyed` alone leaves the file to verify_key_file.
inline constexpr ValueKind kVerify = {
    [](std::string_view key, std::string_view value, HybridCacheOptions* o) {
      ScmOptions& scm = o->scm;
      if (value.starts_with(kKeyedBy) && value != kKeyedBy) {
        scm.verify = VerifyMode::kKeyed;
        return TakeFile(key, value.substr(kKeyedBy.size()), &scm.verify_key_file);
      }
      if (bool all = false; ParseBool(key, value, &all).ok()) {
        scm.verify = all ? VerifyMode::kAlways : VerifyMode::kOff;
        return Status::Ok();
      }
      if (ParseWord(key, value, &scm.verify).ok()) return Status::Ok();
      return Invalid("{}={}: accepted are off, sampled, always and keyed:FILE (or false and true)", key, value);
    },
    [](const HybridCacheOptions& o) {
      const bool by_file = o.scm.verify == VerifyMode::kKeyed && !o.scm.verify_key_file.empty();
      return by_file ? fmt::format("{}{}", kKeyedBy, o.scm.verify_key_file) : std::string(ToString(o.scm.verify));
    }};

// A former form said whether the medium is in it.
inline constexpr ValueKind kCoreDump = {[](std::string_view key, std::string_view value, HybridCacheOptions* o) {
                                          if (bool medium = false; ParseBool(key, value, &medium).ok()) {
                                            o->scm.core_dump = medium ? CoreDump::kAll : CoreDump::kDram;
                                            return Status::Ok();
                                          }
                                          return ParseWord(key, value, &o->scm.core_dump);
                                        },
                                        kWord<&ScmOptions::core_dump>.print, kWordsOf<CoreDump>};

inline constexpr std::string_view kOnOff[] = {"on", "off"};
inline constexpr ValueKind kHeirs = {
    [](std::string_view key, std::string_view value, HybridCacheOptions* o) {
      o->heirs = value == "on";
      return o->heirs || value == "off" ? Status::Ok() : UnknownWord(key, value, kOnOff);
    },
    [](const HybridCacheOptions& o) { return std::string(o.heirs ? "" : "off"); }, kOnOff};

// A path begins so that it is no rate, and no misspelt word.
inline bool IsCurvePath(std::string_view file) {
  return file.starts_with('/') || file.starts_with("./") || file.starts_with("../");
}

inline std::string RateText(const HybridCacheOptions& options) {
  return options.curve_rate == kCurveRateDefault ? "" : fmt::format("{}", options.curve_rate);
}

// on, off, RATE, FILE or RATE:FILE.
inline constexpr ValueKind kCurve = {
    [](std::string_view key, std::string_view value, HybridCacheOptions* o) {
      o->curve = value != "off";
      if (value == "on" || value == "off") return Status::Ok();
      const std::string_view rate = value.substr(0, value.find(':'));
      const bool has_rate = ParseNumber(rate, &o->curve_rate);
      if (has_rate && rate.size() == value.size()) return Status::Ok();
      const std::string_view file = has_rate ? value.substr(rate.size() + 1) : value;
      if (IsCurvePath(file)) return TakeFile(key, file, &o->curve_file);
      return Invalid(
          "{}={}: accepted are on, off, a share of the blocks above 0 to 1, a path that begins with / or ./, and "
          "SHARE:PATH",
          key, value);
    },
    [](const HybridCacheOptions& o) -> std::string {
      if (!o.curve) return "off";
      const std::string rate = RateText(o);
      if (o.curve_file.empty()) return rate.empty() ? "on" : rate;
      return fmt::format("{}{}{}{}", rate, rate.empty() ? "" : ":", IsCurvePath(o.curve_file) ? "" : "./",
                         o.curve_file);
    }};

inline constexpr ValueKind kShare = {ParseShare, ShareText};

inline constexpr ValueKind kCurveRate = {[](std::string_view key, std::string_view value, HybridCacheOptions* o) {
                                           return ParseNumber(value, &o->curve_rate)
                                                      ? Status::Ok()
                                                      : Invalid("{}={}: accepted are numbers above 0 and up to 1", key,
                                                                value);
                                         },
                                         [](const HybridCacheOptions& o) { return o.curve ? "" : RateText(o); }};

constexpr bool IsKeyed(const HybridCacheOptions& o) { return o.scm.verify == VerifyMode::kKeyed; }
constexpr bool HasCurve(const HybridCacheOptions& o) { return o.curve; }
constexpr bool Always(const HybridCacheOptions&) { return true; }

}  // namespace mezz
