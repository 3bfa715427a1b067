#include "cli/net.h"

#include "base/console.h"
#include "base/print.h"
#include "base/text.h"
#include "fabric/pci.h"
#include "fabric/settings.h"
#include "view/fabric_text.h"

namespace toprun::cli {
namespace {

using options::Call;
using options::FlagId;

Result<fabric::NodeFabric> node_of(const Call& call) {
  const fabric::Sysfs sysfs(call.text(FlagId::root).value_or("/"));
  const auto profile = call.given(FlagId::fabric);
  if (profile && fabric::find_profile(profile->value) == nullptr) {
    std::vector<std::string> names;
    for (const fabric::Profile& known : fabric::profiles()) names.emplace_back(known.name);
    return usage(fmt::format("{}: no fabric is called '{}'", profile->source, profile->value), "",
                 "one of " + join(names, ", "));
  }
  auto node = fabric::read_node(sysfs, call.environment, profile ? profile->value : "");
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
  if (call.has(FlagId::json)) return print_bytes(view::settings_json(*node, settings));
  if (call.has(FlagId::shell)) return print_bytes(view::settings_shell(settings));
  return print(view::settings_text(*node, settings));
}

}  // namespace toprun::cli
