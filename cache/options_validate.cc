// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>

#include "cache/base/invalid.h"
#include "cache/base/text.h"
#include "cache/options.h"
#include "cache/types.h"

namespace mezz {
namespace {

constexpr unsigned kPrefaultThreadsMax = 1024;

Status CheckFileMedium(const ScmOptions& options) {
  if (options.path.empty()) return Status::InvalidArgument("path is empty: name the file that holds the SCM tier");
  if (options.path.find('\0') != std::string::npos) {
    return Invalid("path={} has a zero byte after its {} first characters: remove it", options.path.c_str(),
                   options.path.find('\0'));
  }
  if (options.numa_node != -1) {
    return Invalid("numa_node={} has no meaning for medium=file: leave it out, or choose medium=numa",
                   options.numa_node);
  }
  return Status::Ok();
}

Status CheckNoPath(const ScmOptions& options) {
  if (options.path.empty()) return Status::Ok();
  return Invalid("path={} has no meaning for medium={}: leave it out, or choose medium=file", options.path,
                 ToString(options.medium));
}

Status CheckNumaMedium(const ScmOptions& options) {
  if (options.numa_node < 0) {
    return Invalid("numa_node={} is not a node: give its number, 0 or more (numactl --hardware lists them)",
                   options.numa_node);
  }
  return CheckNoPath(options);
}

Status CheckAnonymousMedium(const ScmOptions& options) {
  if (options.numa_node != -1) {
    return Invalid("numa_node={} has no meaning for medium=dram: leave it out, or choose medium=numa",
                   options.numa_node);
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
  return CheckKnown("medium", options.medium);
}

Status CheckMembers(const ScmOptions& options) {
  const std::vector<ScmMember>& members = options.members;
  if (members.size() < 2 || members.size() > kMembersMax) {
    return Invalid("members: {} media are given: name 2 to {}, or one by medium and path", members.size(), kMembersMax);
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
        return Invalid("members: {} is named twice: give it once, with all its bytes", name);
    }
    sum += std::min(members[number].capacity_bytes, UINT64_MAX - sum);
  }
  if (sum != options.capacity_bytes)
    return Invalid("capacity_bytes={} is not what the members have together: give {}", options.capacity_bytes,
                   ExactBytes(sum));
  return Status::Ok();
}

Status CheckMedium(const ScmOptions& options) {
  return options.members.empty() ? CheckOneMedium(options) : CheckMembers(options);
}

Status CheckMemberSizes(const ScmOptions& options) {
  const uint64_t least = std::max(kSegmentsMin * options.EffectiveSegmentBytes(), kMemberMultiple);
  for (const ScmMember& member : options.members) {
    if (member.capacity_bytes >= least) continue;
    return Invalid("members: {} of {} is too little for one of several media: give at least {}",
                   ExactBytes(member.capacity_bytes), member.Name(), ExactBytes(least));
  }
  return Status::Ok();
}

Status CheckSegment(uint64_t segment_bytes) {
  if (segment_bytes == 0) return Status::Ok();
  if (!std::has_single_bit(segment_bytes)) {
    return Invalid("segment_bytes={} is not a power of two: use one between {} and {}, or 0 to have it chosen",
                   segment_bytes, kSegmentBytesMin, kSegmentBytesMax);
  }
  if (segment_bytes < kSegmentBytesMin || segment_bytes > kSegmentBytesMax) {
    return Invalid("segment_bytes={} is out of range: use a power of two between {} and {}, or 0 to have it chosen",
                   segment_bytes, kSegmentBytesMin, kSegmentBytesMax);
  }
  return Status::Ok();
}

Status CheckCapacity(uint64_t capacity_bytes, uint64_t segment_bytes) {
  const uint64_t least = kSegmentsMin * segment_bytes;
  if (capacity_bytes < least) {
    return Invalid("capacity_bytes={} is too small for {} segments of {}: give at least {}{}", capacity_bytes,
                   kSegmentsMin, HumanBytes(segment_bytes), ExactBytes(least),
                   segment_bytes > kSegmentBytesMin ? ", or use smaller segments" : "");
  }
  if (capacity_bytes > kCapacityBytesMax) {
    return Invalid("capacity_bytes={} is more than one tier can address: give at most {}", capacity_bytes,
                   ExactBytes(kCapacityBytesMax));
  }
  return Status::Ok();
}

Status CheckVerify(const ScmOptions& options) {
  MEZZ_RETURN_IF_ERROR(CheckKnown("verify", options.verify));
  const bool has_file = !options.verify_key_file.empty();
  if (options.verify == VerifyMode::kKeyed) {
    if (!has_file && !options.verify_key) {
      return Status::InvalidArgument(
          "verify=keyed needs a key: give verify=keyed:FILE, or set ScmOptions::verify_key_file or verify_key");
    }
    if (has_file && options.verify_key) {
      return Invalid("verify_key_file={} contradicts ScmOptions::verify_key: leave out one of them",
                     options.verify_key_file);
    }
    return Status::Ok();
  }
  if (has_file || options.verify_key) {
    return Invalid("verify={} has no use for the key of verify_key{}{}: use verify=keyed", ToString(options.verify),
                   has_file ? "_file=" : "", options.verify_key_file);
  }
  return Status::Ok();
}

Status CheckModels(const ScmOptions& options) {
  for (const MediumModelName model : options.Models()) MEZZ_RETURN_IF_ERROR(CheckKnown("model", model));
  if (!options.member_models.empty() && options.member_models.size() != options.members.size()) {
    return Invalid("model={} names {} models for {} media: name one for all, or one for each", options.ModelText(),
                   options.member_models.size(), std::max<size_t>(options.members.size(), 1));
  }
  return Status::Ok();
}

Status CheckTuning(const ScmOptions& options) {
  if (options.scrub_bytes_per_second > kCapacityBytesMax) {
    return Invalid("scrub_bytes_per_second={} is more than any medium gives: use at most {}, or 0 for no scrub",
                   options.scrub_bytes_per_second, ExactBytes(kCapacityBytesMax));
  }
  if (options.expected_block_bytes < kLineBytes || options.expected_block_bytes > options.EffectiveSegmentBytes()) {
    return Invalid(
        "expected_block_bytes={} is out of range: give the usual size of a block, between {} and the segment size {}",
        options.expected_block_bytes, kLineBytes, options.EffectiveSegmentBytes());
  }
  if (options.prefault_threads > kPrefaultThreadsMax) {
    return Invalid("prefault_threads={} is too many: give at most {}, or 0 for one per CPU", options.prefault_threads,
                   kPrefaultThreadsMax);
  }
  MEZZ_RETURN_IF_ERROR(CheckKnown("prepare", options.prepare));
  MEZZ_RETURN_IF_ERROR(CheckKnown("recovery", options.recovery));
  MEZZ_RETURN_IF_ERROR(CheckKnown("erase", options.erase));
  MEZZ_RETURN_IF_ERROR(CheckKnown("core_dump", options.core_dump));
  MEZZ_RETURN_IF_ERROR(CheckKnown("bus_errors", options.bus_errors));
  const auto forgets = [](const ScmMember& member) { return !Remembers(member.medium); };
  if (options.recovery == Recovery::kRequire &&
      (!options.Remembers() || std::ranges::any_of(options.members, forgets))) {
    return Invalid("recovery=require cannot be met by memory that forgets ({}): choose a file, or recovery=warm",
                   options.MediumText());
  }
  if (options.recovery_budget_ms > kRecoveryBudgetMsMax) {
    return Invalid("recovery_budget_ms={} is more than a day: give at most {}, or 0 for no bound",
                   options.recovery_budget_ms, kRecoveryBudgetMsMax);
  }
  MEZZ_RETURN_IF_ERROR(CheckModels(options));
  MEZZ_RETURN_IF_ERROR(CheckKnown("pack", options.pack));
  if (options.pack_stage_bytes != 0 &&
      (options.pack_stage_bytes < kPackStageBytesMin || options.pack_stage_bytes > kPackStageBytesMax)) {
    return Invalid("pack_stage_bytes={} is out of range: give {} to {}, or 0 to have each put pack its block",
                   options.pack_stage_bytes, ExactBytes(kPackStageBytesMin), ExactBytes(kPackStageBytesMax));
  }
  if (options.dictionaries.sample_bytes_max < kSampleBytesMin) {
    return Invalid("dictionaries.sample_bytes_max={} is too little: give at least {}",
                   options.dictionaries.sample_bytes_max, kSampleBytesMin);
  }
  return Status::Ok();
}

}  // namespace

Status ScmOptions::Validate() const {
  MEZZ_RETURN_IF_ERROR(CheckMedium(*this));
  if (capacity_bytes == 0) {
    return Invalid("capacity_bytes=0 leaves no room: give at least {}", ExactBytes(kSegmentsMin * kSegmentBytesMin));
  }
  MEZZ_RETURN_IF_ERROR(CheckSegment(segment_bytes));
  MEZZ_RETURN_IF_ERROR(CheckCapacity(capacity_bytes, EffectiveSegmentBytes()));
  MEZZ_RETURN_IF_ERROR(CheckMemberSizes(*this));
  MEZZ_RETURN_IF_ERROR(CheckVerify(*this));
  return CheckTuning(*this);
}

}  // namespace mezz
