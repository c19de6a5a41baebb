// SPDX-License-Identifier: Apache-2.0
#include "cache/types.h"

namespace mezz {

std::string_view ToString(BlockRole role) {
  switch (role) {
    case BlockRole::kData:
      return "data";
    case BlockRole::kIndex:
      return "index";
    case BlockRole::kFilter:
      return "filter";
    case BlockRole::kDictionary:
      return "dictionary";
    case BlockRole::kBlob:
      return "blob";
    case BlockRole::kOther:
      return "other";
  }
  return "unknown";
}

}  // namespace mezz
