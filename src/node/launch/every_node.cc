#include "node/launch/every_node.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include <nlohmann/json.hpp>

#include "base/json/json_text.h"
#include "base/os/fd.h"
#include "base/process/child.h"
#include "node/launch/login_step.h"
#include "node/launch/step.h"
#include "node/plan/arrange.h"
#include "node/plan/job.h"
#include "node/worker/spawn/spawn.h"

namespace toprun::launch {
namespace {

using std::chrono::steady_clock;

// Starts a child process with the step; the nodes' output goes to its stdout.
pid_t begin_step(const plan::Job& job, const Fd& lines) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // the logins and the engine's command end with it
  ::dup2(lines.get(), STDOUT_FILENO);
  ::_exit(job.starts_by_login() ? run_login_step(job, StepOf::verb) : run_step(job));
}

void take_lines(std::string& text, std::vector<NodeLine>& lines) {
  const WallTime now = std::chrono::system_clock::now();
  std::size_t used = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', used)) {
    lines.push_back({text.substr(used, end - used), now});
    used = end + 1;
  }
  text.erase(0, used);
}

struct Answers {
  std::vector<NodeLine> lines;
  bool are_complete = false;  // the step and its nodes have closed the pipe
};

Result<Answers> read_answers(const Fd& pipe, std::size_t hosts) {
  auto deadline = steady_clock::now() + first_line_limit +
                  static_cast<std::int64_t>(hosts) * first_line_limit_per_host;
  Answers answers;
  std::string text;
  std::array<char, 65'536> bytes;
  for (std::size_t all = 0; all <= max_node_lines_bytes;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_clock::now());
    pollfd readable{pipe.get(), POLLIN, 0};
    const int ready = left.count() <= 0 ? 0 : ::poll(&readable, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return answers;
    const ssize_t n = ::read(pipe.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    answers.are_complete = n <= 0;
    if (answers.are_complete) return answers;
    all += static_cast<std::size_t>(n);
    text.append(bytes.data(), static_cast<std::size_t>(n));
    take_lines(text, answers.lines);
    deadline = steady_clock::now() + silence_limit;
  }
  return fail("cannot read the nodes' answers", "the answers are longer than toprun accepts");
}

constexpr const char* failed_word = "failed_login";

}  // namespace

std::string line_of(const FailedLogin& failed) {
  const nlohmann::json line = {
      {failed_word, {{"hosts", failed.hosts}, {"why", failed.why}, {"fix", failed.fix}}}};
  return json_text(line) + '\n';
}

std::optional<FailedLogin> failed_login_in(std::string_view line) {
  if (!line.starts_with(fmt::format("{{\"{}\":", failed_word))) return std::nullopt;
  try {
    const nlohmann::json failed = json_in(line).at(failed_word);
    return FailedLogin{failed.at("hosts"), failed.at("why"), failed.at("fix")};
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

Result<std::optional<EveryNode>> run_on_every_node(const plan::Options& options,
                                                   const Environment& environment) {
  auto job = TRY(plan::prepare(options, environment, spawn::Inherited::capture()));
  if (job.place.stance != engines::Stance::starter) return std::nullopt;
  job.min_nodes = 1;  // the step goes on without nodes that do not answer
  const auto place = TRY(plan::needed_nodes(job));
  EveryNode every;
  every.by_login = job.starts_by_login();
  for (const engines::Node& node : place.nodes) every.hosts.push_back(node.name);
  auto [reading, writing] = TRY(process::make_pipe());
  const pid_t step = begin_step(job, writing);
  if (step < 0) return fail_errno("cannot start a process");
  writing.reset();
  auto answers = read_answers(reading, every.hosts.size());
  if (!answers || !answers->are_complete) process::signal_process(step, SIGKILL);
  const int status = process::await_end(step);
  if (!answers) return std::unexpected(answers.error());
  for (NodeLine& line : answers->lines) {
    if (auto failed = failed_login_in(line.text)) {
      every.failed.push_back(*std::move(failed));
    } else {
      every.lines.push_back(std::move(line));
    }
  }
  // srun, too, ends with this code, for instance if a node has no toprun: its hosts gave no answer.
  const bool is_refused = every.by_login && WIFEXITED(status) && WEXITSTATUS(status) == exit_usage;
  if (is_refused && every.lines.empty()) {
    return usage("no host was examined", {}, "see the message above");
  }
  return every;
}

}  // namespace toprun::launch
