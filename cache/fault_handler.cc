// SPDX-License-Identifier: Apache-2.0
#include "cache/fault_handler.h"

#include <fmt/format.h>

#include "cache/base/if_memory.h"

namespace mezz {

// Closes the tier for good. It touches nothing of the medium except, if erases are durable, the superblock: a medium
// that failed so often may have lost tombstones. Pinned bytes stay where they are.
void FaultHandler::CloseForGood() {
  if (!parts_.guard.InParent() || !parts_.faults.Claim()) return;
  if (parts_.stage != nullptr) parts_.stage->ForgetAll();
  if (parts_.recoverer != nullptr) parts_.log.awaiting().GiveUpAll();
  parts_.index.Clear();
  if (parts_.erases_durably) eraser_->ForsakeRestart();
  if (!parts_.options.on_trouble) return;
  (void)IfThereIsMemory([&] { parts_.options.on_trouble(WhyClosed()); });
}

// Leaves media out that failed too often, and goes on with the others. Where erases are durable, a lost one may have
// held tombstones.
void FaultHandler::LeaveMembersOut() {
  if (!parts_.guard.InParent()) return;
  const uint32_t out = parts_.log.members().TakeNewlyOut();
  if (out == 0) return;
  if (parts_.keeper.LeaveOut(out) == SuperblockKeeper::Stored::kNowhere) return parts_.faults.CloseWithoutSuperblock();
  if (parts_.erases_durably) eraser_->ForsakeRestart();
  parts_.reclaimer.Quarantine();
  const bool all_gone = parts_.log.space().usable_segments() == 0;
  for (size_t member = 0; parts_.options.on_trouble && member < parts_.log.members().count(); ++member) {
    if ((out >> member & 1) == 0) continue;
    (void)IfThereIsMemory([&] {
      parts_.options.on_trouble(fmt::format(
          "lost {}: {} failed {} times, and is not used until the cache is opened anew. Replace the device",
          all_gone ? "the last of its media in use, and stores nothing until one that was emptied is given bytes again"
                   : "one of its media, and goes on with the others",
          parts_.medium.member_info(member).description, parts_.log.members().faults(member)));
    });
  }
}

// Why the tier closed itself, as the rest of a sentence whose subject is the medium.
std::string FaultHandler::WhyClosed() const {
  if (parts_.faults.lost_superblock()) {
    return fmt::format(
        "does not take its superblock any more: the SCM tier is closed until the cache is opened anew. Replace the "
        "device{}",
        parts_.faults.may_lie()
            ? "; what was erased may be found on it again, so open it with recovery=discard, if at all"
            : "");
  }
  return fmt::format(
      "failed {} times, and {} of its {} segments are out of use: the SCM tier is closed until the cache is opened "
      "anew. Replace the device",
      parts_.faults.count(), parts_.log.space().quarantined_segments(), parts_.log.segments());
}

}  // namespace mezz
