// SPDX-License-Identifier: Apache-2.0
#include "cache/segment_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>

#include "tests/support/seed.h"

namespace mezz {
namespace {

TEST(SegmentQueue, IsADequeInAFixedSpace) {
  std::mt19937_64 random(test::Seed());
  for (int round = 0; round < 50; ++round) {
    const size_t capacity = 1 + random() % 20;
    SegmentQueue queue(capacity);
    std::deque<SegmentId> model;
    uint32_t next = 0;
    for (int step = 0; step < 1000; ++step) {
      const auto id = SegmentId{next};
      switch (random() % 5) {
        case 0:
        case 1:
          if (model.size() == capacity) break;
          ++next;
          random() % 2 == 0 ? (queue.PushBack(id), model.push_back(id)) : (queue.PushFront(id), model.push_front(id));
          break;
        case 2:
          if (model.empty()) break;
          {
            const size_t at = random() % 2 == 0 ? 0 : random() % model.size();
            queue.EraseAt(at);
            model.erase(model.begin() + static_cast<ptrdiff_t>(at));
          }
          break;
        case 3: {
          const auto sought = SegmentId{static_cast<uint32_t>(random() % (next + 1))};
          const auto found = std::ranges::find(model, sought);
          ASSERT_EQ(queue.Erase(sought), found != model.end());
          if (found != model.end()) model.erase(found);
          break;
        }
        default: {
          const auto is_even = [](SegmentId queued) { return Raw(queued) % 2 == 0; };
          const auto first = std::ranges::find_if(model, is_even);
          const auto found = queue.Find(is_even);
          ASSERT_EQ(found.has_value(), first != model.end());
          if (found) {
            ASSERT_EQ(*found, static_cast<size_t>(first - model.begin()));
          }
        }
      }
      ASSERT_EQ(queue.size(), model.size());
      ASSERT_EQ(queue.empty(), model.empty());
      for (size_t at = 0; at < model.size(); ++at) ASSERT_EQ(queue[at], model[at]);
    }
  }
}

}  // namespace
}  // namespace mezz
