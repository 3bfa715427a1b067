#include "decide/topology/api_server.h"

#include <fmt/format.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/json/json_text.h"
#include "base/net/resolve.h"
#include "base/os/files.h"
#include "base/text/text.h"
#include "decide/topology/https.h"

namespace toprun::topology {
namespace {

constexpr int usual_port = 443;
constexpr std::size_t max_token_bytes = 16u << 10;
constexpr std::size_t max_authorities_bytes = 1u << 20;
constexpr unsigned status_ok = 200;
// The API server's certificate has this name in every cluster; its address, or the name that
// KUBERNETES_SERVICE_HOST has on Azure, in most.
constexpr const char* name_in_clusters = "kubernetes.default.svc";

// A line of a header.
bool is_header_value(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](unsigned char c) { return c > ' ' && c < 0x7f; });
}

std::string text_of_refusal(const HttpsAnswer& answer) {
  constexpr std::size_t most_shown = 400;
  const auto status = json_in(answer.body);
  const std::string reason = text_at(status, "reason");
  const std::string message = text_at(status, "message");
  if (message.empty()) return fmt::format("it answered {}", answer.status);
  return fmt::format("({}): {}", reason.empty() ? fmt::to_string(answer.status) : reason,
                     printable(message.substr(0, most_shown)));
}

}  // namespace

std::optional<PodAccess> pod_access(const Environment& environment,
                                    const std::filesystem::path& folder) {
  const auto host = environment.non_empty("KUBERNETES_SERVICE_HOST");
  if (!host) return std::nullopt;
  const auto token = read_file(folder / "token", max_token_bytes);
  const auto authorities = read_file(folder / "ca.crt", max_authorities_bytes);
  if (!token || !authorities) return std::nullopt;
  PodAccess access{*host, usual_port, std::string(trim(*token)), *authorities};
  if (!is_header_value(access.token)) return std::nullopt;
  const auto port = parse_int(environment.get("KUBERNETES_SERVICE_PORT").value_or(""));
  if (port && *port > 0 && *port <= hosts::max_port) access.port = static_cast<int>(*port);
  return access;
}

struct ApiServer::Connection {
  HttpsConnection https;
};

ApiServer::ApiServer(PodAccess access, SteadyTime deadline)
    : access_(std::move(access)), deadline_(deadline) {}
ApiServer::~ApiServer() = default;

std::string ApiServer::server_name() const {
  const bool is_v6 = access_.host.contains(':');
  return fmt::format("{}{}{}:{}", is_v6 ? "[" : "", access_.host, is_v6 ? "]" : "", access_.port);
}

std::string ApiServer::what(const std::string& path) const {
  return fmt::format("GET https://{}{}", server_name(), path);
}

// Why it fails; nullopt: it is open.
std::optional<std::string> ApiServer::connect() {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline_ - std::chrono::steady_clock::now());
  const auto addresses = hosts::resolve(access_.host, std::max(left, std::chrono::milliseconds(1)));
  if (!addresses) return addresses.error().line();
  std::string why;
  for (const hosts::Address& address : *addresses) {
    const Trust trust{access_.authorities, {access_.host, name_in_clusters, address.text()}};
    auto https = HttpsConnection::open(address, access_.port, trust, deadline_);
    if (https) {
      connection_ = std::make_unique<Connection>(*std::move(https));
      return std::nullopt;
    }
    why = std::move(https.error());
  }
  return why;
}

Result<std::string> ApiServer::get(const std::string& path, std::string_view accept) {
  const std::string asked = what(path.substr(0, path.find('?')));
  if (!connection_) {
    if (auto why = connect()) return fail(asked, *std::move(why));
  }
  auto answer = connection_->https.get(path, {{"Host", server_name()},
                                              {"Authorization", "Bearer " + access_.token},
                                              {"Accept", std::string(accept)},
                                              {"User-Agent", "toprun"}});
  if (!answer || answer->is_last) connection_.reset();
  if (!answer) return fail(asked, std::move(answer.error()));
  if (answer->status != status_ok) return fail(asked, text_of_refusal(*answer));
  return std::move(answer->body);
}

}  // namespace toprun::topology
