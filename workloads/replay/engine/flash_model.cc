// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/engine/flash_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <functional>
#include <nlohmann/json.hpp>

#include "admission/curves/block_key.h"

namespace mezz {
namespace {

constexpr double kLatencyBytes = 4096;  // what published latencies are of

// AnandTech 11209: "The Intel Optane SSD DC P4800X 375GB Review", April 2017, page "Checking Intel's Numbers",
// measured. AnandTech 13704: "The Enterprise SSD Roundup: Intel, Samsung, Memblaze", January 2019, page "QD1 Random
// Read". ComputerBase: "Intel SSD 530 Serie SATA mit 240 GB im Test", January 2014, page 2, the new drive under AS SSD.
//
// Beside writes: no source measured these devices so, and all of them serve reads and writes from one set of dies. That
// both take the device's time in turns agrees with what is published of a mix: 550,000 reads or 500,000 writes a second
// (P4800X) make 534,000 at 70:30 in turns, 500,000 by Intel's product brief (from memory).

constexpr FlashModel kModels[] = {
    // ISPASS 2020's SATA drive. Intel, "Solid-State Drive 530 Series", product specification 329213, September 2013:
    // 41,000 reads of 4 KB a second, 540 and 490 MB/s read and written.
    {.name = "sata_ssd",
     .device = "Intel SSD 530",
     // Median: ComputerBase's 20.83 MB/s of 4 KiB reads, one at a time. 99 % and 99.99 %: as nvme_flash's, times the
     // median.
     .latency = {{{0, 160}, {0.5, 187}, {0.99, 236}, {0.9999, 468}, {1, 468}}},
     .queue_depth = 8,  // the published rate x the mean latency (Little's law)
     .bytes_per_ns = 0.54,
     .write_us = 56,  // ComputerBase: 70.2 MB/s of 4 KiB, one at a time
     .sync_us = 277,  // ComputerBase: access time of writes; the drive has no capacitors for what it holds in DRAM
     .write_bytes_per_ns = 0.49},
    // A data-centre TLC drive on PCIe 3. Lenovo Press, "Intel P4500 NVMe PCIe 3.0 x4 Drives", product guide, 2.0 TB:
    // random read latency 85 us, 490,000 reads of 4 KB a second, 3.2 GB/s.
    {.name = "nvme_flash",
     .device = "Intel SSD DC P4500 2 TB",
     // Median: the published latency. 99 %: 1.26 times it, as on a P3700 (96 to 76 us, AnandTech 11209). 99.99 %: 2.5
     // times it, as on a P4510, its successor (AnandTech 13704); nothing is slower, since what is slower is too rare to
     // repeat in windows of some seconds. The fastest is such that the mean is 1.025 times the median, as on the P3700
     // (77.9 to 76 us).
     .latency = {{{0, 69}, {0.5, 85}, {0.99, 107}, {0.9999, 213}, {1, 213}}},
     .queue_depth = 43,  // the published rate x the mean latency (Little's law)
     .bytes_per_ns = 3.2,
     // The same guide: writes in sequence 13 us, 1.05 GB/s. What it has taken, power loss does not take from it, so a
     // sync adds nothing.
     .write_us = 13,
     .write_bytes_per_ns = 1.05},
    // ISPASS 2020's 3D XPoint drive. AnandTech 11953, "The Intel Optane SSD 900P Review": the platform of the P4800X,
    // whose latencies these are (below). Intel's product brief, from memory: 550,000 reads, 500,000 writes of 4 KB a
    // second, 2.5 and 2.0 GB/s.
    {.name = "xpoint_ssd",
     .device = "Intel Optane SSD 900P 280 GB",
     .latency = {{{0, 8}, {0.5, 9}, {0.99, 10}, {0.99999, 37}, {1, 37}}},
     .queue_depth = 5,  // the published rate x the mean latency
     .bytes_per_ns = 2.5,
     .write_us = 10,  // the product brief, cited from memory. No DRAM cache (AnandTech 11953): a sync adds nothing
     .write_bytes_per_ns = 2.0},
    // AnandTech 11209: median 9 us, mean 8.9, 99 % 10, 99.999 % 37. Intel's product brief: 550,000 reads of 4 KB a
    // second, 2.4 GB/s.
    {.name = "optane_ssd",
     .device = "Intel Optane SSD DC P4800X 375 GB",
     .latency = {{{0, 8}, {0.5, 9}, {0.99, 10}, {0.99999, 37}, {1, 37}}},
     .queue_depth = 5,  // the published rate x the mean latency
     .bytes_per_ns = 2.4},
    // A volume over the network. Amazon EBS user guide, "Provisioned IOPS SSD volumes": under 500 us on average,
    // 256,000 reads a second, 4,000 MB/s. Only the mean is published; the shape around it is ours.
    {.name = "network_volume",
     .device = "Amazon EBS io2 Block Express",
     .latency = {{{0, 400}, {0.5, 490}, {0.99, 600}, {0.9999, 1500}, {1, 1500}}},
     .queue_depth = 128,  // the published rate x the mean latency
     .bytes_per_ns = 4.0},
};

}  // namespace

double FlashModel::LatencyNs(double share) const {
  assert(share >= 0 && share <= 1);
  const auto* const to = std::find_if(latency.begin() + 1, latency.end() - 1,
                                      [&](const LatencyPoint& point) { return share <= point.share; });
  const LatencyPoint& from = *(to - 1);
  const double part = (share - from.share) / (to->share - from.share);
  return 1e3 * (from.us + part * (to->us - from.us));
}

double FlashModel::MeanLatencyNs() const {
  double us = 0;
  for (size_t i = 1; i < latency.size(); ++i)
    us += (latency[i].share - latency[i - 1].share) * (latency[i].us + latency[i - 1].us) / 2;
  return 1e3 * us;
}

Status ParseFlash(const std::string& name, const FlashModel** model) {
  *model = nullptr;
  if (name == "disk") return Status::Ok();
  std::string known = "disk";
  for (const FlashModel& one : kModels) {
    if (one.name == name) {
      *model = &one;
      return Status::Ok();
    }
    known += fmt::format(", {}", one.name);
  }
  return Status::InvalidArgument(fmt::format("--flash={} is not known; it is one of {}", name, known));
}

std::string_view FlashName(const FlashModel* model) { return model == nullptr ? "disk" : model->name; }

nlohmann::json ToJson(const FlashModel* model) {
  nlohmann::json json = {{"name", FlashName(model)}, {"emulated", model != nullptr}};
  if (model == nullptr) return json;
  json.update({{"device", model->device},
               {"mean_latency_us", model->MeanLatencyNs() / 1e3},
               {"queue_depth", model->queue_depth},
               {"bytes_per_s", model->bytes_per_ns * 1e9},
               {"write_us", model->write_us},
               {"sync_us", model->sync_us},
               {"write_bytes_per_s", model->write_bytes_per_ns * 1e9}});
  for (const LatencyPoint& point : model->latency) json["latency_us"].push_back({point.share, point.us});
  return json;
}

std::string Describe(const FlashModel& model) {
  const std::string writes =
      model.writes_wait() ? fmt::format("{:.0f} us, {:.1f} GB/s written", model.write_us, model.write_bytes_per_ns)
                          : "writes take no time";
  return fmt::format("{} (emulated: {}; {:.0f} us on average, {} reads at once, {:.1f} GB/s; {})", model.name,
                     model.device, model.MeanLatencyNs() / 1e3, model.queue_depth, model.bytes_per_ns, writes);
}

FlashQueue::FlashQueue(const FlashModel& model, uint64_t seed)
    : model_(model), seed_(MixWord(seed)), free_at_(model.queue_depth, 0) {
  assert(model.queue_depth > 0 && model.bytes_per_ns > 0);
}

double FlashQueue::Draw() {
  constexpr double kUnit = 1.0 / (uint64_t{1} << 53);
  return static_cast<double>(MixWord(seed_ ^ MixWord(reads_++)) >> 11) * kUnit;
}

uint64_t FlashQueue::Submit(uint64_t now_ns, size_t bytes) {
  const auto size = static_cast<double>(bytes);
  const std::lock_guard lock(mutex_);
  std::pop_heap(free_at_.begin(), free_at_.end(), std::greater<>());
  double& slot = free_at_.back();
  const double start = std::max(static_cast<double>(now_ns), slot);
  const double shared = start < written_at_ ? 2 : 1;
  const double own = shared * model_.LatencyNs(Draw()) + std::max(0.0, size - kLatencyBytes) / model_.bytes_per_ns;
  moved_at_ = std::max(moved_at_, start) + size / model_.bytes_per_ns;
  const double done = std::max(start + own, moved_at_);
  assert(done >= static_cast<double>(now_ns));
  slot = done;
  std::push_heap(free_at_.begin(), free_at_.end(), std::greater<>());
  return static_cast<uint64_t>(done);
}

uint64_t FlashQueue::SubmitWrite(uint64_t now_ns, size_t bytes) {
  assert(model_.writes_wait());
  const std::lock_guard lock(mutex_);
  const double start = std::max(static_cast<double>(now_ns), written_at_);
  written_at_ = start + static_cast<double>(bytes) / model_.write_bytes_per_ns;
  return static_cast<uint64_t>(std::max(start + 1e3 * model_.write_us, written_at_));
}

}  // namespace mezz
