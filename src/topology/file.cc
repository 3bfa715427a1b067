#include "topology/file.h"

#include "base/files.h"
#include "base/text.h"
#include "topology/aws.h"
#include "topology/lines_file.h"
#include "topology/slurm_conf.h"
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

Result<Map> read_in_its_format(const Request& request) {
  const std::string& path = request.topology;
  const auto text = read_file(path);
  if (!text) {
    return usage(text.error().what, text.error().why,
                 fmt::format("--topology takes {} or a file", fmt::join(source_names(), ", ")));
  }
  switch (detect_format(path, *text)) {
    case FileFormat::slurm_conf:
      return read_slurm_conf_file(path);
    case FileFormat::toml:
      return parse_toml_file(*text, path);
    case FileFormat::aws: {
      auto map = parse_aws_topology(*text, path);
      if (map) add_members(*map, request.members);
      return map;
    }
    case FileFormat::lines:
      break;
  }
  return parse_lines_file(*text, path);
}

}  // namespace

FileFormat detect_format(std::string_view path, std::string_view text) {
  if (path.ends_with(".toml")) return FileFormat::toml;
  if (looks_like_aws_topology(text)) return FileFormat::aws;
  const std::string_view line = first_line(text);
  if (looks_like_slurm_conf(line)) return FileFormat::slurm_conf;
  const bool table = line.starts_with('[');
  const bool assignment = line.find('=') != std::string_view::npos && !line.starts_with('/') &&
                          line.find('/') > line.find('=');
  return table || assignment ? FileFormat::toml : FileFormat::lines;
}

Result<std::optional<Map>> read_file_source(const Request& request) {
  const std::string& path = request.topology;
  if (path.ends_with(".yaml") || path.ends_with(".yml")) {
    return usage("cannot read " + path, "toprun reads no YAML",
                 "give a topology.conf, TOML, lines of HOST /cluster/rack/HOST, or the output of "
                 "`scontrol show topology`");
  }
  auto map = read_in_its_format(request);
  if (!map) return std::unexpected(map.error());
  if (map->hosts.empty()) {
    return usage(path + ": no host stands in it", {}, "write lines of HOST /cluster/rack/HOST");
  }
  map->source = "file " + path;
  return *std::move(map);
}

}  // namespace toprun::topology
