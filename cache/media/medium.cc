// SPDX-License-Identifier: Apache-2.0
#include "cache/media/medium.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

#include "cache/base/machine_memory.h"
#include "cache/media/open.h"
#include "cache/superblock.h"

namespace mezz {

namespace {

// Checks that memory holds the tier's index: a word of 8 bytes for each expected block, and a reserve.
Status CheckIndexFits(const ScmOptions& options) {
  const uint64_t index_bytes = options.capacity_bytes / options.expected_block_bytes * 8;
  return CheckMemoryHolds(index_bytes,
                          fmt::format("the index for capacity_bytes={} and expected_block_bytes={}",
                                      options.capacity_bytes, options.expected_block_bytes),
                          "capacity_bytes, or raise expected_block_bytes");
}

unsigned ThreadCount(const MediumOrder& order) {
  if (order.options.prefault_threads != 0) return order.options.prefault_threads;
  return order.first_bytes == order.bytes ? std::max(1u, std::thread::hardware_concurrency()) : 1;
}

Status JudgeCache(const ScmOptions& options, std::span<const std::byte> head, uint64_t, uint64_t, bool* existing) {
  using What = FoundSuperblock::What;
  const bool demanded = options.recovery == Recovery::kRequire;
  FoundSuperblock found;
  found.what = What::kProvisional;
  if (!head.empty()) found = FindSuperblock(head);
  if (found.what == What::kForeign) return Status::ForeignFile(std::move(found.why));
  if (found.what == What::kProvisional) found.why = "holds no blocks yet";
  if (found.what == What::kWhole) found.why = WhyOfNoUse(found.superblock, options);
  *existing = found.what == What::kWhole;
  if (found.why.empty() || !demanded) return Status::Ok();
  return Status::NotSupported(
      fmt::format("{}, and recovery=require is asked for: use recovery=warm to begin anew", found.why));
}

std::array<std::byte, MediumFormat::kProvisionalBytes> ProvisionalCache(const ScmOptions& options, uint64_t) {
  static_assert(sizeof(layout::Superblock) <= MediumFormat::kProvisionalBytes);
  layout::Superblock superblock = SuperblockOf(options);
  superblock.format_id = kProvisionalFormatId;
  superblock = Sealed(superblock);
  std::array<std::byte, MediumFormat::kProvisionalBytes> head{};
  std::memcpy(head.data(), &superblock, sizeof(superblock));
  return head;
}

}  // namespace

const MediumFormat kCacheFormat{.judge = JudgeCache, .provisional = ProvisionalCache};

Status OpenOneMedium(const MediumOrder& order, std::unique_ptr<Medium>* medium, std::unique_ptr<Preparer>* preparer,
                     bool* existing) {
  switch (order.options.medium) {
    case MediumKind::kFile:
      return OpenFileMedium(order, medium, preparer, existing);
    case MediumKind::kNumaNode:
      return OpenNumaMedium(order, medium, preparer);
    case MediumKind::kAnonymous:
      return OpenAnonymousMedium(order, medium, preparer);
  }
  return Status::InvalidArgument("medium is unknown");
}

Status PrepareFirstPart(const MediumOrder& order, std::byte* base, std::string_view name,
                        std::function<int(uint64_t offset, uint64_t bytes)> reserve,
                        std::unique_ptr<Preparer>* preparer, PromisedMemory promised, std::vector<BadRange> bad) {
  *preparer = std::make_unique<Preparer>(PreparePlan{.base = base,
                                                     .bytes = order.bytes,
                                                     .first_bytes = order.first_bytes,
                                                     .threads = ThreadCount(order),
                                                     .reserve = std::move(reserve),
                                                     .bad = std::move(bad),
                                                     .on_progress = order.options.on_prefault,
                                                     .promised = std::move(promised),
                                                     .name = std::string(name)});
  // Without it a dump of a process that has crashed takes as long to write, and as much room, as the medium is large.
  if (order.options.core_dump != CoreDump::kAll) madvise(base, order.bytes, MADV_DONTDUMP);
  const BusErrorWatch watch({base, order.bytes});  // the owner's comes when it has the medium
  return (*preparer)->PrepareFirst();
}

Status OpenMedium(const ScmOptions& options, std::unique_ptr<Medium>* medium, bool* existing,
                  std::unique_ptr<Preparer>* preparer) {
  *existing = false;
  MEZZ_RETURN_IF_ERROR(options.Validate());
  const uint64_t segment = options.EffectiveSegmentBytes();
  const uint64_t bytes = options.Effective().capacity_bytes;
  MEZZ_RETURN_IF_ERROR(CheckIndexFits(options));
  const bool all = preparer == nullptr || options.prepare == Prepare::kBeforeOpen;
  const uint64_t first_bytes = all ? bytes : std::min(bytes, std::max(kFirstBytesMin, kSegmentsMin * segment));
  std::unique_ptr<Preparer> made;
  const MediumOrder order{.options = options, .bytes = bytes, .first_bytes = first_bytes};
  MEZZ_RETURN_IF_ERROR(options.members.empty() ? OpenOneMedium(order, medium, &made, existing)
                                               : OpenStripedMedium(order, medium, &made, existing));
  if (preparer != nullptr) *preparer = std::move(made);
  return Status::Ok();
}

}  // namespace mezz
