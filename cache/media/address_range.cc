// SPDX-License-Identifier: Apache-2.0
#include "cache/media/address_range.h"

#include <fmt/format.h>
#include <libpmem2.h>

#include "cache/base/text.h"
#include "cache/media/populate.h"
#include "cache/types.h"

namespace mezz {

Status AddressRange::Reserve(uint64_t bytes, std::unique_ptr<AddressRange>* range) {
  std::unique_ptr<AddressRange> made(new AddressRange());
  if (pmem2_vm_reservation_new(&made->reservation_, nullptr, bytes + kHugePageBytes) != 0) {
    made->reservation_ = nullptr;
    return Status::NoSpace(fmt::format("{} of addresses cannot be reserved (libpmem2: {}): lower capacity_bytes",
                                       ExactBytes(bytes), pmem2_errormsg()));
  }
  auto* const begin = static_cast<std::byte*>(pmem2_vm_reservation_get_address(made->reservation_));
  const auto address = reinterpret_cast<uint64_t>(begin);
  made->base_offset_ = RoundUp(address, kHugePageBytes) - address;
  made->base_ = begin + made->base_offset_;
  *range = std::move(made);
  return Status::Ok();
}

AddressRange::~AddressRange() {
  if (reservation_ != nullptr && guard_.InParent()) pmem2_vm_reservation_delete(&reservation_);
}

}  // namespace mezz
