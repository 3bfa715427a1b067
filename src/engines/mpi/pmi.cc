#include "engines/mpi/pmi.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/os/fd.h"
#include "base/text/text.h"

namespace toprun::engines {
namespace {

constexpr std::size_t max_line_bytes = 4096;
constexpr std::size_t max_words_bytes = 512;  // of PMI-1's 1024 for a value
constexpr const char* root_key = "toprun-root";

std::string key_of(int rank) {
  return fmt::format("toprun-{}", rank);
}

std::string value_in(std::string_view line, std::string_view name) {
  for (const std::string_view word : words(line)) {
    const std::size_t equals = word.find('=');
    if (word.substr(0, equals) == name && equals != std::string_view::npos) {
      return std::string(word.substr(equals + 1));
    }
  }
  return "";
}

// A connection to the proxy, with one request at a time.
class Proxy {
 public:
  Proxy(int fd, SteadyTime deadline) : fd_(fd), deadline_(deadline) {}

  Result<std::string> ask(const std::string& question, std::string_view answer) {
    const std::string line = "cmd=" + question + "\n";
    if (!write_all(fd_, line)) {
      return fail_errno(fmt::format("PMI: cannot send {}", question));
    }
    auto reply = read_line();
    if (!reply) return reply;
    const std::string code = value_in(*reply, "rc");
    if (value_in(*reply, "cmd") == answer && (code.empty() || code == "0")) return reply;
    return fail(fmt::format("PMI: {}", question),
                fmt::format("mpiexec answers \"{}\"", printable(*reply)),
                "name rank 0's host: --rdzv-endpoint HOST");
  }

 private:
  Result<std::string> read_line() {
    std::string line;
    while (line.size() < max_line_bytes) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          deadline_ - std::chrono::steady_clock::now());
      pollfd waiting{fd_, POLLIN, 0};
      const int ready = ::poll(&waiting, 1, static_cast<int>(std::max<long>(0, left.count())));
      if (ready < 0 && errno == EINTR) continue;
      if (ready == 0) {
        return fail("PMI: not all ranks reached the barrier in time",
                    "some ranks did not start, or were not started by toprun",
                    "check the hosts that print no message");
      }
      char byte = 0;
      const ssize_t n = ready < 0 ? -1 : ::read(fd_, &byte, 1);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return fail("PMI: mpiexec's proxy closed the connection");
      if (byte == '\n') return line;
      line += byte;
    }
    return fail(
        fmt::format("PMI: the first line of the reply from mpiexec's proxy is longer than {} bytes",
                    max_line_bytes));
  }

  const int fd_;
  const SteadyTime deadline_;
};

}  // namespace

Result<PmiMeeting> meet_by_pmi(const PmiRank& me, const std::string& said, SteadyTime deadline) {
  Proxy proxy(me.fd, deadline);
  auto reply = proxy.ask("init pmi_version=1 pmi_subversion=1", "response_to_init");
  if (reply) reply = proxy.ask("get_my_kvsname", "my_kvsname");
  if (!reply) return std::unexpected(std::move(reply.error()));
  PmiMeeting meeting{value_in(*reply, "kvsname"), {}, 0};
  const auto put = [&](const std::string& key, std::string_view value) {
    return proxy.ask(fmt::format("put kvsname={} key={} value={}", meeting.job, key, value),
                     "put_result");
  };
  const auto get = [&](const std::string& key) {
    return proxy.ask(fmt::format("get kvsname={} key={}", meeting.job, key), "get_result");
  };
  reply = put(key_of(me.rank), me.local_rank == 0 ? "first" : "another");
  if (reply) reply = proxy.ask("barrier_in", "barrier_out");
  for (int rank = 0; reply && me.rank == 0 && rank < me.ranks; ++rank) {
    reply = get(key_of(rank));
    if (reply && value_in(*reply, "value") == "first") ++meeting.nodes;
  }
  if (reply && me.rank == 0) {
    const std::string words = said.substr(0, max_words_bytes);
    reply = put(root_key, fmt::format("{};{}", meeting.nodes, words));
  }
  if (reply) reply = proxy.ask("barrier_in", "barrier_out");
  if (reply) reply = get(root_key);
  if (!reply) return std::unexpected(std::move(reply.error()));
  const std::string value = value_in(*reply, "value");
  reply = proxy.ask("finalize", "finalize_ack");
  if (!reply) return std::unexpected(std::move(reply.error()));
  const std::size_t end = std::min(value.find(';'), value.size() - 1);
  meeting.nodes = static_cast<int>(parse_int(value.substr(0, end)).value_or(0));
  if (meeting.nodes < 1 || meeting.nodes > me.ranks) {
    return fail("PMI: rank 0", fmt::format("rank 0 sent \"{}\"", printable(value)));
  }
  meeting.said = value.substr(end + 1);
  return meeting;
}

}  // namespace toprun::engines
