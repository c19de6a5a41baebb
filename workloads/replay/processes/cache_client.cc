// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/processes/cache_client.h"

#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

namespace mezz {
namespace {

using nlohmann::json;

constexpr int kLookEveryMs = 100;  // at `stop`, while a worker is busy

json Command(const char* what, json arguments = json::object()) {
  arguments["do"] = what;
  return arguments;
}

}  // namespace

CacheClient::~CacheClient() {
  worker_.reset();
  // Who died did not clean up.
  for (const std::string& file : facts_.files) {
    if (!failure_.empty()) unlink(file.c_str());
  }
}

Status CacheClient::Launch(const WorkerLauncher& launcher, const WorkerOrder& order) {
  return launcher(order, &worker_);
}

Status CacheClient::Build(unsigned ordinal) {
  json answer;
  MEZZ_RETURN_IF_ERROR(Ask(Command("build", {{"ordinal", ordinal}}), "being built", &answer));
  if (!answer.empty()) facts_ = CacheFactsOf(answer);
  return Status::Ok();
}

Status CacheClient::Open(const OpenCommand& command) {
  json answer;
  return Ask(Command("open", ToJson(command)), "opening its database", &answer);
}

Status CacheClient::Run(const WindowCommand& command, WindowResult* result) {
  json answer;
  ++windows_;
  MEZZ_RETURN_IF_ERROR(Ask(Command("window", ToJson(command)), fmt::format("window {}", windows_), &answer));
  if (!answer.empty()) *result = WindowResultOf(answer);
  return Status::Ok();
}

Status CacheClient::Finish(CacheEnd* end) {
  json answer;
  MEZZ_RETURN_IF_ERROR(Ask(Command("finish"), "ending", &answer));
  if (!answer.empty()) *end = CacheEndOf(answer);
  worker_.reset();
  return Status::Ok();
}

Status CacheClient::Ask(const json& command, const std::string& doing, json* answer) {
  *answer = json::object();
  if (worker_ == nullptr || !failure_.empty()) return Status::Ok();
  Status status = worker_->channel()->Send(command);
  if (status.ok()) status = Await(answer);
  if (!status.ok()) {
    *answer = json::object();
    failure_ = fmt::format("{} while {}", worker_->Fate(), doing);
    return Status::Ok();
  }
  if (answer->contains("error")) return Status::IoError(answer->at("error").get<std::string>());
  return Status::Ok();
}

Status CacheClient::Await(json* answer) {
  bool told = false;
  for (;;) {
    if (!worker_->channel()->Ready(kLookEveryMs)) {
      if (!told && stop_.load(std::memory_order_relaxed)) {
        worker_->Stop();
        told = true;
      }
      continue;
    }
    MEZZ_RETURN_IF_ERROR(worker_->channel()->Receive(answer));
    const auto progress = answer->find("progress");
    if (progress == answer->end()) return Status::Ok();
    progress_->Update(progress->at(0).get<uint64_t>(), progress->at(1).get<uint64_t>());
  }
}

}  // namespace mezz
