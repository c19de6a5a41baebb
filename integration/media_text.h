// SPDX-License-Identifier: Apache-2.0
// How a URI spells the media of the SCM tier: SIZE@PLACE, or several of these behind each other. Those of one level
// have commas between them, and a > stands before the slow ones.
#pragma once

#include <string>
#include <string_view>

#include "cache/options.h"
#include "cache/status.h"

namespace mezz {

// Parses a value of the key `key` into medium, place, capacity and members of `scm`; or a size alone.
Status ParseMedia(std::string_view key, std::string_view value, ScmOptions* scm);
// What ParseMedia reads back to the same.
std::string MediaText(const ScmOptions& scm);

// Parses a model for all media, or as many as there are media.
Status ParseModels(std::string_view key, std::string_view value, ScmOptions* scm);

// Whether `text` is dram or numa:N.
bool ParseMemory(std::string_view text, MediumKind* medium, int* node);
// What ParseMemory takes, for messages.
std::string MemoryForms();

// Where a path has a comma or > behind which no path goes on: what stands there was to be another medium, and is one,
// or is nothing, a size or a place alone, or a misspelt size. The path's size: nowhere.
size_t FindLostMedium(std::string_view path);

}  // namespace mezz
