// SPDX-License-Identifier: Apache-2.0
// Makes a page of a JSON file: page_tool plan|replay IN.json OUT.html
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "workloads/plan/page/plan_page.h"
#include "workloads/report/html_report.h"

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("page_tool plan|replay IN.json OUT.html\n", stderr);
    return 2;
  }
  std::ifstream in(argv[2]);
  const nlohmann::json result = nlohmann::json::parse(in);
  std::ofstream out(argv[3]);
  out << (std::string_view(argv[1]) == "plan" ? mezz::plan::HtmlPlan(result) : mezz::HtmlReport(result));
  return out.flush() ? 0 : 1;
}
