#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/net/address.h"
#include "base/net/resolve.h"
#include "base/os/console.h"
#include "base/text/text.h"
#include "cli/options/run_draft.h"
#include "cli/verbs/output_file.h"
#include "cli/verbs/run_verbs.h"
#include "engines/engine.h"
#include "machine/fabric/pci.h"
#include "machine/fabric/profile_script.h"
#include "machine/fabric/settings.h"
#include "observe/report/fabric_text.h"

namespace toprun::cli {
namespace {

using options::Call;
using options::FlagId;

constexpr std::chrono::milliseconds look_up_limit{2'000};

bool leads_astray() {
  const auto own = hosts::local_addresses();
  return own && !hosts::resolves_to_one_of(hosts::host_name(), *own, look_up_limit);
}

Result<fabric::Route> way_to(const std::string& host, const std::string& source) {
  const auto addresses = TRY(hosts::resolve(host, look_up_limit));
  const auto own = TRY(hosts::local_addresses());
  for (const hosts::Address& address : addresses) {
    const auto from = hosts::own_address_towards(address);
    if (!from) continue;
    const auto local = std::ranges::find(own, *from, &hosts::LocalAddress::address);
    if (local != own.end()) return fabric::Route{local->interface, "the way to " + host};
  }
  return fail(fmt::format("{} {}", source, host), "this host has no route to it",
              "ip route get ADDRESS shows what the kernel knows");
}

// In a step of several nodes the way leads to another of them. A name that does not resolve, or a
// hang of the name server, changes nothing.
void take_way_in_step(fabric::NodeFabric& node, const Call& call) {
  if (call.has(FlagId::root)) return;
  engines::Hints hints;
  hints.host_name = hosts::host_name();
  const auto place = engines::detect(call.environment, hints);
  if (!place || place->nodes.size() < 2) return;
  const auto other = std::ranges::find_if(
      place->nodes, [&](const engines::Node& one) { return one.name != place->node_name; });
  if (other == place->nodes.end()) return;
  auto way = way_to(other->name, "");
  if (way && way->interface != "lo") fabric::take_route(node, *std::move(way), fabric::Sysfs());
}

// Without --to it is the way to another node of the job, else the default route's, if there is one.
Result<void> take_way(fabric::NodeFabric& node, const Call& call) {
  const auto other = call.argument(FlagId::other_host);
  if (!other) {
    take_way_in_step(node, call);
    return {};
  }
  if (call.has(FlagId::root)) {
    return usage(other->source + " and --root contradict each other",
                 "a route can be read only from this machine's kernel", "give only one of them");
  }
  auto way = TRY(way_to(other->value, other->source));
  if (way.interface == "lo") {
    say(
        fmt::format("{} {}: the name resolves to a loopback address of this host, so it does not "
                    "show which interface the job uses; give the name of another host",
                    other->source, other->value));
  }
  fabric::take_route(node, std::move(way), fabric::Sysfs());
  return {};
}

Result<fabric::NodeFabric> node_of(const Call& call) {
  TRY(check_root(call));
  const fabric::Sysfs sysfs(call.text(FlagId::root).value_or("/"));
  std::string profile;
  if (const auto argument = call.argument(FlagId::fabric)) {
    auto name = TRY(options::parse_fabric(*argument));
    if (name != "auto") profile = std::move(name);
  }
  auto node = fabric::read_node(sysfs, call.environment, profile);
  fabric::look_at_files(node, call.text(FlagId::root).value_or("/"));
  if (!call.has(FlagId::root)) {
    if (const auto sourced = fabric::source_profile_script(node); !sourced) {
      say(sourced.error().line());
    }
    node.own_name_leads_astray = leads_astray();
  }
  TRY(take_way(node, call));
  if (const auto version = call.argument(FlagId::nccl_version)) {
    node.nccl = fabric::parse_nccl_version(version->value);
    if (!node.nccl) {
      return usage(
          fmt::format("{}: '{}' is not a version number of NCCL", version->source, version->value),
          "", "write a version such as 2.27.3");
    }
  }
  return node;
}

// Under srun on several nodes the lines of all come out together: each begins with its host.
std::string with_host(const std::string& text, const Environment& environment) {
  const auto nodes = parse_int(environment.get("SLURM_STEP_NUM_NODES").value_or(""));
  if (nodes.value_or(1) < 2) return text;
  const std::string host = hosts::host_name();
  std::string out;
  for (const std::string_view line : split(text, '\n')) {
    if (!line.empty()) out += fmt::format("{}: {}\n", host, line);
  }
  return out;
}

// For each variable of the user that contradicts this machine: what toprun does without it.
std::map<std::string, std::string> remedies(const fabric::NodeFabric& node,
                                            const std::vector<fabric::Setting>& settings) {
  std::map<std::string, std::string> said;
  const std::size_t now = fabric::contradictions(node).size();
  for (const fabric::Setting& setting : settings) {
    if (now == 0 || setting.source != fabric::SettingSource::user) continue;
    fabric::NodeFabric without = node;
    without.environment.unset(setting.name);
    if (fabric::contradictions(without).size() >= now) continue;
    const auto others = fabric::decide(without);
    const auto other = std::ranges::find(others, setting.name, &fabric::Setting::name);
    if (other == others.end()) continue;
    said[setting.name] = fmt::format(
        "without this setting, toprun {} ({})",
        other->value ? "sets " + *other->value : std::string("leaves the variable unset"),
        other->reason);
  }
  return said;
}

// The contradictions, each with the remedy for its variable, and the values that NCCL ignores. A
// remedy is named once.
std::vector<std::string> warnings(const fabric::NodeFabric& node,
                                  const std::vector<fabric::Setting>& settings) {
  std::vector<std::string> said = fabric::contradictions(node);
  for (const auto& [name, remedy] : remedies(node, settings)) {
    const auto about = [&](const std::string& sentence) {
      return sentence.starts_with(name + "=");
    };
    const auto first = std::ranges::find_if(said, about);
    if (first != said.end()) *first += "; " + remedy;
  }
  for (std::string& ignored : fabric::without_effect(node)) said.push_back(std::move(ignored));
  return said;
}

}  // namespace

Result<int> run_net_show(const Call& call) {
  const auto node = TRY(node_of(call));
  const auto settings = fabric::decide(node);
  for (const std::string& warning : warnings(node, settings)) say(warning);
  if (call.has(FlagId::json)) return print_bytes(report::network_json(node, settings));
  const fabric::Sysfs sysfs(call.text(FlagId::root).value_or("/"));
  std::vector<std::optional<fabric::PciPlace>> places;
  for (const fabric::Device& device : node.devices) {
    places.push_back(fabric::place_of(sysfs, device.pci));
  }
  return print(
      with_host(report::network_text(node, fabric::read_gpus(sysfs), places), call.environment));
}

Result<int> run_net_env(const Call& call) {
  const auto node = TRY(node_of(call));
  const auto settings = fabric::decide(node);
  for (const std::string& warning : warnings(node, settings)) say(warning);
  if (call.has(FlagId::json)) return print_bytes(report::settings_json(node, settings));
  if (call.has(FlagId::shell)) return print_bytes(report::settings_shell(settings));
  return print(with_host(report::settings_text(node, settings), call.environment));
}

}  // namespace toprun::cli
