// SPDX-License-Identifier: Apache-2.0
// The makers behind OpenMedium.
#pragma once

#include <cstdint>
#include <memory>

#include "cache/media/medium.h"
#include "cache/media/preparer.h"

namespace mezz {

struct MediumOrder {
  const ScmOptions& options;  // valid
  uint64_t bytes = 0;         // the capacity, rounded down to whole segments
  uint64_t first_bytes = 0;   // of which so many are to be ready when the maker returns
};

Status OpenFileMedium(const MediumOrder& order, std::unique_ptr<Medium>* medium, std::unique_ptr<Preparer>* preparer,
                      bool* existing);
Status OpenNumaMedium(const MediumOrder& order, std::unique_ptr<Medium>* medium, std::unique_ptr<Preparer>* preparer);
Status OpenAnonymousMedium(const MediumOrder& order, std::unique_ptr<Medium>* medium,
                           std::unique_ptr<Preparer>* preparer);

// For the makers: prepares the first part of a mapped medium.
Status PrepareFirstPart(const MediumOrder& order, std::byte* base, std::string_view name,
                        std::function<int(uint64_t offset, uint64_t bytes)> reserve,
                        std::unique_ptr<Preparer>* preparer);

}  // namespace mezz
