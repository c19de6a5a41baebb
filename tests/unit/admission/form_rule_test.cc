// SPDX-License-Identifier: Apache-2.0
#include "admission/form_rule.h"

#include <gtest/gtest.h>

namespace mezz {
namespace {

void ExpectForm(const FormRule& rule, BlockRole role, Action action, Reason reason) {
  const Decision decision = rule.OnPut(role);
  EXPECT_EQ(decision.action, action);
  EXPECT_EQ(decision.reason, reason);
}

TEST(FormRule, IsRawUntilTheFirstReclaimAndPackedFromThenOn) {
  FormRule rule;
  for (const BlockRole role : {BlockRole::kData, BlockRole::kBlob, BlockRole::kOther})
    ExpectForm(rule, role, Action::kRaw, Reason::kFilling);
  rule.OnReclaim();
  for (const BlockRole role : {BlockRole::kData, BlockRole::kBlob, BlockRole::kOther})
    ExpectForm(rule, role, Action::kPack, Reason::kFull);
}

TEST(FormRule, NeverPacksMetadata) {
  FormRule rule;
  rule.OnReclaim();
  for (const BlockRole role : {BlockRole::kIndex, BlockRole::kFilter, BlockRole::kDictionary})
    ExpectForm(rule, role, Action::kRaw, Reason::kRole);
}

TEST(FormRule, IsRawAgainWhereThereIsRoomAgain) {
  FormRule rule;
  rule.OnReclaim();
  rule.OnGrown();
  ExpectForm(rule, BlockRole::kData, Action::kRaw, Reason::kFilling);
}

}  // namespace
}  // namespace mezz
