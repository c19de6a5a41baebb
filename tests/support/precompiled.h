// SPDX-License-Identifier: Apache-2.0
// What the tests include most, compiled once for all of them; a test still includes what it uses. JSON is left out, or
// every test would pay for what eight need.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <sstream>
#include <unordered_map>

#include "tools/cmake/precompiled.h"
