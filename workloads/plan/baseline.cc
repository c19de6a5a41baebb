// SPDX-License-Identifier: Apache-2.0
#include "workloads/plan/baseline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "cache/base/text.h"
#include "workloads/plan/judge.h"

namespace mezz::plan {
namespace {

struct BaselineSpec {
  std::string server;
  uint64_t dram_bytes = 0;
  uint64_t scm_bytes = 0;
  uint64_t slow_scm_bytes = 0;  // of ordered media; 0: one medium
};

Status ParseBaseline(const Question& question, BaselineSpec* spec) {
  const auto refused = [&](const std::string& why) {
    return Status::InvalidArgument(fmt::format(
        "--baseline={}: {}; it is [SERVER/]dram:SIZE[+scm:SIZE], such as dram:256G, or with a fast medium before a "
        "slow one dram:64G+scm:64G>256G",
        question.baseline, why));
  };
  std::string rest = question.baseline;
  spec->server = question.book.baseline;
  if (const size_t slash = rest.find('/'); slash != std::string::npos) {
    spec->server = rest.substr(0, slash);
    rest.erase(0, slash + 1);
    if (question.book.FindServer(spec->server) == nullptr)
      return refused(spec->server + " is no server of the price book");
  }
  if (rest.ends_with('+')) return refused("behind its last + stands nothing");
  while (!rest.empty()) {
    const size_t plus = std::min(rest.find('+'), rest.size());
    const std::string part = rest.substr(0, plus);
    rest.erase(0, plus + 1);
    const bool dram = part.starts_with("dram:");
    if (!dram && !part.starts_with("scm:"))
      return refused(fmt::format("\"{}\" is neither dram:SIZE nor scm:SIZE", part));
    if ((dram ? spec->dram_bytes : spec->scm_bytes) != 0) return refused("a tier is there twice");
    const std::string sizes = part.substr(part.find(':') + 1);
    const auto media = static_cast<size_t>(std::ranges::count(sizes, '>')) + 1;
    if (dram && media > 1) return refused("only SCM has a fast and a slow medium");
    if (media > kMediaMax) return refused("there are two media at most");
    if (sizes.starts_with('>') || sizes.ends_with('>')) return refused("a size stands on either side of >");
    MEZZ_RETURN_IF_ERROR(dram ? ParseBytes("--baseline", sizes, &spec->dram_bytes)
                              : ParseScmSizes("--baseline", sizes, &spec->scm_bytes, &spec->slow_scm_bytes));
  }
  return spec->dram_bytes == 0 ? refused("it has no DRAM") : Status::Ok();
}

// By how much two sizes differ, in logarithms.
double Distance(uint64_t bytes, uint64_t wanted) {
  return std::abs(std::log(static_cast<double>(bytes) / static_cast<double>(wanted)));
}

// The nearest of `sizes`, in their own order.
template <typename Size>
std::vector<Size> Nearest(const std::set<Size>& sizes, const auto& distance) {
  std::vector<Size> near(sizes.begin(), sizes.end());
  std::ranges::sort(near, {}, distance);
  near.resize(std::min<size_t>(near.size(), 4));
  std::ranges::sort(near);
  return near;
}

// What modules can give: DRAM, or, if there is such DRAM, SCM beside it, as it was asked for.
std::string Near(const std::vector<Build>& builds, const BaselineSpec& spec) {
  std::set<uint64_t> drams;
  std::set<std::pair<uint64_t, uint64_t>> media;  // the second is 0: one medium
  const bool ordered = spec.slow_scm_bytes != 0;
  for (const Build& build : builds) {
    if (!spec.server.empty() && build.server->name != spec.server) continue;
    drams.insert(build.dram.bytes());
    if (build.scm_bytes() != 0 && build.is_ordered() == ordered && build.dram.bytes() == spec.dram_bytes)
      media.emplace(build.scm.bytes(), build.slow_scm.bytes());
  }
  std::vector<std::string> texts;
  if (spec.scm_bytes == 0 || !drams.contains(spec.dram_bytes)) {
    for (uint64_t bytes : Nearest(drams, [&](uint64_t one) { return Distance(one, spec.dram_bytes); }))
      texts.push_back(HumanBytes(bytes));
    return fmt::format("DRAM of {} can be had", fmt::join(texts, ", "));
  }
  const auto distance = [&](const auto& sizes) {
    return Distance(sizes.first, spec.scm_bytes) + (ordered ? Distance(sizes.second, spec.slow_scm_bytes) : 0);
  };
  for (const auto& [fast, slow] : Nearest(media, distance))
    texts.push_back(ordered ? fmt::format("{}>{}", SizeText(fast), SizeText(slow)) : SizeText(fast));
  if (texts.empty())
    return fmt::format("beside that DRAM the book has no {}",
                       ordered ? "two kinds of SCM of which one is faster" : "SCM");
  return fmt::format("beside that DRAM scm:{} can be had", fmt::join(texts, ", "));
}

}  // namespace

Status FindBaseline(const Question& question, const std::vector<Build>& builds, Build* found) {
  BaselineSpec spec;
  MEZZ_RETURN_IF_ERROR(ParseBaseline(question, &spec));
  double least = std::numeric_limits<double>::infinity();
  for (const Build& build : builds) {
    if ((!spec.server.empty() && build.server->name != spec.server) || build.dram.bytes() != spec.dram_bytes ||
        build.scm.bytes() != spec.scm_bytes || build.slow_scm.bytes() != spec.slow_scm_bytes)
      continue;
    const double cost = CostOf(question.book, build, /*new_kind=*/false, question.hosts).total();
    if (cost < least) {
      least = cost;
      *found = build;
    }
  }
  if (std::isfinite(least)) return Status::Ok();
  return Status::InvalidArgument(
      fmt::format("--baseline={}: no population of modules gives that{}; {}", question.baseline,
                  spec.server.empty() ? "" : fmt::format(" in {}", spec.server), Near(builds, spec)));
}

}  // namespace mezz::plan
