// SPDX-License-Identifier: Apache-2.0
// Speed of the readers on one core, decompression included: records/s of a trace of skewed requests, in each format
// that can be written here or is laid out below, plain and compressed; and of the public traces, if MEZZ_TRACES names
// their folder. To measure, say MEZZ_REQUESTS=1000000: the few it has without are there to see that it works.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <random>

#include "admission/curves/block_key.h"
#include "workloads/readers/open_trace.h"
#include "workloads/trace/output_file.h"
#include "workloads/trace/trace_writer.h"

namespace mezz {
namespace {

constexpr uint64_t kKeys = 200'000;

uint64_t Requests() {
  const char* const named = std::getenv("MEZZ_REQUESTS");
  return named != nullptr ? std::strtoull(named, nullptr, 10) : 20'000;
}

// After a power law; hashed, as keys of production traces are.
uint64_t DrawKey(std::mt19937_64& random) {
  const auto drawn = static_cast<double>(random() >> 11) * 0x1p-53;
  return MixWord(static_cast<uint64_t>(static_cast<double>(kKeys) * drawn * drawn * drawn));
}

// The files of a run, made when they are first asked for.
class Files {
 public:
  Files() : folder_(fmt::format("{}/mezz-readers-{}", std::filesystem::temp_directory_path().string(), getpid())) {
    std::filesystem::create_directories(folder_);
  }
  ~Files() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;

  std::string Get(const std::string& name, const std::function<Status(const std::string& path)>& make) {
    const std::string path = folder_ + "/" + name;
    if (!std::filesystem::exists(path)) {
      if (const Status made = make(path); !made.ok()) {
        fmt::print(stderr, "{}\n", made.message());
        std::abort();
      }
    }
    return path;
  }

 private:
  const std::string folder_;
};

Files& TheFiles() {
  static Files files;
  return files;
}

Status WriteFormat(const std::string& path, const std::string& format) {
  std::mt19937_64 random(1);
  std::unique_ptr<TraceWriter> writer;
  MEZZ_RETURN_IF_ERROR(OpenTraceWriter({.path = path, .format = format}, &writer));
  for (uint64_t i = 0, requests = Requests(); i < requests; ++i) {
    const uint64_t key = DrawKey(random);
    MEZZ_RETURN_IF_ERROR(writer->Write({.key = key,
                                        .value_bytes = static_cast<uint32_t>(4000 + key % 200),
                                        .time_us = 1'700'000'000'000'000 + 100 * i}));
  }
  return writer->Finish();
}

Status WriteLines(const std::string& path, const std::function<std::string(uint64_t i, uint64_t key)>& line) {
  std::mt19937_64 random(1);
  std::unique_ptr<OutputFile> file;
  MEZZ_RETURN_IF_ERROR(OutputFile::Open(path, &file));
  for (uint64_t i = 0, requests = Requests(); i < requests; ++i)
    MEZZ_RETURN_IF_ERROR(file->Append(line(i, DrawKey(random))));
  return file->Finish();
}

void Read(benchmark::State& state, const std::string& path, const std::string& format) {
  uint64_t requests = 0;
  for (auto _ : state) {
    std::unique_ptr<RequestSource> source;
    if (!OpenTrace(path, format, &source).ok()) return state.SkipWithError("the trace cannot be opened");
    uint64_t sum = 0;
    for (Request request; source->Next(&request); ++requests) sum += request.key;
    benchmark::DoNotOptimize(sum);
    if (!source->status().ok()) return state.SkipWithError(source->status().message().c_str());
  }
  state.SetItemsProcessed(static_cast<int64_t>(requests));
}

void Register(const std::string& name, const std::function<std::string()>& path, const std::string& format) {
  benchmark::RegisterBenchmark(("BM_Read/" + name).c_str(), [path, format](benchmark::State& state) {
    Read(state, path(), format);
  })->Unit(benchmark::kMillisecond);
}

void RegisterAll() {
  for (const WriterFormat& writer : WriterFormats()) {
    for (const std::string suffix : {"", ".zst", ".gz", ".xz"}) {
      const std::string format(writer.name), name = format + suffix;
      Register(
          name,
          [=] { return TheFiles().Get(name, [&](const std::string& path) { return WriteFormat(path, format); }); },
          format);
    }
  }
  const std::map<std::string, std::function<std::string(uint64_t i, uint64_t key)>> texts = {
      {"twitter_csv",
       [](uint64_t i, uint64_t key) { return fmt::format("{},k:{:x},18,{},7,get,0\n", i / 9, key, key % 900); }},
      {"mqsim", [](uint64_t i, uint64_t key) { return fmt::format("{} 3 {} 16 1\n", i * 977, key >> 32); }},
      {"spc",
       [](uint64_t i, uint64_t key) { return fmt::format("1,{},8192,R,{}.{:06}\n", key >> 36, i / 99, i % 99); }},
      {"arc", [](uint64_t i, uint64_t key) { return fmt::format("{} 8 0 {}\n", key >> 32, i); }}};
  for (const auto& text : texts) {
    const std::string& format = text.first;
    Register(
        format,
        [text] { return TheFiles().Get(text.first, [&](const auto& path) { return WriteLines(path, text.second); }); },
        format);
  }
  const char* folder = std::getenv("MEZZ_TRACES");
  if (folder == nullptr) return;
  for (const std::string file : {"scarab/scarab-recs.trace.xz", "cache2k/orm-busy.trace.xz", "arc/OLTP.lis.zst",
                                 "lirs/sprite.trace.gz", "cloudphysics/cloudPhysicsIO.vscsi.zst"}) {
    Register(
        file, [path = std::string(folder) + "/" + file] { return path; }, "auto");
  }
}

}  // namespace
}  // namespace mezz

int main(int argc, char** argv) {
  mezz::RegisterAll();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
