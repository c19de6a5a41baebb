// SPDX-License-Identifier: Apache-2.0
#include "integration/database_user.h"

#include <cassert>
#include <utility>

namespace mezz {

Status DatabaseUser::Open(std::string_view name, const DatabaseLimits& limits, DatabaseShares::DramPart dram) {
  assert(!is_main() && share_ == kNoShare);
  MEZZ_RETURN_IF_ERROR(core_.databases().Add(name, limits, std::move(dram), &share_));
  core_.TellDramApart();
  return Status::Ok();
}

Status DatabaseUser::SetLimits(const DatabaseLimits& limits) {
  if (share_ == kNoShare) return Status::NotSupported("the cache itself has no limits: make a database of it");
  return core_.databases().SetLimits(share_, limits);
}

CounterSnapshot DatabaseUser::Snapshot() const {
  CounterSnapshot counted = counters_.Snapshot();
  dram_hits_.AddTo(counted);
  return counted;
}

void DatabaseUser::Close() {
  if (share_ == kNoShare) return;
  core_.databases().Remove(share_);
  share_ = kNoShare;
  core_.TellDramApart();
}

}  // namespace mezz
