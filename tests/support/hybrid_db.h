// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/support/hybrid_fixture.h"
#include "tests/support/open_db.h"

namespace mezz::test {

// A test of a database over a hybrid cache. The test says which of its tables have the cache.
class HybridDbTest : public HybridTest, protected ScratchDb {
 protected:
  void TearDown() override {
    Close();
    HybridTest::TearDown();
  }
};

}  // namespace mezz::test
