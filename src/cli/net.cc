#include "cli/net.h"

#include "base/console.h"
#include "base/print.h"
#include "fabric/pci.h"
#include "fabric/profile_script.h"
#include "fabric/settings.h"
#include "hosts/address.h"
#include "hosts/resolve.h"
#include "options/run_draft.h"
#include "view/fabric_text.h"

namespace toprun::cli {
namespace {

using options::Call;
using options::FlagId;

constexpr std::chrono::milliseconds own_name_limit{2'000};

bool leads_astray() {
  const auto own = hosts::local_addresses();
  return own && !hosts::resolves_to_one_of(hosts::host_name(), *own, own_name_limit);
}

Result<fabric::NodeFabric> node_of(const Call& call) {
  const fabric::Sysfs sysfs(call.text(FlagId::root).value_or("/"));
  std::string profile;
  if (const auto given = call.given(FlagId::fabric)) {
    auto name = options::parse_fabric(*given);
    if (!name) return std::unexpected(name.error());
    if (*name != "auto") profile = *std::move(name);
  }
  auto node = fabric::read_node(sysfs, call.environment, profile);
  if (!call.has(FlagId::root)) {
    if (const auto sourced = fabric::source_profile_script(node); !sourced) {
      say(sourced.error().line());
    }
    node.own_name_leads_astray = leads_astray();
  }
  if (const auto version = call.given(FlagId::nccl_version)) {
    node.nccl = fabric::parse_nccl_version(version->value);
    if (!node.nccl) {
      return usage(fmt::format("{}: '{}' is no version of NCCL", version->source, version->value),
                   "", "write it as 2.27.3");
    }
  }
  return node;
}

}  // namespace

Result<int> run_net_show(const Call& call) {
  const auto node = node_of(call);
  if (!node) return std::unexpected(node.error());
  if (call.has(FlagId::json)) {
    return print_bytes(view::network_json(*node, fabric::decide(*node)));
  }
  const fabric::Sysfs sysfs(call.text(FlagId::root).value_or("/"));
  std::vector<std::optional<fabric::PciPlace>> places;
  for (const fabric::Device& device : node->devices) {
    places.push_back(fabric::place_of(sysfs, device.pci));
  }
  return print(view::network_text(*node, fabric::read_gpus(sysfs), places));
}

Result<int> run_net_env(const Call& call) {
  const auto node = node_of(call);
  if (!node) return std::unexpected(node.error());
  const auto settings = fabric::decide(*node);
  for (const std::string& sentence : fabric::contradictions(*node)) say(sentence);
  if (call.has(FlagId::json)) return print_bytes(view::settings_json(*node, settings));
  if (call.has(FlagId::shell)) return print_bytes(view::settings_shell(settings));
  return print(view::settings_text(*node, settings));
}

}  // namespace toprun::cli
