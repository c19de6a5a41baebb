// SPDX-License-Identifier: Apache-2.0
#include "workloads/plan/run_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "admission/curves/curve_file.h"
#include "admission/policy.h"
#include "workloads/plan/alternatives.h"
#include "workloads/plan/answer_text.h"
#include "workloads/plan/calibrate.h"
#include "workloads/plan/curve_surface.h"
#include "workloads/plan/known_policies.h"
#include "workloads/plan/no_purchase.h"
#include "workloads/plan/page/plan_page.h"
#include "workloads/program/program.h"
#include "workloads/sim/options.h"

namespace mezz::plan {
namespace {

Status Missing(const char* flag, const char* what) {
  return Status::InvalidArgument(fmt::format("--{} is missing; {}", flag, what));
}

// Leaves modules and servers out of the book.
Status LeaveOut(const std::string& text, PriceBook* book) {
  if (text.empty()) return Status::Ok();
  std::vector<std::string> names;
  MEZZ_RETURN_IF_ERROR(sim::ParseList("without", text, &names));
  for (const std::string& name : names) {
    const auto is = [&](const auto& one) { return one.name == name; };
    const size_t modules = std::erase_if(book->modules, is), servers = std::erase_if(book->servers, is);
    if (modules + servers == 0)
      return Status::InvalidArgument(fmt::format("--without={}: {} has no such module or server", name, book->path));
    if (book->baseline == name) book->baseline.clear();
  }
  return Status::Ok();
}

Status Ask(const PlanOptions& options, const Curve& curve, Question* question) {
  if (IsIn(OtherTwoTierNames(), curve.form.policy))
    return Status::InvalidArgument(
        fmt::format("a curve of {} is no curve of the cache that is planned; compare with it by --alternatives, or "
                    "give --policy one of {}",
                    curve.form.policy, fmt::join(PolicyNames(), ", ")));
  MEZZ_RETURN_IF_ERROR(ReadPriceBook(options.prices, &question->book));
  MEZZ_RETURN_IF_ERROR(LeaveOut(options.without, &question->book));
  MEZZ_RETURN_IF_ERROR(ParseTargets(options.target, &question->targets));
  Calibration calibration;
  MEZZ_RETURN_IF_ERROR(ChooseCalibration(options.calibration, options.lookups_per_operation, &calibration));
  question->costs = calibration.costs;
  question->traffic = TrafficOf(curve, calibration.lookups_per_operation, calibration.reads_per_miss);
  question->baseline = options.baseline;
  question->load = {.closed = options.rate == 0, .threads = options.threads, .rate = options.rate};
  question->flash = options.flash;
  question->hosts = options.hosts;
  question->growth = options.growth;
  question->reserved_bytes = options.reserved_bytes;
  question->today = Today();
  return Status::Ok();
}

Status PriceAlternatives(const std::string& paths, const Question& question, const Answer& answer,
                         std::vector<PricedAlternative>* alternatives) {
  if (paths.empty()) return Status::Ok();
  std::vector<std::string> items;
  MEZZ_RETURN_IF_ERROR(sim::ParseList("alternatives", paths, &items));
  for (const std::string& path : items) {
    Curve curve;
    MEZZ_RETURN_IF_ERROR(ReadCurve(path, &curve));
    MEZZ_RETURN_IF_ERROR(PriceAlternative(question, answer, curve, path, &alternatives->emplace_back()));
  }
  return Status::Ok();
}

}  // namespace

Status CheckLoad(uint32_t threads, double rate, double lookups) {
  constexpr uint32_t kThreadsMax = 4096;
  constexpr double kLookupsMax = 1000;
  if (threads > kThreadsMax)
    return Status::InvalidArgument(fmt::format("--threads={} is too many; it goes up to {}", threads, kThreadsMax));
  if (!(rate >= 0) || std::isinf(rate)) return Status::InvalidArgument(fmt::format("--ops_per_s={} is no rate", rate));
  if (!(lookups >= 0) || lookups > kLookupsMax)
    return Status::InvalidArgument(fmt::format("--lookups={}; it goes from 0 (not known) to {}", lookups, kLookupsMax));
  return Status::Ok();
}

Status PlanOptions::Validate() const {
  if (prices.empty()) return Missing("prices", "name a price book, such as workloads/plan/prices/2026.yaml");
  if (target.empty()) return Missing("target", "say what the server must do: 'throughput>=0.95*baseline; p99<=1ms'");
  if (baseline.empty()) return Missing("baseline", "say what you would buy otherwise: dram:256G");
  MEZZ_RETURN_IF_ERROR(CheckLoad(threads, rate, lookups_per_operation));
  constexpr double kHostsMax = 1e9;
  if (!(hosts >= 1 && hosts <= kHostsMax && hosts == std::floor(hosts)))
    return Status::InvalidArgument(fmt::format("--hosts={}; it is a whole number from 1 to {:.0f}", hosts, kHostsMax));
  constexpr double kGrowthMax = 1e6;
  if (!(growth >= 1.0 / kGrowthMax && growth <= kGrowthMax))
    return Status::InvalidArgument(fmt::format("--growth={} is out of range; it is how many times the data", growth));
  if (flash == "disk")
    return Status::InvalidArgument("--flash=disk is no model; leave it out to take each drive's own");
  const FlashModel* model = nullptr;
  return flash.empty() ? Status::Ok() : ParseFlash(flash, &model);
}

Status RunPlan(const PlanOptions& options, const Curve& curve, std::string* text) {
  MEZZ_RETURN_IF_ERROR(options.Validate());
  MEZZ_RETURN_IF_ERROR(CheckWritable("json", options.json_path));
  MEZZ_RETURN_IF_ERROR(CheckWritable("csv", options.csv_path));
  MEZZ_RETURN_IF_ERROR(CheckWritable("html", options.html_path));
  Question question;
  MEZZ_RETURN_IF_ERROR(Ask(options, curve, &question));
  const CurveSurface surface(curve);
  question.surface = &surface;
  Answer answer;
  MEZZ_RETURN_IF_ERROR(MakeAnswer(question, &answer));
  answer.warnings.insert(answer.warnings.end(), curve.warnings.begin(), curve.warnings.end());
  *text = AnswerTable(question, answer);
  const NoPurchase no_purchase = PackWhatYouHave(question, answer);
  if (const std::string line = NoPurchaseSentence(question, answer, no_purchase); !line.empty())
    *text += fmt::format("\n{}\n{}", Wrapped(line), no_purchase.uri.empty() ? "" : no_purchase.uri + "\n");
  std::vector<PricedAlternative> alternatives;
  MEZZ_RETURN_IF_ERROR(PriceAlternatives(options.alternatives, question, answer, &alternatives));
  *text += AlternativesText(question, answer, alternatives);
  nlohmann::json json = ManifestOf("mezz_plan", options.command_line);
  json.update(AnswerJson(question, answer));
  json["no_purchase"] = NoPurchaseJson(question, answer, no_purchase);
  json["alternatives"] = AlternativesJson(alternatives);
  if (!options.json_path.empty()) MEZZ_RETURN_IF_ERROR(WriteJson(options.json_path, json, 1));
  if (!options.html_path.empty()) MEZZ_RETURN_IF_ERROR(WriteFileAtomically(options.html_path, HtmlPlan(json)));
  return options.csv_path.empty() ? Status::Ok() : WriteFileAtomically(options.csv_path, AnswerCsv(question, answer));
}

}  // namespace mezz::plan
