// SPDX-License-Identifier: Apache-2.0
#include "cache/media/medium.h"

#include "cache/media/open.h"

namespace mezz {

std::string_view ToString(StoreGranularity granularity) {
  switch (granularity) {
    case StoreGranularity::kByte:
      return "byte";
    case StoreGranularity::kCacheLine:
      return "cache line";
    case StoreGranularity::kPage:
      return "page";
  }
  return "unknown";
}

Status OpenMedium(const ScmOptions& options, std::unique_ptr<Medium>* medium, bool* existing) {
  *existing = false;
  MEZZ_RETURN_IF_ERROR(options.Validate());
  const uint64_t segment = options.EffectiveSegmentBytes();
  const uint64_t bytes = options.capacity_bytes / segment * segment;
  switch (options.medium) {
    case MediumKind::kFile:
      return OpenFileMedium(options, bytes, medium, existing);
    case MediumKind::kNumaNode:
      return OpenNumaMedium(options, bytes, medium);
    case MediumKind::kAnonymous:
      return OpenAnonymousMedium(options, bytes, medium);
  }
  return Status::InvalidArgument("medium is unknown");
}

}  // namespace mezz
