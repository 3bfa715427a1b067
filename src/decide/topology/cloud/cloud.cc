#include "decide/topology/cloud/cloud.h"

#include <algorithm>
#include <map>
#include <memory>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "base/net/hostlist.h"
#include "base/net/http.h"
#include "base/os/files.h"
#include "base/os/timer.h"
#include "base/text/text.h"

namespace toprun::topology {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using std::chrono::steady_clock;

namespace {

using Centiseconds = std::chrono::duration<std::int64_t, std::centi>;
using HttpAnswer = http::response_parser<http::string_body>;

std::string text_of(const tcp::endpoint& server) {
  const std::string address = server.address().to_string();
  return server.port() == 80 ? address : fmt::format("{}:{}", address, server.port());
}

std::string request_text(const Question& question, const tcp::endpoint& server) {
  std::string text = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\n", question.put ? "PUT" : "GET",
                                 question.path, text_of(server));
  for (const auto& [name, value] : question.headers) text += name + ": " + value + "\r\n";
  if (question.put) text += "Content-Length: 0\r\n";
  return text + "Connection: close\r\n\r\n";
}

std::string text_of_error(const beast::error_code& error) {
  if (error == http::error::body_limit) {
    return fmt::format("the answer is longer than {} KiB", max_metadata_body_bytes >> 10);
  }
  if (error == http::error::header_limit) {
    return fmt::format("the answer's header is longer than {} KiB",
                       max_metadata_header_bytes >> 10);
  }
  if (error == http::error::end_of_stream) return "the connection was closed without an answer";
  if (error == http::error::partial_message) return "the answer is incomplete";
  const bool of_http =
      error.category() == http::make_error_code(http::error::end_of_stream).category();
  return of_http ? "the server does not use HTTP" : lower(error.message());
}

// One request to one server, with descriptions of its failures.
class Query {
 public:
  Query(tcp::endpoint server, Question question, SteadyTime deadline)
      : server_(server), question_(std::move(question)), deadline_(deadline) {}

  asio::awaitable<Result<std::optional<std::string>>> run() {
    if (steady_clock::now() >= deadline_)
      co_return failure("no time was left to ask the metadata server");
    const auto executor = co_await asio::this_coro::executor;
    const auto socket = std::make_shared<HttpStream>(executor);
    asio::steady_timer limit(executor, deadline_);
    limit.async_wait([socket](const boost::system::error_code& error) {
      boost::system::error_code ignored;
      if (!error) socket->close(ignored);
    });
    HttpAnswer answer;
    const beast::error_code error = co_await exchange(*socket, answer);
    if (error && steady_clock::now() >= deadline_) {
      const auto waited = std::chrono::round<Centiseconds>(deadline_ - began_);
      co_return failure("no answer within " + duration_text(waited));
    }
    if (error) co_return failure(text_of_error(error));
    co_return body_of(answer);
  }

 private:
  asio::awaitable<beast::error_code> exchange(HttpStream& socket, HttpAnswer& answer) {
    const HttpStream::endpoint_type there = server_;
    const auto [refused] = co_await socket.async_connect(there, use_nothrow_awaitable);
    if (refused) co_return refused;
    const std::string request = request_text(question_, server_);
    const auto [unsent, bytes] =
        co_await asio::async_write(socket, asio::buffer(request), use_nothrow_awaitable);
    if (unsent) co_return unsent;
    answer.header_limit(static_cast<std::uint32_t>(max_metadata_header_bytes));
    answer.body_limit(max_metadata_body_bytes);
    co_return co_await read_http<false>(socket, answer);
  }

  Result<std::optional<std::string>> body_of(HttpAnswer& answer) const {
    const unsigned status = answer.get().result_int();
    if (status == 200) return std::move(answer.get().body());
    if (status == 404) return std::nullopt;
    const auto name = http::obsolete_reason(answer.get().result());
    return failure(
        fmt::format("it answered {} {}", status, std::string_view(name.data(), name.size())));
  }

  std::unexpected<Error> failure(std::string why) const {
    return fail(fmt::format("metadata server {}: {} {}", text_of(server_),
                            question_.put ? "PUT" : "GET", question_.path),
                std::move(why));
  }

  const tcp::endpoint server_;
  const Question question_;
  const SteadyTime began_ = steady_clock::now();
  const SteadyTime deadline_;
};

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

tcp::endpoint metadata_server() {
  return {asio::ip::make_address_v4("169.254.169.254"), 80};
}

asio::awaitable<Result<std::optional<std::string>>> ask(tcp::endpoint server, Question question,
                                                        SteadyTime deadline) {
  Query conversation(server, std::move(question), deadline);
  auto answer = co_await conversation.run();
  co_return answer;
}

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
