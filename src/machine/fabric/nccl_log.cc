#include "machine/fabric/nccl_log.h"

#include <algorithm>
#include <array>

#include "base/text/text.h"

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
    const auto slash = word.find('/', bracket);
    if (!word.starts_with('[') || bracket == word.npos || slash == word.npos) continue;
    const auto layer = split(word.substr(slash + 1), '/').front();  // of "IB/SHARP" the first
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

// Parses "NET/IB/0(3)/GDRDMA(PCI)/Shared", "NET/AWS Libfabric/2", "P2P/CUMEM", "SHM/direct/direct";
// RCCL names the communicator behind it: "NET/IB/0/GDRDMA comm 0x9bbf3b0 nRanks 16".
void take_transport(std::string_view via, bool receives, NcclLog& log) {
  via = via.substr(0, via.find(" comm 0x"));
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
  transport.receiving += receives ? 1 : 0;
  transport.receiving_with_gpu_direct += receives && gpu_direct ? 1 : 0;
  if (log.adapter_indices.size() < NcclLogReader::most_names) {
    log.adapter_indices.insert(*adapter);
  }
}

void take_channel(std::string_view text, NcclLog& log) {
  constexpr std::string_view via = " via ";
  const auto at = text.find(via);
  const std::string_view ends = text.substr(0, at);
  if (at == text.npos || !is_channel(ends)) return;
  take_transport(text.substr(at + via.size()), ends.ends_with("[receive]"), log);
}

struct CauseForm {
  Cause cause;
  std::string_view start;
  bool only_as_warning = false;  // at INFO the same words are of a try that may fail
};
// The beginnings of lines that name a cause; of one kind, those that say most come first. From the
// sources of NCCL 2.10 to 2.30, RCCL and aws-ofi-nccl.
constexpr std::array cause_forms = {
    CauseForm{Cause::setting, "NCCL_NET set by environment to Socket"},
    CauseForm{Cause::setting, "NCCL_IB_DISABLE set by environment to 1"},
    CauseForm{Cause::plugin, "NET/OFI Only EFA provider is supported"},
    CauseForm{Cause::plugin, "NET/OFI No eligible providers were found"},
    CauseForm{Cause::plugin, "NET/OFI Couldn't find any optimal provider"},
    CauseForm{Cause::plugin, "NET/OFI Unable to find a protocol that worked"},
    CauseForm{Cause::plugin, "NET/OFI aws-ofi-nccl initialization failed"},
    CauseForm{Cause::plugin, "External network plugin "},  // "… is unsupported"
    CauseForm{Cause::plugin, "NET/Plugin: Failed to find ncclNetPlugin symbol"},
    CauseForm{Cause::plugin, "NET/Plugin : Plugin load"},
    CauseForm{Cause::plugin, "NET/Plugin : dlerror="},
    CauseForm{Cause::plugin, "NET/Plugin: Could not find"},
    CauseForm{Cause::plugin, "NET/Plugin: No plugin found"},
    CauseForm{Cause::plugin, "NET/Plugin : No plugin found"},
    CauseForm{Cause::verbs, "Failed to open libibverbs.so"},
    CauseForm{Cause::verbs, "NET/IB : No IP interface found"},
    CauseForm{Cause::verbs, "NET/IB : No device found"},
    CauseForm{Cause::verbs, "NET/IB: No device found"},
    CauseForm{Cause::verbs, "Failed to initialize NET plugin IB"},
    CauseForm{Cause::failure, "Failed to initialize any NET plugin", true},
    CauseForm{Cause::failure, "Error: network ", true},
    CauseForm{Cause::failure, "NET/IB: Got completion", true},
    CauseForm{Cause::failure, "NET/IB : Got completion", true},
    CauseForm{Cause::failure, "NET/IB/GIN: Got completion", true},
    CauseForm{Cause::failure, "Call to ibv_", true},
};
// NCCL looks by these calls for devices that it may use; a container often has only some of them.
constexpr std::array<std::string_view, 4> discovering_calls = {
    "Call to ibv_open_device", "Call to ibv_query_device", "Call to ibv_query_port",
    "Call to ibv_query_gid"};

constexpr std::size_t says_least = cause_forms.size();

// The number of the form that this message has; says_least: none.
std::size_t form_of(std::string_view text) {
  const auto begins = [&](std::string_view start) { return text.starts_with(start); };
  if (std::ranges::any_of(discovering_calls, begins)) return says_least;
  const auto form = std::ranges::find_if(cause_forms, begins, &CauseForm::start);
  return static_cast<std::size_t>(form - cause_forms.begin());
}

// "NET/Plugin: libnccl-net.so: …: version `GLIBC_2.38' not found": the loader's own words.
bool is_of_the_loader(std::string_view text) {
  const auto rest = after(text, "NET/Plugin: ");
  const auto parts = rest ? words(*rest) : std::vector<std::string_view>{};
  return parts.size() > 1 && parts[0].ends_with(".so:");
}

std::optional<Cause> cause_of(std::string_view text, bool is_warning) {
  if (is_of_the_loader(text)) return Cause::plugin;
  const std::size_t form = form_of(text);
  if (form == says_least) return std::nullopt;
  if (cause_forms[form].only_as_warning && !is_warning) return std::nullopt;
  return cause_forms[form].cause;
}

struct Message {
  std::string_view text;
  bool is_warning = false;
};

// What stands behind "NCCL INFO " or "NCCL WARN "; nullopt if the line is not NCCL's.
std::optional<Message> message_of(std::string_view line) {
  for (const std::string_view mark : {" NCCL INFO ", " NCCL WARN "}) {
    const auto at = line.find(mark);
    if (at == line.npos) continue;
    return Message{trim(line.substr(at + mark.size())), mark == " NCCL WARN "};
  }
  return std::nullopt;
}

// "NCCL version 2.27.3+cuda12.9", "RCCL version : 2.27.7-HEAD:5b27b96".
std::optional<NcclVersion> version_in(std::string_view text) {
  for (const std::string_view mark : {"NCCL version ", "RCCL version "}) {
    const auto rest = after(text, mark);
    if (!rest) continue;
    auto fields = words(*rest);
    if (!fields.empty() && fields[0] == ":") fields.erase(fields.begin());
    return fields.empty() ? std::nullopt : parse_nccl_version(fields[0]);
  }
  return std::nullopt;
}

}  // namespace

bool uses_plain_sockets(const NcclLog& log) {
  return log.transports.contains("NET/Socket");
}

std::string why_not(FastPath path, const NcclLog& log) {
  const auto order = [&](const Complaint& complaint) {
    const bool is_of_the_path = path == FastPath::plugin ? complaint.cause == Cause::plugin
                                                         : complaint.cause == Cause::verbs;
    const int kind = complaint.cause == Cause::setting ? 0 : is_of_the_path ? 1 : 2;
    const bool is_loader = is_of_the_loader(complaint.text);
    return std::pair(kind, is_loader ? 0 : form_of(complaint.text));
  };
  const Complaint* best = nullptr;
  for (const Complaint& complaint : log.complaints) {
    if (complaint.cause == Cause::failure) continue;
    if (best == nullptr || order(complaint) < order(*best)) best = &complaint;
  }
  return best == nullptr ? "" : best->text;
}

bool Transport::is_gpu_direct() const {
  if (with_gpu_direct == channels) return true;
  return receiving > 0 && receiving_with_gpu_direct == receiving && with_gpu_direct == receiving;
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
  const auto message = message_of(line);
  // Before 2.22 the version has no level.
  if (const auto version = version_in(message ? message->text : trim(line))) {
    log_.version = version;
  }
  if (message) take_message(message->text, message->is_warning);
}

void NcclLogReader::take_message(std::string_view message, bool is_warning) {
  if (const auto channel = after(message, "Channel ")) return take_channel(*channel, log_);
  if (const auto network = after(message, "Using network ")) {
    if (log_.networks.size() < most_names) log_.networks.emplace(trim(*network));
    return;
  }
  for (const std::string_view using_ib : {"NET/IB : Using", "NET/IB: Using"}) {
    if (const auto adapters = after(message, using_ib)) return take_adapters(*adapters, log_);
  }
  if (const auto cause = cause_of(message, is_warning)) {
    Complaint complaint{*cause, printable(message)};
    const bool is_new = std::ranges::find(log_.complaints, complaint) == log_.complaints.end();
    if (is_new && log_.complaints.size() < most_complaints) {
      log_.complaints.push_back(std::move(complaint));
    }
  }
}

}  // namespace toprun::fabric
