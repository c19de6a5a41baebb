// SPDX-License-Identifier: Apache-2.0
// The makers behind OpenMedium. Each is given valid options and the capacity rounded down to whole segments.
#pragma once

#include <cstdint>
#include <memory>

#include "cache/media/medium.h"

namespace mezz {

Status OpenFileMedium(const ScmOptions& options, uint64_t bytes, std::unique_ptr<Medium>* medium, bool* existing);
Status OpenNumaMedium(const ScmOptions& options, uint64_t bytes, std::unique_ptr<Medium>* medium);
Status OpenAnonymousMedium(const ScmOptions& options, uint64_t bytes, std::unique_ptr<Medium>* medium);

}  // namespace mezz
