// SPDX-License-Identifier: Apache-2.0
#include "integration/block_objects.h"

#include <utility>

namespace mezz {

using rocksdb::Slice;

BlockObjects::BlockObjects(ScmTier& scm, rocksdb::Cache& dram)
    : scm_(scm),
      memory_allocator_(dram.memory_allocator()),
      adopting_allocator_(scm, memory_allocator_),
      handover_allocator_(HandoverAllocator::Over(memory_allocator_)) {}

OwnedObject BlockObjects::InPlace(PinnedBlock&& block, const BlockRequest& request, bool* in_place) {
  scm_.ChargeInPlace(block.role(), block.payload());
  const AdoptingAllocator::Adoption adoption(adopting_allocator_, std::move(block));
  const OwnedObject made = Create(adoption.payload(), &adopting_allocator_, request);
  *in_place = adoption.clean();
  // Not adopted, the object is a good copy in memory of the fallback: create_cb may not refer to what it was given.
  if (made.obj != nullptr && !*in_place) Count(Event::kAdoptionFailed, request);
  return made;
}

OwnedObject BlockObjects::Copy(PinnedBlock block, const BlockRequest& request) {
  scm_.ChargeCopy(block);
  if (const auto image = block.image()) return OfImage(block, *image, request);
  if (block.form() == Form::kPacked) return Unpacked(std::move(block), request);
  const auto bytes = block.SteadyBytes();
  return bytes ? Create(*bytes, memory_allocator_, request) : OwnedObject{};
}

OwnedObject BlockObjects::Unpacked(PinnedBlock block, const BlockRequest& request) {
  const HandoverAllocator::Handover handover(handover_allocator_, block.logical_bytes());
  if (!block.Unpack(handover.data())) return {};
  block.Release();
  return Create(handover.payload(), &handover_allocator_, request);
}

// Damaged bytes would be unpacked to wrong ones without a word, or crash: ScmTier::Find has checked all of them, and
// they are served under the key that they came with only, so what the look-up's context unpacks with is what they were
// compressed with. Some look-ups have none.
OwnedObject BlockObjects::OfImage(const PinnedBlock& block, const Image& image, const BlockRequest& request) {
  if (request.context == nullptr) {
    Count(Event::kScmImageUnread, request);
    return {};
  }
  OwnedObject made;
  const auto stored = block.SteadyBytes();
  if (!stored) return {};
  const auto bytes = stored->last(image.bytes.size());
  const rocksdb::Status created =
      request.helper->create_cb(Slice(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
                                static_cast<rocksdb::CompressionType>(image.type), kCreateSource, request.context,
                                memory_allocator_, &made.obj, &made.charge);
  if (created.ok() && made.obj != nullptr) {
    if (request.helper->size_cb(made.obj) == block.logical_bytes()) return made;
    request.helper->del_cb(made.obj, memory_allocator_);
  }
  block.RejectImage();
  return {};
}

OwnedObject BlockObjects::Create(std::span<const std::byte> payload, rocksdb::MemoryAllocator* allocator,
                                 const BlockRequest& request) {
  OwnedObject made;
  const rocksdb::Status created = request.helper->create_cb(
      Slice(reinterpret_cast<const char*>(payload.data()), payload.size()), rocksdb::kNoCompression, kCreateSource,
      request.context, allocator, &made.obj, &made.charge);
  // The typed callbacks of RocksDB return OK and a null object when they fail.
  if (created.ok() && made.obj != nullptr) return made;
  Count(Event::kCreateFailed, request);
  return {};
}

}  // namespace mezz
