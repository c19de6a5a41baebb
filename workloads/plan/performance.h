// SPDX-License-Identifier: Apache-2.0
// How fast a machine serves a workload whose hit shares are known. docs/explanation/planning.md explains the model.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cache/media/model.h"
#include "cache/status.h"
#include "workloads/plan/hit_surface.h"
#include "workloads/replay/engine/flash_model.h"

namespace mezz::plan {

// A figure and what it may as well be.
struct Bracket {
  double low = 0;
  double value = 0;
  double high = 0;
};
nlohmann::json ToJson(const Bracket& bracket);  // null for what is infinite

// Time of a core for one operation. Presets, or what `mezz_plan calibrate` fitted; ns.
struct OperationCosts {
  Bracket base;        // of an operation all of whose blocks lie in DRAM
  Bracket scm_hit;     // more for a look-up found in SCM, the medium's own time left out
  Bracket flash_read;  // more for a look-up read from flash: the system call, the checksum, the insert, the demotion
  Bracket flash_wait;  // what a thread waits for such a look-up on an idle device; 0: as the model of the device says
  // How much the same operation varies, all blocks in DRAM: sigma of a lognormal whose mean is the operation's. 0: not.
  double base_sigma = 0;
  std::string source;
};
const OperationCosts& PresetCosts();

// More cores than any server has; the model of their queue takes longer with each.
inline constexpr unsigned kCoresMax = 4096;

// The media of the SCM tier: the only one or the fast one, and the slow one behind it.
enum MediumRank : size_t { kFastMedium, kSlowMedium, kMediaMax };

struct Machine {
  unsigned cores = 1;
  MediumModel scm{};  // of one module
  unsigned scm_modules = 1;
  MediumModel slow_scm{};         // of ordered media, the slow one
  unsigned slow_scm_modules = 0;  // 0: there is one medium
  // As mezz_replay --model does it: the medium's times come on top of what the host's own memory takes.
  bool scm_emulated = false;
  // Packing a record takes time of a core beyond the costs of operations. Else these are taken to have it.
  bool charges_packing = false;
  const FlashModel* flash = nullptr;
  unsigned flash_devices = 1;
  OperationCosts costs = PresetCosts();
};

// `none` is DRAM that stands for SCM, as in mezz_replay: without a limit of bandwidth.
Status ParseScmModel(const std::string& name, MediumModel* model);

struct Load {
  bool closed = true;
  unsigned threads = 1;  // closed loop: each asks again as soon as it is answered
  double rate = 0;       // open loop: operations a second, whatever the machine does
};

// What one medium of the SCM tier does.
struct MediumFigures {
  double hit = 0;  // of the look-ups
  double read_bytes_per_s = 0;
  double written_bytes_per_s = 0;
  double share = 0;  // of its bandwidth, read or written, whichever is nearer its limit
};

struct Prediction {
  Bracket throughput;  // operations a second
  Bracket mean_us, p50_us, p95_us, p99_us;
  double flash_reads_per_s = 0;
  double flash_bytes_per_s = 0;
  double scm_read_bytes_per_s = 0;  // of all media
  double scm_written_bytes_per_s = 0;
  std::array<MediumFigures, kMediaMax> media{};
  double cpu_share = 0;     // of all cores
  double scm_share = 0;     // of the bandwidth of the medium that is nearer its limit
  double flash_share = 0;   // of the device's reads or bandwidth, whichever is nearer its limit
  bool overloaded = false;  // open loop: more is asked for than the machine can do; latencies are then infinite
  // What is busiest: cpu, scm_read, scm_write, slow_scm_read, slow_scm_write, flash, flash_bandwidth; or, in a closed
  // loop in which nothing is busy, threads: each waits for its own answers, and more of them would get more.
  std::string bottleneck;
  TierShares shares;
};
Prediction Predict(const Machine& machine, const Traffic& traffic, const TierShares& shares, const Load& load);

}  // namespace mezz::plan
