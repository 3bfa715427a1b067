#include "decide/topology/files/file_format.h"

#include <algorithm>
#include <array>

#include "base/text/text.h"
#include "decide/topology/cloud/aws.h"
#include "decide/topology/files/azslurm_file.h"
#include "decide/topology/files/lines_file.h"
#include "decide/topology/infiniband/ibnetdiscover.h"
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

constexpr std::array<OtherOutput, 5> other_outputs = {{
    {is_node_list, "a list of a fabric's nodes, without the cables", give_a_fabric},
    {[](std::string_view line) { return line.contains("==(") && line.contains(")==>"); },
     "the output of iblinkinfo", give_a_fabric},
    {[](std::string_view line) { return line.starts_with("NodeName=") && line.contains("Arch="); },
     "the output of `scontrol show nodes`, which does not describe the network",
     "give the output of `scontrol show topology`"},
    {is_inside_of_a_host, "a description of one host's inside", give_a_network},
    {is_gpu_matrix, "a description of one host's inside", give_a_network},
}};

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

}  // namespace toprun::topology
