#include "decide/topology/nvlink.h"

#include <algorithm>
#include <limits>
#include <map>

#include "base/net/hostlist.h"
#include "base/os/files.h"
#include "base/text/text.h"
#include "decide/topology/physical_host.h"

namespace toprun::topology {
namespace {

constexpr std::string_view program = "nvidia-smi --query-gpu=fabric.clusterUuid,fabric.cliqueId";
constexpr std::string_view channels = "nvidia-caps-imex-channels";
constexpr std::size_t max_devices_file_bytes = 64u << 10;

bool is_uuid(std::string_view text) {
  constexpr std::string_view shape = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  return std::ranges::equal(text, shape, [](char c, char s) {
    const bool hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    return s == '-' ? c == '-' : hex;
  });
}

std::string text_of(const std::optional<NvlinkDomain>& domain) {
  return domain ? domain->name() : "no domain";
}

Result<std::optional<NvlinkDomain>> parse_line(std::string_view line) {
  const auto columns = split(line, ',');
  const std::string cluster = lower(trim(columns[0]));
  if (columns.size() == 2 && is_placeholder(cluster)) return std::nullopt;
  const auto clique = columns.size() == 2 ? parse_int(trim(columns[1])) : std::nullopt;
  if (!is_uuid(cluster) || !clique || *clique < 0 ||
      *clique > std::numeric_limits<std::uint32_t>::max()) {
    return fail(fmt::format("cannot read the output of `{}`", program),
                fmt::format("the output contains the line '{}'", line.substr(0, 100)),
                "perhaps the driver is too old: version 535 or newer is needed");
  }
  return NvlinkDomain{cluster, static_cast<std::uint32_t>(*clique)};
}

}  // namespace

std::string NvlinkDomain::name() const {
  return fmt::format("{}.{}", cluster, clique);
}

Result<std::optional<NvlinkDomain>> parse_nvlink_csv(std::string_view text) {
  std::optional<NvlinkDomain> domain;
  std::size_t gpu = 0;
  for (std::string_view line : split(text, '\n')) {
    line = trim(line);
    // a heading, if the option noheader is missing
    if (line.empty() || line.starts_with("fabric.")) continue;
    auto read = TRY(parse_line(line));
    if (gpu == 0) domain = read;
    if (read != domain) {
      return fail(fmt::format("GPU 0 is in the NVLink domain {}, but GPU {} is in the domain {}",
                              text_of(domain), gpu, text_of(read)),
                  "all GPUs of a node belong to one domain",
                  "see `nvidia-smi -q` for the fabric's state");
    }
    ++gpu;
  }
  return domain;
}

bool may_have_nvlink_domain(const std::filesystem::path& root) {
  std::error_code ignored;
  if (std::filesystem::exists(root / "dev" / channels, ignored)) return true;
  const auto devices = read_file(root / "proc/devices", max_devices_file_bytes);
  return devices && devices->contains(channels);
}

std::vector<std::string> nvlink_command() {
  return {"nvidia-smi", "--query-gpu=fabric.clusterUuid,fabric.cliqueId", "--format=csv,noheader"};
}

Result<std::optional<Map>> read_nvlink(const Request& request) {
  std::vector<std::pair<const Member*, NvlinkDomain>> domains;
  std::map<std::string, std::vector<std::string>> hosts_by_trouble;  // by error text
  for (const Member& member : request.members) {
    if (!member.nvlink) continue;
    if (!member.nvlink->text) {
      hosts_by_trouble[member.nvlink->trouble].push_back(member.name);
      continue;
    }
    const auto domain = parse_nvlink_csv(*member.nvlink->text);
    if (!domain) {
      hosts_by_trouble[domain.error().line()].push_back(member.name);
    } else if (*domain) {
      domains.emplace_back(&member, **domain);
    }
  }
  MapBuilder builder(domains.empty() ? "" : "nvidia-smi");
  for (auto& [trouble, names] : hosts_by_trouble) {
    std::ranges::sort(names, natural_less);
    builder.warn(fmt::format("{}: the NVLink domain is not known: {}",
                             hosts::compress_hostlist(names), trouble));
  }
  for (const auto& [member, domain] : domains) {
    TRY(builder.add(member->name, {{domain.name()}, "nvidia-smi", {}}, member->name));
  }
  if (domains.empty()) return builder.finish({});
  return builder.finish({std::string(nvlink_level)});
}

}  // namespace toprun::topology
