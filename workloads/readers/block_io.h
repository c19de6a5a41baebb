// SPDX-License-Identifier: Apache-2.0
// What the readers of block I/O traces share: sectors of devices as extents.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "workloads/readers/trace_file.h"
#include "workloads/requests/request.h"

namespace mezz {

inline constexpr uint64_t kSectorBytes = 512;
// Devices lie this far apart in the space of keys, so that their blocks differ: 256 TiB each, 65,536 devices.
inline constexpr unsigned kDeviceShift = 48;
inline constexpr uint64_t kDevicesMax = uint64_t{1} << (64 - kDeviceShift);

// One read or write as its record tells it. The names are those of the record's fields.
struct BlockIo {
  uint64_t device = 0;
  uint64_t sector = 0;
  uint64_t length = 0;       // in length_unit bytes
  uint64_t length_unit = 1;  // 1, or a sector
  std::string_view device_name = "device";
  std::string_view sector_name = "lbn";
  std::string_view length_name = "size";
};

// Fills in key and extent_bytes of *request. Else what is wrong with `io`; empty is nothing. A length of 0 is sound:
// SCSI has such reads, which touch nothing.
std::string TakeExtent(const BlockIo& io, Request* request);

// A trace of nothing but block I/O, a record each: those of length 0 are counted and passed over.
class BlockIoFile : public TraceFile {
 public:
  bool Next(Request* request) final;
  Status Rewind() override;
  std::vector<std::string> remarks() const override;

 protected:
  using TraceFile::TraceFile;
  // The next record, or Fail().
  virtual bool TakeIo(Request* request) = 0;
  // TakeExtent(), or Fail().
  bool TakePlace(const BlockIo& io, Request* request) {
    const std::string problem = TakeExtent(io, request);
    return problem.empty() || Fail(problem);
  }

 private:
  uint64_t empty_ = 0;
};
// What remarks say of so many.
std::string EmptyIoRemark(uint64_t count);

// The commands that read and write, of 6, 10, 12 and 16 bytes.
constexpr bool IsScsiRead(uint64_t op) { return op == 0x08 || op == 0x28 || op == 0xa8 || op == 0x88; }
constexpr bool IsScsiWrite(uint64_t op) {
  const bool verified = op == 0x2e || op == 0xae || op == 0x8e;  // WRITE AND VERIFY, from 10 bytes on
  return op == 0x0a || op == 0x2a || op == 0xaa || op == 0x8a || verified;
}

}  // namespace mezz
