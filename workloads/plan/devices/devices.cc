// SPDX-License-Identifier: Apache-2.0
#include "workloads/plan/devices/devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "cache/base/text.h"
#include "cache/media/bus_errors.h"
#include "workloads/program/program.h"

namespace mezz::plan {
namespace {

// So that a host with hundreds of tmpfs is through in seconds too.
constexpr size_t kMeasuredMax = 8;

struct KindRow {
  PlaceKind kind;
  std::string_view title;
  std::string_view none;  // what to do where there is none; empty: it goes without saying
};
constexpr KindRow kKinds[] = {
    {PlaceKind::kNumaNode, "NUMA nodes without processors (CXL)",
     "none; daxctl reconfigure-device --mode=system-ram makes one of a DAX device whose node has no processors"},
    {PlaceKind::kDaxDevice, "DAX devices", "none in /sys/bus/dax/devices"},
    {PlaceKind::kDaxMount, "file systems with DAX", "none: ext4 or xfs on /dev/pmem*, mounted with -o dax=always"},
    {PlaceKind::kTmpfs, "tmpfs", "none"},
    {PlaceKind::kProcess, "memory of the process", ""},
};

std::string SpeedText(const Place& place) {
  if (!place.speed) return fmt::format("not measured: {}", place.not_measured);
  const PlaceSpeed& speed = *place.speed;
  const std::string writes =
      speed.write_bytes_per_s == 0
          ? "not written to, as it holds data"
          : fmt::format("writes of {}/s", HumanBytes(static_cast<uint64_t>(speed.write_bytes_per_s)));
  return fmt::format("one thread: a read of 4 KiB in {:.0f} ns, {}", speed.read_ns, writes);
}

std::string SpaceText(const Place& place) {
  if (place.total_bytes == 0) return "";
  return fmt::format("{} of {} available", HumanBytes(place.available_bytes), HumanBytes(place.total_bytes));
}

void AppendPlace(const Place& place, std::string* text) {
  const std::string space = SpaceText(place);
  *text += fmt::format("  {}{}{}\n", NameOf(place), space.empty() ? "" : ": ", space);
  if (!place.trouble.empty()) *text += fmt::format("    not usable: {}\n", place.trouble);
  if (place.trouble.empty()) *text += fmt::format("    {}\n", SpeedText(place));
  for (const std::string& remark : place.remarks) *text += fmt::format("    note: {}\n", remark);
  if (!place.uri.empty()) *text += fmt::format("    {}\n", place.uri);
}

void Measure(const MeasureOptions& options, std::vector<Place>* places) {
  size_t measured = 0;
  // The process's own first: the others are compared with it.
  for (auto place = places->rbegin(); place != places->rend(); ++place) {
    if (!place->trouble.empty()) continue;
    if (measured == kMeasuredMax) {
      place->not_measured = fmt::format("{} places were measured already", kMeasuredMax);
      continue;
    }
    ++measured;
    const Status status = MeasurePlace(options, &*place);
    if (!status.ok()) {
      place->not_measured = status.message();
    } else if (place->kind == PlaceKind::kDaxMount && !place->speed->persistent_memory) {
      place->remarks.push_back(fmt::format(
          "the kernel did not grant MAP_SYNC for a file there ({}): it works, and a cut of power may cost more of it",
          place->speed->medium));
    }
  }
}

}  // namespace

std::string DevicesText(const Devices& devices) {
  const MachineMemory& memory = devices.memory;
  std::string text = fmt::format("memory: {} available of {}, by {}\n", HumanBytes(memory.available_bytes),
                                 HumanBytes(memory.limit_bytes), memory.limited_by);
  for (const KindRow& row : kKinds) {
    const auto is = [&](const Place& place) { return place.kind == row.kind; };
    text += fmt::format("\n{}\n", row.title);
    if (std::ranges::none_of(devices.places, is)) text += fmt::format("  {}\n", row.none);
    for (const Place& place : devices.places) {
      if (is(place)) AppendPlace(place, &text);
    }
  }
  return text;
}

nlohmann::json DevicesJson(const Devices& devices) {
  nlohmann::json json{{"memory",
                       {{"total_bytes", devices.memory.total_bytes},
                        {"available_bytes", devices.memory.available_bytes},
                        {"limited_by", devices.memory.limited_by},
                        {"limit_bytes", devices.memory.limit_bytes}}},
                      {"places", nlohmann::json::array()}};
  for (const Place& place : devices.places) {
    nlohmann::json one{{"kind", ToString(place.kind)},
                       {"name", NameOf(place)},
                       {"total_bytes", place.total_bytes},
                       {"available_bytes", place.available_bytes},
                       {"usable", place.trouble.empty()},
                       {"trouble", place.trouble},
                       {"remarks", place.remarks},
                       {"not_measured", place.not_measured},
                       {"uri", place.uri}};
    if (place.speed) {
      one["speed"] = {{"scratch_bytes", place.speed->scratch_bytes},
                      {"read_4k_ns", place.speed->read_ns},
                      {"write_bytes_per_s", place.speed->write_bytes_per_s},
                      {"persistent_memory", place.speed->persistent_memory},
                      {"medium", place.speed->medium}};
    }
    json["places"].push_back(std::move(one));
  }
  return json;
}

Status RunDevices(const DevicesOptions& options, std::string* text) {
  MEZZ_RETURN_IF_ERROR(CheckWritable("json", options.json_path));
  MEZZ_RETURN_IF_ERROR(ContainBusErrors());
  Devices devices{.memory = ReadMachineMemory(options.surroundings.root), .places = FindPlaces(options.surroundings)};
  Advise(devices.memory, &devices.places);
  MeasureOptions measuring = options.measuring;
  measuring.root = options.surroundings.root;
  if (options.measure) {
    Measure(measuring, &devices.places);
  } else {
    for (Place& place : devices.places) place.not_measured = place.trouble.empty() ? "--list" : "";
  }
  *text = DevicesText(devices);
  if (options.json_path.empty()) return Status::Ok();
  nlohmann::json json = ManifestOf("mezz_plan", options.command_line);
  json.update(DevicesJson(devices));
  return WriteJson(options.json_path, json, 1);
}

}  // namespace mezz::plan
