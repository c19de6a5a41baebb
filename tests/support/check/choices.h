// SPDX-License-Identifier: Apache-2.0
// Where a run takes its decisions from. The answer 0 is always the plain one: go on, read the newest value.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace mezz::check {

enum class Decision { kSchedule, kBlocked, kRead };

class Choices {
 public:
  virtual ~Choices() = default;
  // One of `options` (at least 1).
  virtual unsigned Choose(unsigned options, Decision decision) = 0;
  // After a run. False: there is none left.
  virtual bool Next() = 0;
};

// All of them, in the order of a depth-first search.
class Exhaustive : public Choices {
 public:
  unsigned Choose(unsigned options, Decision decision) override;
  bool Next() override;
  void Restart() { taken_.clear(), at_ = 0; }
  bool diverged() const { return diverged_; }  // a run did not repeat what led to it

 private:
  struct Taken {
    unsigned chosen, options;
  };
  std::vector<Taken> taken_;
  size_t at_ = 0;
  bool diverged_ = false;
};

// How often a run switches differs from run to run.
class Random : public Choices {
 public:
  Random(uint64_t seed, uint64_t runs) : random_(seed), runs_left_(runs) {}
  unsigned Choose(unsigned options, Decision decision) override;
  bool Next() override;

 private:
  std::mt19937_64 random_;
  uint64_t runs_left_;
  unsigned switch_one_in_ = 4;
};

}  // namespace mezz::check
