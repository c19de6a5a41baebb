// SPDX-License-Identifier: Apache-2.0
// Costs of operations on a machine, fitted to a result of mezz_replay there.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cache/status.h"
#include "workloads/plan/performance.h"

namespace mezz::plan {

struct Calibration {
  OperationCosts costs = PresetCosts();
  double lookups_per_operation = 1;
  double reads_per_miss = 1;
  std::string text;  // what was fitted from how many rows, and how well, for the terminal
};

// CPU time of an operation = base + SCM hits x scm_hit + misses x flash_read, by least squares over the windows of
// all rows of stock caches and hybrid (peers unpack or copy), no coefficient negative; the brackets are the
// coefficients' 95 % intervals, and at least what rows leave unexplained. The wait for one miss = (threads x
// time - CPU time) / misses, in rows of a closed loop where it shows, unless the flash was emulated: then the device's
// model has it, and instead of CPU time, part of which emulates the device while the thread waits for it, counts what
// threads took beside these waits (a closed loop of no more threads than cores). The time that an emulated SCM takes is
// taken out of scm_hit again: the planner adds that of the SCM it plans with.
//
// Scans miss more blocks than they make reads, since RocksDB reads ahead of them. Only the emulated flash tells how
// many reads those were (reads_per_miss; of compactions, which are few and large, it counts the reads, too). Of a disk
// the wait for a miss is the mean over both kinds.
//
// How much operations vary is seen where DRAM holds (nearly) all blocks, from P50 to P95.
//
// Refuses what is no result of mezz_replay, debug builds, and results in which nothing can be told apart, such as one
// cache alone whose blocks all lie in DRAM: the message says which caches would do. What the rows cannot tell (no SCM
// hit, no flash read) keeps its preset, and the text says so.
Status Calibrate(const nlohmann::json& result, const std::string& path, Calibration* calibration);

// A small JSON file, and back.
nlohmann::json CalibrationToJson(const Calibration& calibration);
Status ReadCalibration(const std::string& path, Calibration* calibration);

// What is planned with: the calibration at `path`, or without a path the presets; with `lookups` for an operation in
// place of its own, unless that is 0.
Status ChooseCalibration(const std::string& path, double lookups, Calibration* calibration);

}  // namespace mezz::plan
