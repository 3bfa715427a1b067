#include "node/agent/evidence/nccl_ras.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <string>

#include "base/net/address.h"
#include "base/text/text.h"

namespace toprun::evidence {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int default_port = 28028;
constexpr milliseconds connect_limit{200};

constexpr std::string_view greeting = "SERVER PROTOCOL ";
constexpr std::size_t most_taken_bytes = 32u << 20;  // the answer of 100,000 ranks

// Whether an answer may begin with this: another program's need not end.
bool may_begin_so(std::string_view text) {
  return text.substr(0, greeting.size()) == greeting.substr(0, text.size());
}

bool is_ready(const Fd& socket, short events, Clock::time_point end) {
  const auto left = std::chrono::ceil<milliseconds>(end - Clock::now());
  pollfd requested{.fd = socket.get(), .events = events, .revents = 0};
  return left.count() > 0 && ::poll(&requested, 1, static_cast<int>(left.count())) == 1;
}

std::shared_ptr<Fd> connected(const hosts::Address& address, int port) {
  auto socket = std::make_shared<Fd>(hosts::begin_to_connect(address, port));
  if (!*socket || !is_ready(*socket, POLLOUT, Clock::now() + connect_limit)) return nullptr;
  return hosts::connection_error(*socket) == 0 ? socket : nullptr;
}

// Everything until the end of the connection; empty if that does not come in time.
std::string all_of(const Fd& socket, Clock::time_point end) {
  std::string answer;
  std::array<char, 16'384> buffer;
  while (is_ready(socket, POLLIN, end)) {
    const ssize_t length = ::recv(socket.get(), buffer.data(), buffer.size(), 0);
    if (length == 0) return answer;
    if (length < 0 && errno != EINTR && errno != EAGAIN) return {};
    if (length > 0) answer.append(buffer.data(), static_cast<std::size_t>(length));
    if (answer.size() > most_taken_bytes || !may_begin_so(answer)) return {};
  }
  return {};
}

bool is_ours(const ras::Status& status, const std::vector<pid_t>& pids) {
  return std::ranges::any_of(status.communicators, [&](const ras::Communicator& one) {
    return std::ranges::any_of(one.ranks, [&](const ras::Rank& rank) {
      return std::ranges::find(pids, rank.pid) != pids.end();
    });
  });
}

}  // namespace

std::shared_ptr<Fd> connect_to_nccl(const Environment& environment) {
  if (environment.get("NCCL_RAS_ENABLE") == "0") return nullptr;
  const std::string where = environment.non_empty("NCCL_RAS_ADDR").value_or("localhost");
  const std::size_t colon = where.rfind(':');
  std::string host = where.substr(0, colon);
  int port = default_port;
  if (colon != std::string::npos) {
    const auto number = parse_int(where.substr(colon + 1));
    if (!number || *number < 1 || *number > 65'535) return nullptr;
    port = static_cast<int>(*number);
  }
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const bool is_local = host == "localhost";
  for (const char* name : {"127.0.0.1", "::1"}) {
    const auto address = hosts::Address::parse(is_local ? name : host);
    if (!address) return nullptr;
    if (auto socket = connected(*address, port)) return socket;
    if (!is_local) break;
  }
  return nullptr;
}

std::vector<ras::Finding> reported_by_nccl(const Fd& connection, const std::vector<pid_t>& pids,
                                           milliseconds limit) {
  const auto end = Clock::now() + limit;
  const auto sent =
      ::send(connection.get(), ras::question.data(), ras::question.size(), MSG_NOSIGNAL);
  if (!std::cmp_equal(sent, ras::question.size())) return {};
  const auto status = ras::parse_answer(all_of(connection, end));
  if (!status || !is_ours(*status, pids)) return {};
  return ras::judge(*status);
}

}  // namespace toprun::evidence
