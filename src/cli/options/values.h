#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/error.h"
#include "node/plan/options.h"

namespace toprun::options {

// A value as the user gave it, and where: the input of the checks below, so that every message
// shows what to correct.
struct Given {
  std::string source;  // "--nnodes", "PET_NNODES" or "toprun.toml:3"
  std::string value;
  bool from_variable = false;
  std::string key = {};  // of toprun.toml: "nnodes"; empty: it is from no file

  bool is_typed() const { return source.starts_with('-'); }  // on the command line
  // "--nnodes 0", "PET_NNODES=0" or "toprun.toml:3: nnodes = 0".
  std::string label() const;
};

inline constexpr int max_nodes = 1'000'000;
inline constexpr int max_processes_per_node = 100'000;
inline constexpr int max_port = 65'535;
inline constexpr std::string_view null_device = "/dev/null";

// "1", "true", "t", "yes", "y" and their opposites, as torchrun reads them; nullopt: another word.
std::optional<bool> truth_of(std::string_view text);

// All of them fail with exit_usage, naming the value and what is allowed.

Result<int> parse_number(const Given& given, int least, int most);
// A number, where all but 0 mean on, as torchrun reads the PET_* of its switches; or a word such as
// true or no. Empty counts as 0.
Result<bool> parse_switch(const Given& given);
// One of the words, as it is.
Result<std::string> parse_choice(const Given& given, std::span<const std::string_view> choices);

struct NodeCount {
  int least = 1;
  int most = 1;
};
// N, or MIN:MAX.
Result<NodeCount> parse_node_count(const Given& given);
// A number, cpu, gpu or auto, as it is.
Result<std::string> parse_processes_per_node(const Given& given);
Result<std::string> parse_backend(const Given& given);
// HOST[:PORT]; an IPv6 address with a port in brackets, which the result leaves out. Port 0 is
// allowed: the kernel chooses one.
Result<plan::Endpoint> parse_endpoint(const Given& given);
// Where to listen: ADDRESS:PORT, PORT or nothing; without an address loopback, without a port 0.
Result<plan::Endpoint> parse_listening(const Given& given);
// A host name or address without a port; brackets around an IPv6 address are taken away.
Result<std::string> parse_host(const Given& given);
// 0…3, or LOCAL_RANK:0…3 separated by commas, where ranks that are not named get 0.
Result<plan::StreamMap> parse_streams(const Given& given);
// Local ranks separated by commas: each once, ascending.
Result<std::vector<int>> parse_local_ranks(const Given& given);
// Texts separated by commas; a double comma stands for one in a text. Empty: none.
Result<std::vector<std::string>> parse_filters(const Given& given);
// A template as Python's string.Template reads it, with ${NAME} for its $NAME and $ for its $$.
Result<std::string> parse_prefix_template(const Given& given);
// Bytes, with K, M or G (or KiB, MiB or GiB; k, m, g) for 2^10, 2^20 or 2^30 of them.
Result<std::uint64_t> parse_size(const Given& given);

// Names of signals that a process may pass on, with or without SIG, separated by commas; each
// signal once, in the order given.
Result<std::vector<int>> parse_signals(const Given& given);
Result<worker::NumaBinding> parse_numa_binding(const Given& given);
// The modules' names; torch if the option has no value. Unset: off.
Result<std::optional<std::vector<std::string>>> parse_imports(const Given& given);

// NAME or NAME=VALUE, as a shell can set it.
Result<std::pair<std::string, std::optional<std::string>>> parse_variable(const Given& given);
// Names of environment modules, separated by commas.
Result<std::vector<std::string>> parse_modules(const Given& given);

struct OrderChoice {
  plan::Order order = plan::Order::automatic;
  std::string file;
};
Result<OrderChoice> parse_order(const Given& given);

}  // namespace toprun::options
