// SPDX-License-Identifier: Apache-2.0
#include "cache/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "cache/base/text.h"
#include "cache/types.h"

namespace mezz {
namespace {

constexpr unsigned kPrefaultThreadsMax = 1024;
constexpr uint64_t kAutoSegments = 256;

// The words for the values of an option.
template <typename T>
struct Named {
  std::string_view text;
  T value;
};
constexpr Named<MediumModelName> kModels[] = {
    {"none", MediumModelName::kNone}, {"optane100", MediumModelName::kOptane100}, {"cxl", MediumModelName::kCxl}};
constexpr Named<VerifyMode> kVerifyModes[] = {{"off", VerifyMode::kOff},
                                              {"sampled", VerifyMode::kSampled},
                                              {"always", VerifyMode::kAlways},
                                              {"keyed", VerifyMode::kKeyed}};
constexpr Named<PackMode> kPackModes[] = {{"off", PackMode::kOff},
                                          {"image", PackMode::kImage},
                                          {"lz4", PackMode::kLz4},
                                          {"zstd", PackMode::kZstd},
                                          {"auto", PackMode::kAuto}};
constexpr Named<Prepare> kPrepares[] = {{"background", Prepare::kBackground}, {"open", Prepare::kBeforeOpen}};

constexpr Named<Recovery> kRecoveries[] = {{"auto", Recovery::kAuto},
                                           {"discard", Recovery::kDiscard},
                                           {"warm", Recovery::kWarm},
                                           {"require", Recovery::kRequire}};

constexpr Named<EraseMode> kEraseModes[] = {{"volatile", EraseMode::kVolatile}, {"durable", EraseMode::kDurable}};
constexpr Named<CoreDump> kCoreDumps[] = {
    {"none", CoreDump::kNone}, {"dram", CoreDump::kDram}, {"all", CoreDump::kAll}};
constexpr Named<BusErrorMode> kBusErrorModes[] = {{"fatal", BusErrorMode::kFatal}, {"contain", BusErrorMode::kContain}};

template <typename T, size_t kCount>
std::string_view TextOf(const Named<T> (&known)[kCount], T value) {
  const auto* const found = std::ranges::find(known, value, &Named<T>::value);
  return found == std::end(known) ? "unknown" : found->text;
}
// Finds the value of a word. False: there is none.
template <typename T, size_t kCount>
bool FindValue(const Named<T> (&known)[kCount], std::string_view text, T* value) {
  const auto* const found = std::ranges::find(known, text, &Named<T>::text);
  if (found == std::end(known)) return false;
  *value = found->value;
  return true;
}

uint64_t AutoSegmentBytes(uint64_t capacity_bytes) {
  return std::clamp(std::bit_floor(capacity_bytes / kAutoSegments), kSegmentBytesMin, kSegmentBytesAutoMax);
}

Status CheckFileMedium(const ScmOptions& options) {
  if (options.path.empty()) return Status::InvalidArgument("path is empty: name the file that holds the SCM tier");
  if (options.path.find('\0') != std::string::npos) {
    return Status::InvalidArgument(fmt::format("path={} has a zero byte after its {} first characters: remove it",
                                               options.path.c_str(), options.path.find('\0')));
  }
  if (options.numa_node != -1) {
    return Status::InvalidArgument(fmt::format(
        "numa_node={} has no meaning for medium=file: leave it out, or choose medium=numa", options.numa_node));
  }
  return Status::Ok();
}

Status CheckNoPath(const ScmOptions& options) {
  if (options.path.empty()) return Status::Ok();
  return Status::InvalidArgument(
      fmt::format("path={} has no meaning for medium={}: leave it out, or choose medium=file", options.path,
                  ToString(options.medium)));
}

Status CheckNumaMedium(const ScmOptions& options) {
  if (options.numa_node < 0) {
    return Status::InvalidArgument(fmt::format(
        "numa_node={} is not a node: give its number, 0 or more (numactl --hardware lists them)", options.numa_node));
  }
  return CheckNoPath(options);
}

Status CheckAnonymousMedium(const ScmOptions& options) {
  if (options.numa_node != -1) {
    return Status::InvalidArgument(fmt::format(
        "numa_node={} has no meaning for medium=dram: leave it out, or choose medium=numa", options.numa_node));
  }
  return CheckNoPath(options);
}

Status CheckOneMedium(const ScmOptions& options) {
  switch (options.medium) {
    case MediumKind::kFile:
      return CheckFileMedium(options);
    case MediumKind::kNumaNode:
      return CheckNumaMedium(options);
    case MediumKind::kAnonymous:
      return CheckAnonymousMedium(options);
  }
  return Status::InvalidArgument(
      fmt::format("medium={} is not one: choose kFile, kNumaNode or kAnonymous", static_cast<int>(options.medium)));
}

Status CheckMembers(const ScmOptions& options) {
  const std::vector<ScmMember>& members = options.members;
  if (members.size() < 2 || members.size() > kMembersMax) {
    return Status::InvalidArgument(fmt::format("members: {} media are given: name 2 to {}, or one by medium and path",
                                               members.size(), kMembersMax));
  }
  if (options.medium != MediumKind::kFile || !options.path.empty() || options.numa_node != -1)
    return Status::InvalidArgument("members contradict medium, path or numa_node: name each medium once, as a member");
  if (members.front().level != Level::kFast || !std::ranges::is_sorted(members, {}, &ScmMember::level))
    return Status::InvalidArgument("members: a slow medium stands before a fast one: name the fast ones first");
  uint64_t sum = 0;
  for (size_t number = 0; number < members.size(); ++number) {
    const std::string name = members[number].Name();
    if (Status status = CheckOneMedium(options.OfMember(number)); !status.ok())
      return status.WithPrefix(fmt::format("medium {} of {}: ", number + 1, members.size()));
    for (size_t other = 0; other < number; ++other) {
      if (members[other].Name() == name)
        return Status::InvalidArgument(
            fmt::format("members: {} is named twice: give it once, with all its bytes", name));
    }
    sum += std::min(members[number].capacity_bytes, UINT64_MAX - sum);
  }
  if (sum != options.capacity_bytes)
    return Status::InvalidArgument(fmt::format("capacity_bytes={} is not what the members have together: give {}",
                                               options.capacity_bytes, ExactBytes(sum)));
  return Status::Ok();
}

Status CheckMedium(const ScmOptions& options) {
  return options.members.empty() ? CheckOneMedium(options) : CheckMembers(options);
}

Status CheckMemberSizes(const ScmOptions& options) {
  const uint64_t least = std::max(kSegmentsMin * options.EffectiveSegmentBytes(), kMemberMultiple);
  for (const ScmMember& member : options.members) {
    if (member.capacity_bytes >= least) continue;
    return Status::InvalidArgument(
        fmt::format("members: {} of {} is too little for one of several media: give at least {}",
                    ExactBytes(member.capacity_bytes), member.Name(), ExactBytes(least)));
  }
  return Status::Ok();
}

Status CheckSegment(uint64_t segment_bytes) {
  if (segment_bytes == 0) return Status::Ok();
  if (!std::has_single_bit(segment_bytes)) {
    return Status::InvalidArgument(
        fmt::format("segment_bytes={} is not a power of two: use one between {} and {}, or 0 to have it chosen",
                    segment_bytes, kSegmentBytesMin, kSegmentBytesMax));
  }
  if (segment_bytes < kSegmentBytesMin || segment_bytes > kSegmentBytesMax) {
    return Status::InvalidArgument(
        fmt::format("segment_bytes={} is out of range: use a power of two between {} and {}, or 0 to have it chosen",
                    segment_bytes, kSegmentBytesMin, kSegmentBytesMax));
  }
  return Status::Ok();
}

Status CheckCapacity(uint64_t capacity_bytes, uint64_t segment_bytes) {
  const uint64_t least = kSegmentsMin * segment_bytes;
  if (capacity_bytes < least) {
    return Status::InvalidArgument(
        fmt::format("capacity_bytes={} is too small for {} segments of {}: give at least {}{}", capacity_bytes,
                    kSegmentsMin, HumanBytes(segment_bytes), ExactBytes(least),
                    segment_bytes > kSegmentBytesMin ? ", or use smaller segments" : ""));
  }
  if (capacity_bytes > kCapacityBytesMax) {
    return Status::InvalidArgument(fmt::format("capacity_bytes={} is more than one tier can address: give at most {}",
                                               capacity_bytes, ExactBytes(kCapacityBytesMax)));
  }
  return Status::Ok();
}

Status CheckVerify(const ScmOptions& options) {
  if (std::ranges::find(kVerifyModes, options.verify, &Named<VerifyMode>::value) == std::end(kVerifyModes)) {
    return Status::InvalidArgument(fmt::format("verify={} is not one: choose kOff, kSampled, kAlways or kKeyed",
                                               static_cast<int>(options.verify)));
  }
  const bool has_file = !options.verify_key_file.empty();
  if (options.verify == VerifyMode::kKeyed) {
    if (!has_file && !options.verify_key) {
      return Status::InvalidArgument(
          "verify=keyed needs a key: give verify=keyed:FILE, or set ScmOptions::verify_key_file or verify_key");
    }
    if (has_file && options.verify_key) {
      return Status::InvalidArgument(fmt::format(
          "verify_key_file={} contradicts ScmOptions::verify_key: leave out one of them", options.verify_key_file));
    }
    return Status::Ok();
  }
  if (has_file || options.verify_key) {
    return Status::InvalidArgument(fmt::format("verify={} has no use for the key of verify_key{}{}: use verify=keyed",
                                               ToString(options.verify), has_file ? "_file=" : "",
                                               options.verify_key_file));
  }
  return Status::Ok();
}

Status CheckModels(const ScmOptions& options) {
  for (const MediumModelName model : options.Models()) {
    if (std::ranges::find(kModels, model, &Named<MediumModelName>::value) != std::end(kModels)) continue;
    return Status::InvalidArgument(
        fmt::format("model={} is not one: choose kNone, kOptane100 or kCxl", static_cast<int>(model)));
  }
  if (!options.member_models.empty() && options.member_models.size() != options.members.size()) {
    return Status::InvalidArgument(
        fmt::format("model={} names {} models for {} media: name one for all, or one for each", options.ModelText(),
                    options.member_models.size(), std::max<size_t>(options.members.size(), 1)));
  }
  return Status::Ok();
}

Status CheckTuning(const ScmOptions& options) {
  if (options.scrub_bytes_per_second > kCapacityBytesMax) {
    return Status::InvalidArgument(
        fmt::format("scrub_bytes_per_second={} is more than any medium gives: use at most {}, or 0 for no scrub",
                    options.scrub_bytes_per_second, ExactBytes(kCapacityBytesMax)));
  }
  if (options.expected_block_bytes < kLineBytes || options.expected_block_bytes > options.EffectiveSegmentBytes()) {
    return Status::InvalidArgument(fmt::format(
        "expected_block_bytes={} is out of range: give the usual size of a block, between {} and the segment size {}",
        options.expected_block_bytes, kLineBytes, options.EffectiveSegmentBytes()));
  }
  if (options.prefault_threads > kPrefaultThreadsMax) {
    return Status::InvalidArgument(fmt::format("prefault_threads={} is too many: give at most {}, or 0 for one per CPU",
                                               options.prefault_threads, kPrefaultThreadsMax));
  }
  if (std::ranges::find(kPrepares, options.prepare, &Named<Prepare>::value) == std::end(kPrepares)) {
    return Status::InvalidArgument(
        fmt::format("prepare={} is not one: choose kBackground or kBeforeOpen", static_cast<int>(options.prepare)));
  }
  if (std::ranges::find(kRecoveries, options.recovery, &Named<Recovery>::value) == std::end(kRecoveries)) {
    return Status::InvalidArgument(fmt::format("recovery={} is not one: choose kAuto, kDiscard, kWarm or kRequire",
                                               static_cast<int>(options.recovery)));
  }
  if (std::ranges::find(kEraseModes, options.erase, &Named<EraseMode>::value) == std::end(kEraseModes)) {
    return Status::InvalidArgument(
        fmt::format("erase={} is not one: choose kVolatile or kDurable", static_cast<int>(options.erase)));
  }
  if (std::ranges::find(kCoreDumps, options.core_dump, &Named<CoreDump>::value) == std::end(kCoreDumps)) {
    return Status::InvalidArgument(
        fmt::format("core_dump={} is not one: choose kNone, kDram or kAll", static_cast<int>(options.core_dump)));
  }
  if (std::ranges::find(kBusErrorModes, options.bus_errors, &Named<BusErrorMode>::value) == std::end(kBusErrorModes)) {
    return Status::InvalidArgument(
        fmt::format("bus_errors={} is not one: choose kFatal or kContain", static_cast<int>(options.bus_errors)));
  }
  const auto forgets = [](const ScmMember& member) { return !Remembers(member.medium); };
  if (options.recovery == Recovery::kRequire &&
      (!options.Remembers() || std::ranges::any_of(options.members, forgets))) {
    return Status::InvalidArgument(
        fmt::format("recovery=require cannot be met by memory that forgets ({}): choose a file, or recovery=warm",
                    options.MediumText()));
  }
  if (options.recovery_budget_ms > kRecoveryBudgetMsMax) {
    return Status::InvalidArgument(
        fmt::format("recovery_budget_ms={} is more than a day: give at most {}, or 0 for no bound",
                    options.recovery_budget_ms, kRecoveryBudgetMsMax));
  }
  MEZZ_RETURN_IF_ERROR(CheckModels(options));
  if (std::ranges::find(kPackModes, options.pack, &Named<PackMode>::value) == std::end(kPackModes)) {
    return Status::InvalidArgument(
        fmt::format("pack={} is not one: choose kOff, kImage, kLz4, kZstd or kAuto", static_cast<int>(options.pack)));
  }
  if (options.pack_stage_bytes != 0 &&
      (options.pack_stage_bytes < kPackStageBytesMin || options.pack_stage_bytes > kPackStageBytesMax)) {
    return Status::InvalidArgument(
        fmt::format("pack_stage_bytes={} is out of range: give {} to {}, or 0 to have each put pack its block",
                    options.pack_stage_bytes, ExactBytes(kPackStageBytesMin), ExactBytes(kPackStageBytesMax)));
  }
  if (options.dictionaries.sample_bytes_max < kSampleBytesMin) {
    return Status::InvalidArgument(fmt::format("dictionaries.sample_bytes_max={} is too little: give at least {}",
                                               options.dictionaries.sample_bytes_max, kSampleBytesMin));
  }
  return Status::Ok();
}

}  // namespace

std::string_view ToString(MediumKind kind) {
  switch (kind) {
    case MediumKind::kFile:
      return "file";
    case MediumKind::kNumaNode:
      return "numa";
    case MediumKind::kAnonymous:
      return "dram";
  }
  return "unknown";
}

std::string_view ToString(MediumModelName name) { return TextOf(kModels, name); }
std::string_view ToString(VerifyMode mode) { return TextOf(kVerifyModes, mode); }
std::string_view ToString(PackMode mode) { return TextOf(kPackModes, mode); }
std::string_view ToString(Recovery recovery) { return TextOf(kRecoveries, recovery); }
std::string_view ToString(EraseMode mode) { return TextOf(kEraseModes, mode); }
std::string_view ToString(CoreDump blocks) { return TextOf(kCoreDumps, blocks); }
std::string_view ToString(BusErrorMode mode) { return TextOf(kBusErrorModes, mode); }
std::string_view ToString(Prepare prepare) { return TextOf(kPrepares, prepare); }

Status ParseMediumModel(std::string_view text, MediumModelName* name) {
  if (FindValue(kModels, text, name)) return Status::Ok();
  return Status::InvalidArgument(fmt::format("model={} is unknown: choose none, optane100 or cxl", text));
}

Status ParsePrepare(std::string_view text, Prepare* prepare) {
  if (FindValue(kPrepares, text, prepare)) return Status::Ok();
  return Status::InvalidArgument(fmt::format("prepare={} is unknown: choose background or open", text));
}

Status ScmOptions::Validate() const {
  MEZZ_RETURN_IF_ERROR(CheckMedium(*this));
  if (capacity_bytes == 0) {
    return Status::InvalidArgument(
        fmt::format("capacity_bytes=0 leaves no room: give at least {}", ExactBytes(kSegmentsMin * kSegmentBytesMin)));
  }
  MEZZ_RETURN_IF_ERROR(CheckSegment(segment_bytes));
  MEZZ_RETURN_IF_ERROR(CheckCapacity(capacity_bytes, EffectiveSegmentBytes()));
  MEZZ_RETURN_IF_ERROR(CheckMemberSizes(*this));
  MEZZ_RETURN_IF_ERROR(CheckVerify(*this));
  return CheckTuning(*this);
}

uint64_t ScmOptions::EffectiveSegmentBytes() const {
  return segment_bytes != 0 ? segment_bytes : AutoSegmentBytes(capacity_bytes);
}

std::string ScmMember::Name() const {
  switch (medium) {
    case MediumKind::kFile:
      return path;
    case MediumKind::kNumaNode:
      return fmt::format("numa:{}", numa_node);
    case MediumKind::kAnonymous:
      break;
  }
  return std::string(ToString(medium));
}

ScmOptions ScmOptions::Effective() const {
  ScmOptions effective = *this;
  effective.segment_bytes = EffectiveSegmentBytes();
  effective.capacity_bytes = capacity_bytes / effective.segment_bytes * effective.segment_bytes;
  if (members.empty()) return effective;
  const uint64_t multiple = std::max(kMemberMultiple, effective.segment_bytes);
  effective.capacity_bytes = 0;
  for (ScmMember& member : effective.members) {
    member.capacity_bytes = member.capacity_bytes / multiple * multiple;
    effective.capacity_bytes += member.capacity_bytes;
  }
  return effective;
}

bool ScmOptions::Remembers() const {
  if (members.empty()) return mezz::Remembers(medium);
  return std::ranges::any_of(members, [](const ScmMember& member) { return mezz::Remembers(member.medium); });
}

ScmOptions ScmOptions::OfMember(size_t number) const {
  ScmOptions one = *this;
  one.members.clear();
  one.medium = members[number].medium;
  one.path = members[number].path;
  one.numa_node = members[number].numa_node;
  one.capacity_bytes = members[number].capacity_bytes;
  one.model = number < member_models.size() ? member_models[number] : model;
  one.member_models.clear();
  return one;
}

uint64_t ScmOptions::SlowBegin() const {
  uint64_t begin = 0;
  for (const ScmMember& member : members) {
    if (member.level == Level::kSlow) return begin;
    begin += member.capacity_bytes;
  }
  return UINT64_MAX;
}

std::vector<MediumModelName> ScmOptions::Models() const {
  return member_models.empty() ? std::vector{model} : member_models;
}

bool ScmOptions::IsEmulated() const {
  return std::ranges::any_of(Models(), [](MediumModelName name) { return name != MediumModelName::kNone; });
}

std::string ScmOptions::ModelText() const {
  std::string text;
  for (const MediumModelName name : Models())
    text += fmt::format("{}{}", text.empty() ? "" : ",", mezz::ToString(name));
  return text;
}

std::string ScmOptions::MediumText() const {
  if (members.empty()) return ScmMember{.medium = medium, .path = path, .numa_node = numa_node}.Name();
  std::string text;
  for (const ScmMember& member : members)
    text += fmt::format("{}{}{} of {}", text.empty() ? "" : ", ", member.level == Level::kSlow ? "slow: " : "",
                        HumanBytes(member.capacity_bytes), member.Name());
  return text;
}

Recovery ScmOptions::EffectiveRecovery() const {
  if (recovery != Recovery::kAuto) return recovery;
  return Remembers() ? Recovery::kWarm : Recovery::kDiscard;
}

std::string ScmOptions::ToString() const {
  const bool by_path = members.empty() && medium == MediumKind::kFile;
  return fmt::format("{}{} {}, {} segments, model {}", by_path ? "file:" : "", MediumText(), HumanBytes(capacity_bytes),
                     HumanBytes(EffectiveSegmentBytes()), ModelText());
}

}  // namespace mezz
