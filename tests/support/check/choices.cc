// SPDX-License-Identifier: Apache-2.0
#include "tests/support/check/choices.h"

namespace mezz::check {

unsigned Exhaustive::Choose(unsigned options, Decision) {
  if (options == 1) return 0;
  if (at_ == taken_.size()) taken_.push_back({0, options});
  const Taken& taken = taken_[at_++];
  if (taken.options != options) diverged_ = true;
  return taken.chosen < options ? taken.chosen : 0;
}

bool Exhaustive::Next() {
  at_ = 0;
  while (!taken_.empty() && taken_.back().chosen + 1 == taken_.back().options) taken_.pop_back();
  if (taken_.empty()) return false;
  ++taken_.back().chosen;
  return true;
}

unsigned Random::Choose(unsigned options, Decision decision) {
  if (options == 1) return 0;
  if (decision == Decision::kBlocked) return static_cast<unsigned>(random_() % options);
  if (decision == Decision::kRead) return random_() % 3 == 0 ? static_cast<unsigned>(random_() % options) : 0;
  return random_() % switch_one_in_ == 0 ? 1 + static_cast<unsigned>(random_() % (options - 1)) : 0;
}

bool Random::Next() {
  switch_one_in_ = 2u << random_() % 6;
  return --runs_left_ != 0;
}

}  // namespace mezz::check
