#include "decide/topology/files/file.h"

#include <algorithm>
#include <array>

#include "base/os/files.h"
#include "base/text/text.h"
#include "decide/topology/cloud/cloud.h"
#include "decide/topology/files/formats.h"
#include "decide/topology/infiniband/ibnetdiscover.h"
#include "decide/topology/match.h"
#include "decide/topology/ports.h"
#include "decide/topology/position.h"
#include "decide/topology/slurm/conf.h"
#include "decide/topology/slurm/yaml.h"

namespace toprun::topology {
namespace {

// Calls `take` with each trimmed line and its start, until `take` returns the value that stops it.
template <class Take>
void for_each_line(std::string_view text, const Take& take) {
  for (std::size_t start = 0; start < std::min(text.size(), max_preamble_bytes);) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    const std::string_view line = trim(text.substr(start, end - start));
    if (!line.empty() && !line.starts_with('#') && !take(line, start)) return;
    start = end + 1;
  }
}

bool is_bare_key(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || c == '"' || c == '\'';
  });
}

bool is_json(std::string_view line) {
  if (line.starts_with('{')) return true;
  if (!line.starts_with('[')) return false;
  const std::string_view inner = trim(line.substr(1));
  return inner.empty() || inner.starts_with('{') || inner == "]";  // "[[…]]", "[…]" are TOML's
}

bool is_yaml(std::string_view line) {
  constexpr std::array keys = {
      "hosts:", "domains:", "levels:", "links:", "apiVersion:", "kind:", "items:"};
  return looks_like_yaml(line) ||
         std::ranges::any_of(keys, [&](const char* key) { return line.starts_with(key); });
}

// Whether it is a table heading, or KEY = VALUE.
bool is_toml(std::string_view line) {
  if (line.starts_with('[')) {
    const std::size_t first = line.find_first_not_of('[');
    const std::size_t end = line.find(']');
    return first != line.npos && end != line.npos && end > first &&
           std::ranges::all_of(split(line.substr(first, end - first), ','),
                               [](auto key) { return is_bare_key(trim(key)); });
  }
  return line.contains('=') && is_bare_key(trim(line.substr(0, line.find('='))));
}

// Whether it is "HOST /cluster/rack/HOST", optionally with a rank before it, or a table heading. A
// word with a colon at its end is not a host: it is the name of a program in an error message.
bool is_host_line(std::string_view line) {
  std::vector<std::string_view> columns = words(line);
  if (columns.size() > 2 && is_task_label(columns[0])) columns.erase(columns.begin());
  if (columns.size() < 2 || columns[0].ends_with(':')) return false;
  if (lower(columns[0]) == "rank" && lower(columns[1]) == "hostname") return true;
  return columns[1].starts_with('/') || (columns.size() == 3 && columns[2].starts_with('/'));
}

struct LineCheck {
  FileFormat format;
  bool (*is)(std::string_view line);
};

// In the order of the checks: later formats accept more lines.
constexpr std::array<LineCheck, 7> line_checks = {{
    {FileFormat::slurm_conf, looks_like_slurm_conf},
    {FileFormat::azslurm, looks_like_azslurm},
    {FileFormat::ibnetdiscover, looks_like_ibnetdiscover},
    {FileFormat::json, is_json},
    {FileFormat::yaml, is_yaml},
    {FileFormat::lines, is_host_line},
    {FileFormat::toml, is_toml},
}};

// The first line that has the form of a format that `fits`.
template <class Fits>
std::optional<Recognised> first_match(std::string_view text, const Fits& fits) {
  std::optional<Recognised> found;
  for_each_line(text, [&](std::string_view line, std::size_t start) {
    const auto look = std::ranges::find_if(
        line_checks, [&](const LineCheck& one) { return fits(one.format) && one.is(line); });
    if (look != line_checks.end()) found = Recognised{look->format, start};
    return look == line_checks.end();
  });
  return found;
}

std::optional<FileFormat> by_name(std::string_view path) {
  if (path.ends_with(".toml")) return FileFormat::toml;
  if (path.ends_with(".json")) return FileFormat::json;
  if (path.ends_with(".yaml") || path.ends_with(".yml")) return FileFormat::yaml;
  return std::nullopt;
}

// Outputs of other programs.
struct OtherOutput {
  bool (*is)(std::string_view line);
  std::string_view what;
  std::string_view fix;
};

constexpr std::string_view give_a_fabric = "give the whole output of `ibnetdiscover`";
constexpr std::string_view give_a_network =
    "give a description of the network between hosts: a topology.conf, the output of "
    "`ibnetdiscover`, or lines of HOST /cluster/rack/HOST";

// The table of `nvidia-smi topo -m`, whose heading begins with the first GPU, as does its first
// row.
bool is_gpu_matrix(std::string_view line) {
  const std::vector<std::string_view> columns = words(line);
  return columns.size() > 1 && columns[0] == "GPU0" &&
         (columns[1].starts_with("GPU") || columns[1] == "X" || columns[1] == "CPU" ||
          columns[1].starts_with("NIC") || columns[1].starts_with("mlx5_"));
}

// hwloc's XML and text, and what NCCL writes to NCCL_TOPO_DUMP_FILE and NCCL_GRAPH_DUMP_FILE.
bool is_inside_of_a_host(std::string_view line) {
  constexpr std::array beginnings = {"<?xml",   "<topology", "<system",
                                     "<graphs", "<cpu ",     "Machine ("};
  return std::ranges::any_of(beginnings,
                             [&](std::string_view begin) { return line.starts_with(begin); });
}

bool is_python(std::string_view line) {
  const std::vector<std::string_view> columns = words(line);
  if (columns.size() < 2 || columns[1].starts_with('/')) return false;  // "import /rack/import"
  return columns[0] == "import" ||
         (columns[0] == "from" && columns.size() > 3 && columns[2] == "import");
}

constexpr std::array<OtherOutput, 6> other_outputs = {{
    {is_python, "a Python program", give_a_network},
    {is_node_list, "a list of a fabric's nodes, without the cables", give_a_fabric},
    {[](std::string_view line) { return line.contains("==(") && line.contains(")==>"); },
     "the output of iblinkinfo", give_a_fabric},
    {[](std::string_view line) { return line.starts_with("NodeName=") && line.contains("Arch="); },
     "the output of `scontrol show nodes`, which does not describe the network",
     "give the output of `scontrol show topology`"},
    {is_inside_of_a_host, "a description of one host's inside", give_a_network},
    {is_gpu_matrix, "a description of one host's inside", give_a_network},
}};

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
  Tally skipped;
  for (std::size_t at = 0, line = 1; at < start; ++line) {
    const std::size_t end = content.text.find('\n', at);
    const std::string_view text = trim(std::string_view(content.text).substr(at, end - at));
    if (!text.empty() && !text.starts_with('#')) {
      skipped.add([&] {
        return fmt::format("{}: '{}' is skipped: it is not a line of the file's form",
                           at_line(content.name, line),
                           printable(text.substr(0, max_shown_of_skipped)));
      });
    }
    std::fill(content.text.begin() + static_cast<std::ptrdiff_t>(at),
              content.text.begin() + static_cast<std::ptrdiff_t>(end), ' ');
    at = end + 1;
  }
  skipped.warn(content.warnings, "lines");
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

// TOML is the format that lines of other kinds are most easily taken for.
Result<Map> parse_as_toml(const Content& content) {
  auto map = parse_toml_file(content.text, content.name);
  if (!map && map.error()->fix == toml_advice && !content.name.ends_with(".toml")) {
    map.error()->fix = fmt::format("the file was read as TOML ({}); if it is not TOML, {}",
                                   toml_advice, give_a_network);
  }
  return map;
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
      return parse_as_toml(content);
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

Recognised recognise(std::string_view path, std::string_view text) {
  const auto named = by_name(path);
  auto found = first_match(text, [&](FileFormat format) { return !named || format == *named; });
  // If the file's name states a format, the error of that format's parser is more useful.
  if (!found) return {named.value_or(FileFormat::lines), 0};
  if (found->format == FileFormat::json && looks_like_aws_topology(text.substr(found->start))) {
    found->format = FileFormat::aws;
  }
  // The earlier lines may also belong to these formats, whose first lines have no typical form.
  const bool anything_goes =
      found->format == FileFormat::toml || found->format == FileFormat::lines;
  if (anything_goes || (named && *named == FileFormat::yaml)) found->start = 0;
  return *found;
}

std::optional<Error> unusable_output(std::string_view file, std::string_view text) {
  std::optional<Error> error;
  for_each_line(text, [&](std::string_view line, std::size_t) {
    const auto found =
        std::ranges::find_if(other_outputs, [&](const OtherOutput& one) { return one.is(line); });
    if (found == other_outputs.end()) return true;
    error = usage(fmt::format("{} is {}", file, found->what), {}, std::string(found->fix)).error();
    return false;
  });
  return error;
}

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
