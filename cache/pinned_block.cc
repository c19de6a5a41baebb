// SPDX-License-Identifier: Apache-2.0
#include "cache/pinned_block.h"

#include <cstring>
#include <utility>

#include "cache/block_reader.h"
#include "cache/layout.h"

namespace mezz {

PinnedBlock& PinnedBlock::operator=(PinnedBlock&& other) noexcept {
  if (this != &other) {
    Release();
    reader_ = std::exchange(other.reader_, nullptr);
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
  return Image{.bytes = stored_.subspan(sizeof(layout::PackedPrefix)), .type = image_type_};
}

void PinnedBlock::RejectImage() const {
  assert(image());
  reader_->RejectImage(*this);
}

std::optional<std::span<const std::byte>> PinnedBlock::SteadyBytes() const { return reader_->SteadyBytes(*this); }

bool PinnedBlock::Unpack(std::byte* to) const {
  assert(!image());
  if (form_ == Form::kPacked) return reader_->Unpack(*this, to);
  const auto bytes = SteadyBytes();
  if (bytes && !bytes->empty()) std::memcpy(to, bytes->data(), bytes->size());
  return bytes.has_value();
}

void PinnedBlock::Release() {
  BlockReader* const reader = std::exchange(reader_, nullptr);
  if (reader == nullptr) return;
  if (staged()) return reader->Release(static_cast<StagedBlocks::Slot>(slot_));
  reader->Unpin(stored_.data());
}

const std::byte* PinnedBlock::Detach() {
  assert(!staged());
  reader_ = nullptr;
  return stored_.data();
}

}  // namespace mezz
