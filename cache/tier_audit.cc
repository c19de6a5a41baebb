// SPDX-License-Identifier: Apache-2.0
#include "cache/tier_audit.h"

#include <fmt/format.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "cache/layout.h"

namespace mezz {

ScmAudit TierAudit::Run() {
  for (uint64_t slot = 0; slot < parts_.index.slots(); ++slot) AuditWord(parts_.index.At(slot));
  for (uint32_t i = 0; i < parts_.log.segments(); ++i) audit_.live_pins += parts_.log.pins(SegmentId{i});
  parts_.log.Audit(&audit_.violations);
  if (parts_.stage != nullptr && parts_.guard.InParent()) {
    audit_.live_pins += parts_.stage->blocks().pins();
    if (const unsigned busy = parts_.stage->blocks().busy(); busy != 0)
      audit_.violations.push_back(fmt::format("{} blocks are staged, and nobody is at them", busy));
  }
  if (!std::cmp_equal(audit_.resident_blocks, parts_.index.counted()))
    audit_.violations.push_back(
        fmt::format("{} blocks in the index, {} counted", audit_.resident_blocks, parts_.index.counted()));
  audit_.medium_bytes = figures_.capacity_bytes();
  audit_.dram_bytes = figures_.dram().total();
  return std::move(audit_);
}

void TierAudit::AuditWord(Index::Entry entry) {
  const IndexWord word = entry.word;
  if (word.empty()) return;
  ++audit_.resident_blocks;
  const auto violation = [&](std::string_view what) {
    audit_.violations.push_back(fmt::format("word of line {}: {}", word.line(), what));
  };
  const uint64_t offset = word.line() * kLineBytes;
  if (offset >= parts_.medium.bytes()) return violation("points past the medium");
  const SegmentId segment = parts_.reader.SegmentOf(word);
  const auto state = parts_.log.state(segment);
  if (state != SegmentLog::State::kOpen && state != SegmentLog::State::kSealed)
    return violation("points into a segment that holds no records");
  if (offset < parts_.log.FirstRecord(segment) || offset >= parts_.log.Tail(segment))
    return violation("points outside the log");
  const auto header = record::ReadHeader(parts_.medium, {offset, static_cast<uint32_t>(parts_.log.Sequence(segment))});
  if (!header) return violation("points to a damaged header");
  if (offset + layout::RecordBytes(header->payload_bytes) > parts_.log.Tail(segment))
    return violation("record is too long");
  if ((header->flags & layout::kRecordVoid) != 0) violation("points to a void record");
  if (!parts_.reader.PayloadIsWhole(record::HeaderAt(parts_.medium, offset)))
    return violation("payload does not match its checksum");
  if (parts_.index.Hash(header->key).tag != word.tag()) violation("tag is not its key's");
  const Index::Entry found = parts_.index.FindLine(parts_.index.Hash(header->key), word.line());
  if (!found || found.slot != entry.slot) violation("is in a wrong bucket");
  if (!keys_.emplace(header->key.bytes()).second) violation("is the second one of its key");
  audit_.resident_payload_bytes += header->payload_bytes;
  if (record::IsPacked(*header)) return AuditPacked(record::HeaderAt(parts_.medium, offset), violation);
  audit_.resident_logical_bytes += record::PayloadBytes(*header);
}

void TierAudit::AuditPacked(const record::Header& header, const std::function<void(std::string_view)>& violation) {
  const auto payload = record::PayloadOf(header);
  const auto prefix = Packer::ReadPrefix(payload);
  if (!prefix || parts_.packer == nullptr) return violation("is packed as nothing is");
  ++audit_.packed_blocks;
  audit_.resident_logical_bytes += prefix->logical_bytes;
  if (!Packer::IsPackable(header.role, prefix->logical_bytes)) violation("is packed and should not be");
  if (8 * layout::RecordBytes(payload.size()) > 7 * layout::RecordBytes(prefix->logical_bytes))
    violation("is packed and saves less than an eighth");
  if (prefix->codec == Codec::kImage) return;  // the host's to unpack
  std::vector<std::byte> block(prefix->logical_bytes);
  const SegmentId segment = parts_.log.SegmentAt(parts_.medium.OffsetOf(payload.data()));
  if (prefix->dictionary != 0 && !parts_.log.kept_dictionaries().Keeps(segment, prefix->dictionary)) {
    violation("was packed with a dictionary that is gone");
  } else if (parts_.packer->Unpack(payload, *prefix, block.data()) != Unpacked::kDone) {
    violation("does not unpack");
  } else if (record::PayloadChecksum(block) != prefix->logical_checksum) {
    violation("unpacks to other bytes");
  }
}

}  // namespace mezz
