// SPDX-License-Identifier: Apache-2.0
// The question of a buyer, and its answer: every server that can be bought, what it costs and does, which is the
// cheapest that meets the targets, and how sure that is.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "workloads/plan/cost.h"
#include "workloads/plan/performance.h"
#include "workloads/plan/target.h"

namespace mezz::plan {

struct Question {
  PriceBook book;
  Traffic traffic;
  const HitSurface* surface = nullptr;
  std::vector<Target> targets;
  std::string baseline;  // [SERVER/]dram:256G[+scm:1T], or scm:64G>256G of ordered media
  Load load;             // threads 0: as many as the baseline has cores
  OperationCosts costs = PresetCosts();
  std::string flash;  // a name of --flash, for all drives; empty: each drive as the book says
  double hosts = 1;
  double growth = 1;            // plan for so many times the data of the trace, used alike
  uint64_t reserved_bytes = 0;  // of DRAM, for all that is not our cache
  Date today;
};

inline constexpr size_t kNone = std::numeric_limits<size_t>::max();

struct Plan {
  Build build{};
  Cost cost{};
  Figures figures{};
  std::vector<double> slack{};  // by target; see Slack()
  bool feasible = false;        // all slacks >= 0
  bool sure = false;            // so at the bad end of the brackets, too
  bool on_frontier = false;     // no plan is cheaper and faster
};

// Turning one price: while the factor lies between, the choice stays.
struct Stays {
  CostItem item;
  double low = 0;        // 0: down to nothing
  double high = 0;       // infinite: whatever it costs
  size_t below = kNone;  // what is cheapest beyond
  size_t above = kNone;
  FactorRange range{};                     // how far the book lets it go
  size_t at_low = kNone, at_high = kNone;  // the cheapest feasible plan there
};

// What the workload may do before the choice misses a target; `next` is then the cheapest plan.
struct Withstands {
  double limit = 0;  // growth: times the data; flatter: share of look-ups spread evenly over all blocks
  double most = 0;   // how far was searched
  size_t next = kNone;
};

struct NextDollar {
  size_t from = kNone, to = kNone;
  double cost = 0, throughput = 0, p99_us = 0;  // differences
};

// By target.
struct Bounds {
  std::vector<double> value;
  std::vector<double> worst;  // with the baseline at its bad end
};

struct Answer {
  std::vector<Plan> plans;  // those of the frontier and those near it; by cost
  size_t considered = 0;    // all that were judged
  size_t baseline = kNone;
  size_t cheapest = kNone;       // feasible; kNone if nothing is
  size_t nearest = kNone;        // if nothing is feasible: the plan with the least shortfall
  size_t blocked_by = kNone;     // and the target that it misses by most
  size_t cheapest_dram = kNone;  // feasible without SCM
  Load load;                     // the question's, its threads filled in
  Bounds bounds;
  std::vector<size_t> frontier;  // by cost
  std::vector<NextDollar> next_dollars;
  std::vector<Stays> sensitivity;
  Withstands growth, flatter;
  double break_even_scm = 0;   // factor of SCM's price at which DRAM alone costs the same; 0: none
  double break_even_dram = 0;  // factor of DRAM's price, likewise
  std::string uri;             // configures the cheapest plan; empty: it has no SCM
  std::vector<std::string> warnings;
};

// The answer points into the question's price book. Refuses a baseline that no population of modules gives (naming
// those that are near), and books without DRAM or flash.
Status MakeAnswer(const Question& question, Answer* answer);

// What configures the cache of a build; empty: it has no SCM. SCM of the device "none" is DRAM of the process.
std::string UriOf(const Question& question, const Build& build);

std::string AnswerTable(const Question& question, const Answer& answer);
std::string AnswerCsv(const Question& question, const Answer& answer);
// docs/reference/plan.md, "The JSON".
nlohmann::json AnswerJson(const Question& question, const Answer& answer);

}  // namespace mezz::plan
