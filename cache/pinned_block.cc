// SPDX-License-Identifier: Apache-2.0
#include "cache/pinned_block.h"

#include <cstring>
#include <utility>

#include "cache/scm_tier_impl.h"

namespace mezz {

PinnedBlock& PinnedBlock::operator=(PinnedBlock&& other) noexcept {
  if (this != &other) {
    Release();
    tier_ = std::exchange(other.tier_, nullptr);
    stored_ = other.stored_;
    logical_bytes_ = other.logical_bytes_;
    codec_ = other.codec_;
    image_type_ = other.image_type_;
    role_ = other.role_;
    heat_ = other.heat_;
    form_ = other.form_;
    carried_ = other.carried_;
    slot_ = other.slot_;
  }
  return *this;
}

std::optional<Image> PinnedBlock::image() const {
  if (form_ != Form::kPacked || codec_ != Codec::kImage) return std::nullopt;
  return Image{.bytes = stored_.subspan(ScmTier::kImageOverheadBytes), .type = image_type_};
}

void PinnedBlock::RejectImage() const {
  assert(image());
  tier_->impl_->RejectImage(*this);
}

std::optional<std::span<const std::byte>> PinnedBlock::SteadyBytes() const { return tier_->impl_->SteadyBytes(*this); }

bool PinnedBlock::Unpack(std::byte* to) const {
  assert(!image());
  if (form_ == Form::kPacked) return tier_->impl_->Unpack(*this, to);
  const auto bytes = SteadyBytes();
  if (bytes && !bytes->empty()) std::memcpy(to, bytes->data(), bytes->size());
  return bytes.has_value();
}

void PinnedBlock::Release() {
  ScmTier* const tier = std::exchange(tier_, nullptr);
  if (tier == nullptr) return;
  if (staged()) return tier->impl_->Release(static_cast<StagedBlocks::Slot>(slot_));
  tier->Unpin(stored_.data());
}

const std::byte* PinnedBlock::Detach() {
  assert(!staged());
  tier_ = nullptr;
  return stored_.data();
}

}  // namespace mezz
