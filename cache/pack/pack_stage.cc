// SPDX-License-Identifier: Apache-2.0
#include "cache/pack/pack_stage.h"

#include <cassert>
#include <utility>

#include "cache/base/start_thread.h"

namespace mezz {

PackStage::PackStage(uint64_t bytes, const ForkGuard& guard) : guard_(guard), state_(std::make_unique<State>(bytes)) {}

PackStage::~PackStage() {
  Stop();
  // A child has no such thread to join, and its parent's may have held anything.
  if (state_->thread.joinable()) (void)state_.release();
}

bool PackStage::Start(Store store) {
  assert(!state_->thread.joinable());
  if (!state_->blocks.ok()) return false;
  store_ = std::move(store);
  state_->thread = StartThread("mezz-pack", [this] { Run(); });
  return state_->thread.joinable();
}

void PackStage::Stop() {
  if (!state_->thread.joinable() || !guard_.InParent()) return;
  state_->ends.store(true, std::memory_order_relaxed);
  state_->wakeup.End();
  state_->thread.join();
}

void PackStage::Drain() const {
  if (!guard_.InParent() || !state_->thread.joinable()) return;
  state_->wakeup.Call();
  state_->wakeup.WaitUntilHandled();
}

void PackStage::Run() {
  while (state_->wakeup.Await()) {
    while (!state_->ends.load(std::memory_order_relaxed)) {
      const auto block = state_->blocks.Take();
      if (!block) break;
      store_(*block);
      state_->blocks.Finish(block->slot);
    }
  }
}

}  // namespace mezz
