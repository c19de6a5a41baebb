// SPDX-License-Identifier: Apache-2.0
// A new format is a file beside this one, a maker declared here, and a line in the table of open_trace.cc.
#pragma once

#include <memory>
#include <string>

#include "workloads/request.h"

namespace mezz {

std::unique_ptr<RequestSource> MakeBigEndian64(std::string path);
std::unique_ptr<RequestSource> MakeBigEndian32(std::string path);
std::unique_ptr<RequestSource> MakeTextKeys(std::string path);
std::unique_ptr<RequestSource> MakeLirs(std::string path);
std::unique_ptr<RequestSource> MakeArc(std::string path);
std::unique_ptr<RequestSource> MakeArcPages(std::string path);
std::unique_ptr<RequestSource> MakeCloudPhysicsCsv(std::string path);

}  // namespace mezz
