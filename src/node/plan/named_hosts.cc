#include "node/plan/named_hosts.h"

#include "base/net/host_file.h"
#include "base/os/files.h"

namespace toprun::plan {
namespace {

Result<hosts::NamedHosts> read_host_file(const Setting<std::string>& path) {
  auto text = read_file(path.value, hosts::max_host_file_bytes);
  if (!text) {
    text.error()->exit_code = exit_usage;
    return std::unexpected(std::move(text.error()));
  }
  return hosts::parse_host_file(*text, path.value);
}

}  // namespace

Result<std::vector<engines::Node>> named_hosts(const Options& options,
                                               std::vector<std::string>& notes) {
  hosts::NamedHosts named;
  if (options.hosts.is_set()) {
    named.hosts = TRY(hosts::parse_hosts(options.hosts.value, options.hosts.source));
  } else if (options.host_file.is_set()) {
    named = TRY(read_host_file(options.host_file));
  }
  notes.insert(notes.end(), named.notes.begin(), named.notes.end());
  std::vector<engines::Node> nodes;
  for (hosts::NamedHost& host : named.hosts) {
    nodes.push_back({std::move(host.name), host.slots, std::move(host.login)});
  }
  return nodes;
}

}  // namespace toprun::plan
