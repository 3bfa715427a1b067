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

// A value as the user wrote it, and its source. The checks below take an Argument, so that every
// message can show what to correct.
struct Argument {
  std::string source;  // "--nnodes", "PET_NNODES" or "toprun.toml:3"
  std::string value;
  bool from_variable = false;
  std::string key = {};  // key in toprun.toml: "nnodes"; empty: the value is not from a file

  // Whether the value is from the command line.
  bool is_typed() const { return source.starts_with('-'); }
  // Returns the value and its source, as the user wrote them: "--nnodes 0", "PET_NNODES=0" or
  // "toprun.toml:3: nnodes = 0".
  std::string label() const;
};

inline constexpr int max_nodes = 1'000'000;
inline constexpr int max_processes_per_node = 100'000;
inline constexpr int max_port = 65'535;
inline constexpr std::string_view null_device = "/dev/null";

// Parses "1", "true", "t", "yes", "y" and their opposites like torchrun; nullopt for other words.
std::optional<bool> truth_of(std::string_view text);

// Errors of the following parsers have exit_usage, and contain the value and what is allowed.

// `unit`: " of seconds".
Result<int> parse_number(const Argument& argument, int least, int most, std::string_view unit = {});
// Parses a number, or a word such as true or no. Every number except 0 means on, as in torchrun's
// PET_* variables for switches. An empty value counts as 0.
Result<bool> parse_switch(const Argument& argument);
// Returns the value unchanged, if it is one of `choices`.
Result<std::string> parse_choice(const Argument& argument,
                                 std::span<const std::string_view> choices);

struct NodeCount {
  int least = 1;
  int most = 1;
};
// Parses N, or MIN:MAX.
Result<NodeCount> parse_node_count(const Argument& argument, char between = ':');
// Accepts a number, cpu, gpu or auto, and returns the value unchanged.
Result<std::string> parse_processes_per_node(const Argument& argument);
Result<std::string> parse_backend(const Argument& argument);
// Parses HOST[:PORT]. An IPv6 address with a port needs brackets, which the result does not
// contain. For port 0, the kernel chooses a port.
Result<plan::Endpoint> parse_endpoint(const Argument& argument);
// Parses an address to listen on: ADDRESS:PORT, PORT or nothing. Defaults: loopback, and port 0.
Result<plan::Endpoint> parse_listening(const Argument& argument);
// Parses a host name or address without a port. Brackets around an IPv6 address are removed.
Result<std::string> parse_host(const Argument& argument);
// Parses a number from 0 to 3 (0: none, 1: stdout, 2: stderr, 3: both), or a comma-separated list
// of LOCAL_RANK:NUMBER. Ranks that are not in the list get 0.
Result<plan::StreamMap> parse_streams(const Argument& argument);
// Parses local ranks separated by commas. The result is sorted and contains each rank once.
Result<std::vector<int>> parse_local_ranks(const Argument& argument);
// Parses texts separated by commas. A double comma stands for one comma within a filter. An empty
// value gives an empty list.
Result<std::vector<std::string>> parse_filters(const Argument& argument);
// Parses a template in the syntax of Python's string.Template. The result contains ${NAME} instead
// of $NAME, and $ instead of $$.
Result<std::string> parse_prefix_template(const Argument& argument);
// Parses a number of bytes. The suffixes K, M, G (or k, m, g, KiB, MiB, GiB) mean 2^10, 2^20, 2^30.
Result<std::uint64_t> parse_size(const Argument& argument);

// Parses names of signals that a process can forward, with or without SIG, separated by commas. The
// result contains each signal once, in the given order.
Result<std::vector<int>> parse_signals(const Argument& argument);
Result<worker::NumaBinding> parse_numa_binding(const Argument& argument);
// Parses module names. If the option has no value, the list contains only torch. nullopt: the
// option is off.
Result<std::optional<std::vector<std::string>>> parse_imports(const Argument& argument);

// Parses NAME or NAME=VALUE. NAME must be a valid name of a shell variable.
Result<std::pair<std::string, std::optional<std::string>>> parse_variable(const Argument& argument);
// Parses names of environment modules, separated by commas.
Result<std::vector<std::string>> parse_modules(const Argument& argument);

struct OrderChoice {
  plan::Order order = plan::Order::automatic;
  std::string file;
};
Result<OrderChoice> parse_order(const Argument& argument);

}  // namespace toprun::options
