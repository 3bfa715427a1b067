#include "node/plan/kept_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include "base/net/address.h"
#include "base/os/console.h"
#include "base/os/fd.h"
#include "base/os/files.h"
#include "base/process/child.h"
#include "base/text/text.h"
#include "engines/login/login.h"
#include "node/plan/login_orders.h"

namespace toprun::plan {
namespace {

constexpr std::size_t most_pods_named = 3;

Error about(const JobOfPods& found, const std::string& option, std::string why) {
  return {option, std::move(why), fmt::format("wait for it: toprun status {}", found.job.id),
          exit_failure};
}

constexpr mode_t for_me_alone = 0700;
constexpr mode_t file_for_me_alone = 0600;
constexpr char joins_now = 'j';

// Of the process that goes on; set by keep_running().
struct Leaving {
  std::string output;
  Fd to_login;  // its parent, which holds the login, waits for joins_now
};
Leaving leaving;

std::string where(const std::string& path) {
  return fmt::format("{} on host {}", path, hosts::host_name());
}

// Makes the folder, or finds that it is there and no other user's.
Result<void> make_own_folder(const std::string& path) {
  struct stat status {};
  if (::mkdir(path.c_str(), for_me_alone) == 0) return {};
  if (errno != EEXIST) return fail_errno("cannot make " + where(path));
  const bool is_own = ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
                      status.st_uid == ::geteuid() && (status.st_mode & 022) == 0;
  if (is_own) return {};
  return fail(where(path), "it belongs to another user", "remove it");
}

Result<void> redirect(const std::string& output) {
  const Fd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const Fd file(::open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
                       file_for_me_alone));
  if (file.get() < 0) return fail_errno("cannot make " + where(output));
  ::dup2(nothing.get(), STDIN_FILENO);
  ::dup2(file.get(), STDOUT_FILENO);
  ::dup2(file.get(), STDERR_FILENO);
  return {};
}

// Ends the process that goes on, which no process hears any more.
int call_off(pid_t pid, int signal) {
  process::signal_process(pid, signal);
  return 128 + signal;
}

// What a line of the launcher's ends the wait with.
std::optional<int> obey_line(std::string_view line, pid_t pid) {
  if (line == kept_go) return 0;
  if (!line.starts_with("signal ")) return std::nullopt;
  const auto number = parse_int(line.substr(line.find(' ') + 1));
  const bool ends = number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
  return ends ? std::optional(call_off(pid, static_cast<int>(*number))) : std::nullopt;
}

// Holds the login until the launcher lets it go, because all agents of the run are about to join;
// else ends what was to go on. Returns the login's exit code.
int hold_login(pid_t pid, Fd from_child) {
  ::signal(SIGPIPE, SIG_IGN);  // the launcher may be gone before it hears login_kept
  std::string heard;
  while (true) {
    std::array<pollfd, 2> polled{pollfd{STDIN_FILENO, POLLIN, 0},
                                 pollfd{from_child ? from_child.get() : -1, POLLIN, 0}};
    const auto limit = std::chrono::milliseconds(launcher_silence_limit);
    const int ready = ::poll(polled.data(), polled.size(), static_cast<int>(limit.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return call_off(pid, SIGTERM);
    std::array<char, 1024> buffer;
    if (polled[1].revents != 0) {
      // Nothing: it has ended and has said why.
      if (::read(from_child.get(), buffer.data(), 1) <= 0) {
        const int code = process::exit_code(process::await_end(pid));
        return code == 0 ? exit_failure : code;
      }
      from_child.reset();
      say_block(engines::login_kept);
    }
    if (polled[0].revents == 0) continue;
    const ssize_t n = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (n <= 0) return call_off(pid, SIGTERM);
    heard.append(buffer.data(), static_cast<std::size_t>(n));
    for (std::size_t end; (end = heard.find('\n')) != std::string::npos; heard.erase(0, end + 1)) {
      if (const auto code = obey_line(std::string_view(heard).substr(0, end), pid)) return *code;
    }
  }
}

}  // namespace

Result<JobOfPods> find_pods(const std::string& option, const std::string& id,
                            const Environment& environment) {
  auto parsed = TRY(engines::parse_job_id(id));
  parsed.has_pods = true;
  auto queue = TRY(engines::find_queue_of(parsed, environment));
  auto jobs = TRY(queue->find(parsed));
  if (jobs.empty()) {
    return fail(option, queue->forgets(parsed), "list the jobs with toprun jobs");
  }
  JobOfPods found{std::move(queue), std::move(jobs.front()), {}};
  if (has_ended(found.job.state)) {
    return fail(option, "the job has ended", fmt::format("see toprun status {}", id));
  }
  found.pods = TRY(found.queue->pods(found.job));
  return found;
}

Result<JobOfPods> running_pods(const std::string& option, const std::string& id,
                               const Environment& environment) {
  auto found = find_pods(option, id, environment);
  if (!found) return found;
  const auto there = static_cast<std::int64_t>(found->pods.size());
  if (there < std::max<std::int64_t>(1, found->job.nodes)) {
    return std::unexpected(about(
        *found, option,
        fmt::format("{} of its {} there", there,
                    counted(found->job.nodes, "pod") + (found->job.nodes == 1 ? " is" : " are"))));
  }
  std::vector<std::string> troubles;
  for (const engines::JobPod& pod : found->pods) {
    if (pod.trouble.empty()) continue;
    if (troubles.size() < most_pods_named) {
      troubles.push_back(fmt::format("pod {} does not run: {}", pod.name, printable(pod.trouble)));
    }
  }
  if (troubles.empty()) return found;
  return std::unexpected(about(*found, option, join(troubles, "; ")));
}

std::vector<engines::Node> nodes_of(const JobOfPods& found) {
  std::vector<engines::Node> nodes;
  for (const engines::JobPod& pod : found.pods) {
    nodes.push_back({pod.name, std::nullopt, pod.name,
                     found.queue->exec_command(found.job, pod, engines::Terminal::no),
                     pod.address});
  }
  return nodes;
}

std::string kept_runs_folder(std::string_view temporary, std::string_view uid) {
  return fmt::format("{}/toprun-runs-{}", temporary, uid);
}

Result<std::string> keep_running(const std::string& run, Environment& environment) {
  auto secret = TRY(receive_secret());
  const std::string all = kept_runs_folder(environment.non_empty("TMPDIR").value_or("/tmp"),
                                           fmt::to_string(::geteuid()));
  const std::string folder = fmt::format("{}/{}", all, run);
  for (const std::string& path : {all, folder}) {
    TRY(make_own_folder(path));
  }
  environment.set("TOPRUN_SECRET", secret);
  if (!environment.has("TOPRUN_REPORT")) {
    environment.set("TOPRUN_REPORT", fmt::format("{}/{}", folder, kept_report));
  }
  auto pipe = TRY(process::make_pipe());
  const pid_t pid = ::fork();
  if (pid < 0) return fail_errno("cannot start a process");
  if (pid > 0) {
    pipe.write.reset();
    const int code = hold_login(pid, std::move(pipe.read));
    say_block(engines::login_ended(code));
    ::_exit(code);
  }
  ::setsid();
  TRY(replace_file(fmt::format("{}/{}", folder, kept_pid), fmt::format("{}\n", ::getpid())));
  leaving = {fmt::format("{}/{}", folder, kept_output), std::move(pipe.write)};
  return folder;
}

Result<void> leave_login() {
  if (!leaving.to_login) return {};
  if (auto done = redirect(leaving.output); !done) return done;
  const ssize_t n = ::write(leaving.to_login.get(), &joins_now, 1);
  if (n != 1) return fail("the launcher", "its login has ended");
  leaving.to_login.reset();
  return {};
}

void keep_exit_code(const std::string& folder, int exit_code) {
  const auto written =
      replace_file(fmt::format("{}/{}", folder, kept_code), fmt::format("{}\n", exit_code));
  if (!written) say(written.error().line());
}

}  // namespace toprun::plan
