#include "node/launch/step.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <thread>

#include "base/os/console.h"
#include "base/os/fd.h"
#include "base/process/child.h"
#include "base/process/command.h"
#include "base/process/impatience.h"
#include "base/text/clock.h"
#include "base/text/secrets.h"
#include "base/text/text.h"
#include "engines/mpi/mpirun.h"
#include "node/agent/publish/launch_line.h"
#include "node/link/preamble.h"
#include "node/output/console.h"
#include "node/output/lines.h"
#include "node/plan/arrange.h"
#include "node/plan/container_plan.h"
#include "node/plan/login_orders.h"
#include "node/worker/spawn/descendants.h"
#include "node/worker/spawn/spawn.h"

namespace toprun::launch {
namespace {

constexpr std::array forwarded = {SIGINT,  SIGTERM, SIGHUP,          SIGQUIT,
                                  SIGUSR1, SIGUSR2, run::grow_signal};
constexpr const char* secret_variable = "TOPRUN_SECRET";
constexpr int code_of_a_login = 255;
constexpr std::chrono::seconds ending_patience{10};  // of an mpirun that has lost a host
// Once the run has ended, so long for the engine's command to end: it may wait for a node that the
// run has lost. Then it gets SIGTERM, and after as long again SIGKILL.
constexpr std::chrono::seconds step_patience{20};
constexpr int look_again_ms = 500;
constexpr int look_for_room_ms = 20;
constexpr int unfinished_after_ms = 50;  // of a line; the agent has held it back already

// The variables that agents read, for an engine that forwards only listed variables.
std::vector<std::string> variables_for_agents(const plan::Job& job) {
  std::vector<std::string> requested = job.options.option_variables;
  for (const auto& [name, value] : job.options.activation.variables) {
    if (!value) requested.push_back(name);
  }
  // The program's own, which the engine's nodes mostly share.
  for (const char* name : {"PATH", "LD_LIBRARY_PATH"}) requested.emplace_back(name);
  std::vector<std::string> names;
  for (const auto& [name, value] : plan::passed_variables(job.environment, requested))
    names.push_back(name);
  if (job.place.engine == engines::EngineKind::mpi) names.emplace_back(secret_variable);
  return names;
}

void write_line(const Fd& pipe, const std::string& line) {
  // A pipe whose reader is gone is found out by the reader's end itself.
  [[maybe_unused]] const ssize_t n = ::write(pipe.get(), line.data(), line.size());
}

// With several nodes, the engine's command may end with the code of a lost node's agent, or not at
// all: of a node that was cut off for a while, srun never hears that its agent has ended.
std::optional<link::ResultPost> post_for(const plan::Job& job) {
  if (!job.several_processes()) return {};
  auto post = link::ResultPost::open();
  if (!post) return {};
  return *std::move(post);
}

Result<pid_t> start(const engines::AgentCommand& command, const spawn::Inherited& inherited,
                    int stdin_fd, int stdout_fd, int stderr_fd) {
  spawn::Program program{{},       command.argv, command.environment.entries(),
                         stdin_fd, stdout_fd,    stderr_fd};
  const std::span one(&program, 1);
  TRY(spawn::find_programs(one, "this node"));
  auto pids = TRY(spawn::spawn(one, inherited, "this node"));
  return pids.front();
}

// This process's own terminal, where the root's agent tells it how far the launch has come.
class LaunchTerminal {
 public:
  LaunchTerminal() : terminal_(io_, output::ConsoleDescriptors{}, false) {}

  void show(bool is_err, std::string text) {
    if (!text.empty()) terminal_.show("", is_err, std::move(text), [] {});
  }
  void reported(std::string line) {
    terminal_.show_below(launch_.line(std::move(line), terminal_.last_output()));
  }
  // Not while the terminal is stopped.
  bool has_room() {
    io_.poll();
    io_.restart();
    return terminal_.room(false) && terminal_.room(true);
  }
  void hide() {
    terminal_.show_below("");
    terminal_.writer(true)->flush(SteadyClock::now() + std::chrono::milliseconds(200));
  }
  void finish() {
    terminal_.show_below("");
    for (const bool is_err : {false, true}) terminal_.writer(is_err)->flush(SteadyTime::max());
  }

 private:
  boost::asio::io_context io_;
  output::Terminal terminal_;
  publish::ToldLaunch launch_;
};

// What a command writes to `target` passes through here where its last words may need explaining,
// its lines are in pieces, or the launch is shown on the same terminal.
class Overheard {
 public:
  // `terminal`: null, if no launch is shown.
  Overheard(int target, bool requested, Written written, LaunchTerminal* terminal)
      : target_(target), terminal_(terminal) {
    if (written == Written::tagged) mixed_.emplace();
    if (!requested) return;
    auto pipe = process::make_pipe();
    if (!pipe) return;
    reading_ = std::move(pipe->read);
    writing_ = std::move(pipe->write);
  }
  int reading() const { return reading_.get(); }
  // The descriptor for the command; without a pipe, toprun's own.
  int writing() const { return writing_.get() >= 0 ? writing_.get() : target_; }
  void started() { writing_.reset(); }

  // False: all is read, or there is nothing to read now.
  bool pass() {
    std::array<char, 65'536> chunk;
    const ssize_t n = ::read(reading_.get(), chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) return true;
    if (n <= 0) {
      reading_.reset();
      return false;
    }
    const std::string_view text(chunk.data(), static_cast<std::size_t>(n));
    show(mixed_ ? mixed_->add(text) : std::string(text));
    tail_.append(text);
    if (!ending_ && engines::mpirun_is_ending(tail_)) {
      ending_ = std::chrono::steady_clock::now();
    }
    if (tail_.size() > 2 * max_tail) tail_.erase(0, tail_.size() - max_tail);
    return true;
  }
  // Passes on the pipe's content when the command has ended; others may still hold its other end.
  void pass_the_rest() {
    pollfd waiting{reading_.get(), POLLIN, 0};
    while (reading_.get() >= 0 && ::poll(&waiting, 1, 0) == 1 && pass()) {
    }
    if (mixed_) show(mixed_->rest());
    // mpirun may have ended a rank within a line; toprun's own lines follow.
    if (mixed_ && target_ == STDERR_FILENO && !ends_a_line_) show("\n");
    pass_unfinished();
  }
  bool holds_back() const { return lines_.holds_back(); }
  // What has been held back of a line on the terminal.
  void pass_unfinished() {
    if (lines_.holds_back()) show_on_terminal(lines_.flush());
  }
  const std::string& tail() const { return tail_; }
  // When the command reported that it is ending.
  std::optional<SteadyTime> ending() const { return ending_; }

 private:
  void show(std::string_view text) {
    if (!text.empty()) ends_a_line_ = text.back() == '\n';
    if (terminal_ != nullptr) return show_on_terminal(lines_.add(text));
    write_all(target_, text);  // where nothing reads it, it is lost
  }

  void show_on_terminal(std::string text) {
    if (const auto reported = publish::take_report(text)) terminal_->reported(*reported);
    terminal_->show(target_ == STDERR_FILENO, std::move(text));
  }

  static constexpr std::size_t max_tail = 16'384;
  int target_;
  LaunchTerminal* const terminal_;
  output::Lines lines_;
  std::optional<engines::MpirunOutput> mixed_;
  bool ends_a_line_ = true;  // what was shown
  Fd reading_;
  Fd writing_;
  std::string tail_;
  std::optional<SteadyTime> ending_;
};

struct Heard {
  std::unique_ptr<LaunchTerminal> terminal;  // null: no launch is shown
  Overheard out;
  Overheard err;

  bool has_room() const { return terminal == nullptr || terminal->has_room(); }
  bool holds_back() const { return out.holds_back() || err.holds_back(); }
  void pass_unfinished() {
    out.pass_unfinished();
    err.pass_unfinished();
  }
};

// Ends a command that does not end by itself.
class Overdue {
 public:
  explicit Overdue(pid_t pid) : pid_(pid) {}

  // `ending`: when an mpirun reported that it is ending.
  void expect(std::optional<SteadyTime> ending) {
    if (ending) kill_by(*ending + ending_patience);
  }
  // The run has ended with this code.
  void expect_after_run(int exit_code) {
    if (run_code_) return;
    run_code_ = exit_code;
    terminate_at_ = std::chrono::steady_clock::now() + step_patience;
    kill_by(*terminate_at_ + step_patience);
  }
  // When to look again, for poll(2).
  int patience_ms() const { return kill_at_ && !killed_ ? look_again_ms : -1; }

  void look(SteadyTime now) {
    if (terminate_at_ && !killed_ && now > *terminate_at_) {
      terminate_at_.reset();
      say(
          fmt::format("the run has ended with exit code {}, but its step has not ended, perhaps "
                      "because a lost node does not answer: toprun stops the step",
                      *run_code_));
      process::signal_process(pid_, SIGTERM);
    }
    if (!kill_at_ || killed_ || now <= *kill_at_) return;
    // It and its logins; the daemons behind them end without it, and the agents with them.
    killed_ = true;
    spawn::signal_descendants(SIGKILL);
  }
  int exit_code(int status) const {
    return run_code_ ? *run_code_ : killed_ ? exit_failure : process::exit_code(status);
  }

 private:
  // The earlier of two times counts.
  void kill_by(SteadyTime time) { kill_at_ = std::min(kill_at_.value_or(time), time); }

  pid_t pid_;
  std::optional<int> run_code_;
  std::optional<SteadyTime> terminate_at_;
  std::optional<SteadyTime> kill_at_;
  bool killed_ = false;
};

// Waits until the command has stopped too: the shell writes its words when this process stops, and
// a command that shows the progress line removes it before it stops.
void await_stop_of(pid_t pid) {
  constexpr std::chrono::milliseconds longest_wait{1'000}, between_looks{5};
  const auto until = std::chrono::steady_clock::now() + longest_wait;
  while (std::chrono::steady_clock::now() < until) {
    siginfo_t stopped{};
    const int got =
        ::waitid(P_PID, static_cast<id_t>(pid), &stopped, WSTOPPED | WEXITED | WNOHANG | WNOWAIT);
    if (got != 0 || stopped.si_pid != 0) return;
    std::this_thread::sleep_for(between_looks);
  }
}

// Does what a SIGTSTP does that was read instead. It does not stop a process that no shell
// continues.
void stop_here() {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTSTP);
  ::raise(SIGTSTP);
  ::sigprocmask(SIG_UNBLOCK, &stop, nullptr);
  ::sigprocmask(SIG_BLOCK, &stop, nullptr);
}

// Waits for the command's end. `post`: null, or where the root posts the run's exit code.
CommandEnd follow(pid_t pid, const Fd& signals, Heard& heard, link::ResultPost* post,
                  const std::function<void(pid_t, int)>& pass_on) {
  process::Impatience impatience;
  int requests_to_end = 0;
  std::optional<int> asked_by;
  Overdue overdue(pid);
  for (;;) {
    const bool has_room = heard.has_room();
    std::array<pollfd, 4> waiting = {pollfd{signals.get(), POLLIN, 0},
                                     pollfd{has_room ? heard.out.reading() : -1, POLLIN, 0},
                                     pollfd{has_room ? heard.err.reading() : -1, POLLIN, 0},
                                     pollfd{post != nullptr ? post->fd() : -1, POLLIN, 0}};
    overdue.expect(heard.err.ending());
    int patience_ms = overdue.patience_ms();
    if (heard.holds_back()) patience_ms = unfinished_after_ms;
    if (!has_room) patience_ms = look_for_room_ms;
    const int ready = ::poll(waiting.data(), waiting.size(), patience_ms);
    if (ready < 0) continue;
    if (ready == 0) heard.pass_unfinished();
    if (waiting[3].revents != 0) {
      if (const auto code = post->received()) overdue.expect_after_run(*code);
    }
    overdue.look(std::chrono::steady_clock::now());
    if (waiting[1].revents != 0) heard.out.pass();
    if (waiting[2].revents != 0) heard.err.pass();
    if (waiting[0].revents == 0) continue;
    signalfd_siginfo info{};
    if (::read(signals.get(), &info, sizeof info) != sizeof info) continue;
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGCHLD) {
      int status = 0;
      if (::waitpid(pid, &status, WNOHANG) != pid) continue;
      heard.out.pass_the_rest();
      heard.err.pass_the_rest();
      if (heard.terminal) heard.terminal->finish();
      if (const auto code = post != nullptr ? post->received() : std::nullopt) {
        overdue.expect_after_run(*code);
      }
      return {overdue.exit_code(status), heard.err.tail(), asked_by};
    }
    if (signal == SIGTSTP) {
      if (heard.terminal) heard.terminal->hide();  // the shell's words would stand behind it
      await_stop_of(pid);
      stop_here();
      continue;
    }
    const bool ends = signal != SIGUSR1 && signal != SIGUSR2 && signal != run::grow_signal;
    if (ends && !impatience.is_wish(std::chrono::steady_clock::now())) continue;
    pass_on(pid, signal);
    if (ends && !asked_by) asked_by = signal;
    if (ends && ++requests_to_end >= cuts_after) process::signal_process(pid, SIGTERM);
  }
}

}  // namespace

std::string program_for(const plan::Job& job) {
  const auto self = process::own_path();
  if (!job.options.called_torchrun && self) return *self;
  return job.options.command_line.front();
}

std::vector<std::string> arguments_for(const plan::Job& job) {
  const std::vector<std::string>& line = job.options.command_line;
  std::vector<std::string> arguments(line.begin() + 1, line.end());
  const auto script =
      arguments.end() - static_cast<std::ptrdiff_t>(job.options.arguments.size()) - 1;
  arguments.erase(std::remove_if(arguments.begin(), script,
                                 [](const std::string& word) {
                                   return word == "--dry-run" || word == "--dry_run";
                                 }),
                  script);
  return arguments;
}

Result<engines::AgentCommand> step_command(const plan::Job& job) {
  const auto place = TRY(plan::needed_nodes(job));
  const auto inside = TRY(plan::plan_engine_container(job));
  const bool agents_inside = !inside.options.empty();
  const bool on_terminal = ::isatty(STDOUT_FILENO) == 1 || ::isatty(STDERR_FILENO) == 1;
  auto command =
      engines::agent_command(job.environment, place,
                             {agents_inside ? inside.program : program_for(job), arguments_for(job),
                              job.goes_on_without_a_node(), on_terminal, variables_for_agents(job),
                              ::geteuid() == 0, inside.options});
  if (command && agents_inside) {
    command->environment.set(plan::inside_variable, "1");
    if (!plan::python_exec_inside(job.options, job.environment))
      command->environment.unset("PYTHON_EXEC");
  }
  return command;
}

int run_step(const plan::Job& job) {
  auto command = step_command(job);
  if (!command) return give_up(command.error());
  // mpirun hands on no more than listed variables, and srun's labels would come before the mark.
  const bool is_slurm = job.place.engine == engines::EngineKind::slurm;
  if (is_slurm && !job.environment.non_empty("SLURM_LABELIO") && publish::shows_launches(job)) {
    command->environment.set(std::string(publish::launch_variable), "1");
  }
  if (job.options.verbose > 0) say("starting agents: " + shown_command(command->argv));
  ::signal(SIGPIPE, SIG_IGN);
  const auto pipe = process::make_pipe();
  if (!pipe) return give_up(pipe.error());
  const auto& [reading, orders] = *pipe;
  const std::string secret = link::random_hex(32);
  if (command->secret_by_variable && !command->environment.has(secret_variable)) {
    command->environment.set(secret_variable, secret);
  }
  write_line(orders, "secret " + secret + "\n");
  auto post = post_for(job);
  if (post) write_line(orders, text_of(post->address()) + "\n");
  // If only the root's agent receives the signal, it notifies the others.
  const std::string for_all = command->secret_by_variable ? " for-all" : "";
  const auto pass_on = [&](pid_t, int signal) {
    write_line(orders, fmt::format("signal {}{}\n", signal, for_all));
  };
  return run_command(*command, job, reading.get(), Written::plain, pass_on, post ? &*post : nullptr)
      .exit_code;
}

CommandEnd run_command(const engines::AgentCommand& command, const plan::Job& job, int stdin_fd,
                       Written written, const std::function<void(pid_t, int)>& pass_on,
                       link::ResultPost* post) {
  const bool tells_launch = command.environment.has(publish::launch_variable);
  sigset_t mask;
  sigemptyset(&mask);
  for (const int signal : forwarded) sigaddset(&mask, signal);
  sigaddset(&mask, SIGCHLD);
  if (!job.inherited.ignored[SIGTSTP]) sigaddset(&mask, SIGTSTP);
  ::sigprocmask(SIG_BLOCK, &mask, nullptr);
  const Fd signals(::signalfd(-1, &mask, SFD_CLOEXEC));
  if (!signals) {
    say(fail_errno("cannot watch for signals", more_open_files).error().line());
    return {exit_failure};
  }
  spawn::become_subreaper();  // of the logins that an mpirun may leave behind
  auto terminal = tells_launch ? std::make_unique<LaunchTerminal>() : nullptr;
  const bool is_tagged = written == Written::tagged;
  const bool is_mpi =
      job.place.engine == engines::EngineKind::mpi || !job.options.launcher.value.empty();
  LaunchTerminal* const shown = terminal.get();
  Heard heard{std::move(terminal),
              Overheard(STDOUT_FILENO, is_tagged || tells_launch, written, shown),
              Overheard(STDERR_FILENO, is_tagged || is_mpi || tells_launch, written, shown)};
  const auto pid =
      start(command, job.inherited, stdin_fd, heard.out.writing(), heard.err.writing());
  if (!pid) return {give_up(pid.error())};
  heard.out.started();
  heard.err.started();
  CommandEnd end = follow(*pid, signals, heard, post, pass_on);
  if (const auto trouble = engines::mpirun_trouble(end.said); trouble && end.exit_code != 0) {
    say(trouble->line());
    // Open MPI's code, or ssh's, where no rank began.
    if (end.exit_code == code_of_a_login) end.exit_code = exit_failure;
  }
  return end;
}

}  // namespace toprun::launch
