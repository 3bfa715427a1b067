#include "cli/options/values.h"

#include <signal.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/net/address.h"
#include "base/os/signals.h"
#include "base/text/secrets.h"
#include "base/text/text.h"

namespace toprun::options {
namespace {

std::unexpected<Error> refuse(const Argument& argument, std::string why, std::string fix = {}) {
  return usage(argument.label(), std::move(why), std::move(fix));
}

std::optional<int> number_in(std::string_view text, int least, int most) {
  const auto number = parse_int(text);
  if (!number || *number < least || *number > most) return std::nullopt;
  return static_cast<int>(*number);
}

bool is_host_character(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
         c == '-' || c == '_' || c == ':' || c == '%';
}

bool is_host(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_host_character);
}

// `hostname --ip-address` and `hostname -I` print all addresses of a host in one line.
Result<void> only_one_host(const Argument& argument) {
  const auto hosts = words(argument.value);
  if (hosts.size() < 2) return {};
  return refuse(argument,
                fmt::format("the value contains a blank, so it names {} hosts", hosts.size()),
                fmt::format("give one host, as in {}", hosts.front()));
}

// Joins names: "a, b or c".
// One that is empty goes without saying.
std::string alternatives(std::span<const std::string_view> names) {
  std::vector<std::string_view> all(names.begin(), names.end());
  std::erase(all, std::string_view());
  const std::string_view last = all.back();
  all.pop_back();
  return all.empty() ? std::string(last) : fmt::format("{} or {}", fmt::join(all, ", "), last);
}

constexpr std::array<std::string_view, 4> prefix_macros = {"role_name", "local_rank", "rank",
                                                           "hostname"};

// Removes the name at the start of `text`, in Python's syntax, and returns it.
std::string_view take_name(std::string_view& text) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  std::size_t n = 0;
  while (n < text.size() && (is_letter(text[n]) || (n > 0 && text[n] >= '0' && text[n] <= '9'))) {
    ++n;
  }
  const std::string_view name = text.substr(0, n);
  text.remove_prefix(n);
  return name;
}

// The reason why a launcher cannot catch this signal and pass it on; empty if it can.
std::string_view unfit_for_passing_on(int signal) {
  switch (signal) {
    case SIGKILL:
    case SIGSTOP:
      return "cannot be caught";
    case SIGCHLD:
      return "reports the end of workers to toprun";
    case SIGSEGV:
    case SIGBUS:
    case SIGFPE:
    case SIGILL:
    case SIGABRT:
    case SIGTRAP:
      return "means that toprun itself is broken";
    default:
      return {};
  }
}

}  // namespace

std::optional<bool> truth_of(std::string_view text) {
  constexpr std::array yes = {"1", "true", "t", "yes", "y"};
  constexpr std::array no = {"0", "false", "f", "no", "n"};
  const std::string word = lower(text);
  if (std::ranges::find(yes, word) != yes.end()) return true;
  if (std::ranges::find(no, word) != no.end()) return false;
  return std::nullopt;
}

std::string Argument::label() const {
  const std::string shown =
      value.empty() ? "''" : toprun::without_secrets(std::span(&value, 1)).front();
  if (!key.empty()) return fmt::format("{}: {} = {}", source, key, shown);
  return from_variable ? source + "=" + shown : source + " " + shown;
}

Result<int> parse_number(const Argument& argument, int least, int most, std::string_view unit) {
  if (const auto number = number_in(argument.value, least, most)) return *number;
  return refuse(argument, fmt::format("must be a whole number{} from {} to {}", unit, least, most));
}

Result<bool> parse_switch(const Argument& argument) {
  if (trim(argument.value).empty()) return false;
  if (const auto truth = truth_of(argument.value)) return *truth;
  if (const auto number = parse_int(argument.value)) return *number != 0;
  return refuse(argument, "must be 1 or 0");
}

Result<std::string> parse_choice(const Argument& argument,
                                 std::span<const std::string_view> choices) {
  if (std::ranges::find(choices, argument.value) != choices.end()) return argument.value;
  const auto meant =
      did_you_mean(argument.value, std::vector<std::string>(choices.begin(), choices.end()));
  return refuse(argument, "must be " + alternatives(choices),
                meant ? fmt::format("did you mean {}?", *meant) : "");
}

Result<NodeCount> parse_node_count(const Argument& argument, char between) {
  const auto parts = toprun::split(argument.value, between);
  const std::string range = fmt::format("MIN{}MAX", between);
  if (parts.size() > 2) return refuse(argument, "must be N or " + range);
  const auto least = number_in(parts.front(), 1, max_nodes);
  const auto most = number_in(parts.back(), 1, max_nodes);
  if (parts.size() == 1 && !most) {
    return refuse(argument,
                  fmt::format("must be a number of nodes from 1 to {}, or {}", max_nodes, range));
  }
  const auto bad_end = [&](std::string_view name, std::string_view text) {
    return refuse(argument, fmt::format("{} is \"{}\", and must be a number of nodes from 1 to {}",
                                        name, text, max_nodes));
  };
  if (!least) return bad_end("MIN", parts.front());
  if (!most) return bad_end("MAX", parts.back());
  if (*least > *most)
    return refuse(argument, "MIN is greater than MAX", "write the smaller number first: " + range);
  return NodeCount{*least, *most};
}

Result<std::string> parse_processes_per_node(const Argument& argument) {
  for (const char* word : {"cpu", "gpu", "auto"}) {
    if (argument.value == word) return argument.value;
  }
  if (const auto number = number_in(argument.value, 1, max_processes_per_node)) {
    return std::to_string(*number);
  }
  if (argument.value == "xpu")
    return refuse(argument, "toprun cannot detect the number of XPUs",
                  "give the number of processes");
  return refuse(argument, fmt::format("must be a number from 1 to {}, cpu, gpu or auto",
                                      max_processes_per_node));
}

Result<std::string> parse_backend(const Argument& argument) {
  if (argument.value == "static" || argument.value == "c10d") return argument.value;
  if (argument.value == "etcd" || argument.value == "etcd-v2") {
    return refuse(argument, "toprun needs no etcd",
                  "use c10d, and name one of the nodes with --rdzv-endpoint");
  }
  return refuse(argument,
                "toprun supports the backends static and c10d, but no rendezvous code in Python",
                "use static or c10d");
}

Result<plan::Endpoint> parse_endpoint(const Argument& argument) {
  std::string_view host = trim(argument.value);
  TRY(only_one_host(argument));
  std::optional<std::string_view> port;
  if (host.find('/') != std::string_view::npos)
    return refuse(argument, "must be HOST:PORT, not a URL");
  const std::size_t bracket = host.starts_with('[') ? host.find(']') : 0;
  if (bracket == std::string_view::npos) return refuse(argument, "a ] is missing after the [");
  const std::size_t colon = host.find(':', bracket);
  if (bracket == 0 && std::ranges::count(host, ':') > 1) {
    return refuse(argument, "an IPv6 address needs brackets", "write [ADDRESS]:PORT");
  }
  if (colon != std::string_view::npos) {
    port = host.substr(colon + 1);
    host = host.substr(0, colon);
  }
  if (bracket != 0) {
    if (host.size() != bracket + 1) return refuse(argument, "must be [ADDRESS]:PORT");
    host = host.substr(1, bracket - 1);
  }
  if (!is_host(host)) return refuse(argument, "must be HOST:PORT, with a host name or an address");
  plan::Endpoint endpoint{std::string(host), std::nullopt};
  if (!port) return endpoint;
  endpoint.port = number_in(*port, 0, max_port);
  if (!endpoint.port) {
    return refuse(argument,
                  fmt::format("the port \"{}\" is not a number from 0 to {}", *port, max_port));
  }
  return endpoint;
}

Result<plan::Endpoint> parse_listening(const Argument& argument) {
  const std::string_view text = trim(argument.value);
  if (text.empty()) return plan::Endpoint{hosts::loopback().text(), 0};
  if (const auto port = number_in(text, 0, max_port)) {
    return plan::Endpoint{hosts::loopback().text(), port};
  }
  if (is_digits(text)) {
    return refuse(argument, fmt::format("the port is not a number from 0 to {}", max_port));
  }
  auto place = parse_endpoint(argument);
  if (!place) return place;
  if (place->host == "localhost") place->host = hosts::loopback().text();
  if (!hosts::Address::parse(place->host)) {
    return refuse(argument, "must be an address of this host, or only a port",
                  "write 127.0.0.1:PORT, or 0.0.0.0:PORT for everyone who can reach this host");
  }
  if (!place->port) place->port = 0;
  return place;
}

Result<std::string> parse_host(const Argument& argument) {
  std::string_view host = trim(argument.value);
  TRY(only_one_host(argument));
  if (host.size() > 2 && host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  }
  if (!is_host(host)) return refuse(argument, "must be a host name or an address");
  if (std::ranges::count(host, ':') == 1) {
    return refuse(argument, "must be a host without a port", "give the port with --master-port");
  }
  return std::string(host);
}

Result<plan::StreamMap> parse_streams(const Argument& argument) {
  constexpr int both = 3;
  plan::StreamMap streams;
  if (const auto all = number_in(argument.value, 0, both)) {
    streams.all = static_cast<plan::StreamSet>(*all);
    return streams;
  }
  constexpr std::string_view form = "0 (none), 1 (stdout), 2 (stderr) or 3 (both)";
  if (argument.value.find(':') == std::string::npos) {
    return refuse(
        argument,
        fmt::format("must be {}, or one of these for each local rank, as in 0:3,1:1", form));
  }
  for (const std::string_view part : toprun::split(argument.value, ',')) {
    const auto pair = toprun::split(part, ':');
    const auto rank = number_in(pair.front(), 0, max_processes_per_node - 1);
    const auto set = number_in(pair.back(), 0, both);
    if (pair.size() != 2 || !rank || !set) {
      return refuse(argument,
                    fmt::format("\"{}\" must be a local rank, a colon and {}", part, form));
    }
    streams.by_local_rank[*rank] = static_cast<plan::StreamSet>(*set);
  }
  return streams;
}

Result<std::vector<int>> parse_local_ranks(const Argument& argument) {
  std::vector<int> local_ranks;
  for (const std::string_view part : toprun::split(argument.value, ',')) {
    const auto rank = number_in(trim(part), 0, max_processes_per_node - 1);
    if (!rank) {
      return refuse(argument, fmt::format("\"{}\" must be a local rank from 0 to {}", part,
                                          max_processes_per_node - 1));
    }
    local_ranks.push_back(*rank);
  }
  std::ranges::sort(local_ranks);
  local_ranks.erase(std::ranges::unique(local_ranks).begin(), local_ranks.end());
  return local_ranks;
}

Result<std::vector<std::string>> parse_filters(const Argument& argument) {
  std::vector<std::string> filters;
  if (argument.value.empty()) return filters;
  filters.emplace_back();
  const std::string_view text = argument.value;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != ',') {
      filters.back() += text[i];
    } else if (i + 1 < text.size() && text[i + 1] == ',') {
      filters.back() += ',';
      ++i;
    } else {
      filters.emplace_back();
    }
  }
  if (std::ranges::find(filters, "") != filters.end()) {
    return refuse(argument, "one of the filters is empty and would match every line",
                  "if a comma is part of a filter, write two commas");
  }
  return filters;
}

Result<std::string> parse_prefix_template(const Argument& argument) {
  std::string out;
  std::string_view rest = argument.value;
  for (std::size_t dollar; (dollar = rest.find('$')) != std::string_view::npos;) {
    out += rest.substr(0, dollar);
    rest.remove_prefix(dollar + 1);
    if (rest.starts_with('$')) {
      out += '$';
      rest.remove_prefix(1);
      continue;
    }
    const bool braced = rest.starts_with('{');
    if (braced) rest.remove_prefix(1);
    const std::string_view name = take_name(rest);
    if (braced && !rest.starts_with('}')) return refuse(argument, "a } is missing after ${");
    if (braced) rest.remove_prefix(1);
    if (name.empty() && !braced) {  // a dollar sign without a macro
      out += '$';
      continue;
    }
    if (std::ranges::find(prefix_macros, name) == prefix_macros.end()) {
      return refuse(argument, fmt::format("unknown macro ${{{}}}", name),
                    fmt::format("the known macros are ${{{}}}", fmt::join(prefix_macros, "}, ${")));
    }
    out += fmt::format("${{{}}}", name);
  }
  return out.append(rest);
}

Result<std::uint64_t> parse_size(const Argument& argument) {
  constexpr std::string_view units = "kKmMgG";
  constexpr int unit_bits = 10;
  std::string_view digits = argument.value;
  const std::string_view spelled_out = "iB";
  if (digits.ends_with(spelled_out)) {
    digits.remove_suffix(spelled_out.size());
    if (digits.empty() || !units.contains(digits.back())) digits = {};
  }
  int shift = 0;
  if (const std::size_t unit = digits.empty() ? units.npos : units.find(digits.back());
      unit != units.npos) {
    shift = unit_bits * (static_cast<int>(unit) / 2 + 1);
    digits.remove_suffix(1);
  }
  const auto number = parse_int(digits);
  if (!number || *number < 1 || *number > (std::numeric_limits<std::int64_t>::max() >> shift)) {
    return refuse(argument,
                  "must be a number of bytes, at least 1; K, M or G may follow it, as in 64M");
  }
  return static_cast<std::uint64_t>(*number) << shift;
}

Result<std::vector<int>> parse_signals(const Argument& argument) {
  std::vector<int> signals;
  for (const std::string_view part : toprun::split(argument.value, ',')) {
    const std::string_view name = trim(part);
    const auto signal = parse_signal(name);
    if (!signal) {
      return refuse(argument, fmt::format("there is no signal \"{}\"", name),
                    "write names such as SIGTERM,SIGUSR1");
    }
    if (const std::string_view why = unfit_for_passing_on(*signal); !why.empty()) {
      return refuse(argument, fmt::format("{} {}", signal_name(*signal), why), "leave it out");
    }
    if (std::ranges::find(signals, *signal) == signals.end()) signals.push_back(*signal);
  }
  return signals;
}

Result<worker::NumaBinding> parse_numa_binding(const Argument& argument) {
  using worker::NumaBinding;
  constexpr std::array<std::string_view, 4> names = {"node", "socket", "exclusive", "core-complex"};
  constexpr std::array bindings = {NumaBinding::node, NumaBinding::socket, NumaBinding::exclusive,
                                   NumaBinding::core_complex};
  const auto found = std::ranges::find(names, argument.value);
  if (found == names.end()) return refuse(argument, "must be " + alternatives(names));
  return bindings.at(static_cast<std::size_t>(found - names.begin()));
}

Result<std::optional<std::vector<std::string>>> parse_imports(const Argument& argument) {
  constexpr std::array<std::string_view, 3> no = {"off", "false", "0"};
  constexpr std::array<std::string_view, 4> yes = {"", "on", "true", "1"};
  if (std::ranges::find(no, argument.value) != no.end()) return std::nullopt;
  const bool named = std::ranges::find(yes, argument.value) == yes.end();
  std::vector<std::string> modules;
  for (const std::string_view name :
       toprun::split(named ? std::string_view(argument.value) : "torch", ',')) {
    modules.emplace_back(trim(name));
    const bool is_name =
        !modules.back().empty() && std::ranges::none_of(modules.back(), [](char c) {
          return std::string_view(" /-;\\'\"").find(c) != std::string_view::npos ||
                 static_cast<unsigned char>(c) < ' ';
        });
    if (!is_name)
      return refuse(argument, "must be off, or names of modules as in torch,transformers");
  }
  return modules;
}

Result<std::pair<std::string, std::optional<std::string>>> parse_variable(
    const Argument& argument) {
  const std::size_t equals = argument.value.find('=');
  const std::string name = argument.value.substr(0, equals);
  const auto is_word = [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
  };
  const bool digit_first = !name.empty() && name[0] >= '0' && name[0] <= '9';
  if (name.empty() || digit_first || !std::ranges::all_of(name, is_word)) {
    return usage(argument.label(), fmt::format("'{}' is not the name of a variable", name),
                 "write NAME=VALUE, with letters, digits and _ in the name");
  }
  if (equals == std::string::npos) return std::pair(name, std::optional<std::string>());
  return std::pair(name, std::optional(argument.value.substr(equals + 1)));
}

Result<std::vector<std::string>> parse_modules(const Argument& argument) {
  std::vector<std::string> names;
  for (const std::string_view part : toprun::split(argument.value, ',')) {
    const std::string_view name = trim(part);
    const auto is_good = [](char c) { return c > ' ' && c != 127; };
    if (name.empty() || name.front() == '-' || !std::ranges::all_of(name, is_good)) {
      return usage(argument.label(),
                   fmt::format("'{}' is not the name of a module", printable(name)),
                   "write NAME or NAME/VERSION, separated by commas");
    }
    names.emplace_back(name);
  }
  return names;
}

Result<OrderChoice> parse_order(const Argument& argument) {
  using plan::Order;
  constexpr std::array<std::pair<std::string_view, Order>, 4> named_orders = {
      {{"topology", Order::topology},
       {"name", Order::name},
       {"scheduler", Order::scheduler},
       {"given", Order::given}}};
  for (const auto& [name, order] : named_orders) {
    if (argument.value == name) return OrderChoice{order, {}};
  }
  constexpr std::string_view file = "file:";
  if (argument.value.starts_with(file) && argument.value.size() > file.size()) {
    return OrderChoice{Order::file, argument.value.substr(file.size())};
  }
  return refuse(argument, "must be topology, name, scheduler, given or file:PATH");
}

}  // namespace toprun::options
