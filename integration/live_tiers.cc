// SPDX-License-Identifier: Apache-2.0
#include "integration/live_tiers.h"

#include <cassert>

namespace mezz {

// Whether the SCM tier has these bytes already. Other bytes under this key are forgotten.
bool LiveTiers::NoteDramEviction(const Block& block) {
  if (!scm().NoteDramEviction(block.key)) return false;
  if (parts_.gate != nullptr) return true;  // whoever changed the bytes has erased the record
  if (scm().Compare(block.key, block.bytes, *block.source) == Held::kSame) return true;
  if (scm().Erase(block.key)) Count(Event::kChangedEviction, block.role);
  return false;
}

void LiveTiers::UseCodec(std::optional<Codec> codec) {
  Count(Event::kPackCodecChanged, BlockRole::kOther);
  scm().UseCodec(codec);
}

uint32_t LiveTiers::ImageBytes(const Block& block) const {
  if (block.image == nullptr || !TakesImages(parts_.options.scm.pack)) return 0;
  if (!ScmTier::ImagePays(block.role, block.bytes, *block.image)) return 0;
  return static_cast<uint32_t>(ScmTier::kImageOverheadBytes + block.image->bytes.size());
}

bool LiveTiers::Put(const Block& block, Generation generation, Form form) {
  assert(block.source != nullptr);
  if (packs()) parts_.policy.OnPacking();
  const bool as_image = form == Form::kPacked && ImageBytes(block) != 0;
  const auto put = [&] {
    if (as_image)
      return scm().PutImage(block.key, block.role, block.bytes, *block.image, generation, block.share) ==
             PutResult::kStored;
    return scm().Put(block.key, block.role, block.bytes, *block.source, generation, form, block.packed_by,
                     block.share) == PutResult::kStored;
  };
  if (!block.evicted || parts_.gate == nullptr) return put();
  const MoveGate::Move move(*parts_.gate, block.key);
  if (move) return put();
  Count(Event::kRefusedChanged, block.role);
  return false;
}

CounterSnapshot LiveTiers::Counters() const {
  CounterSnapshot sum = scm().counters().Snapshot();
  parts_.dram.AddHitsTo(sum);
  parts_.databases.AddTo(&sum);
  return sum;
}

}  // namespace mezz
