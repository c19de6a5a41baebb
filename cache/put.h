// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace mezz {

// Who packs a block that is put.
enum class PackedBy : uint8_t {
  kCaller,  // the put, so that nothing is copied twice
  kStage,   // the stage's thread (ScmOptions::pack_stage_bytes), if there is one and it has room; else the put
};

enum class PutResult : uint8_t { kStored, kTooLarge, kAllPinned, kNoSpace, kFillFailed, kDeadFile };

}  // namespace mezz
