#include "decide/topology/slurm/scontrol.h"

#include "base/process/command.h"
#include "base/text/text.h"
#include "decide/topology/slurm/conf.h"

namespace toprun::topology {
namespace {

constexpr std::string_view scontrol_command_text = "scontrol show topology";

}  // namespace

Result<Map> parse_scontrol_topology(std::string_view text) {
  if (!looks_like_slurm_conf(text)) {
    // A sentence without records: scontrol prints it if there is no topology to show.
    if (text.find('=') == std::string_view::npos) return Map{};
    return fail(fmt::format("cannot read the output of `{}`", scontrol_command_text),
                fmt::format("its first line is '{}'", trim(text.substr(0, text.find('\n')))),
                "give a file with --topology");
  }
  const auto no_include = [](const std::string&) -> Result<std::string> {
    return fail("the output of scontrol must not contain Include lines");
  };
  auto map = parse_slurm_conf(text, std::string(scontrol_command_text), no_include);
  if (map) map->source = "slurm";
  return map;
}

Result<std::optional<Map>> read_scontrol_topology(const Request& request) {
  Environment environment = request.environment;
  environment.unset("SLURM_TOPO_LEN");  // it limits the length of every line
  const auto text =
      TRY(process::output_of({"scontrol", "show", "topology"}, environment, request.budget));
  auto map = TRY(parse_scontrol_topology(text));
  if (map.hosts.empty()) return std::nullopt;
  return std::move(map);
}

}  // namespace toprun::topology
