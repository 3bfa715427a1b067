#include "node/worker/workers.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <set>

#include "base/os/console.h"
#include "base/os/files.h"
#include "base/os/timer.h"
#include "base/text/shown_line.h"
#include "base/text/text.h"
#include "node/output/tail.h"
#include "node/worker/exit_evidence.h"
#include "node/worker/spawn/descendants.h"

namespace toprun::worker {
namespace {

using boost::system::error_code;
using std::chrono::milliseconds;

// While killing, the interval of the search for newly forked processes.
constexpr milliseconds kill_interval{20};
// A dead worker whose last output is blocked by the console is reported after this time anyway.
constexpr milliseconds blocked_output_limit{50};
// Longer than the children's own time limits.
constexpr std::chrono::minutes start_limit{1};
// How long another process may hold a pipe after all our processes are gone.
constexpr milliseconds held_pipe_limit{200};
// How long the destructor waits for the processes that it killed.
constexpr milliseconds destruction_limit{2000};
constexpr std::size_t longest_error_file_bytes = 1u << 20;
// A worker whose error file cannot be read (a hanging file server) is reported after this time.
constexpr milliseconds error_file_limit{2000};

enum class Phase { idle, running, leaving, flushing, gone };

struct Worker {
  WorkerPlan plan;
  pid_t pid = 0;
  bool alive = false;
  bool reported = false;  // or described, to be reported once its error file is read
  model::WorkerExit exit{};
  bool end_is_unseen = false;  // its exit status did not reach this process
};

constexpr std::string_view unseen_end =
    "toprun cannot tell how this process ended: its exit status did not reach toprun";

void take_status(int status, model::WorkerExit& exit) {
  exit.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  exit.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

std::optional<model::ErrorFile> read_error_file(const std::string& path, SteadyTime started) {
  struct stat status {};
  if (path.empty() || ::stat(path.c_str(), &status) != 0) return std::nullopt;
  const auto text = read_plain_file(path, longest_error_file_bytes);
  if (!text) return std::nullopt;
  const WallTime modified{std::chrono::seconds(status.st_mtim.tv_sec) +
                          std::chrono::microseconds(status.st_mtim.tv_nsec / 1000)};
  return parse_error_file(*text, path, modified, started);
}

}  // namespace

struct Workers::Impl : std::enable_shared_from_this<Workers::Impl> {
  Impl(boost::asio::io_context& context, std::shared_ptr<Children> where, std::string host_name,
       std::vector<WorkerPlan> plans, Observer callbacks, output::OutputPlan output_plan)
      : children(std::move(where)),
        host(std::move(host_name)),
        observer(std::move(callbacks)),
        output(context, std::move(output_plan)),
        kill_timer(context),
        report_timer(context),
        flush_timer(context),
        files(context, {.threads = 4, .waiting = 4096}) {
    for (WorkerPlan& plan : plans) workers.push_back({.plan = std::move(plan)});
  }

  const std::shared_ptr<Children> children;
  const std::string host;
  Observer observer;
  std::vector<Worker> workers;
  output::Output output;
  OomWatch oom;
  Phase phase = Phase::idle;
  bool stopping = false;
  bool killing = false;  // the grace period after SIGTERM is over
  SteadyTime started{};
  SteadyTime stopped_at{};
  SteadyTime kill_at = SteadyTime::max();
  SteadyTime kill_since{};
  Timer kill_timer;
  Timer report_timer;
  Timer flush_timer;
  Pool files;
  std::set<std::size_t> awaiting_files;  // workers whose report waits for their error file
  bool flushed = false;                  // all done except for those

  // The resources of start(), kept while it runs.
  struct Launch {
    Fd null;
    std::vector<output::Output::Ends> ends;
    std::vector<spawn::Program> programs;
  };
  Result<Launch> prepare();
  Result<std::vector<spawn::Program>> programs_with(std::vector<output::Output::Ends>& ends,
                                                    int null_fd);
  Result<void> begin(const Result<std::vector<pid_t>>& pids, Launch launch);
  void stop(milliseconds grace);
  void signal_groups(int signal);
  std::vector<pid_t> alive() const;
  void on_children();
  bool reap();
  void take_unseen_ends();
  void report_dead(bool even_if_output_is_blocked);
  void describe(std::size_t index);
  void report(std::size_t index);
  void read_error_file_of(std::size_t index);
  void heard(std::size_t index, Pool::Answer<std::optional<model::ErrorFile>> file);
  void leave();
  void schedule_kill(SteadyTime at);
  void on_kill_timer();
  void give_up_on_the_unkillable();
  void flush();
  void set_flush_limit();
  void on_gone();
  void destroy();

  // A timer or signal handler that does nothing once this is destroyed or the handler cancelled.
  auto guarded(void (Impl::*member)()) {
    return [weak = weak_from_this(), member](const error_code& error, auto...) {
      const auto self = weak.lock();
      if (self && !error && self->phase != Phase::gone) ((*self).*member)();
    };
  }
};

Result<std::vector<spawn::Program>> Workers::Impl::programs_with(
    std::vector<output::Output::Ends>& ends, int null_fd) {
  std::vector<spawn::Program> programs;
  programs.reserve(workers.size());
  for (const Worker& worker : workers) {
    const WorkerPlan& plan = worker.plan;
    auto pipes = TRY(output.add(plan.out, plan.err));
    programs.push_back({plan.program, plan.argv, plan.environment.entries(),
                        plan.inherit_stdin ? STDIN_FILENO : null_fd, pipes.out.get(),
                        pipes.err.get(), spawn::affinity_mask(plan.cpus), plan.kept_fds,
                        plan.view});
    ends.push_back(std::move(pipes));
  }
  return programs;
}

Result<Workers::Impl::Launch> Workers::Impl::prepare() {
  const bool needs_null = std::any_of(workers.begin(), workers.end(), [](const Worker& worker) {
    return !worker.plan.inherit_stdin;
  });
  Launch
      launch;  // without a launch: an empty root has no /dev/null, and inherited stdin needs none
  if (needs_null) {
    launch.null = Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!launch.null) return fail_errno("cannot open /dev/null on " + host);
  }
  launch.programs = TRY(programs_with(launch.ends, launch.null.get()));
  children->on_change = [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->on_children();
  };
  started = SteadyClock::now();
  return launch;
}

Result<void> Workers::Impl::begin(const Result<std::vector<pid_t>>& pids, Launch launch) {
  if (!pids) return std::unexpected(pids.error());
  for (std::size_t i = 0; i < workers.size(); ++i) {
    workers[i].pid = (*pids)[i];
    workers[i].alive = true;
  }
  launch.ends.clear();
  phase = Phase::running;
  children->watch();
  output.start();
  return {};
}

std::vector<pid_t> Workers::Impl::alive() const {
  std::vector<pid_t> pids;
  for (const Worker& worker : workers) {
    if (worker.alive) pids.push_back(worker.pid);
  }
  return pids;
}

void Workers::Impl::signal_groups(int signal) {
  if (const auto pids = alive(); !pids.empty()) children->signal_groups(pids, signal);
}

void Workers::Impl::stop(milliseconds grace) {
  if (phase == Phase::idle || phase == Phase::gone) return;
  const auto self = shared_from_this();  // a callback may destroy the owner
  if (!stopping) {
    // A worker that ended before our signal ended by itself, and its output shows its own error.
    reap();
    stopping = true;
    stopped_at = SteadyClock::now();
    for (std::size_t i = 0; i < workers.size(); ++i) {
      if (!workers[i].alive) continue;
      output.drain(i);
      workers[i].exit.exception = output::last_exception(output.tail(i));
      workers[i].exit.ours = true;
    }
    signal_groups(SIGTERM);
    signal_groups(SIGCONT);  // a stopped process could not act on the signal
    on_children();
  }
  if (phase == Phase::flushing) return set_flush_limit();
  if (phase != Phase::gone) schedule_kill(std::min(kill_at, SteadyClock::now() + grace));
}

void Workers::Impl::on_children() {
  if (phase == Phase::gone) return;
  const auto self = shared_from_this();  // a callback may destroy the owner
  const bool childless = reap();
  report_dead(false);
  if (phase == Phase::running && alive().empty() && !childless) leave();
  if ((phase == Phase::running || phase == Phase::leaving) && childless) flush();
}

// Reaps every child that ended, adopted ones included. True if no child is left.
bool Workers::Impl::reap() {
  const Children::Reaped reaped = children->reap();
  for (const auto& [pid, status] : reaped.ended) {
    for (Worker& worker : workers) {
      if (worker.pid != pid || !worker.alive) continue;
      worker.alive = false;
      worker.exit.ended = SteadyClock::now();
      take_status(status, worker.exit);
    }
  }
  if (reaped.childless) take_unseen_ends();
  return reaped.childless;
}

// A worker that is not among the ended children, while no child is left, has ended too.
void Workers::Impl::take_unseen_ends() {
  for (Worker& worker : workers) {
    if (!std::exchange(worker.alive, false)) continue;
    worker.exit.ended = SteadyClock::now();
    worker.exit.exit_code = exit_failure;
    worker.end_is_unseen = true;
  }
}

void Workers::Impl::report_dead(bool even_if_output_is_blocked) {
  bool waiting = false;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    Worker& worker = workers[i];
    if (worker.alive || worker.reported) continue;
    if (!output.drain(i, even_if_output_is_blocked) && !even_if_output_is_blocked) {
      waiting = true;
      continue;
    }
    worker.reported = true;
    describe(i);
    report(i);
  }
  if (!waiting) return;
  report_timer.expires_after(blocked_output_limit);
  report_timer.async_wait([weak = weak_from_this()](const error_code& error) {
    const auto self = weak.lock();
    if (self && !error) self->report_dead(true);
  });
}

void Workers::Impl::describe(std::size_t index) {
  Worker& worker = workers[index];
  model::WorkerExit& exit = worker.exit;
  exit.host = host;
  exit.rank = worker.plan.rank;
  exit.local_rank = worker.plan.local_rank;
  exit.pid = worker.pid;
  exit.program = worker.plan.argv.front();
  if (!exit.failed()) return;
  if (!exit.ours) exit.exception = output::last_exception(output.tail(index));
  if (worker.end_is_unseen && exit.exception.empty()) exit.exception = unseen_end;
  if (!exit.ours && exit.signal == SIGKILL) exit.kernel_evidence = oom.evidence(worker.pid);
  exit.last_output = last_lines(output.tail(index).text(), model::last_output_lines,
                                model::last_output_line_bytes);
}

void Workers::Impl::report(std::size_t index) {
  const Worker& worker = workers[index];
  if (worker.exit.failed() && !worker.plan.error_file.empty()) return read_error_file_of(index);
  if (observer.exited) observer.exited(worker.exit);
}

void Workers::Impl::read_error_file_of(std::size_t index) {
  awaiting_files.insert(index);
  using File = std::optional<model::ErrorFile>;
  files.run<File>(
      error_file_limit,
      [path = workers[index].plan.error_file, since = started] {
        return read_error_file(path, since);
      },
      [weak = weak_from_this(), index](Pool::Answer<File> file) {
        const auto self = weak.lock();
        if (self && self->awaiting_files.erase(index) == 1) self->heard(index, std::move(file));
      });
}

void Workers::Impl::heard(std::size_t index, Pool::Answer<std::optional<model::ErrorFile>> file) {
  model::WorkerExit& exit = workers[index].exit;
  if (!file) {
    say(fmt::format("on {} the error file {} cannot be read: {}; see which file system hangs", host,
                    workers[index].plan.error_file,
                    Pool::words_for(file.error(), error_file_limit)));
  } else if (*file) {
    // An exception raised after our signal is not evidence of the cause.
    const bool late = exit.ours && (*file)->raised.value_or(stopped_at) >= stopped_at;
    if (!late) exit.error_file = *std::move(file);
  }
  if (observer.exited) observer.exited(exit);
  if (flushed && awaiting_files.empty()) on_gone();
}

// Ends the processes that the workers left behind.
void Workers::Impl::leave() {
  phase = Phase::leaving;
  if (!killing) children->signal_all(SIGTERM);
  schedule_kill(std::min(kill_at, SteadyClock::now() + leftover_grace));
}

void Workers::Impl::schedule_kill(SteadyTime at) {
  if (killing) return;
  kill_at = at;
  kill_timer.expires_at(at);
  kill_timer.async_wait(guarded(&Impl::on_kill_timer));
}

void Workers::Impl::on_kill_timer() {
  if (phase == Phase::flushing) return;
  const SteadyTime now = SteadyClock::now();
  if (!std::exchange(killing, true)) kill_since = now;
  if (now - kill_since > spawn::unkillable_limit) return give_up_on_the_unkillable();
  signal_groups(SIGKILL);
  children->signal_all(SIGKILL);
  kill_timer.expires_after(kill_interval);
  kill_timer.async_wait(guarded(&Impl::on_kill_timer));
}

void Workers::Impl::give_up_on_the_unkillable() {
  say(
      fmt::format("on {} these processes do not die, {} s after SIGKILL: {}; a driver or a file "
                  "server hangs, and the node may need a restart",
                  host, spawn::unkillable_limit.count(), join(children->describe_all(), ", ")));
  for (Worker& worker : workers) {
    if (!worker.alive) continue;
    worker.alive = false;
    worker.exit.ended = SteadyClock::now();
    worker.exit.signal = SIGKILL;
  }
  const auto self = shared_from_this();
  report_dead(true);
  flush();
}

void Workers::Impl::flush() {
  if (phase == Phase::gone) return;
  phase = Phase::flushing;
  kill_timer.cancel();
  output.finish([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->on_gone();
  });
  if (phase == Phase::gone) return;
  flush_timer.expires_after(held_pipe_limit);
  flush_timer.async_wait([weak = weak_from_this()](const error_code& error) {
    const auto self = weak.lock();
    if (!self || error || self->phase == Phase::gone) return;
    self->output.close_held_pipes();
    if (self->stopping) self->set_flush_limit();
  });
}

// A blocked console must not delay the end after stop().
void Workers::Impl::set_flush_limit() {
  if (phase == Phase::gone) return;
  flush_timer.expires_after(flush_limit);
  flush_timer.async_wait(guarded(&Impl::on_gone));
}

void Workers::Impl::on_gone() {
  if (phase == Phase::gone) return;
  const auto self = shared_from_this();
  report_dead(true);
  flushed = true;
  if (!awaiting_files.empty()) return;
  phase = Phase::gone;
  children->unwatch();
  report_timer.cancel();
  flush_timer.cancel();
  if (observer.gone) observer.gone();
}

void Workers::Impl::destroy() {
  observer = {};
  awaiting_files.clear();
  children->unwatch();
  kill_timer.cancel();
  report_timer.cancel();
  flush_timer.cancel();
  const bool must_kill = phase == Phase::running || phase == Phase::leaving;
  phase = Phase::gone;
  if (!must_kill) return;
  const SteadyTime deadline = SteadyClock::now() + destruction_limit;
  while (!reap() && SteadyClock::now() < deadline) {
    signal_groups(SIGKILL);
    children->signal_all(SIGKILL);
    const timespec pause{0, 1'000'000};
    ::nanosleep(&pause, nullptr);
  }
}

Workers::Workers(boost::asio::io_context& io, std::shared_ptr<Children> children, std::string host,
                 std::vector<WorkerPlan> plans, Observer observer, output::OutputPlan output)
    : impl_(std::make_shared<Impl>(io, std::move(children), std::move(host), std::move(plans),
                                   std::move(observer), std::move(output))) {}

Workers::~Workers() {
  impl_->destroy();
}

Result<void> Workers::start() {
  auto launch = TRY(impl_->prepare());
  const auto pids = impl_->children->start(std::move(launch.programs));
  return impl_->begin(pids, std::move(launch));
}

std::vector<pid_t> Workers::pids() const {
  std::vector<pid_t> pids;
  for (const Worker& worker : impl_->workers) pids.push_back(worker.alive ? worker.pid : 0);
  return pids;
}

std::vector<Workers::LastOutput> Workers::last_outputs() const {
  std::vector<LastOutput> all;
  for (std::size_t i = 0; i < impl_->workers.size(); ++i) {
    all.push_back({impl_->output.last_read(i), impl_->output.tail(i).text()});
  }
  return all;
}

boost::asio::awaitable<Result<void>> Workers::start_beside(Pool& pool) {
  using Pids = Result<std::vector<pid_t>>;
  const auto impl = impl_;
  auto prepared = impl->prepare();
  if (!prepared) co_return std::unexpected(prepared.error());
  const auto launch = std::make_shared<Impl::Launch>(*std::move(prepared));
  std::function<Pids()> work = [children = impl->children, launch] {
    return children->start(std::move(launch->programs));
  };
  const auto pids = co_await pool.answer<Pids>(std::move(work), start_limit);
  if (!pids) {
    co_return fail("the process that starts the workers on " + impl->host,
                   Pool::words_for(pids.error(), start_limit));
  }
  co_return impl->begin(*pids, std::move(*launch));
}

void Workers::forward(int signal) {
  impl_->signal_groups(signal);
}

void Workers::notify(int signal) {
  impl_->children->notify_groups(impl_->alive(), signal);
}

void Workers::pause(bool paused) {
  impl_->signal_groups(paused ? SIGSTOP : SIGCONT);
}

void Workers::resize() {
  impl_->output.resize();
}

void Workers::stop(milliseconds grace) {
  impl_->stop(grace);
}

}  // namespace toprun::worker
