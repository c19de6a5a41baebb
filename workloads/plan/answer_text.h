// SPDX-License-Identifier: Apache-2.0
// The answer's sentences: the same in the terminal and in the JSON.
#pragma once

#include <string>

#include "workloads/plan/answer.h"

namespace mezz::plan {

std::string Money(const PriceBook& book, double amount);
std::string Duration(double us);
std::string Rate(double per_s);
std::string Wrapped(std::string text);  // in lines of the table's width
std::string StaysText(const Question& question, const Answer& answer, const Stays& stays);
std::string GrowthText(const Answer& answer);
std::string FlatterText(const Answer& answer);
std::string BreakEvenText(const Question& question, const Answer& answer);
std::string BlockedText(const Question& question, const Answer& answer);

}  // namespace mezz::plan
