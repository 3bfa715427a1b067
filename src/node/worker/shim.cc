#include "node/worker/shim.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <set>

#include "base/os/console.h"
#include "base/os/environment.h"
#include "base/os/fd.h"
#include "base/process/child.h"
#include "node/worker/shim_link.h"
#include "node/worker/spawn/descendants.h"
#include "node/worker/spawn/spawn.h"

namespace toprun::worker {
namespace {

using nlohmann::json;

constexpr std::string_view here = "the container";

json error_json(const Error& error) {
  return {{"failed", {error->what, error->why, error->fix, error->exit_code}}};
}

class Shim {
 public:
  Shim(spawn::Inherited inherited, Fd socket, Fd signals)
      : inherited_(inherited), socket_(std::move(socket)), signals_(std::move(signals)) {}

  int serve() {
    while (!over_) {
      pollfd waiting[] = {{socket_.get(), POLLIN, 0}, {signals_.get(), POLLIN, 0}};
      if (::poll(waiting, 2, -1) < 0 && errno != EINTR) break;
      if (waiting[1].revents != 0) take_signal();
      if (waiting[0].revents != 0) take_order();
    }
    spawn::until_childless(SIGKILL, spawn::unkillable_limit);
    return 0;
  }

 private:
  // Any signal from the engine or the runtime ends the shim; the agent sends ranks their
  // signals.
  void take_signal() {
    signalfd_siginfo info{};
    if (::read(signals_.get(), &info, sizeof info) != sizeof info) return;
    if (info.ssi_signo != SIGCHLD) {
      over_ = true;
      return;
    }
    tell_ended();
  }

  void tell_ended() {
    json ended = json::array();
    bool childless = false;
    for (;;) {
      int status = 0;
      const pid_t pid = ::waitpid(-1, &status, WNOHANG);
      if (pid < 0 && errno == EINTR) continue;
      childless = pid < 0 || (pid == 0 && warm_pid() != 0 && spawn::nothing_below_but(warm_pid()));
      if (pid <= 0) break;
      if (pid == warm_pid()) warm_->ended();
      unreaped_.erase(pid);
      ended.push_back({pid, status});
    }
    answer({{"ended", std::move(ended)}, {"childless", childless}});
  }

  void take_order() {
    auto frame = receive_frame(socket_.get());
    if (!frame || !*frame) {
      over_ = true;
      return;
    }
    try {
      execute((*frame)->message, std::move((*frame)->descriptors));
    } catch (const json::exception&) {
      over_ = true;  // it is not our agent
    }
  }

  void execute(const json& message, std::vector<Fd> descriptors) {
    const std::string order = message.value("order", "");
    if (order == "program") {
      keep(message, std::move(descriptors));
    } else if (order == "start") {
      start(message.value("host", std::string(here)));
    } else if (order == "look") {
      look(message);
    } else if (order == "enter") {
      enter(message.value("folder", ""));
    } else if (order == "describe") {
      answer({{"left", spawn::describe_descendants(warm_pid())}});
    } else if (order == "signal") {
      signal(message);
    } else if (order == "signal_all") {
      spawn::signal_descendants(message.value("signal", SIGKILL), warm_pid());
    } else if (order == "warm_up") {
      warm_up(message);
    } else if (order == "warmth") {
      tell_warmth();
    }
  }

  void keep(const json& message, std::vector<Fd> descriptors) {
    if (descriptors.size() != process::most_frame_descriptors) return;
    spawn::Program program;
    program.argv = message.value("argv", std::vector<std::string>());
    program.environment = message.value("environment", std::vector<std::string>());
    for (const std::uint8_t byte : message.value("affinity", std::vector<std::uint8_t>())) {
      program.affinity.push_back(std::byte{byte});
    }
    program.stdin_fd = descriptors[0].get();
    program.stdout_fd = descriptors[1].get();
    program.stderr_fd = descriptors[2].get();
    programs_.push_back(std::move(program));
    for (Fd& fd : descriptors) handed_over_.push_back(std::move(fd));
  }

  void start(const std::string& host) {
    std::vector<spawn::Program> programs = std::exchange(programs_, {});
    const auto there = spawn::find_programs(programs, host);
    std::string cold;  // why they are not forked
    auto pids = there ? start(programs, host, cold) : std::unexpected(there.error());
    handed_over_.clear();
    if (pids) unreaped_.insert(pids->begin(), pids->end());
    answer(pids ? json{{"pids", *pids}, {"cold", cold}} : error_json(pids.error()));
  }

  Result<std::vector<pid_t>> start(std::span<const spawn::Program> programs,
                                   const std::string& host, std::string& cold) {
    if (warm_) {
      auto forked = warm_->fork(programs, {});
      if (forked) return forked;
      cold = warm::left_out(host, forked.error().line());
    }
    return spawn::spawn(programs, inherited_, host);
  }

  void warm_up(const json& message) {
    spawn::Program command;
    command.argv = message.value("argv", std::vector<std::string>());
    command.environment = message.value("environment", std::vector<std::string>());
    auto parent = warm::Parent::start(std::move(command),
                                      message.value("modules", std::vector<std::string>()),
                                      inherited_, message.value("host", std::string(here)));
    if (!parent) return answer(error_json(parent.error()));
    warm_ = *std::move(parent);
    tell_warmth();
  }

  void tell_warmth() {
    if (!warm_) return answer(error_json(Error{"no warm parent", "", "", exit_failure}));
    warm_->hear();
    answer({{"warmth",
             {warm_->settled(), warm_->why(), warm_->import_time().count(), warm_->imported()}}});
    if (warm_->state() == warm::Parent::State::refused) warm_.reset();
  }

  pid_t warm_pid() const { return warm_ ? warm_->pid() : 0; }

  void enter(const std::string& folder) {
    if (::chdir(folder.c_str()) == 0) return answer({{"entered", true}});
    answer(error_json(usage("folder " + folder, errno_text(errno)).error()));
  }

  void look(const json& message) {
    json seen = json::array();
    for (const std::string& path : message.value("paths", std::vector<std::string>())) {
      Seen found;
      struct stat status {};
      found.exists = ::stat(path.c_str(), &status) == 0;
      found.directory = found.exists && S_ISDIR(status.st_mode);
      found.readable = found.exists && ::access(path.c_str(), R_OK) == 0;
      found.executable = found.exists && ::access(path.c_str(), X_OK) == 0;
      found.writable = found.exists && ::access(path.c_str(), W_OK) == 0;
      seen.push_back(
          {found.exists, found.directory, found.readable, found.executable, found.writable});
    }
    answer({{"seen", std::move(seen)}});
  }

  // The agent may not know yet that a rank has ended, and another process may have its id by now.
  void signal(const json& message) const {
    const auto pids = message.value("pids", std::vector<pid_t>());
    const int number = message.value("signal", 0);
    if (message.value("only_handlers", false)) return spawn::notify_groups(pids, number);
    for (const pid_t pid : pids) {
      if (unreaped_.contains(pid)) process::signal_group(pid, number);
    }
  }

  void answer(const json& message) {
    if (!send_frame(socket_.get(), message)) over_ = true;
  }

  const spawn::Inherited inherited_;
  const Fd socket_;
  const Fd signals_;
  std::vector<spawn::Program> programs_;  // for the next start order
  std::vector<Fd> handed_over_;           // their descriptors
  std::set<pid_t> unreaped_;              // started processes that are not reaped yet
  std::unique_ptr<warm::Parent> warm_;
  bool over_ = false;
};

Result<Fd> connect_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return fail(path, "the path is too long");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return fail_errno("cannot make a socket in " + std::string(here));
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return fail_errno("cannot reach the agent at " + path + " from " + std::string(here));
  }
  return socket;
}

}  // namespace

int run_shim(const std::string& path) {
  const spawn::Inherited inherited = spawn::Inherited::capture();
  auto socket = connect_to(path);
  if (!socket) {
    say(socket.error().line());
    return exit_failure;
  }
  ::signal(SIGPIPE, SIG_IGN);
  spawn::become_subreaper();
  sigset_t mask;
  sigemptyset(&mask);
  for (const int number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT}) sigaddset(&mask, number);
  ::sigprocmask(SIG_BLOCK, &mask, nullptr);
  Fd signals(::signalfd(-1, &mask, SFD_CLOEXEC));
  if (!signals) {
    say(fail_errno(fmt::format("cannot watch for signals in {}", here), more_open_files)
            .error()
            .line());
    return exit_failure;
  }
  const json hello = {{"environment", Environment::from(environ).entries()},
                      {"pid", ::getpid()},
                      {"uid", ::getuid()}};
  if (!send_frame(socket->get(), hello)) return exit_failure;
  return Shim(inherited, *std::move(socket), std::move(signals)).serve();
}

}  // namespace toprun::worker
