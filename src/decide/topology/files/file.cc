#include "decide/topology/files/file.h"

#include <algorithm>

#include "base/os/files.h"
#include "base/text/text.h"
#include "decide/topology/cloud/aws.h"
#include "decide/topology/files/azslurm_file.h"
#include "decide/topology/files/file_format.h"
#include "decide/topology/files/json_file.h"
#include "decide/topology/files/lines_file.h"
#include "decide/topology/files/toml_file.h"
#include "decide/topology/infiniband/ibnetdiscover.h"
#include "decide/topology/match.h"
#include "decide/topology/ports.h"
#include "decide/topology/position.h"
#include "decide/topology/slurm/conf.h"
#include "decide/topology/slurm/yaml.h"

namespace toprun::topology {
namespace {

constexpr std::size_t max_shown_of_skipped = 60;
constexpr std::string_view standard_input = "-";
constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

// Whether the text contains control characters as in archives or images. Terminal logs have some
// others.
bool is_binary(std::string_view text) {
  constexpr std::size_t looked_at = 4096;
  return std::ranges::any_of(text.substr(0, looked_at), [](char c) {
    return (c >= 0 && c < '\a') || (c > '\r' && c < ' ' && c != '\x1b');
  });
}

bool is_utf16(std::string_view text) {
  return text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff");
}

// The content of a topology file.
struct Content {
  std::string name;  // its name in errors and evidence
  TopologyChoice choice;
  std::string text;
  FileFormat format = FileFormat::lines;
  std::vector<std::string> warnings;
};

Result<std::string> read_text(const std::string& path) {
  auto text =
      read_file(path == standard_input ? std::string("/dev/stdin") : path, max_topology_file_bytes);
  if (!text) {
    return usage(text.error()->what, text.error()->why,
                 fmt::format("--topology takes {} or a file", fmt::join(source_names(), ", ")));
  }
  if (text->starts_with(byte_order_mark)) text->erase(0, byte_order_mark.size());
  return text;
}

// Replaces the lines before `start` with blanks, so that later positions stay correct, and adds a
// warning.
void skip_preamble(Content& content, std::size_t start) {
  std::size_t skipped = 0;
  std::string first;
  for (std::size_t at = 0, line = 1; at < start; ++line) {
    const std::size_t end = content.text.find('\n', at);
    const std::string_view text = trim(std::string_view(content.text).substr(at, end - at));
    if (!text.empty() && !text.starts_with('#') && skipped++ == 0) {
      first =
          fmt::format("{}: '{}' is skipped: it is not a line of the file's form",
                      at_line(content.name, line), printable(text.substr(0, max_shown_of_skipped)));
    }
    std::fill(content.text.begin() + static_cast<std::ptrdiff_t>(at),
              content.text.begin() + static_cast<std::ptrdiff_t>(end), ' ');
    at = end + 1;
  }
  if (skipped > 1) first += fmt::format(" ({} such lines)", skipped);
  if (skipped > 0) content.warnings.push_back(std::move(first));
}

Result<Content> read_content(const TopologyFile& file) {
  const std::string& path = file.path;
  auto text = TRY(read_text(path));
  Content content{
      path == standard_input ? "standard input" : path, {file.name}, std::move(text), {}, {}};
  if (is_utf16(content.text)) {
    return usage("cannot read " + content.name, "the file is UTF-16", "save the file as UTF-8");
  }
  if (is_binary(content.text)) {
    return usage("cannot read " + content.name, "it is not a text file",
                 "is the file compressed, or is it the wrong file?");
  }
  const Recognised found = recognise(path, content.text);
  content.format = found.format;
  if (content.text.size() > default_file_limit_bytes &&
      content.format != FileFormat::ibnetdiscover) {
    return usage("cannot read " + content.name,
                 fmt::format("the file is larger than {} bytes", default_file_limit_bytes),
                 "write host lists such as n[0-99] instead of single names");
  }
  if (file.name && content.format != FileFormat::yaml) {
    return usage(fmt::format("{}:{}", content.name, *file.name),
                 "only Slurm's topology.yaml has named topologies", "leave out the name");
  }
  skip_preamble(content, found.start);
  return content;
}

Result<Map> parse_dump(const Content& content, const Request& request) {
  auto fabric = TRY(parse_ibnetdiscover(content.text, content.name, request.members));
  return std::move(fabric.map);
}

Result<Map> parse_aws(const Content& content, const Request& request) {
  auto map = parse_aws_topology(content.text, content.name);
  if (map) add_members(*map, request.members);
  return map;
}

// The output of `sharp_cmd topology` is a topology.conf with ports instead of hosts.
Result<Map> parse_port_switches(const Content& content, const Request& request) {
  const std::vector<HostPorts> hosts = ports_of(request.members);
  if (!hosts.empty()) return parse_port_topology(content.text, content.name, hosts);
  if (request.members.empty()) {
    return usage(content.name + " lists InfiniBand ports instead of hosts",
                 "only the agents of a job know which host has which port",
                 "pass this file to a launch: toprun -v --topology FILE shows the order");
  }
  return unknown_places(
      request.members, content.name,
      content.name + ": the file lists InfiniBand ports, but no node has reported its ports");
}

Result<Map> parse_switches(const Content& content, const Request& request) {
  if (names_ports(content.text)) return parse_port_switches(content, request);
  const auto folder = std::filesystem::path(topology_file(request.topology).path).parent_path();
  return parse_slurm_conf(content.text, content.name, includes_below(folder),
                          names_of(request.members));
}

Result<Map> parse(const Content& content, const Request& request) {
  // Their first lines have no typical form, so what is another program's output may look so.
  if (content.format == FileFormat::toml || content.format == FileFormat::lines) {
    if (auto error = unusable_output(content.name, content.text)) {
      return std::unexpected(*std::move(error));
    }
  }
  switch (content.format) {
    case FileFormat::slurm_conf:
      return parse_switches(content, request);
    case FileFormat::azslurm:
      return parse_azslurm_file(content.text, content.name);
    case FileFormat::ibnetdiscover:
      return parse_dump(content, request);
    case FileFormat::json:
      return parse_json_file(content.text, content.name, request.members);
    case FileFormat::yaml:
      return parse_yaml_file(content.text, content.name, request.members, content.choice);
    case FileFormat::toml:
      return parse_toml_file(content.text, content.name);
    case FileFormat::aws:
      return parse_aws(content, request);
    case FileFormat::lines:
      break;
  }
  return parse_lines_file(content.text, content.name);
}

// The form of a file that contains hosts.
std::string_view advice_for(FileFormat format) {
  switch (format) {
    case FileFormat::slurm_conf:
      return "write SwitchName=NAME Nodes=HOSTS, or BlockName=NAME Nodes=HOSTS";
    case FileFormat::azslurm:
      return "give the complete output of azslurm";
    case FileFormat::ibnetdiscover:
      return "give the whole output of `ibnetdiscover`";
    case FileFormat::json:
      return "write {\"hosts\": {\"HOST\": \"/cluster/rack\"}}";
    case FileFormat::yaml:
      return "write hosts: {HOST: /cluster/rack}, or the format in man topology.yaml";
    case FileFormat::toml:
      return "write [hosts] and HOST = \"/cluster/rack\"";
    case FileFormat::aws:
      return "name the job's instances: --instance-ids";
    case FileFormat::lines:
      break;
  }
  return "write lines of HOST /cluster/rack/HOST";
}

}  // namespace

TopologyFile topology_file(const std::string& topology) {
  std::error_code ignored;
  const std::size_t colon = topology.rfind(':');
  if (colon == topology.npos || colon == 0 || std::filesystem::exists(topology, ignored)) {
    return {topology, {}};
  }
  return {topology.substr(0, colon), topology.substr(colon + 1)};
}

Result<std::optional<Map>> read_file_source(const Request& request) {
  auto content = TRY(read_content(topology_file(request.topology)));
  auto map = TRY(parse(content, request));
  if (map.hosts.empty()) {
    return usage(content.name + ": it does not list any hosts",
                 map.warnings.empty() ? std::string() : map.warnings.front(),
                 std::string(advice_for(content.format)));
  }
  map.source = "file " + content.name;
  std::ranges::move(content.warnings, std::back_inserter(map.warnings));
  warn_of_similar_names(map);
  return std::move(map);
}

}  // namespace toprun::topology
