#include "base/net/host_file.h"

#include <algorithm>
#include <unordered_map>

#include "base/net/address.h"
#include "base/net/hostlist.h"
#include "base/text/text.h"

namespace toprun::hosts {
namespace {

constexpr std::string_view name_form =
    "a host's name has only letters, digits, '.', '-', '_' and ':'";

constexpr std::string_view where_ports_go = "a port goes into ssh's configuration (~/.ssh/config)";

// Refuses characters that ssh could take for an option or a shell could interpret.
bool is_name(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_' || c == ':' || c == '%';
  };
  return !text.empty() && text.front() != '-' && std::ranges::all_of(text, fits);
}

// No machine that we know runs so many ranks, and many ports are above it.
constexpr int least_likely_port = 4096;

std::optional<int> slots_in(std::string_view text) {
  const auto number = parse_int(text);
  if (!number || *number < 1 || *number > max_host_slots) return std::nullopt;
  return static_cast<int>(*number);
}

// "list" and N of "list:N". Brackets cannot contain colons; two colons make an IPv6 address.
struct HostItem {
  std::string_view list;
  std::optional<std::string_view> slots;
};

// "[fd00::1]" and "[fd00::1]:4": an address, where other brackets have numbers in them.
std::optional<HostItem> bracketed_address(std::string_view word) {
  const std::size_t end = word.find(']');
  if (!word.starts_with('[') || end == std::string_view::npos) return std::nullopt;
  const std::string_view address = word.substr(1, end - 1);
  const std::string_view rest = word.substr(end + 1);
  if (!Address::parse(address) || (!rest.empty() && !rest.starts_with(':'))) return std::nullopt;
  if (rest.empty()) return HostItem{address, std::nullopt};
  return HostItem{address, rest.substr(1)};
}

HostItem item_in(std::string_view word) {
  if (const auto item = bracketed_address(word)) return *item;
  const std::size_t colon = word.rfind(':');
  if (colon == std::string_view::npos || word.find(':') != colon) return {word, std::nullopt};
  return {word.substr(0, colon), word.substr(colon + 1)};
}

// Splits at the commas outside brackets. An item may be empty.
std::vector<std::string_view> items_in(std::string_view text) {
  std::vector<std::string_view> items;
  std::size_t start = 0;
  bool inside = false;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '[') inside = true;
    if (i < text.size() && text[i] == ']') inside = false;
    if (i < text.size() && (text[i] != ',' || inside)) continue;
    items.push_back(trim(text.substr(start, i - start)));
    start = i + 1;
  }
  return items;
}

// Collects hosts and the place of each in the input.
class Collector {
 public:
  // `place` is for messages: "--hosts, item 2", "hosts.txt:7".
  Result<void> add(std::string_view word, const std::string& place) {
    const HostItem item = item_in(word);
    std::optional<int> slots;
    if (item.slots) {
      slots = slots_in(*item.slots);
      if (!slots) {
        return usage(fmt::format("{}: \"{}\"", place, word),
                     item.slots->empty()
                         ? std::string("the number of processes after the ':' is missing")
                     : parse_int(*item.slots)
                         ? fmt::format("the number of processes after the ':' must be from 1 to {}",
                                       least_likely_port - 1)
                         : std::string("the text after the ':' is not a number of processes"),
                     fmt::format("write HOST:N with N from 1 to {}; {}", least_likely_port - 1,
                                 where_ports_go));
      }
      if (*slots >= least_likely_port) {
        return usage(
            fmt::format("{}: \"{}\"", place, word),
            fmt::format("{} looks like a port, but N in HOST:N is the number of processes", *slots),
            fmt::format("drop the port: --master-port gives toprun's port, and {}; "
                        "--nproc-per-node takes any number of processes",
                        where_ports_go));
      }
    }
    return add(item.list, slots, place);
  }

  Result<void> add(std::string_view list, std::optional<int> slots, const std::string& place) {
    if (const auto item = bracketed_address(list)) list = item->list;
    const auto logins = parse_hostlist(list, max_named_hosts);
    if (!logins) {
      return usage(fmt::format("{}, column {} of \"{}\"", place, logins.error().column, list),
                   logins.error().why, logins.error().fix);
    }
    for (const std::string& login : *logins) {
      if (auto added = add_one(login, slots, place); !added) return added;
    }
    return {};
  }

  std::vector<NamedHost> take() { return std::move(hosts_); }

 private:
  Result<void> add_one(const std::string& login, std::optional<int> slots,
                       const std::string& place) {
    const std::size_t at = login.rfind('@');
    const std::string name = at == std::string::npos ? login : login.substr(at + 1);
    const bool user_is_good = at == std::string::npos || is_name(login.substr(0, at));
    if (!is_name(name) || !user_is_good) {
      return usage(fmt::format("{}: \"{}\" is not a host", place, login), {},
                   std::string(name_form));
    }
    const bool has_colons = name.contains(':');
    if (has_colons && !Address::parse(name.substr(0, name.find('%')))) {
      return usage(fmt::format("{}: \"{}\"", place, login),
                   "several colons make an IPv6 address, but this is not a valid one",
                   fmt::format("write HOST:N for N processes on a host; {}", where_ports_go));
    }
    const auto [known, is_new] = place_of_.emplace(name, place);
    if (!is_new) {
      return usage(fmt::format("{}: host {} is listed twice", place, name),
                   fmt::format("the host is already listed at {}", known->second),
                   "list each host once, with its number of processes (HOST:N)");
    }
    if (hosts_.size() == max_named_hosts) {
      return usage(fmt::format("{}: too many hosts", place),
                   fmt::format("at most {}", max_named_hosts));
    }
    hosts_.push_back({name, login, slots});
    return {};
  }

  std::vector<NamedHost> hosts_;
  std::unordered_map<std::string, std::string> place_of_;
};

struct CountedHost {
  std::string_view name;
  int processes = 1;
};
using CountedHosts = std::vector<CountedHost>;

// "hostA 2 hostB 4", as LSB_MCPU_HOSTS is. Empty: another form.
CountedHosts pairs_in(const std::vector<std::string_view>& parts) {
  CountedHosts hosts;
  if (parts.size() % 2 != 0) return {};
  for (std::size_t i = 0; i < parts.size(); i += 2) {
    const auto processes = slots_in(parts[i + 1]);
    if (!processes || parse_int(parts[i]) || !is_name(parts[i])) return {};
    hosts.push_back({parts[i], *processes});
  }
  return hosts;
}

// A host's name for each of its processes, as in PBS_NODEFILE, LSB_DJOB_HOSTFILE and LSB_HOSTS.
// Empty: another form, or no name is repeated.
CountedHosts repeated_in(const std::vector<std::string_view>& parts) {
  CountedHosts hosts;
  std::unordered_map<std::string_view, std::size_t> index_of;
  for (const std::string_view name : parts) {
    if (!is_name(name) || item_in(name).slots) return {};
    const auto [found, is_new] = index_of.emplace(name, hosts.size());
    if (is_new) {
      hosts.push_back({name});
    } else if (++hosts[found->second].processes > max_host_slots) {
      return {};
    }
  }
  return hosts.size() < parts.size() ? hosts : CountedHosts{};
}

// The word of each line; empty if a line has several.
std::vector<std::string_view> lone_words(std::string_view text) {
  std::vector<std::string_view> all;
  for (const std::string_view line : split(text, '\n')) {
    const auto parts = words(line);
    if (parts.size() > 1) return {};
    if (!parts.empty()) all.push_back(parts.front());
  }
  return all;
}

Result<void> add_counted(const CountedHosts& hosts, const std::string& place,
                         Collector& collector) {
  for (const CountedHost& host : hosts) {
    if (auto added = collector.add(host.name, host.processes, place); !added) return added;
  }
  return {};
}

// Open MPI's rankfile places each rank on slots of its own.
Result<void> refuse_rankfile(const std::vector<std::string_view>& parts, const std::string& place) {
  const bool numbers_a_rank = parts.size() > 1 && lower(parts[0]) == "rank" &&
                              parse_int(parts[1].substr(0, parts[1].find('=')));
  if (!numbers_a_rank) return {};
  return usage(fmt::format("{}: \"{} {}\"", place, parts[0], parts[1]),
               "this is a line of a rankfile, but this file is read as a host file",
               "write HOST slots=N, or start the ranks as the rankfile says: mpirun --rankfile "
               "FILE toprun --ranks-in-place");
}

// Converts "slots = 4", which Open MPI accepts, to "slots=4".
std::string with_joined_signs(std::string_view line) {
  std::string out;
  for (const std::string_view word : words(line)) {
    const bool joins = !out.empty() && (out.back() == '=' || word.front() == '=');
    if (!out.empty() && !joins) out += ' ';
    out += word;
  }
  return out;
}

struct LineSlots {
  std::optional<int> slots, most;
};

// Parses one word after the host; false if the word is unknown.
Result<bool> take_word(std::string_view word, LineSlots& line, const std::string& place) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos) return false;
  std::string key = lower(word.substr(0, equals));
  std::ranges::replace(key, '-', '_');
  if (key != "slots" && key != "max_slots") return false;
  const auto number = slots_in(word.substr(equals + 1));
  if (!number) {
    return usage(fmt::format("{}: {}", place, word), "this is not a number of processes",
                 fmt::format("give a number from 1 to {}", max_host_slots));
  }
  (key == "slots" ? line.slots : line.most) = number;
  return true;
}

// "; did you mean slots=1?" for "slot=1"; empty: it resembles no word.
std::string meant_instead_of(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos) return {};
  const std::vector<std::string> keys = {"slots", "max_slots"};
  const auto key = did_you_mean(lower(word.substr(0, equals)), keys);
  return key ? fmt::format("; did you mean {}{}?", *key, word.substr(equals)) : std::string();
}

Result<void> take_line(std::string_view text, const std::string& place, Collector& collector,
                       std::vector<std::string>& notes) {
  const std::string joined = with_joined_signs(text.substr(0, text.find('#')));
  const std::vector<std::string_view> parts = words(joined);
  if (parts.empty()) return {};
  if (auto fine = refuse_rankfile(parts, place); !fine) return fine;
  if (const CountedHosts hosts = pairs_in(parts); !hosts.empty()) {
    return add_counted(hosts, place, collector);
  }
  LineSlots line;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const auto known = TRY(take_word(parts[i], line, place));
    if (!known) {
      notes.push_back(
          fmt::format("{}: \"{}\" is ignored{}", place, parts[i], meant_instead_of(parts[i])));
    }
  }
  if (line.slots && line.most && *line.slots > *line.most) {
    return usage(fmt::format("{}: slots={} and max_slots={}", place, *line.slots, *line.most),
                 "slots is larger than max_slots", "correct one of the two numbers");
  }
  for (const std::string_view item : items_in(parts.front())) {
    if (item.empty()) continue;
    auto added = line.slots ? collector.add(item, line.slots, place) : collector.add(item, place);
    if (!added) return added;
  }
  return {};
}

}  // namespace

Result<std::vector<NamedHost>> parse_hosts(std::string_view text, std::string_view source) {
  Collector collector;
  std::size_t number = 0;
  if (!text.contains(',')) {
    const auto parts = words(text);
    CountedHosts counted = pairs_in(parts);
    if (counted.empty()) counted = repeated_in(parts);
    TRY(add_counted(counted, std::string(source), collector));
    if (!counted.empty()) return collector.take();
  }
  auto items = items_in(text);
  if (items.size() > 1 && items.back().empty()) items.pop_back();  // as tr '\n' ',' leaves it
  const auto is_empty = [](std::string_view item) { return item.empty(); };
  if (std::ranges::all_of(items, is_empty)) {
    return usage(fmt::format("{} does not name a host", source), {},
                 "write hosts as in a,b[3-9]:4");
  }
  for (const std::string_view item : items) {
    const std::string place = fmt::format("{}, item {}", source, ++number);
    if (item.empty()) {
      return usage(place + " is empty", "", "give a host between two commas, or drop a comma");
    }
    TRY(collector.add(item, place));
  }
  return collector.take();
}

Result<NamedHosts> parse_host_file(std::string_view text, std::string_view path) {
  NamedHosts out;
  Collector collector;
  if (text.size() > max_host_file_bytes) {
    return usage(fmt::format("host file {}", path),
                 fmt::format("the file is longer than {} bytes", max_host_file_bytes));
  }
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  if (const CountedHosts counted = repeated_in(lone_words(text)); !counted.empty()) {
    TRY(add_counted(counted, std::string(path), collector));
    out.hosts = collector.take();
    out.notes.push_back(
        fmt::format("{}: each host runs as many processes as there are lines with its name", path));
    return out;
  }
  std::size_t number = 0;
  for (const std::string_view line : split(text, '\n')) {
    const std::string place = fmt::format("{}:{}", path, ++number);
    if (line.size() > max_host_line_bytes) {
      return usage(place, fmt::format("a line is longer than {} bytes", max_host_line_bytes),
                   "is this a host file?");
    }
    TRY(take_line(line, place, collector, out.notes));
  }
  out.hosts = collector.take();
  if (out.hosts.empty()) return usage(fmt::format("host file {} lists no hosts", path));
  return out;
}

}  // namespace toprun::hosts
