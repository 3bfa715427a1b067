#include "cli/topo.h"

#include <algorithm>
#include <cstdio>
#include <unordered_set>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/console.h"
#include "base/text.h"
#include "hosts/hostlist.h"
#include "placement/order.h"
#include "topology/source.h"

namespace toprun::cli {
namespace {

struct OrderOptions {
  std::string topology = "auto";
  std::optional<std::string> hosts;
  int nproc_per_node = 1;
  bool json = false;
};

// Steps that Slurm makes itself: an interactive one of salloc and the batch script. Their node list
// is the one node on which the shell runs, not the job's.
bool in_shell_step(const Environment& environment) {
  const auto step = environment.get("SLURM_STEP_ID");
  return step == "4294967290" || step == "4294967291";
}

// The list of hosts that the user or Slurm gives, and where it comes from.
struct HostList {
  std::string text;
  std::string source;
};

std::optional<HostList> host_list(const OrderOptions& options, const Environment& environment) {
  if (options.hosts) return HostList{*options.hosts, "--hosts"};
  for (const char* variable : {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"}) {
    if (std::string_view(variable).contains("STEP") && in_shell_step(environment)) continue;
    if (auto list = environment.non_empty(variable)) return HostList{*list, variable};
  }
  return std::nullopt;
}

Result<std::vector<std::string>> expand(const HostList& list) {
  auto hosts = hosts::expand_hostlist(list.text);
  if (!hosts) {
    Error error = hosts.error();
    error.what = fmt::format("{}: {}", list.source, error.what);
    return std::unexpected(error);
  }
  std::unordered_set<std::string_view> seen;
  for (const std::string& host : *hosts) {
    if (!seen.insert(host).second) {
      return usage(fmt::format("{}: host {} stands twice in the list", list.source, host), {},
                   "name each host once");
    }
  }
  if (hosts->empty()) return usage(list.source + ": the list names no host");
  return hosts;
}

// Only this node's own environment is at hand, so only one member comes with an address.
topology::Request request_for(const std::vector<std::string>& hosts, const std::string& topology,
                              const Environment& environment) {
  topology::Request request{topology, {}, environment};
  const std::string own = environment.get("SLURMD_NODENAME").value_or("");
  for (const std::string& host : hosts) {
    topology::Member member{host, {}, {}};
    if (host == own) {
      member.address = environment.get("SLURM_TOPOLOGY_ADDR").value_or("");
      member.pattern = environment.get("SLURM_TOPOLOGY_ADDR_PATTERN").value_or("");
    }
    request.members.push_back(std::move(member));
  }
  return request;
}

// The job: its hosts and what is known of their places.
struct Job {
  std::vector<placement::Host> hosts;
  topology::Map map;
};

Result<Job> find_job(const OrderOptions& options, const Environment& environment) {
  std::vector<std::string> names;
  if (const auto list = host_list(options, environment)) {
    auto hosts = expand(*list);
    if (!hosts) return std::unexpected(hosts.error());
    names = *std::move(hosts);
  }
  auto map = topology::locate(request_for(names, options.topology, environment));
  if (!map) return std::unexpected(map.error());
  if (names.empty()) {
    for (const auto& entry : map->hosts) names.push_back(entry.host);
  }
  if (names.empty()) {
    return usage("no hosts to order", "this is no Slurm job and no topology file is given",
                 "give --hosts LIST or --topology FILE");
  }
  Job job{{}, *std::move(map)};
  for (std::string& name : names) job.hosts.push_back({std::move(name), options.nproc_per_node});
  return job;
}

void append_table(std::string& out, std::string_view title, const placement::Placement& placement) {
  std::size_t rank_width = std::string_view("rank").size();
  std::size_t name_width = std::string_view("hostname").size();
  for (const placement::Node& node : placement.nodes) {
    rank_width = std::max(rank_width, fmt::formatted_size("{}", node.first_rank));
    name_width = std::max(name_width, node.name.size());
  }
  const auto sink = std::back_inserter(out);
  fmt::format_to(sink, "{}\n{:<{}}  {:<{}}  physical_host\n", title, "rank", rank_width, "hostname",
                 name_width);
  for (const placement::Node& node : placement.nodes) {
    fmt::format_to(sink, "{:<{}}  {:<{}}  {}\n", node.first_rank, rank_width, node.name, name_width,
                   printable(topology::location_text(node.location, node.name)));
  }
}

void report_on_stderr(const placement::Placement& placement) {
  for (const std::string& warning : placement.warnings) say(printable(warning));
  if (placement.source.empty()) {
    say("nothing is known about the network: the order is as given; give --topology FILE");
  }
  for (const placement::Crossings& ring : placement.ring) {
    say(fmt::format("{}: {} of {} neighbours in another {} as given, {} as ordered (minimum {})",
                    ring.level, ring.given, placement.nodes.size(), ring.level, ring.ordered,
                    ring.minimum));
  }
}

// Written by hand, strings aside: a document of 10,000 nodes costs more to build than to order.
class JsonWriter {
 public:
  JsonWriter& text(std::string_view text) {
    constexpr auto plain = [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; };
    if (std::ranges::all_of(text, plain)) {
      fmt::format_to(std::back_inserter(out_), "\"{}\"", text);
    } else {
      // Names in files need not be UTF-8, JSON must be.
      out_ += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    }
    return *this;
  }
  JsonWriter& optional(const std::optional<std::string>& value) {
    return value ? text(*value) : raw("null");
  }
  JsonWriter& number(std::size_t value) {
    fmt::format_to(std::back_inserter(out_), "{}", value);
    return *this;
  }
  JsonWriter& raw(std::string_view json) {
    out_ += json;
    return *this;
  }
  // `write` writes one element.
  template <class Range, class Write>
  JsonWriter& list(const Range& range, Write write, std::string_view separator = ", ") {
    out_ += '[';
    bool first = true;
    for (const auto& element : range) {
      if (!std::exchange(first, false)) out_ += separator;
      write(element);
    }
    out_ += ']';
    return *this;
  }
  JsonWriter& texts(const std::vector<std::string>& range) {
    return list(range, [this](const std::string& element) { text(element); });
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

std::string json_text(const placement::Placement& placement) {
  constexpr std::string_view next_line = ",\n  ";
  JsonWriter json;
  json.raw("{\"schema\": \"toprun.topo_order/1\",\n \"source\": ").text(placement.source);
  json.raw(",\n \"levels\": ").texts(placement.levels);
  json.raw(",\n \"order\": ").list(placement.nodes, [&](const placement::Node& node) {
    json.text(node.name);
  });
  json.raw(",\n \"nodes\": ");
  json.list(
      placement.nodes,
      [&](const placement::Node& node) {
        json.raw("{\"name\": ").text(node.name).raw(", \"path\": ");
        json.list(node.location.path, [&](const auto& domain) { json.optional(domain); });
        json.raw(", \"first_rank\": ").number(static_cast<std::size_t>(node.first_rank));
        json.raw(", \"nproc\": ").number(static_cast<std::size_t>(node.nproc));
        json.raw(", \"evidence\": ");
        (node.placed ? json.text(node.location.evidence) : json.raw("null")).raw("}");
      },
      next_line);
  json.raw(",\n \"ring\": ");
  json.list(
      placement.ring,
      [&](const placement::Crossings& ring) {
        json.raw("{\"level\": ").text(ring.level).raw(", \"given\": ").number(ring.given);
        json.raw(", \"ordered\": ").number(ring.ordered);
        json.raw(", \"minimum\": ").number(ring.minimum).raw("}");
      },
      next_line);
  json.raw(",\n \"unplaced\": ").texts(placement.unplaced);
  json.raw(",\n \"warnings\": ").texts(placement.warnings).raw("}\n");
  return json.take();
}

Result<void> write_stdout(std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!written || std::fflush(stdout) != 0) return fail_errno("cannot write to stdout");
  return {};
}

Result<void> print_order(const OrderOptions& options, const Environment& environment) {
  const auto job = find_job(options, environment);
  if (!job) return std::unexpected(job.error());
  const auto sorted = placement::place(job->hosts, job->map);
  if (!sorted) return std::unexpected(sorted.error());
  if (options.json) return write_stdout(json_text(*sorted));

  const auto given = placement::place(job->hosts, job->map, placement::Order::given);
  if (!given) return std::unexpected(given.error());
  std::string tables;
  append_table(tables, "Standard", *given);
  append_table(tables, "Sorted by topology", *sorted);
  if (auto written = write_stdout(tables); !written) return written;
  report_on_stderr(*sorted);
  return {};
}

int report(const Error& error) {
  say(error.line());
  return error.exit_code;
}

int run_order(const std::vector<std::string>& arguments, const Environment& environment) {
  OrderOptions options;
  CLI::App app("The job's nodes in topology order, with their ranks and what the order saves.",
               "toprun topo order");
  app.add_option("--topology", options.topology,
                 "auto, slurm, or a file: topology.conf, TOML, AWS's JSON, or lines HOST "
                 "/cluster/rack/HOST");
  app.add_option("--hosts", options.hosts,
                 "the job's hosts, as in n[0-3,7]; else the Slurm allocation's, else the file's");
  app.add_option("--nproc-per-node,--nproc_per_node", options.nproc_per_node,
                 "processes per node, 1 unless given")
      ->check(CLI::PositiveNumber);
  app.add_flag("--json", options.json, "one JSON object, toprun.topo_order/1");
  app.footer("Example: toprun topo order --topology racks.txt --hosts 'n[0-7]' --nproc-per-node 8");
  try {
    // CLI11 takes the arguments from the back.
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  } catch (const CLI::ParseError& error) {
    return report(usage("topo order", error.what(), "see toprun topo order --help").error());
  }
  const auto printed = print_order(options, environment);
  return printed ? 0 : report(printed.error());
}

}  // namespace

int run_topo(const std::vector<std::string>& arguments, const Environment& environment) {
  static const std::vector<std::string> verbs = {"order"};
  if (arguments.empty()) {
    return report(usage("topo", "it needs a verb", "try toprun topo order --help").error());
  }
  const std::string& verb = arguments.front();
  if (verb == "-h" || verb == "--help") return run_order({"--help"}, environment);
  if (verb == verbs.front()) {
    return run_order({arguments.begin() + 1, arguments.end()}, environment);
  }
  const auto meant = did_you_mean(verb, verbs);
  return report(
      usage(fmt::format("topo {}", verb), "there is no such verb",
            meant ? fmt::format("did you mean {}?", *meant) : "there is toprun topo order")
          .error());
}

}  // namespace toprun::cli
