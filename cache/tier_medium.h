// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "cache/authenticator.h"
#include "cache/base/fork_guard.h"
#include "cache/earlier_life.h"
#include "cache/media/bus_errors.h"
#include "cache/media/emulation.h"
#include "cache/media/medium.h"
#include "cache/media/preparer.h"
#include "cache/options.h"
#include "cache/segment_faults.h"
#include "cache/status.h"
#include "cache/superblock.h"

namespace mezz {

// The medium of a tier, opened, with what belongs to it before anybody knows where records lie: its model, the watch
// for its bus errors, what an earlier life left, and its superblock.
//
// Open, and whoever builds the tier, may be one thread only. Afterwards each part says what may be called.
struct TierMedium {
  // Opens the medium, and decides what of an earlier life is used. Writes nothing but what EarlierLife does. Errors: as
  // ScmTier::Open. REQUIRES: `asked` is valid. Call it once.
  Status Open(const ScmOptions& asked, const WrapMedium& wrap);

  ScmOptions options;  // effective
  ForkGuard guard;
  std::unique_ptr<Medium> medium;
  SegmentFaults* told_of_bus_errors = nullptr;   // null: nobody
  std::unique_ptr<BusErrorWatch> watch;          // lives as long as the medium is read
  std::unique_ptr<Emulation> emulation;          // null without a model
  std::unique_ptr<Authenticator> authenticator;  // null without verify=keyed
  std::unique_ptr<EarlierLife> earlier;
  std::unique_ptr<SuperblockKeeper> keeper;
  std::unique_ptr<Preparer> preparer;  // last: its threads end before what they touch

 private:
  Status OpenWatched(const WrapMedium& wrap, bool* existing);
};

}  // namespace mezz
