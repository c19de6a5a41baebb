// SPDX-License-Identifier: Apache-2.0
#include "workloads/readers/loaded_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <optional>

#include "workloads/requests/remarks.h"
#include "workloads/requests/spatial_sample.h"

namespace mezz {
namespace {

constexpr uint64_t kCheckEvery = 1 << 16;  // accesses between two looks at the memory in use

}  // namespace

uint64_t LoadedTrace::memory_bytes() const {
  return accesses_.capacity() * sizeof(BlockId) + blocks_.keys.capacity() * sizeof(uint64_t) +
         blocks_.bytes.capacity() * sizeof(uint32_t) + blocks_.roles.capacity() * sizeof(BlockRole) +
         time_us_.capacity() * sizeof(uint64_t) + events_.events.capacity() * sizeof(TraceEvent) +
         events_.shares.capacity() * sizeof(ParentShare<BlockId>) + events_.dead.capacity() * sizeof(BlockId);
}

void LoadedTrace::AppendBlock(uint64_t key, BlockRole role) {
  if (blocks_.roles.empty() && role != BlockRole::kData) blocks_.roles.assign(unique(), BlockRole::kData);
  if (!blocks_.roles.empty() || role != BlockRole::kData) blocks_.roles.push_back(role);
  blocks_.keys.push_back(key);
  if (!blocks_.bytes.empty()) blocks_.bytes.push_back(0);
}

void LoadedTrace::AppendEvent(const BlockEvent& event, KeyMap* map) {
  TraceEvent added{.before = accesses_.size(), .time_us = event.time_us, .kind = event.kind, .keys = event.keys};
  if (event.kind == BlockEventKind::kFileDeleted) {
    added.first = static_cast<uint32_t>(events_.dead.size());
    for (uint32_t number = 0;; ++number) {
      const std::optional<BlockId> block = map->Find(KeyInFile(FileOfKey(event.key), number));
      if (!block) break;
      events_.dead.push_back(*block);
    }
    added.count = static_cast<uint32_t>(events_.dead.size()) - added.first;
  } else {
    added.block = map->Number(event.key);
    if (added.block == unique()) AppendBlock(event.key, event.role);
    if (event.bytes != 0) NoteBytes(event.bytes, added.block);
    if (event.kind == BlockEventKind::kFlushed) added.lineage.kind = Lineage::Kind::kFlushed;
    added.first = static_cast<uint32_t>(events_.shares.size());
    added.count = static_cast<uint32_t>(event.parents.size());
    for (const auto& [keys, parent] : event.parents)  // one that nothing has named stood in no tier
      events_.shares.push_back({keys, map->Find(parent).value_or(ParentShare<BlockId>::kNoParent)});
  }
  events_.events.push_back(added);
}

void LoadedTrace::Append(const Request& request, BlockId block) {
  if (block == unique()) AppendBlock(request.key, request.role);
  if (request.value_bytes != 0) NoteBytes(request.value_bytes, block);
  if (request.time_us != 0 && time_us_.empty()) time_us_.assign(accesses_.size(), 0);
  if (request.time_us != 0 || !time_us_.empty()) time_us_.push_back(request.time_us);
  accesses_.push_back(block);
}

// While all is read, 0 is what is not known.
void LoadedTrace::NoteBytes(uint32_t bytes, BlockId block) {
  if (blocks_.bytes.empty()) blocks_.bytes.assign(blocks_.keys.size(), 0);
  uint32_t& known = blocks_.bytes[block];
  if (known != 0 && known != bytes) {
    resized_.resize(blocks_.keys.size());
    resized_[block] = true;
  }
  if (known == 0) known = bytes;
}

void LoadedTrace::FinishBytes() {
  for (uint32_t& bytes : blocks_.bytes) bytes = bytes == 0 ? unit_bytes_ : bytes;
  if (std::ranges::all_of(blocks_.bytes, [this](uint32_t bytes) { return bytes == unit_bytes_; })) blocks_.bytes = {};
  footprint_bytes_ = 0;
  for (BlockId block = 0; block < unique(); ++block) footprint_bytes_ += bytes(block);
  const auto resized = static_cast<uint64_t>(std::ranges::count(resized_, true));
  if (resized > 0) remarks_.push_back(SizesChangeRemark(resized));
}

Status LoadedTrace::Load(RequestSource* source, const LoadOptions& options, LoadedTrace* trace) {
  LoadedTrace loaded;
  loaded.name_ = source->description();
  loaded.unit_bytes_ = options.unit_bytes;
  loaded.sample_ = options.sample;
  std::optional<SpatialSample> sample;
  KeyMap map;
  for (Request request; source->Next(&request);) {
    if (!sample) sample.emplace(options.sample, options.seed, source->sample_rate());
    for (const BlockEvent& event : source->events()) loaded.AppendEvent(event, &map);
    if (!loaded.events_.events.empty() && options.sample < 1) {
      return Status::InvalidArgument(fmt::format(
          "trace {} names the parents of blocks, and a sample would lack most of them; leave out --sample={}",
          loaded.name_, options.sample));
    }
    if (!sample->Keeps(request.key)) {
      ++loaded.skipped_;
      continue;
    }
    loaded.Append(request, map.Number(request.key));
    const uint64_t count = loaded.accesses_.size();
    if (count % kCheckEvery == 0 && loaded.memory_bytes() + map.bytes() > options.memory_bytes_max) {
      return Status::NoSpace(fmt::format(
          "trace {} needs more than the {} MiB of --memory: {} blocks after {} accesses; raise it, or run a "
          "sample of the blocks, such as --sample={:.3g}",
          loaded.name_, options.memory_bytes_max >> 20, map.size(), count, options.sample / 100));
    }
  }
  MEZZ_RETURN_IF_ERROR(source->status());
  loaded.damaged_ = source->skipped();
  loaded.remarks_ = source->remarks();
  loaded.source_rate_ = source->sample_rate();
  loaded.FinishBytes();
  const std::string sampled = options.sample < 1 ? fmt::format(" at --sample={}", options.sample) : "";
  if (loaded.accesses_.empty()) {
    return Status::InvalidArgument(fmt::format("trace {} holds no requests{}", loaded.name_, sampled));
  }
  if (loaded.unique() == loaded.accesses_.size() && loaded.events_.events.empty()) {
    return Status::InvalidArgument(
        fmt::format("trace {} asks for each of its {} blocks once{}: there is no reuse, so no cache helps",
                    loaded.name_, loaded.unique(), sampled));
  }
  *trace = std::move(loaded);
  return Status::Ok();
}

double LoadedTrace::mean_access_bytes() const {
  if (blocks_.bytes.empty()) return unit_bytes_;
  double sum = 0;
  for (const BlockId block : accesses_) sum += blocks_.bytes[block];
  return sum / static_cast<double>(accesses_.size());
}

}  // namespace mezz
