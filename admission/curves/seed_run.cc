// SPDX-License-Identifier: Apache-2.0
#include "admission/curves/seed_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <memory>
#include <utility>

#include "admission/curves/key_map.h"

namespace mezz::plan {
namespace {

// How many accesses are read before all points run over them, or the sampler's log_max if that is less.
constexpr size_t kPartMax = 1 << 18;

class SeedRun {
 public:
  // `sampler`: of a sample whose requests are read again; null: `trace` has them.
  SeedRun(const std::vector<CurvePoint>& points, const SeedRunOptions& options, uint64_t requests,
          const Sampler* sampler, BlockTrace trace)
      : points_(points),
        options_(options),
        requests_(requests),
        warmup_(static_cast<uint64_t>(static_cast<double>(requests_) * options.warmup)),
        sampler_(sampler),
        trace_(std::move(trace)),
        sizes_(trace_, options.miniature),
        models_(points.size()) {}

  Status Run(std::vector<SampleCounts>* counts) {
    counts->resize(points_.size());
    if (sampler_ != nullptr) return RunTogether(counts);
    for (size_t i = 0; i < points_.size(); ++i) {
      MEZZ_RETURN_IF_ERROR(Make(i));
      Play(models_[i].get(), 0);
      MEZZ_RETURN_IF_ERROR(Finish(i, &(*counts)[i]));
    }
    return Status::Ok();
  }

 private:
  Status Make(size_t i) {
    return options_.make(trace_, sizes_, options_.miniature, points_[i].dram_bytes, points_[i].scm_bytes, &models_[i]);
  }
  Status Finish(size_t i, SampleCounts* counts) {
    MEZZ_RETURN_IF_ERROR(models_[i]->Counts(counts));
    models_[i].reset();
    if (options_.on_point) options_.on_point();
    return Status::Ok();
  }

  // The accesses that the trace holds now, of which the first is the sample's number `first`.
  void Play(PointModel* model, uint64_t first) {
    const size_t size = trace_.accesses().size();
    if (warmup_ < first || warmup_ >= first + size) return model->Run(0, size);
    model->Run(0, warmup_ - first);
    model->StartCounting();
    model->Run(warmup_ - first, size);
  }

  Status RunTogether(std::vector<SampleCounts>* counts) {
    for (size_t i = 0; i < points_.size(); ++i) MEZZ_RETURN_IF_ERROR(Make(i));
    MEZZ_RETURN_IF_ERROR(ReadParts());
    for (size_t i = 0; i < points_.size(); ++i) MEZZ_RETURN_IF_ERROR(Finish(i, &(*counts)[i]));
    return Status::Ok();
  }

  Status ReadParts() {
    KeyMap numbers;
    for (const uint64_t key : trace_.keys()) numbers.Number(key);
    assert(options_.read_again != nullptr);
    const size_t part_max = std::min<size_t>(kPartMax, sampler_->log_max());
    uint64_t first = 0;
    std::vector<BlockId> part;
    const auto play = [&] {
      trace_.SetAccesses(std::move(part));
      for (const std::unique_ptr<PointModel>& model : models_) Play(model.get(), first);
      first += trace_.accesses().size();
      part = trace_.TakeAccesses();
      part.clear();
    };
    MEZZ_RETURN_IF_ERROR(options_.read_again([&](uint64_t key) {
      if (!sampler_->Keeps(key)) return Status::Ok();
      part.push_back(numbers.Number(key));
      if (part.back() >= trace_.unique()) return Changed();
      if (part.size() == part_max) play();
      return Status::Ok();
    }));
    play();
    return first == requests_ ? Status::Ok() : Changed();
  }

  Status Changed() const {
    return Status::IoError(fmt::format("trace {} changed while it was read; make the curve anew", options_.name));
  }

  const std::vector<CurvePoint>& points_;
  const SeedRunOptions& options_;
  const uint64_t requests_;
  const uint64_t warmup_;  // of them
  const Sampler* const sampler_;
  BlockTrace trace_;
  const BlockSizes sizes_;
  std::vector<std::unique_ptr<PointModel>> models_;
};

// An estimate for the whole from a count on a sample.
uint64_t Upscaled(uint64_t count, double rate) {
  return static_cast<uint64_t>(std::llround(static_cast<double>(count) / rate));
}

// SHARDS-adj (FAST'15, section 3.3): a sample that happens to hold a hot block too many, or to miss one, has more or
// fewer requests than its share. Hot blocks hit at every size, so the difference is counted as hits of the first tier.
void Correct(uint64_t requests, uint64_t sample_requests, double rate, uint64_t* first, uint64_t other) {
  const auto expected = static_cast<double>(requests) - static_cast<double>(sample_requests) / rate;
  const double most = static_cast<double>(requests) - static_cast<double>(std::min(other, requests));
  *first = static_cast<uint64_t>(std::llround(std::clamp(static_cast<double>(*first) + expected, 0.0, most)));
}

}  // namespace

Status RunSeed(const std::vector<CurvePoint>& points, const SeedRunOptions& options, Sampler* sampler,
               std::vector<SampleCounts>* counts) {
  const uint64_t requests = sampler->requests();
  const Sampler* const read_again = sampler->has_log() ? nullptr : sampler;
  return SeedRun(points, options, requests, read_again, sampler->Take(options.name)).Run(counts);
}

Status RunSeed(const std::vector<CurvePoint>& points, const SeedRunOptions& options, BlockTrace trace,
               std::vector<SampleCounts>* counts) {
  const uint64_t requests = trace.accesses().size();
  return SeedRun(points, options, requests, /*sampler=*/nullptr, std::move(trace)).Run(counts);
}

void AddSeed(const CurveSums& sums, double rate, const SampleCounts& counts, CurvePoint* point) {
  const auto up = [rate](uint64_t count) { return Upscaled(count, rate); };
  const PointCounts& sample = counts.point;
  PointCounts whole{.dram_hits = up(sample.dram_hits),
                    .scm_in_place = up(sample.scm_in_place),
                    .scm_unpacked = up(sample.scm_unpacked),
                    .promotions = up(sample.promotions),
                    .packed_promotions = up(sample.packed_promotions),
                    .scm_slow_hits = up(sample.scm_slow_hits),
                    .scm_writes = up(sample.scm_writes),
                    .second_chances = up(sample.second_chances),
                    .packed_writes = up(sample.packed_writes),
                    .scm_written_bytes = up(sample.scm_written_bytes)};
  const bool scm_alone = point->dram_bytes == 0;
  if (rate < 1) {
    const uint64_t requests = sums.counted_requests;
    uint64_t* const first = scm_alone ? &whole.scm_in_place : &whole.dram_hits;
    Correct(requests, counts.requests, rate, first, scm_alone ? 0 : whole.scm_hits());
  }
  point->seeds.push_back(whole);
  for (size_t role = 0; role < kBlockRoles; ++role) {
    RoleCounts of_role{.dram_hits = up(counts.roles[role].dram_hits), .scm_hits = up(counts.roles[role].scm_hits)};
    if (rate < 1) {
      uint64_t* const first = scm_alone ? &of_role.scm_hits : &of_role.dram_hits;
      Correct(sums.role_requests[role], counts.role_requests[role], rate, first, scm_alone ? 0 : of_role.scm_hits);
    }
    point->roles[role].dram_hits += of_role.dram_hits;
    point->roles[role].scm_hits += of_role.scm_hits;
  }
}

void FinishSeeds(size_t runs, Curve* curve) {
  for (CurvePoint& point : curve->points) {
    assert(point.seeds.size() == runs);
    point.seeds.resize(curve->form.seeds, point.seeds.front());
    for (RoleCounts& role : point.roles) role = {.dram_hits = role.dram_hits / runs, .scm_hits = role.scm_hits / runs};
  }
}

}  // namespace mezz::plan
