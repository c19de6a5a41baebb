// SPDX-License-Identifier: Apache-2.0
#include "integration/serving.h"

#include "cache/base/thread_buffer.h"

namespace mezz {
namespace {

struct ServedBytes;  // names the buffer

// Making a block of DRAM for a copy: allocation, and the store half of the copy. On memory of the same speed a copied
// hit of a 3.7 KB block costs 150 ns more than one in place.
constexpr double kCopyFixedNs = 40;
constexpr double kCopyNsPerByte = 0.03;

// What serve=auto weighs: the two charges of the model, and what a copy costs besides. In place, a search pays one
// dependent read of the medium for each line it touches, and what is read whole a stream. A copy pays one such read,
// streams the rest at the thread's bandwidth, and pays for the copy itself; its search is then free. So in place wins
// where few lines of a large block are read: filters, and data blocks from a size on that grows with the medium's
// latency over its bandwidth. Blobs are read whole either way: in place saves the copy. Dictionaries are read whole and
// then held for a table's life: a copy spares their segments that pin.
bool InPlaceIsCheaper(const MediumModel& model, BlockRole role, std::span<const std::byte> payload) {
  if (role == BlockRole::kDictionary) return false;
  const auto bytes = static_cast<double>(payload.size());
  const double copy_ns =
      OwnNs(model, {.lines = 1, .stream_bytes = payload.size()}) + kCopyFixedNs + kCopyNsPerByte * bytes;
  return OwnNs(model, HowReadInPlace(model, role, payload)) < copy_ns;
}

}  // namespace

bool IsServedInPlace(const HybridCacheOptions& options, ScmTier& scm, const PinnedBlock& block) {
  if (options.serve == ServeMode::kCopy || block.form() == Form::kPacked || block.staged() ||
      block.logical_bytes() < kInPlaceBytesMin || scm.PinPressure())
    return false;
  const MediumModel* const model = scm.ModelOf(block);
  return options.serve == ServeMode::kInPlace || model == nullptr ||
         InPlaceIsCheaper(*model, block.role(), block.payload());
}

std::optional<std::span<const std::byte>> BytesToCopy(ScmTier& scm, const PinnedBlock& block) {
  scm.ChargeCopy(block);
  if (block.form() == Form::kRaw) return block.SteadyBytes();
  if (block.image()) {
    scm.counters().Add(Event::kScmImageUnread, block.role());
    return std::nullopt;
  }
  std::byte* const unpacked = ThreadBuffer<ServedBytes>::AtLeast(block.logical_bytes());
  if (unpacked == nullptr) {
    scm.counters().Add(Event::kAllocationFailed, block.role());
    return std::nullopt;
  }
  if (!block.Unpack(unpacked)) return std::nullopt;
  return std::span<const std::byte>(unpacked, block.logical_bytes());
}

}  // namespace mezz
