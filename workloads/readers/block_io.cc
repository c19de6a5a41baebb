// SPDX-License-Identifier: Apache-2.0
#include "workloads/readers/block_io.h"

#include <fmt/format.h>

namespace mezz {

std::string TakeExtent(const BlockIo& io, Request* request) {
  const uint64_t length_max = kExtentBytesMax / io.length_unit;
  if (io.length > length_max) {
    return fmt::format("field {} is {}; it goes from 0 to {}", io.length_name, io.length, length_max);
  }
  if (io.sector >= ((uint64_t{1} << kDeviceShift) - kExtentBytesMax) / kSectorBytes) {
    return fmt::format("field {} is {}; that is no place on a disk", io.sector_name, io.sector);
  }
  if (io.device >= kDevicesMax) {
    return fmt::format("field {} is {}; it goes from 0 to {}", io.device_name, io.device, kDevicesMax - 1);
  }
  request->key = (io.device << kDeviceShift) + io.sector * kSectorBytes;
  request->extent_bytes = static_cast<uint32_t>(io.length * io.length_unit);
  return {};
}

bool BlockIoFile::Next(Request* request) {
  while (TakeIo(request)) {
    if (request->extent_bytes != 0) return true;
    ++empty_;
  }
  return false;
}

Status BlockIoFile::Rewind() {
  empty_ = 0;
  return TraceFile::Rewind();
}

std::vector<std::string> BlockIoFile::remarks() const {
  return empty_ == 0 ? std::vector<std::string>() : std::vector{EmptyIoRemark(empty_)};
}

std::string EmptyIoRemark(uint64_t count) {
  return fmt::format("{} reads and writes of length 0 touch nothing and are left out", count);
}

}  // namespace mezz
