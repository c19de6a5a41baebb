// SPDX-License-Identifier: Apache-2.0
// What memory this machine has for an SCM tier, and the URI to use each of it: mezz_plan devices.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cache/base/machine_memory.h"
#include "cache/status.h"
#include "workloads/plan/devices/measure.h"
#include "workloads/plan/devices/place.h"

namespace mezz::plan {

struct Devices {
  MachineMemory memory;  // what this process can have
  std::vector<Place> places;
};

struct DevicesOptions {
  Surroundings surroundings{};
  bool measure = true;
  MeasureOptions measuring{};  // its root is that of the surroundings
  std::string json_path{};     // empty: no file
  std::string command_line{};
};

// Gives each place without trouble its URI. Its sizes are meant as a beginning: a quarter of the memory that can be had
// as DRAM for a medium of its own; half of it, for both tiers, where the medium is memory as well. If that leaves too
// little for a tier, the place gets the trouble.
void Advise(const MachineMemory& memory, std::vector<Place>* places);

std::string DevicesText(const Devices& devices);
nlohmann::json DevicesJson(const Devices& devices);

// Finds, measures and advises; writes the JSON; *text is for the terminal.
Status RunDevices(const DevicesOptions& options, std::string* text);

}  // namespace mezz::plan
