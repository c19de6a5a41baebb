// SPDX-License-Identifier: Apache-2.0
#include "cache/tier_medium.h"

#include <span>
#include <utility>

#include "cache/verify_key.h"

namespace mezz {

Status TierMedium::OpenWatched(const WrapMedium& wrap, bool* existing) {
  // Before the medium is touched.
  if (options.bus_errors == BusErrorMode::kContain) MEZZ_RETURN_IF_ERROR(ContainBusErrors());
  MEZZ_RETURN_IF_ERROR(OpenMedium(options, &medium, existing, &preparer));
  if (wrap) medium = wrap(std::move(medium));
  emulation = Emulation::Make(*medium, options.Models());
  watch = std::make_unique<BusErrorWatch>(std::span<const std::byte>(medium->base(), medium->bytes()),
                                          [this](uint64_t offset) {
                                            if (told_of_bus_errors != nullptr) told_of_bus_errors->NoteBusError(offset);
                                          });
  return Status::Ok();
}

Status TierMedium::Open(const ScmOptions& asked, const WrapMedium& wrap) {
  if (!guard.ok())
    return Status::NotSupported("this kernel does not tell forked children from their parent: use Linux 4.14 or newer");
  options = asked.Effective();
  options.recovery = asked.EffectiveRecovery();
  if (!asked.verify_key_file.empty()) {
    MEZZ_RETURN_IF_ERROR(ReadVerifyKey(asked.verify_key_file, &options.verify_key.emplace()));
    options.verify_key_file.clear();  // one of them
  }
  bool existing = false;
  MEZZ_RETURN_IF_ERROR(OpenWatched(wrap, &existing));
  earlier = std::make_unique<EarlierLife>(*medium, options);
  MEZZ_RETURN_IF_ERROR(earlier->TakeOver(existing));
  options.verify_key.reset();
  options.verify_key_file = asked.verify_key_file;
  authenticator = earlier->TakeAuthenticator();
  layout::Superblock now = earlier->superblock();
  now.capacity_bytes = options.capacity_bytes;
  keeper = std::make_unique<SuperblockKeeper>(*medium, now);
  return Status::Ok();
}

}  // namespace mezz
