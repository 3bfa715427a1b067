#include <algorithm>

#include "base/net/hostlist.h"
#include "base/text/text.h"
#include "decide/topology/cloud/cloud.h"
#include "decide/topology/physical_host.h"

namespace toprun::topology {
namespace {

constexpr std::string_view gcp_attribute = "physical_host";

std::vector<std::string> level_names(std::size_t count) {
  if (count == 3) return {"cluster", "block", "subblock"};
  return physical_level_names(count);
}

// A warning about instances without a placement. An instance's name is the first label of its host
// name.
std::string without_placement(const std::vector<std::string>& names) {
  const std::string& first = names.front();
  const Error error{
      fmt::format("{}: Google does not report {} place", hosts::compress_hostlist(names),
                  names.size() == 1 ? "its" : "their"),
      fmt::format(
          "{} is empty, as on machines that were created without a compact placement policy",
          gcp_attribute),
      fmt::format("verify with `gcloud compute instances describe {} --zone=ZONE "
                  "--format=\"value(resourceStatus.physicalHost)\"`",
                  first.substr(0, first.find('.'))),
      exit_failure};
  return error.line();
}

struct GcpPlace {
  const Member* member;
  Path path;
  std::string written;
};

// The number of levels of the most detailed form.
std::size_t depth_of(const std::vector<GcpPlace>& places) {
  std::size_t depth = 0;
  for (const GcpPlace& place : places) depth = std::max(depth, place.path.size());
  return depth;
}

}  // namespace

std::expected<Path, std::string> parse_gcp_physical_host(std::string_view text) {
  if (text.size() > max_evidence_bytes) {
    return std::unexpected(fmt::format("it is longer than {} bytes", max_evidence_bytes));
  }
  text = trim(text);
  if (text.starts_with('/')) text.remove_prefix(1);
  for (const std::string_view part : split(text, '/')) {
    if (!part.empty() && !is_domain_name(part)) {
      return std::unexpected(fmt::format("'{}' is not an id", printable(part.substr(0, 64))));
    }
  }
  if (text.ends_with('/')) return std::unexpected(std::string("the host's own id is missing"));
  auto path = parse_physical_host(fmt::format("/{}", text));
  if (path && !path->known()) return std::unexpected(std::string("it does not name a domain"));
  return path;
}

Question gcp_question() {
  return {"/computeMetadata/v1/instance/attributes/physical_host",
          {{"Metadata-Flavor", "Google"}},
          false};
}

Result<std::optional<Map>> read_gcp(const Request& request) {
  CloudAnswers hearing = collect_answers(request, Cloud::gcp, gcp_attribute);
  std::vector<GcpPlace> places;
  std::vector<std::string> empty;
  for (const Member* member : hearing.answered) {
    const std::string_view text = trim(*member->cloud->text);
    if (text.empty()) {
      empty.push_back(member->name);
      continue;
    }
    auto path = parse_gcp_physical_host(text);
    if (!path) {
      hearing.failures.push_back(fmt::format("{} of {} is malformed and ignored: {}", gcp_attribute,
                                             member->name, path.error()));
      continue;
    }
    places.push_back(
        {member, *std::move(path), fmt::format("{}{}", text.starts_with('/') ? "" : "/", text)});
  }
  if (!empty.empty()) hearing.failures.push_back(without_placement(empty));

  const std::size_t depth = depth_of(places);
  MapBuilder builder(places.empty() ? "" : "gcp");
  std::vector<std::string> shorter;
  for (GcpPlace& place : places) {
    if (place.path.size() < depth) {
      shorter.push_back(place.member->name);
      continue;
    }
    Location location{std::move(place.path), std::string(gcp_attribute), std::move(place.written)};
    TRY(builder.add(place.member->name, std::move(location), place.member->name));
  }
  if (!shorter.empty()) {
    hearing.failures.push_back(
        fmt::format("{} of {} has fewer levels than on the other hosts, so toprun cannot compare "
                    "it with theirs",
                    gcp_attribute, hosts::compress_hostlist(shorter)));
  }
  for (std::string& complaint : hearing.failures) builder.warn(std::move(complaint));
  return builder.finish(level_names(depth));
}

}  // namespace toprun::topology
