#include "decide/topology/cloud/cloud.h"

#include <algorithm>
#include <map>

#include "base/net/hostlist.h"
#include "base/os/files.h"
#include "base/text/text.h"
#include "decide/topology/cloud/aws.h"
#include "decide/topology/cloud/gcp.h"
#include "decide/topology/cloud/metadata.h"
#include "decide/topology/cloud/oci.h"

namespace toprun::topology {
namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

constexpr std::size_t max_dmi_bytes = 4u << 10;
constexpr std::size_t max_cloud_name_bytes = 256;

// IMDSv2: the server answers only requests with a token, so the first request gets the token.
asio::awaitable<Result<std::optional<std::string>>> ask_ec2(tcp::endpoint server,
                                                            SteadyTime deadline) {
  Question question = ec2_token_question();
  const auto token = co_await ask(server, std::move(question), deadline);
  if (!token) {
    Error error = token.error();
    error->fix = "in a container, raise the instance's metadata hop limit to 2";
    co_return std::unexpected(std::move(error));
  }
  if (!*token || !is_domain_name(**token)) {
    co_return fail("the metadata server gave no token");
  }
  question = ec2_instance_question(**token);
  auto answer = co_await ask(server, std::move(question), deadline);
  co_return answer;
}

asio::awaitable<Result<std::optional<std::string>>> ask_any(Cloud cloud, tcp::endpoint server,
                                                            SteadyTime deadline) {
  if (cloud == Cloud::aws) {
    auto answer = co_await ask_ec2(server, deadline);
    co_return answer;
  }
  Question question = cloud == Cloud::gcp ? gcp_question() : oci_question();
  auto answer = co_await ask(server, std::move(question), deadline);
  co_return answer;
}

// Sorts the members by name for messages; their original order is that of joining.
std::vector<const Member*> queried_members(std::span<const Member> members, Cloud cloud) {
  std::vector<const Member*> asked;
  for (const Member& member : members) {
    if (member.cloud && member.cloud->cloud == name_of(cloud)) asked.push_back(&member);
  }
  std::ranges::sort(
      asked, natural_less, [](const Member* m) -> const auto& { return m->name; });
  return asked;
}

}  // namespace

std::string_view name_of(Cloud cloud) {
  switch (cloud) {
    case Cloud::gcp:
      return "gcp";
    case Cloud::oci:
      return "oci";
    case Cloud::aws:
      return "aws";
    case Cloud::none:
      break;
  }
  return "none";
}

Dmi read_dmi(const std::filesystem::path& folder) {
  const auto text_of = [&](const char* name) {
    const auto text = read_file(folder / name, max_dmi_bytes);
    return text ? std::string(trim(*text)) : std::string();
  };
  return {text_of("product_name"), text_of("sys_vendor"), text_of("bios_vendor"),
          text_of("bios_version"), text_of("chassis_asset_tag")};
}

Cloud cloud_of(const Dmi& dmi) {
  // The vendor "Google" alone is not enough: Chromebooks have it too.
  if (dmi.product_name == "Google Compute Engine" || dmi.product_name == "Google") {
    return Cloud::gcp;
  }
  if (dmi.chassis_asset_tag == "OracleCloud.com") return Cloud::oci;
  const bool on_xen = lower(dmi.bios_version).ends_with("amazon");
  if (dmi.sys_vendor == "Amazon EC2" || dmi.bios_vendor == "Amazon EC2" || on_xen) {
    return Cloud::aws;
  }
  return Cloud::none;
}

bool worth_asking(Cloud cloud, std::string_view topology) {
  const bool is_file = !names_source(topology);
  switch (cloud) {
    case Cloud::gcp:
    case Cloud::oci:
      return topology == "auto" || topology == name_of(cloud);
    case Cloud::aws:
      return topology == name_of(cloud) || is_file;
    case Cloud::none:
      break;
  }
  return false;
}

asio::awaitable<CloudEvidence> ask_cloud(Cloud cloud, tcp::endpoint server, SteadyTime deadline) {
  CloudEvidence evidence{std::string(name_of(cloud)), {}, {}};
  auto answer = co_await ask_any(cloud, server, deadline);
  if (!answer) {
    evidence.trouble = answer.error().line();
  } else if (*answer && (*answer)->size() > max_evidence_bytes) {
    evidence.trouble =
        fmt::format("the metadata server's answer has {} bytes; at most {} bytes are read",
                    (*answer)->size(), max_evidence_bytes);
  } else if (*answer && !is_plain(**answer)) {
    evidence.trouble = "the metadata server's answer is not plain text";
  } else {
    evidence.text = *std::move(answer);
  }
  co_return evidence;
}

bool is_plain(std::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return (c >= 0x20 && c < 0x7f) || c == '\n' || c == '\r' || c == '\t'; });
}

bool is_domain_name(std::string_view text) {
  return !text.empty() && text.size() <= max_cloud_name_bytes &&
         std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f; });
}

CloudAnswers collect_answers(const Request& request, Cloud cloud, std::string_view attribute) {
  CloudAnswers hearing;
  std::vector<std::string> without;
  std::map<std::string, std::vector<std::string>> hosts_by_trouble;  // by what the trouble is
  for (const Member* member : queried_members(request.members, cloud)) {
    if (member->cloud->text) {
      hearing.answered.push_back(member);
    } else if (member->cloud->trouble.empty()) {
      without.push_back(member->name);
    } else {
      hosts_by_trouble[member->cloud->trouble].push_back(member->name);
    }
  }
  for (const auto& [trouble, names] : hosts_by_trouble) {
    hearing.failures.push_back(fmt::format("{}: {} is not known: {}",
                                           hosts::compress_hostlist(names), attribute, trouble));
  }
  if (!without.empty() && (request.topology != "auto" || !hearing.answered.empty())) {
    hearing.failures.push_back(fmt::format("{}: the metadata server does not have {}",
                                           hosts::compress_hostlist(without), attribute));
  }
  return hearing;
}

}  // namespace toprun::topology
