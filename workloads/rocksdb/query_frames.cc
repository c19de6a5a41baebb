// SPDX-License-Identifier: Apache-2.0
#include "workloads/rocksdb/query_frames.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "workloads/readers/fields.h"

namespace mezz {
namespace {

constexpr uint32_t kPayloadMax = 1u << 30;  // a write batch is one record
constexpr uint32_t kHeaderMax = 4096;
constexpr size_t kPiece = 1 << 20;  // a damaged length must not allocate what the file does not have
constexpr int kFirstVersion = 1, kLastVersion = 2;
constexpr size_t kBatchHeadBytes = 12;

// The bits of a payload's map, in the order of the fields they announce (TracePayloadType in trace_replay.h).
enum PayloadField : unsigned {
  kWriteBatch = 1,
  kGetFamily = 2,
  kGetKey = 3,
  kIterFamily = 4,
  kIterKey = 5,
  kIterLower = 6,
  kIterUpper = 7,
  kMultiGetSize = 8,
  kMultiGetFamilies = 9,
  kMultiGetKeys = 10,
};
constexpr uint64_t Bit(unsigned field) { return uint64_t{1} << field; }

struct PayloadShape {
  uint64_t required;
  uint64_t optional = 0;
};

bool ShapeOf(uint8_t type, PayloadShape* shape) {
  switch (type) {
    case kRocksdbWrite:
      *shape = {Bit(kWriteBatch)};
      return true;
    case kRocksdbGet:
      *shape = {Bit(kGetFamily) | Bit(kGetKey)};
      return true;
    case kRocksdbSeek:
    case kRocksdbSeekForPrev:
      *shape = {Bit(kIterFamily) | Bit(kIterKey), Bit(kIterLower) | Bit(kIterUpper)};
      return true;
    case kRocksdbMultiGet:
      *shape = {Bit(kMultiGetSize) | Bit(kMultiGetFamilies) | Bit(kMultiGetKeys)};
      return true;
    default:
      return false;
  }
}

const uint8_t* Bytes(std::string_view text) { return reinterpret_cast<const uint8_t*>(text.data()); }

std::string WhatIsLeft(const RocksdbFields& fields) {
  if (!fields.cut().empty()) return fmt::format("field {} is cut short", fields.cut());
  return fields.left() > 0 ? fmt::format("{} bytes follow its last field", fields.left()) : "";
}

// Version 0.1: the fields alone.
std::string FlawOfFirstVersion(uint8_t type, std::string_view payload) {
  if (type == kRocksdbWrite) return payload.size() < kBatchHeadBytes ? "field write batch is cut short" : "";
  if (type == kRocksdbMultiGet) return "a MultiGet in a trace of version 0.1, which has none";
  RocksdbFields fields(Bytes(payload), payload.size());
  fields.Fixed<uint32_t>("column family");
  fields.Bytes("key");
  return WhatIsLeft(fields);
}

std::string FlawOfMultiGet(uint32_t size, std::string_view families, std::string_view keys) {
  if (size == 0 || families.size() != size_t{size} * sizeof(uint32_t)) {
    return fmt::format("field number of keys is {}, but there are column families for {}", size,
                       families.size() / sizeof(uint32_t));
  }
  RocksdbFields fields(Bytes(keys), keys.size());
  for (uint32_t i = 0; i < size && fields.cut().empty(); ++i) fields.Bytes("keys");
  return WhatIsLeft(fields);
}

// Version 0.2: a map of the fields, then the fields.
std::string FlawOf(uint8_t type, const PayloadShape& shape, std::string_view payload) {
  RocksdbFields fields(Bytes(payload), payload.size());
  const auto map = fields.Fixed<uint64_t>("payload map");
  if ((map & shape.required) != shape.required || (map & ~(shape.required | shape.optional)) != 0) {
    return fmt::format("field payload map is 0x{:x}, which a record of type {} does not have", map, type);
  }
  uint32_t multiget_size = 0;
  std::string_view families;
  std::string_view keys;
  for (uint64_t left = map; left != 0; left &= left - 1) {
    switch (const int field = std::countr_zero(left); field) {
      case kGetFamily:
      case kIterFamily:
        fields.Fixed<uint32_t>("column family");
        break;
      case kMultiGetSize:
        multiget_size = fields.Fixed<uint32_t>("number of keys");
        break;
      case kMultiGetFamilies:
        families = fields.Bytes("column families");
        break;
      case kMultiGetKeys:
        keys = fields.Bytes("keys");
        break;
      case kWriteBatch:
        if (fields.Bytes("write batch").size() < kBatchHeadBytes) return "field write batch is cut short";
        break;
      default:
        fields.Bytes(field == kIterLower ? "lower bound" : field == kIterUpper ? "upper bound" : "key");
    }
  }
  std::string flaw = WhatIsLeft(fields);
  return flaw.empty() && type == kRocksdbMultiGet ? FlawOfMultiGet(multiget_size, families, keys) : flaw;
}

// "LABEL: MAJOR.MINOR"; 10 for 1.0, as RocksDB counts it.
bool ParseVersion(std::string_view field, std::string_view label, int* version) {
  if (!field.starts_with(label)) return false;
  field.remove_prefix(label.size());
  const size_t dot = field.find('.');
  uint64_t major = 0;
  uint64_t minor = 0;
  constexpr uint64_t kMax = 999;
  if (dot == std::string_view::npos || !ParseNumber(field.substr(0, dot), 10, &major) ||
      !ParseNumber(field.substr(dot + 1), 10, &minor) || major > kMax || minor > kMax) {
    return false;
  }
  *version = static_cast<int>(major * 10 + minor);
  return true;
}

rocksdb::Status Damage() { return rocksdb::Status::Corruption("damaged record"); }

}  // namespace

rocksdb::Status QueryFrames::Reset() {
  file_.reset();
  version_ = 0;
  record_at_ = 0;
  ended_ = false;
  lost_ = Lost::kAll;
  status_ = CompressedFile::Open(path_, &file_);
  return status_.ok() ? rocksdb::Status::OK() : rocksdb::Status::IOError(status_.message());
}

rocksdb::Status QueryFrames::Close() {
  file_.reset();
  return rocksdb::Status::OK();
}

rocksdb::Status QueryFrames::Read(std::string* record) {
  record->clear();
  if (ended_ || !status_.ok() || file_ == nullptr) return rocksdb::Status::Incomplete("no more records");
  record_at_ = file_->position();
  if (!ReadBytes(RocksdbRecordHead::kBytes, record, "the head of a record")) return Damage();
  const RocksdbRecordHead head(Bytes(*record));
  const uint32_t max = version_ == 0 ? kHeaderMax : kPayloadMax;
  if (head.payload_bytes > max) {
    Fail(Lost::kRest, head.IsOfOtherByteOrder(max)
                          ? "field payload length has the other byte order: RocksDB's traces are little-endian"
                          : fmt::format("field payload length is {}; it goes up to {}", head.payload_bytes, max));
    return Damage();
  }
  if (!ReadBytes(head.payload_bytes, record, "the payload of a record")) return Damage();
  const std::string_view payload = std::string_view(*record).substr(RocksdbRecordHead::kBytes);
  return Check(head, payload) ? rocksdb::Status::OK() : Damage();
}

// Appends to *to.
bool QueryFrames::ReadBytes(size_t bytes, std::string* to, std::string_view what) {
  const size_t begin = to->size();
  while (to->size() - begin < bytes) {
    const size_t before = to->size();
    to->resize(std::min(before + kPiece, begin + bytes));
    size_t got = 0;
    if (Status read = file_->Read(to->data() + before, to->size() - before, &got); !read.ok()) {
      status_ = std::move(read);
      lost_ = file_->damaged() && version_ != 0 ? Lost::kRest : Lost::kAll;
      return false;
    }
    if (before + got == to->size()) continue;
    return Fail(Lost::kRest, fmt::format("this is an unfinished recording: {} is cut short, {} of {} bytes", what,
                                         before + got - begin, bytes));
  }
  return true;
}

bool QueryFrames::Check(const RocksdbRecordHead& head, std::string_view payload) {
  if (version_ == 0) return CheckHeader(head, payload);
  if (head.type == kRocksdbEnd) {
    ended_ = true;
    return true;
  }
  PayloadShape shape{};
  if (!ShapeOf(head.type, &shape)) {
    return Fail(Lost::kRecord, fmt::format("field type is {}, which is no query", head.type));
  }
  const std::string flaw = version_ == 1 ? FlawOfFirstVersion(head.type, payload) : FlawOf(head.type, shape, payload);
  return flaw.empty() || Fail(Lost::kRecord, fmt::format("record of type {}: {}", head.type, flaw));
}

bool QueryFrames::CheckHeader(const RocksdbRecordHead& head, std::string_view payload) {
  if (head.type != kRocksdbBegin || payload.find(kRocksdbTraceMagic) > 1) {
    return Fail(Lost::kAll, "this is no RocksDB trace: field type or magic of the header is wrong");
  }
  if (!payload.starts_with(kRocksdbTraceMagic)) {
    return Fail(Lost::kAll, "this is a RocksDB block-cache trace; use --format=rocksdb_block");
  }
  std::array<std::string_view, 4> fields;
  int rocksdb_version = 0;
  if (SplitFields(payload, '\t', &fields) != fields.size() || !ParseVersion(fields[1], "Trace Version: ", &version_) ||
      !ParseVersion(fields[2], "RocksDB Version: ", &rocksdb_version)) {
    version_ = 0;
    return Fail(Lost::kAll, fmt::format("the header is damaged: \"{}\"", Shown(payload)));
  }
  if (version_ >= kFirstVersion && version_ <= kLastVersion) return true;
  const std::string found(fields[1]);
  version_ = 0;
  return Fail(Lost::kAll, fmt::format("the header says {}; versions 0.1 and 0.2 can be read", found));
}

bool QueryFrames::Fail(Lost lost, std::string_view message) {
  lost_ = version_ == 0 ? Lost::kAll : lost;
  status_ = Status::InvalidArgument(fmt::format("trace {}, at byte {}: {}", path_, record_at_, message));
  return false;
}

bool QueryFrames::SkipDamaged() {
  if (status_.ok() || lost_ == Lost::kAll) return false;
  ended_ = lost_ == Lost::kRest;
  status_ = Status::Ok();
  return true;
}

}  // namespace mezz
