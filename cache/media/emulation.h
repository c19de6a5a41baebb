// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "cache/media/medium.h"
#include "cache/media/model.h"
#include "cache/types.h"

namespace mezz {

// The emulation of a tier's media: each has the model of a device, or none. Offsets are from the start of the mapped
// range, in which the media lie behind each other. Thread-safe, lock-free.
class Emulation {
 public:
  // Each member of the medium behaves as the model of its number, or all as the only one. Null: none has a model. The
  // medium is not owned, and must outlive this.
  static std::unique_ptr<Emulation> Make(const Medium& medium, std::span<const MediumModelName> models);

  // As Throttle's.
  void ChargeInPlace(uint64_t offset, BlockRole role, std::span<const std::byte> payload) {
    if (Throttle* const throttle = At(offset))
      throttle->ChargeInPlace(HowReadInPlace(throttle->model(), role, payload));
  }
  void ChargeLines(uint64_t offset, unsigned lines) {
    if (Throttle* const throttle = At(offset)) throttle->ChargeLines(lines);
  }
  void ChargeStreamRead(uint64_t offset, size_t bytes) {
    if (Throttle* const throttle = At(offset)) throttle->ChargeStreamRead(bytes);
  }
  void ChargeWrite(uint64_t offset, size_t bytes) {
    if (Throttle* const throttle = At(offset)) throttle->ChargeWrite(bytes);
  }
  // `lines` reads of one line each, of which none waits for another.
  void ChargeScatteredLines(uint64_t offset, size_t lines) {
    if (Throttle* const throttle = At(offset)) throttle->ChargeStreamRead(lines * throttle->model().read_unit_bytes);
  }

  // The model of the medium there; null: it has none.
  const MediumModel* ModelAt(uint64_t offset) const {
    const Throttle* const throttle = At(offset);
    return throttle == nullptr ? nullptr : &throttle->model();
  }

 private:
  explicit Emulation(const Medium& medium) : medium_(medium) {}
  Throttle* At(uint64_t offset) const { return throttles_[medium_.MemberAt(offset)].get(); }

  const Medium& medium_;
  std::array<std::unique_ptr<Throttle>, kMembersMax> throttles_;
};

}  // namespace mezz
