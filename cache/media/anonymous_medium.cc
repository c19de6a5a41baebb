// SPDX-License-Identifier: Apache-2.0
#include "cache/media/anonymous_medium.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <utility>

#include "cache/base/machine_memory.h"
#include "cache/base/text.h"
#include "cache/media/copy.h"
#include "cache/media/open.h"
#include "cache/media/populate.h"
#include "cache/types.h"

namespace mezz {
namespace {

// Unmaps the ends of a larger mapping, so that the rest begins on a huge page.
std::byte* TrimToHugePage(std::byte* mapped, uint64_t mapped_bytes, uint64_t bytes) {
  const uint64_t address = reinterpret_cast<uint64_t>(mapped);
  const uint64_t lead = RoundUp(address, kHugePageBytes) - address;
  if (lead != 0) munmap(mapped, lead);
  if (const uint64_t tail = mapped_bytes - lead - bytes; tail != 0) munmap(mapped + lead + bytes, tail);
  return mapped + lead;
}

}  // namespace

AnonymousMedium::~AnonymousMedium() {
  child_rules_.ProtectInChild(nullptr, 0);
  if (base_ == nullptr) return;
  // The addresses of a range stay reserved.
  if (in_range_) {
    mmap(base_, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  } else {
    munmap(base_, bytes_);
  }
}

Status AnonymousMedium::Reserve(uint64_t bytes, std::string_view name, std::byte* at) {
  MEZZ_RETURN_IF_ERROR(child_rules_.Check());
  CopyFunctions copy;
  MEZZ_RETURN_IF_ERROR(GetCopyFunctions(&copy));
  stream_ = copy.stream;
  drain_ = copy.drain;
  const uint64_t mapped_bytes = at != nullptr ? bytes : bytes + kHugePageBytes;
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | (at != nullptr ? MAP_FIXED : 0);
  void* mapped = mmap(at, mapped_bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (mapped == MAP_FAILED) {
    return Status::NoSpace(
        fmt::format("{} cannot map {} ({}): lower capacity_bytes", name, ExactBytes(bytes), ErrnoText(errno)));
  }
  in_range_ = at != nullptr;
  base_ = in_range_ ? at : TrimToHugePage(static_cast<std::byte*>(mapped), mapped_bytes, bytes);
  bytes_ = bytes;
  child_rules_.ProtectInChild(base_, bytes_);
  madvise(base_, bytes_, MADV_HUGEPAGE);  // a wish: without huge pages it works, slower
  return Status::Ok();
}

Status OpenAnonymousMedium(const MediumOrder& order, std::unique_ptr<Medium>* medium,
                           std::unique_ptr<Preparer>* preparer) {
  static constexpr std::string_view kName = "medium=dram";
  PromisedMemory promised;
  MEZZ_RETURN_IF_ERROR(CheckMemoryHolds(order.bytes, kName, "capacity_bytes", &promised));
  auto memory = std::make_unique<AnonymousMedium>();
  MEZZ_RETURN_IF_ERROR(memory->Reserve(order.bytes, kName, order.address()));
  MEZZ_RETURN_IF_ERROR(PrepareFirstPart(order, memory->base(), kName, {}, preparer, std::move(promised)));
  memory->Describe({.description = "DRAM of this process",
                    .granularity = StoreGranularity::kPage,
                    .persistent_memory = false,
                    .emulated = order.options.model != MediumModelName::kNone});
  *medium = std::move(memory);
  return Status::Ok();
}

}  // namespace mezz
