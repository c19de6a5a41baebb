// SPDX-License-Identifier: Apache-2.0
// `mezz_plan predict`: the model's figures for tiers of given sizes on a given machine, without prices. What
// mezz_replay measures there is the check.
#pragma once

#include <cstdint>
#include <string>

#include "admission/curves/curve.h"
#include "cache/status.h"

namespace mezz::plan {

struct PredictOptions {
  // DRAM[+SCM], or DRAM+FAST>SLOW of ordered media, comma-separated: 256M+1G,8M+64M,512M. As in mezz_replay, DRAM holds
  // index and policy, too.
  std::string sizes;
  std::string model = "none";  // SCM: none, optane100, cxl; of ordered media both, the fast one first: cxl,optane100
  uint32_t scm_modules = 1;    // of each medium
  bool emulated = false;       // as mezz_replay --model emulates it, on top of the host's memory
  std::string flash = "nvme_flash";  // or disk: that of the calibration
  uint32_t cores = 0;                // 0: as many as this machine has
  uint32_t threads = 0;              // 0: as many as cores
  double rate = 0;                   // open loop; 0: closed
  std::string calibration;
  double lookups_per_operation = 0;  // 0: the calibration's, or 1
  std::string json_path;
  std::string command_line;
};

// Writes the file; *text is for the terminal.
Status RunPredict(const PredictOptions& options, const Curve& curve, std::string* text);

}  // namespace mezz::plan
