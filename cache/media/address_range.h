// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "cache/base/fork_guard.h"
#include "cache/status.h"

struct pmem2_vm_reservation;

namespace mezz {

// A range of addresses into which several media are mapped, one behind the other. It takes no memory. What was mapped
// there must be gone before it is destroyed. A forked child keeps it, as its parent's threads may hold libpmem2's
// locks. Not thread-safe.
class AddressRange {
 public:
  static Status Reserve(uint64_t bytes, std::unique_ptr<AddressRange>* range);
  ~AddressRange();
  AddressRange(const AddressRange&) = delete;
  AddressRange& operator=(const AddressRange&) = delete;

  std::byte* base() const { return base_; }  // at a huge page
  // For libpmem2: its reservation, and where base() lies in it.
  pmem2_vm_reservation* reservation() const { return reservation_; }
  uint64_t base_offset() const { return base_offset_; }

 private:
  AddressRange() = default;

  const ForkGuard guard_;
  pmem2_vm_reservation* reservation_ = nullptr;
  uint64_t base_offset_ = 0;
  std::byte* base_ = nullptr;
};

}  // namespace mezz
