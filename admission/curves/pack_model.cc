// SPDX-License-Identifier: Apache-2.0
#include "admission/curves/pack_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <string_view>

#include "admission/curves/block_key.h"

namespace mezz::sim {
namespace {

// Parses all of `text` as a number.
bool ParseNumber(std::string_view text, double* number) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.remove_suffix(1);
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && stop == text.data() + text.size() && std::isfinite(*number);
}

bool IsRatio(double ratio) { return ratio >= 1 && ratio <= PackRatios::kRatioMax; }

// Parses a line such as "2.5,0.3".
bool ParseLine(std::string_view line, double* ratio, double* weight) {
  const size_t comma = line.find(',');
  return comma != std::string_view::npos && ParseNumber(line.substr(0, comma), ratio) &&
         ParseNumber(line.substr(comma + 1), weight) && IsRatio(*ratio) && *weight > 0;
}

}  // namespace

Status PackRatios::Parse(const std::string& text, PackRatios* ratios) {
  double number = 0;
  if (ParseNumber(text, &number)) {
    if (!IsRatio(number)) {
      return Status::InvalidArgument(
          fmt::format("--pack_ratio={} is out of range; it goes from 1 to {}", number, kRatioMax));
    }
    *ratios = PackRatios(number);
    return Status::Ok();
  }
  std::ifstream file(text);
  if (!file) {
    return Status::NotFound(
        fmt::format("--pack_ratio={} is neither a ratio, such as 2.1, nor a file of lines ratio,weight", text));
  }
  std::vector<Ratio> read;
  double sum = 0;
  uint64_t number_of_line = 0;
  for (std::string line; std::getline(file, line);) {
    ++number_of_line;
    line.resize(std::min(line.find('#'), line.size()));
    if (line.find_first_not_of(" \r\t") == std::string::npos) continue;
    double ratio = 0;
    double weight = 0;
    if (!ParseLine(line, &ratio, &weight)) {
      return Status::InvalidArgument(
          fmt::format("--pack_ratio={}, line {}: \"{}\" is no \"ratio,weight\" with a ratio from 1 to {} and a weight "
                      "above 0",
                      text, number_of_line, line, kRatioMax));
    }
    sum += weight;
    read.push_back({ratio, sum});
  }
  if (read.empty()) return Status::InvalidArgument(fmt::format("--pack_ratio={} holds no line ratio,weight", text));
  for (Ratio& ratio : read) ratio.cumulated /= sum;
  ratios->ratios_ = std::move(read);
  return Status::Ok();
}

double PackRatios::Of(uint64_t key, uint64_t seed) const {
  const double drawn = static_cast<double>(MixWord(key ^ MixWord(seed)) >> 11) * 0x1p-53;
  const auto found = std::ranges::upper_bound(ratios_, drawn, {}, &Ratio::cumulated);
  return found == ratios_.end() ? ratios_.back().ratio : found->ratio;
}

bool PackModel::Wants(BlockId block) {
  const BlockRole role = trace_.role(block);
  if (!Packer::IsPackable(role, block_bytes_[block])) return false;
  if (auto_skip_[static_cast<size_t>(role)].ShouldTry()) return true;
  mean_share_.Note(1, 1);
  return false;
}

bool PackModel::Pack(BlockId block) {
  ++tries_;
  const uint32_t bytes = block_bytes_[block];
  const bool packs = codec_bytes_[block] <= Packer::CodecBytesMax(codec_, bytes);
  rejected_ += !packs;
  auto_skip_[static_cast<size_t>(trace_.role(block))].Tried(/*rejected=*/!packs);
  mean_share_.Note(packs ? payload_bytes(block) : 1, packs ? bytes : 1);
  return packs;
}

}  // namespace mezz::sim
