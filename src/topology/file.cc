#include "topology/file.h"

#include <algorithm>
#include <array>

#include "base/files.h"
#include "base/text.h"
#include "topology/aws.h"
#include "topology/ibnetdiscover.h"
#include "topology/json_file.h"
#include "topology/lines_file.h"
#include "topology/match.h"
#include "topology/ports.h"
#include "topology/slurm_conf.h"
#include "topology/slurm_yaml.h"
#include "topology/toml_file.h"

namespace toprun::topology {
namespace {

// The first line that is neither empty nor a comment.
std::string_view first_line(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trim(text.substr(0, end));
    if (!line.empty() && !line.starts_with('#')) return line;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return {};
}

// Control characters that no text has: archives, images, UTF-16.
bool is_binary(std::string_view text) {
  constexpr std::size_t looked_at = 4096;
  return std::ranges::any_of(text.substr(0, looked_at), [](char c) {
    return (c >= 0 && c < '\t') || (c > '\r' && c < ' ' && c != '\x1b');
  });
}

bool looks_like_json(std::string_view line) {
  if (line.starts_with('{')) return true;
  if (!line.starts_with('[')) return false;
  const std::string_view inner = trim(line.substr(1));
  return inner.empty() || inner.starts_with('{');  // "[[…]]" and "[…]" are TOML's
}

bool looks_like_plain_yaml(std::string_view line) {
  constexpr std::array keys = {"hosts:", "domains:", "levels:", "links:", "apiVersion:"};
  return std::ranges::any_of(keys, [&](const char* key) { return line.starts_with(key); });
}

bool looks_like_toml(std::string_view line) {
  const bool assignment = line.find('=') != std::string_view::npos && !line.starts_with('/') &&
                          line.find('/') > line.find('=');
  return line.starts_with('[') || assignment;
}

Result<Map> parse_dump(std::string_view text, const std::string& path) {
  auto fabric = parse_ibnetdiscover(text, path);
  if (!fabric) return std::unexpected(fabric.error());
  return std::move(fabric->map);
}

Result<Map> parse_aws(std::string_view text, const Request& request) {
  auto map = parse_aws_topology(text, request.topology);
  if (map) add_members(*map, request.members);
  return map;
}

// A topology.conf, or what `sharp_cmd topology` writes: that has ports where the other has hosts.
Result<Map> read_switches(std::string_view text, const Request& request) {
  const std::string& path = request.topology;
  if (!names_ports(text)) return read_slurm_conf_file(path);
  const std::vector<HostPorts> hosts = ports_of(request.members);
  if (!hosts.empty()) return parse_port_topology(text, path, hosts);
  auto map = read_slurm_conf_file(path);
  if (map && !request.members.empty()) {
    map->warnings.push_back(path + ": it names InfiniBand ports, and no node told of its own");
  }
  return map;
}

Result<Map> read_in_its_format(const Request& request) {
  const std::string& path = request.topology;
  const auto content = read_file(path, max_topology_file_bytes);
  if (!content) {
    return usage(content.error().what, content.error().why,
                 fmt::format("--topology takes {} or a file", fmt::join(source_names(), ", ")));
  }
  std::string_view text = *content;
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // the mark of UTF-8
  if (is_binary(text)) {
    return usage("cannot read " + path, "it is no text", "is it compressed, or another file?");
  }
  const FileFormat format = detect_format(path, text);
  if (text.size() > default_file_limit_bytes && format != FileFormat::ibnetdiscover) {
    return usage("cannot read " + path,
                 fmt::format("larger than {} bytes", default_file_limit_bytes),
                 "write hosts as lists: n[0-99]");
  }
  switch (format) {
    case FileFormat::slurm_conf:
      return read_switches(text, request);
    case FileFormat::ibnetdiscover:
      return parse_dump(text, path);
    case FileFormat::json:
      return parse_json_file(text, path, request.members);
    case FileFormat::yaml:
      return parse_yaml_file(text, path, request.members);
    case FileFormat::toml:
      return parse_toml_file(text, path);
    case FileFormat::aws:
      return parse_aws(text, request);
    case FileFormat::lines:
      break;
  }
  return parse_lines_file(text, path);
}

}  // namespace

FileFormat detect_format(std::string_view path, std::string_view text) {
  if (path.ends_with(".toml")) return FileFormat::toml;
  if (looks_like_aws_topology(text)) return FileFormat::aws;
  if (path.ends_with(".json")) return FileFormat::json;
  if (path.ends_with(".yaml") || path.ends_with(".yml")) return FileFormat::yaml;
  const std::string_view line = first_line(text);
  if (looks_like_slurm_conf(line)) return FileFormat::slurm_conf;
  if (looks_like_ibnetdiscover(line)) return FileFormat::ibnetdiscover;
  if (looks_like_json(line)) return FileFormat::json;
  if (looks_like_yaml(line) || looks_like_plain_yaml(line)) return FileFormat::yaml;
  return looks_like_toml(line) ? FileFormat::toml : FileFormat::lines;
}

Result<std::optional<Map>> read_file_source(const Request& request) {
  const std::string& path = request.topology;
  auto map = read_in_its_format(request);
  if (!map) return std::unexpected(map.error());
  if (map->hosts.empty()) {
    return usage(path + ": no host stands in it",
                 map->warnings.empty() ? std::string() : map->warnings.front(),
                 "write lines of HOST /cluster/rack/HOST");
  }
  map->source = "file " + path;
  warn_of_twins(*map);
  return *std::move(map);
}

}  // namespace toprun::topology
