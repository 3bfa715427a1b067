#include "scheduler/pmi.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>

#include "base/text.h"

namespace toprun::scheduler {
namespace {

constexpr std::size_t max_line_bytes = 4096;
constexpr std::size_t max_words_bytes = 512;  // of PMI-1's 1024 for a value
constexpr const char* key = "toprun-root";

std::string value_in(std::string_view line, std::string_view name) {
  for (const std::string_view word : words(line)) {
    const std::size_t equals = word.find('=');
    if (word.substr(0, equals) == name && equals != std::string_view::npos) {
      return std::string(word.substr(equals + 1));
    }
  }
  return "";
}

// One connection to the proxy: a question at a time.
class Proxy {
 public:
  Proxy(int fd, SteadyTime deadline) : fd_(fd), deadline_(deadline) {}

  Result<std::string> ask(const std::string& question, std::string_view answer) {
    const std::string line = "cmd=" + question + "\n";
    if (::write(fd_, line.data(), line.size()) != std::ssize(line)) {
      return fail_errno(fmt::format("PMI: cannot say {}", question));
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
        return fail("PMI: not all ranks came to the meeting in time",
                    "some of them did not start, or do not run toprun",
                    "look at the hosts of those that say nothing");
      }
      char byte = 0;
      const ssize_t n = ready < 0 ? -1 : ::read(fd_, &byte, 1);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return fail("PMI: mpiexec's proxy has closed the connection");
      if (byte == '\n') return line;
      line += byte;
    }
    return fail("PMI: what mpiexec's proxy says is not a line");
  }

  const int fd_;
  const SteadyTime deadline_;
};

}  // namespace

std::optional<int> nodes_in_mapping(std::string_view mapping, int ranks) {
  std::vector<std::array<int, 3>> blocks;
  constexpr std::string_view beginning = "(vector,(";
  constexpr int most = 1 << 24;
  if (!mapping.starts_with(beginning) || !mapping.ends_with("))")) return std::nullopt;
  mapping.remove_prefix(beginning.size());
  mapping.remove_suffix(2);
  std::string text(mapping);
  for (std::size_t at; (at = text.find("),(")) != std::string::npos;) text.replace(at, 3, ";");
  for (const std::string_view part : split(text, ';')) {
    const auto numbers = split(part, ',');
    if (numbers.size() != 3) return std::nullopt;
    std::array<int, 3> block{};
    for (std::size_t i = 0; i < block.size(); ++i) {
      const auto number = parse_int(numbers[i]);
      if (!number || *number < (i == 0 ? 0 : 1) || *number > most) return std::nullopt;
      block[i] = static_cast<int>(*number);
    }
    blocks.push_back(block);
  }
  std::set<int> nodes;
  for (std::int64_t left = ranks; left > 0;) {
    for (const auto& [first, count, each] : blocks) {
      for (int i = 0; i < count && left > 0; ++i, left -= each) nodes.insert(first + i);
    }
  }
  return static_cast<int>(nodes.size());
}

Result<PmiMeeting> meet_by_pmi(int fd, int rank, int ranks, const std::string& said,
                               SteadyTime deadline) {
  Proxy proxy(fd, deadline);
  auto reply = proxy.ask("init pmi_version=1 pmi_subversion=1", "response_to_init");
  if (!reply) return std::unexpected(std::move(reply.error()));
  reply = proxy.ask("get_my_kvsname", "my_kvsname");
  if (!reply) return std::unexpected(std::move(reply.error()));
  PmiMeeting meeting{value_in(*reply, "kvsname"), said.substr(0, max_words_bytes), {}};
  const std::string space = "kvsname=" + meeting.job;
  if (rank == 0) {
    reply =
        proxy.ask(fmt::format("put {} key={} value={}", space, key, meeting.said), "put_result");
    if (!reply) return std::unexpected(std::move(reply.error()));
  }
  reply = proxy.ask("barrier_in", "barrier_out");
  if (!reply) return std::unexpected(std::move(reply.error()));
  reply = proxy.ask(fmt::format("get {} key={}", space, key), "get_result");
  if (!reply) return std::unexpected(std::move(reply.error()));
  meeting.said = value_in(*reply, "value");
  // Not every process manager has it.
  reply = proxy.ask("get " + space + " key=PMI_process_mapping", "get_result");
  if (reply) meeting.nodes = nodes_in_mapping(value_in(*reply, "value"), ranks);
  return meeting;
}

}  // namespace toprun::scheduler
