#include "node/launch/login_step.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <variant>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include "base/net/hostlist.h"
#include "base/os/console.h"
#include "base/os/fd.h"
#include "base/os/files.h"
#include "base/os/signals.h"
#include "base/os/style.h"
#include "base/process/child.h"
#include "base/process/command.h"
#include "base/process/impatience.h"
#include "base/text/clock.h"
#include "base/text/secrets.h"
#include "base/text/text.h"
#include "engines/login/login.h"
#include "node/agent/inbox.h"
#include "node/agent/session.h"
#include "node/launch/every_node.h"
#include "node/launch/login_place.h"
#include "node/launch/step.h"
#include "node/link/preamble.h"
#include "node/output/console.h"
#include "node/plan/arrange.h"
#include "node/plan/kept_run.h"
#include "node/plan/login_orders.h"
#include "node/worker/workers.h"
#include "observe/report/report.h"

namespace toprun::launch {
namespace asio = boost::asio;
using std::chrono::steady_clock;

namespace {

constexpr std::array passed_on = {SIGINT,  SIGTERM, SIGHUP,          SIGQUIT,
                                  SIGUSR1, SIGUSR2, run::grow_signal};
constexpr std::size_t max_binary_bytes = 1u << 30;  // with debug information
constexpr std::chrono::seconds farewell_slack{5};
constexpr std::chrono::seconds kill_after{2};

// `login`: what ssh is called with, as me@n0.
std::string with_host(std::string text, const std::string& host, const std::string& login) {
  constexpr std::string_view word = "HOST";
  const auto is_of_a_command = [&](std::size_t at) {
    const std::string_view before = std::string_view(text).substr(0, at);
    return before.ends_with("ssh ") || before.ends_with("ssh-copy-id ");
  };
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos;) {
    const std::string& name = is_of_a_command(at) ? login : host;
    text.replace(at, word.size(), name);
    at += name.size();
  }
  return text;
}

// The other hosts get it through the job's store.
plan::LoginOrders::Program rank_program(const Environment& environment) {
  const auto name = environment.non_empty(plan::rank_program_variable);
  if (!name) return {};
  const auto file = process::own_path().value_or("").parent_path() / *name;
  if (::access(file.c_str(), F_OK) != 0) return {};
  auto content = read_file(file, plan::max_rank_program_bytes);
  if (!content) {
    say("warning: " + content.error().line() +
        "; other hosts do not get it (if it is larger than 8 MiB, strip it)");
    return {};
  }
  return {*name, process::this_machine(), *std::move(content)};
}

// The story of a run that logins start: log in, give orders, follow to the end.
class LoginStep {
 public:
  LoginStep(const plan::Job& job, LoginCommands commands, StepOf what);
  int run();
  // What the agents that outlive their logins call the run.
  const std::string& kept_as() const { return kept_as_; }

 private:
  struct Changed {};
  struct Signalled {
    int number;
  };
  using Event = std::variant<Changed, Signalled>;

  asio::awaitable<int> story();
  asio::awaitable<std::optional<int>> log_in();
  asio::awaitable<int> follow();
  asio::awaitable<void> end_all();
  Login::Bytes program(std::string_view machine);
  void start_more();
  int in_flight() const;
  bool all_answered() const;
  bool all_over() const;
  std::vector<Answered> answered() const;
  std::optional<Error> named_twice() const;
  std::optional<Error> refused() const;
  const std::string& login_of(std::size_t index) const;
  void tell_troubles() const;
  void give_orders();
  void pass_on(int number);
  void tell_all(const std::string& line);
  void beat();
  void await_signal();
  void reap();
  void tell_lost();
  void hold_complaints();
  report::LostRoot lost_root() const;
  std::optional<int> kept_from_joining() const;
  void let_go();
  SteadyTime last_moment() const;

  const plan::Job& job_;
  const StepOf what_;
  const LoginCommands commands_;
  asio::io_context io_{1};
  output::Terminal terminal_;
  output::OwnLines own_lines_{io_, terminal_};
  asio::signal_set signals_;
  asio::steady_timer beat_;
  agent::Inbox<Event> inbox_;
  std::map<std::string, Login::Bytes, std::less<>>
      read_;                                    // programs that hosts have asked for, by machine
  std::vector<std::shared_ptr<Login>> logins_;  // as commands_.hosts
  std::vector<std::size_t> members_;            // those that were given orders
  std::vector<char> reported_lost_;             // by login
  std::size_t root_ = 0;
  std::optional<SteadyTime> root_ended_;
  WallTime began_ = std::chrono::system_clock::now();
  std::string kept_as_;
  bool let_go_ = false;  // agents that outlive their logins may now end
  process::Impatience impatience_;
  int wishes_ = 0;  // to end the run
};

LoginStep::LoginStep(const plan::Job& job, LoginCommands commands, StepOf what)
    : job_(job),
      what_(what),
      commands_(std::move(commands)),
      terminal_(io_, output::ConsoleDescriptors{}, wants_colours(job.environment)),
      signals_(io_),
      beat_(io_),
      inbox_(io_) {
  for (const int number : passed_on) {
    if (!job.inherited.ignored[static_cast<std::size_t>(number)]) signals_.add(number);
  }
  if (!job.inherited.ignored[SIGTSTP]) signals_.add(SIGTSTP);
  for (const int number : {SIGCHLD, SIGCONT}) signals_.add(number);
  for (const LoginCommands::One& one : commands_.hosts) {
    logins_.push_back(std::make_shared<Login>(
        io_, terminal_, job.place.engine, one.node.name,
        [this](std::string_view machine) { return program(machine); },
        [this] { inbox_.push(Changed{}); }));
  }
  reported_lost_.resize(logins_.size());
}

int LoginStep::run() {
  await_signal();
  int exit_code = exit_failure;
  asio::co_spawn(io_, story(), [&](const std::exception_ptr& error, int code) {
    if (error) std::rethrow_exception(error);
    exit_code = code;
    io_.stop();
  });
  io_.run();
  return exit_code;
}

asio::awaitable<int> LoginStep::story() {
  const auto others = static_cast<std::size_t>(
      std::ranges::count(commands_.hosts, false, &LoginCommands::One::here));
  if (job_.options.verbose > 0 && others > 0) {
    say(fmt::format("logging in to {} by {}", count_text(job_.place.engine, others),
                    engines::name_of(job_.place.engine)));
  }
  std::optional<int> code = co_await log_in();
  if (!code) {
    give_orders();
    code = co_await follow();
  }
  co_await end_all();
  agent::Inbox<Changed> written(io_);
  own_lines_.when_written([&written] { written.push({}); });
  const SteadyTime limit = steady_clock::now() + worker::flush_limit;
  const auto in_time = co_await written.next(limit);
  if (!in_time) own_lines_.give_up();
  co_return *code;
}

// Waits until every host has answered or failed. An exit code: the run is over before it began.
asio::awaitable<std::optional<int>> LoginStep::log_in() {
  start_more();
  while (!all_answered()) {
    const auto event = co_await inbox_.next();
    if (const auto* signal = std::get_if<Signalled>(&*event)) {
      if (signal->number == SIGTSTP || signal->number == SIGCONT) continue;
      say(fmt::format("ended by {} before the agents were started", signal_name(signal->number)));
      co_return 128 + signal->number;
    }
    start_more();
  }
  tell_troubles();
  const auto twice = named_twice();
  if (const auto error = twice ? twice : refused()) {
    say(error->line());
    co_return (*error)->exit_code;
  }
  co_return std::nullopt;
}

// Of a program that cannot be read any more, no bytes: the host's script says that it came
// incomplete.
Login::Bytes LoginStep::program(std::string_view machine) {
  if (const auto known = read_.find(machine); known != read_.end()) return known->second;
  const auto named = std::ranges::find_if(
      commands_.programs, [&](const LoginProgram& one) { return one.binary.machine == machine; });
  auto bytes = std::make_shared<const std::string>(
      named == commands_.programs.end()
          ? std::string()
          : read_file(named->path, max_binary_bytes).value_or(std::string()));
  return read_.emplace(machine, std::move(bytes)).first->second;
}

void LoginStep::start_more() {
  for (std::size_t i = 0; i < logins_.size() && in_flight() < logins_at_once; ++i) {
    if (logins_[i]->state() != Login::State::waiting) continue;
    Environment environment = job_.environment;
    if (commands_.hosts[i].here) {
      environment.set(engines::login_step_variable, engines::login_step);
    }
    logins_[i]->start(commands_.hosts[i].argv, environment, job_.inherited);
  }
}

int LoginStep::in_flight() const {
  return static_cast<int>(std::ranges::count(logins_, Login::State::connecting,
                                             [](const auto& login) { return login->state(); }));
}

bool LoginStep::all_answered() const {
  return std::ranges::all_of(logins_,
                             [](const auto& login) { return login->is_up() || login->is_over(); });
}

bool LoginStep::all_over() const {
  return std::ranges::all_of(logins_, [](const auto& login) { return login->is_over(); });
}

// What ssh is called with.
const std::string& LoginStep::login_of(std::size_t index) const {
  const engines::Node& node = commands_.hosts[index].node;
  return node.login.empty() ? logins_[index]->name() : node.login;
}

// Hosts with the same trouble in one line.
void LoginStep::tell_troubles() const {
  std::vector<std::pair<engines::LoginTrouble, std::vector<std::string>>> groups;
  for (const auto& login : logins_) {
    if (!login->trouble()) continue;
    const auto known = std::ranges::find_if(
        groups, [&](const auto& group) { return group.first.why == login->trouble()->why; });
    if (known != groups.end()) {
      known->second.push_back(login->name());
    } else {
      groups.push_back({*login->trouble(), {login->name()}});
    }
  }
  for (const auto& [trouble, names] : groups) {
    const std::string list = hosts::compress_hostlist(names);
    const auto first =
        std::ranges::find(logins_, names.front(), [](const auto& login) { return login->name(); });
    const std::string login = login_of(static_cast<std::size_t>(first - logins_.begin()));
    const FailedLogin failed{names, with_host(trouble.why, list, list),
                             with_host(trouble.fix, names.front(), login)};
    if (what_ == StepOf::verb) print_bytes(line_of(failed));
    say(fail("no agent on " + list, failed.why, failed.fix).error().line());
  }
}

std::vector<Answered> LoginStep::answered() const {
  std::vector<Answered> answered;
  for (std::size_t i = 0; i < logins_.size(); ++i) {
    const Login& login = *logins_[i];
    if (!login.is_up()) continue;
    const engines::Node& node = commands_.hosts[i].node;
    answered.push_back({node, commands_.hosts[i].here, login.client(),
                        node.address.empty() ? login.server() : node.address, login.machine()});
  }
  return answered;
}

// Pods have no second names.
std::optional<Error> LoginStep::named_twice() const {
  if (job_.place.engine != engines::EngineKind::ssh) return std::nullopt;
  const plan::Options& options = job_.options;
  return machine_named_twice(
      answered(), options.hosts.is_set() ? options.hosts.source : options.host_file.source, what_);
}

std::optional<Error> LoginStep::refused() const {
  const auto up = std::ranges::count_if(logins_, [](const auto& login) { return login->is_up(); });
  const auto all = std::ssize(logins_);
  if (up == all) return std::nullopt;
  const std::string count =
      fmt::format("{} of {} answered", up, count_text(job_.place.engine, logins_.size()));
  if (what_ == StepOf::verb && up == 0) {
    return Error{count, "see the messages above", "", exit_failure};
  }
  if (up < job_.min_nodes) {
    return Error{
        count,
        job_.is_elastic() ? fmt::format("the job needs {} ({})", job_.min_nodes, job_.nnodes_source)
                          : "the job needs all nodes",
        job_.is_elastic() || up == 0 ? "" : "leave the other nodes out, or give --nnodes MIN:MAX",
        exit_failure};
  }
  say(count + "; toprun goes on without the other nodes");
  return std::nullopt;
}

void LoginStep::give_orders() {
  for (std::size_t i = 0; i < logins_.size(); ++i) {
    if (logins_[i]->is_up()) members_.push_back(i);
  }
  const std::vector<Answered> all = answered();
  std::vector<plan::LoginOrders> orders = orders_for(job_, all);
  const auto root = static_cast<std::size_t>(root_among(all));
  root_ = members_[root];
  if (!all[root].here) orders[root].program = rank_program(job_.environment);
  kept_as_ = orders.front().kept_as;
  const std::string secret = "secret " + link::random_hex(32) + "\n";
  for (std::size_t i = 0; i < members_.size(); ++i) {
    logins_[members_[i]]->tell(
        std::make_shared<const std::string>(plan::text_of(orders[i]) + secret));
  }
  beat();
}

// Waits until the root agent and all others have ended, or their time is over.
asio::awaitable<int> LoginStep::follow() {
  while (!all_over()) {
    std::optional<SteadyTime> deadline;
    if (root_ended_) deadline = last_moment();
    const auto event = co_await inbox_.next(deadline);
    if (!event) break;
    if (const auto* signal = std::get_if<Signalled>(&*event)) pass_on(signal->number);
    tell_lost();
    if (const auto code = kept_from_joining()) co_return *code;
    let_go();
    if (logins_[root_]->is_over() && !root_ended_) {
      root_ended_ = steady_clock::now();
      if (logins_[root_]->exit_code()) hold_complaints();
    }
  }
  if (const auto code = logins_[root_]->exit_code()) co_return *code;
  say_block(report::lost_root_line(lost_root()));
  co_return exit_failure;
}

// Without this, the others would wait for such an agent in vain. Agents that outlive their logins
// would do so alone, and where their root is; so until they are let go a lost one counts as well.
std::optional<int> LoginStep::kept_from_joining() const {
  auto left = std::ssize(members_);
  for (const std::size_t member : members_) {
    const Login& login = *logins_[member];
    const bool fails = job_.options.detach ? !let_go_ : login.exit_code() && !login.joins();
    if (!login.is_over() || !fails) continue;
    --left;
    const bool may_go_on = !job_.options.detach || (left >= job_.min_nodes && member != root_);
    const bool has_enough = job_.is_elastic() || (job_.has_spares() && left >= job_.min_nodes);
    if (has_enough && may_go_on) continue;
    const bool has_others = members_.size() > 1;  // an agent alone does not join any
    if (login.exit_code() && has_others) {
      say(fmt::format("no agent on {}: see above", login.name()));
    }
    return login.exit_code().value_or(exit_failure);
  }
  return std::nullopt;
}

// Once all agents that are to outlive their logins have shown that nothing keeps them from joining.
void LoginStep::let_go() {
  if (!job_.options.detach || let_go_) return;
  let_go_ = std::ranges::all_of(members_, [this](const std::size_t member) {
    return logins_[member]->joins() || logins_[member]->is_over();
  });
  if (let_go_) tell_all(fmt::format("{}\n", plan::kept_go));
}

// Members detect the loss of their root by themselves and then give their workers the grace period.
SteadyTime LoginStep::last_moment() const {
  return *root_ended_ + job_.patience.silence + job_.grace.stop + farewell_slack;
}

void LoginStep::hold_complaints() {
  for (const auto& login : logins_) login->hold_complaints();
}

void LoginStep::tell_lost() {
  if (logins_[root_]->exit_code()) return;  // the root has reported the end of the run
  for (const std::size_t member : members_) {
    const Login& login = *logins_[member];
    if (!login.is_over() || login.exit_code() || reported_lost_[member]) continue;
    reported_lost_[member] = 1;
    if (member == root_) {
      say_block(report::lost_root_report(lost_root(), style_of_stderr(job_.environment)));
    } else {
      say(fmt::format("lost the connection to {}", login.name()));
    }
  }
}

report::LostRoot LoginStep::lost_root() const {
  std::vector<std::string> others;
  for (const std::size_t member : members_) {
    if (member != root_) others.push_back(logins_[member]->name());
  }
  const std::string& host = logins_[root_]->name();
  const bool is_pod = job_.place.engine == engines::EngineKind::exec;
  return {host,
          others.empty() ? "" : hosts::compress_hostlist(others),
          count_text(job_.place.engine, members_.size()),
          is_pod ? "kubectl get pod " + host : fmt::format("ssh {} true", login_of(root_)),
          began_,
          std::chrono::system_clock::now(),
          exit_failure};
}

asio::awaitable<void> LoginStep::end_all() {
  for (const auto& login : logins_) login->abandon();
  const SteadyTime patient_until = steady_clock::now() + kill_after;
  while (std::ranges::any_of(logins_, [](const auto& login) { return login->pid() > 0; })) {
    if (co_await inbox_.next(patient_until)) continue;
    for (const auto& login : logins_) {
      process::signal_process(login->pid(), SIGKILL);
    }
    co_return;
  }
}

void LoginStep::pass_on(int number) {
  const bool ends = number != SIGUSR1 && number != SIGUSR2 && number != SIGTSTP &&
                    number != SIGCONT && number != run::grow_signal;
  if (ends && !impatience_.is_wish(steady_clock::now())) return;
  tell_all(fmt::format("signal {}\n", number));
  if (number == SIGTSTP) {
    terminal_.show_below("");  // the shell's words would stand behind it
    terminal_.writer(true)->flush(steady_clock::now() + std::chrono::milliseconds(200));
    ::raise(SIGSTOP);
  }
  if (!ends || ++wishes_ < cuts_after) return;
  for (const auto& login : logins_) login->abandon();
}

void LoginStep::tell_all(const std::string& line) {
  const auto bytes = std::make_shared<const std::string>(line);
  for (const std::size_t member : members_) {
    if (!logins_[member]->is_over()) logins_[member]->tell(bytes);
  }
}

void LoginStep::beat() {
  tell_all("beat\n");
  beat_.expires_after(agent::launcher_beat);
  beat_.async_wait([this](const boost::system::error_code& error) {
    if (!error) beat();
  });
}

void LoginStep::await_signal() {
  signals_.async_wait([this](const boost::system::error_code& error, int number) {
    if (error) return;
    if (number == SIGCHLD) {
      reap();
    } else {
      inbox_.push(Signalled{number});
    }
    await_signal();
  });
}

void LoginStep::reap() {
  for (const auto& login : logins_) {
    int status = 0;
    if (login->pid() > 0 && ::waitpid(login->pid(), &status, WNOHANG) == login->pid()) {
      login->ended(status);
    }
  }
}

void tell_kept(const std::string& job, const std::string& run) {
  const std::string id = fmt::format("{}/{}", job, run);
  [[maybe_unused]] const int printed = print(id + '\n');
  say(
      fmt::format("run {0} continues in the pods until it ends, its pods end, or `toprun cancel "
                  "{0}` ends it; `toprun logs -f {0}` shows its output",
                  id));
}

}  // namespace

Result<LoginCommands> login_commands(const plan::Job& job) {
  const auto place = TRY(plan::needed_nodes(job));
  LoginCommands commands;
  commands.programs = TRY(login_programs());
  std::vector<engines::Binary> binaries;
  for (const LoginProgram& program : commands.programs) binaries.push_back(program.binary);
  const auto way_to = [&](const engines::Node& node) {
    if (!node.exec.empty()) return engines::exec_login(node.exec, binaries);
    return engines::ssh_command(job.environment, node.login, engines::ssh_line(binaries));
  };
  const auto count = static_cast<std::size_t>(place.node_count);
  for (std::size_t i = 0; i < std::min(count, place.nodes.size()); ++i) {
    const engines::Node& node = place.nodes[i];
    const bool here = node.exec.empty() && is_this_host(node);
    commands.hosts.push_back(
        {node, here,
         here ? std::vector<std::string>{process::own_path().value_or("")} : way_to(node)});
  }
  return commands;
}

std::string login_orders_text(const plan::Job& job) {
  plan::LoginOrders orders = orders_for(job, {Answered{}}).front();
  for (const auto& [name, value] : engines::variables_of({})) orders.variables[name] = "…";
  if (!orders.kept_as.empty()) orders.kept_as = "…";
  for (auto& [name, value] : orders.variables) {
    if (holds_a_secret(name, value)) value = hidden_secret;
  }
  orders.argv = without_secrets(orders.argv);
  std::string text = plan::text_of(orders);
  return text.substr(text.find('\n') + 1) + " secret <secret>";
}

int run_login_step(const plan::Job& job, StepOf what) {
  auto commands = login_commands(job);
  if (!commands) return give_up(commands.error());
  if (job.options.verbose > 0) {
    for (const LoginCommands::One& one : commands->hosts) {
      if (one.here)
        say(fmt::format("{} is this host: its agent starts without ssh", one.node.name));
    }
  }
  raise_open_files();  // three descriptors per host
  ::signal(SIGPIPE, SIG_IGN);
  LoginStep step(job, *std::move(commands), what);
  const int exit_code = step.run();
  if (job.options.detach && exit_code == 0) tell_kept(job.options.in_job.value, step.kept_as());
  return exit_code;
}

}  // namespace toprun::launch
