#include <nlohmann/json.hpp>

#include "base/json/json_text.h"
#include "base/text/text.h"
#include "decide/topology/cloud/cloud.h"

namespace toprun::topology {
namespace {

constexpr std::string_view oci_attribute = "rdmaTopologyData";

// Outermost first. The case of letters does not count, as in the cloud's own tools.
constexpr std::array<std::string_view, 4> oci_keys = {
    "customerhpcislandid", "customernetworkblock", "customerlocalblock", "customergpumemoryfabric"};

}  // namespace

std::expected<OciPlace, std::string> parse_oci_rdma_topology(std::string_view text) {
  if (text.size() > max_evidence_bytes) {
    return std::unexpected(fmt::format("it is longer than {} bytes", max_evidence_bytes));
  }
  const auto json = json_in(text);
  if (!json.is_object()) return std::unexpected(std::string("it is not a JSON object"));
  OciPlace place;
  for (const auto& [key, value] : json.items()) {
    const auto found = std::ranges::find(oci_keys, lower(key));
    if (found == oci_keys.end() || value.is_null()) continue;
    if (!value.is_string()) return std::unexpected(fmt::format("{} is not a string", key));
    const auto& name = value.get_ref<const std::string&>();
    if (name.empty()) continue;
    if (!is_domain_name(name)) return std::unexpected(fmt::format("{} is not an id", key));
    place[static_cast<std::size_t>(found - oci_keys.begin())] = name;
  }
  if (!Path(place.begin(), place.end()).known()) {
    return std::unexpected(std::string("it does not name a domain"));
  }
  return place;
}

Question oci_question() {
  return {"/opc/v2/host/rdmaTopologyData", {{"Authorization", "Bearer Oracle"}}, false};
}

Result<std::optional<Map>> read_oci(const Request& request) {
  CloudAnswers hearing = collect_answers(request, Cloud::oci, oci_attribute);
  std::vector<std::pair<std::string, OciPlace>> places;
  bool nvlink = false;
  for (const Member* member : hearing.answered) {
    auto place = parse_oci_rdma_topology(*member->cloud->text);
    if (!place) {
      hearing.failures.push_back(fmt::format("{} of {} is malformed and ignored: {}", oci_attribute,
                                             member->name, place.error()));
      continue;
    }
    nvlink = nvlink || place->back().has_value();
    places.emplace_back(member->name, *std::move(place));
  }
  MapBuilder builder(places.empty() ? "" : "oci");
  for (std::string& complaint : hearing.failures) builder.warn(std::move(complaint));
  for (auto& [name, place] : places) {
    Location location{Path(place.begin(), place.end()), std::string(oci_attribute), {}};
    if (!nvlink) location.path.pop_back();
    TRY(builder.add(name, std::move(location), name));
  }
  if (places.empty()) return builder.finish({});
  std::vector<std::string> levels = {"hpc-island", "network-block", "local-block"};
  if (nvlink) levels.push_back("nvlink");
  return builder.finish(std::move(levels));
}

}  // namespace toprun::topology
