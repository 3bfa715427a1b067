#include "fabric/nccl_log.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace toprun::fabric {
namespace {

// The text after the prefix; nullopt if the text does not begin with the prefix.
std::optional<std::string_view> after(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return std::nullopt;
  return text.substr(prefix.size());
}

// Removes the number at the start of `text` and returns it.
std::optional<int> take_number(std::string_view& text) {
  const auto end = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = parse_int(text.substr(0, end));
  if (!number || *number > 1'000'000'000) return std::nullopt;
  text.remove_prefix(end);
  return static_cast<int>(*number);
}

bool take_text(std::string_view& text, std::string_view expected) {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(expected.size());
  return true;
}

// Parses " [0]mlx5_0:1/RoCE [1]mlx5_1:1:0:0/IB [RO]; OOB eth0:10.0.0.4<0>".
void take_adapters(std::string_view text, NcclLog& log) {
  text = text.substr(0, text.find(';'));
  for (const std::string_view word : words(text)) {
    const auto bracket = word.find(']');
    const auto slash = word.rfind('/');
    if (!word.starts_with('[') || bracket == word.npos || slash == word.npos) continue;
    const auto layer = word.substr(slash + 1);
    if (layer != "IB" && layer != "RoCE") continue;
    const auto parts = split(word.substr(bracket + 1, slash - bracket - 1), ':');
    const auto port = parts.size() > 1 ? parse_int(parts[1]) : std::nullopt;
    if (parts[0].empty() || !port || *port < 0 || *port > UINT8_MAX) continue;
    if (log.adapters.size() == NcclLogReader::most_names) return;
    log.adapters.insert({std::string(parts[0]), static_cast<int>(*port)});
  }
}

// Whether the text has the form "00/0 : 0[0] -> 8[0] [send]", the part of the line before " via ".
bool is_channel(std::string_view text) {
  if (!take_number(text)) return false;
  if (take_text(text, "/") && !take_number(text)) return false;
  if (!take_text(text, " : ") || !take_number(text) || !take_text(text, "[")) return false;
  const auto arrow = text.find("] -> ");
  if (arrow == text.npos) return false;
  text.remove_prefix(arrow + 5);
  return take_number(text).has_value() && text.starts_with('[') && text.find(']') != text.npos;
}

// Parses "NET/IB/0(3)/GDRDMA(PCI)/Shared", "NET/AWS Libfabric/2", "P2P/CUMEM", "SHM/direct/direct".
void take_transport(std::string_view via, NcclLog& log) {
  auto rest = after(via, "NET/");
  if (!rest) {
    const auto kind = via.substr(0, via.find('/'));
    if (kind == "P2P" || kind == "SHM") ++log.transports[std::string(kind)].channels;
    return;
  }
  const auto slash = rest->find('/');
  if (slash == rest->npos || slash == 0) return;
  const std::string name = "NET/" + std::string(rest->substr(0, slash));
  std::string_view options = rest->substr(slash + 1);
  const auto adapter = take_number(options);
  if (!adapter) return;
  bool proxy = false;
  if (take_text(options, "(")) {
    if (!take_number(options) || !take_text(options, ")")) return;
    proxy = true;
  }
  const bool gpu_direct = take_text(options, "/GDRDMA");
  if (gpu_direct) take_text(options, "(PCI)");
  take_text(options, "/Shared");
  if (!options.empty()) return;  // unknown form
  if (!log.transports.contains(name) && log.transports.size() == NcclLogReader::most_names) return;
  Transport& transport = log.transports[name];
  ++transport.channels;
  transport.with_gpu_direct += gpu_direct ? 1 : 0;
  transport.through_proxy += proxy ? 1 : 0;
  if (log.adapter_indices.size() < NcclLogReader::most_names) {
    log.adapter_indices.insert(*adapter);
  }
}

void take_channel(std::string_view text, NcclLog& log) {
  constexpr std::string_view via = " via ";
  const auto at = text.find(via);
  if (at == text.npos || !is_channel(text.substr(0, at))) return;
  take_transport(text.substr(at + via.size()), log);
}

// The beginnings of lines that name a cause.
constexpr std::array<std::string_view, 9> causes = {"NET/IB : No device found",
                                                    "Failed to open libibverbs.so",
                                                    "NET/Plugin: Could not find",
                                                    "NET/Plugin : No plugin found",
                                                    "Failed to initialize any NET plugin",
                                                    "Error: network ",
                                                    "NET/IB: Got completion",
                                                    "NET/IB : Got completion",
                                                    "Call to ibv_"};

bool names_a_cause(std::string_view text) {
  return std::ranges::any_of(causes,
                             [&](std::string_view cause) { return text.starts_with(cause); });
}

// The text after "NCCL INFO " or "NCCL WARN "; nullopt if the line is not NCCL's.
std::optional<std::string_view> message_of(std::string_view line) {
  for (const std::string_view mark : {" NCCL INFO ", " NCCL WARN "}) {
    const auto at = line.find(mark);
    if (at != line.npos) return trim(line.substr(at + mark.size()));
  }
  return std::nullopt;
}

}  // namespace

bool uses_plain_sockets(const NcclLog& log) {
  return log.transports.contains("NET/Socket");
}

bool NcclLog::leaves_the_node() const {
  return std::ranges::any_of(transports,
                             [](const auto& entry) { return entry.first.starts_with("NET/"); });
}

void NcclLogReader::read(std::string_view piece) {
  while (!piece.empty()) {
    const auto end = piece.find('\n');
    const auto part = piece.substr(0, end);
    if (line_.size() + part.size() > max_line_bytes) {
      too_long_ = true;
    } else if (!too_long_) {
      line_ += part;
    }
    if (end == piece.npos) return;
    if (too_long_) {
      ++log_.passed_over;
    } else {
      take(line_);
    }
    line_.clear();
    too_long_ = false;
    piece.remove_prefix(end + 1);
  }
}

void NcclLogReader::take(std::string_view line) {
  // This line has no debug level: "NCCL version 2.27.3+cuda12.9".
  constexpr std::string_view version_mark = "NCCL version ";
  if (const auto at = line.find(version_mark); at != line.npos) {
    const auto fields = words(line.substr(at + version_mark.size()));
    const auto version = fields.empty() ? std::nullopt : parse_nccl_version(fields.front());
    if (version) log_.version = version;
    return;
  }
  const auto message = message_of(line);
  if (!message) return;
  if (const auto channel = after(*message, "Channel ")) return take_channel(*channel, log_);
  if (const auto network = after(*message, "Using network ")) {
    if (log_.networks.size() < most_names) log_.networks.emplace(trim(*network));
    return;
  }
  for (const std::string_view using_ib : {"NET/IB : Using", "NET/IB: Using"}) {
    if (const auto adapters = after(*message, using_ib)) return take_adapters(*adapters, log_);
  }
  if (names_a_cause(*message) && log_.complaints.size() < most_complaints) {
    log_.complaints.push_back(printable(*message));
  }
}

}  // namespace toprun::fabric
