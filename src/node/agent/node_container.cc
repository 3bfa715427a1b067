#include "node/agent/node_container.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>

#include "base/os/console.h"
#include "base/os/signals.h"
#include "base/os/timer.h"
#include "base/os/uncaught.h"
#include "base/process/child.h"
#include "base/process/command.h"
#include "base/text/secrets.h"
#include "base/text/shown_line.h"
#include "base/text/text.h"
#include "node/worker/keeper.h"
#include "node/worker/spawn/descendants.h"
#include "node/worker/spawn/spawn.h"

namespace toprun::agent {
namespace asio = boost::asio;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

constexpr std::size_t most_words_kept = 16u << 10;
constexpr std::size_t lines_shown = 3;
constexpr std::chrono::seconds first_progress{10};
constexpr std::chrono::seconds progress_interval{30};
constexpr std::chrono::seconds admission_limit{5};
constexpr std::chrono::seconds interrupt_limit{2};  // a runtime that is interrupted clears up
constexpr std::chrono::seconds death_limit{4};
constexpr milliseconds last_words_limit{500};
constexpr milliseconds look_interval{
    200};  // for processes that are left, beside each child's own end
constexpr std::chrono::seconds runtime_limit{20};
constexpr std::chrono::seconds removal_limit{2};
constexpr std::chrono::seconds discard_limit{10};  // the runtime's store may be slow

Result<std::string> make_folder(const Environment& environment) {
  std::string path = environment.non_empty("TMPDIR").value_or("/tmp") + "/toprun_XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) {
    return fail_errno("cannot make a folder " + path, "set TMPDIR to a folder that can be written");
  }
  return path;
}

std::string ending_words(int status) {
  if (WIFSIGNALED(status)) return "was ended by " + signal_name(WTERMSIG(status));
  return fmt::format("ended with code {}", WEXITSTATUS(status));
}

}  // namespace

NodeContainer::NodeContainer(Pool& pool, std::shared_ptr<const plan::Job> job,
                             process::Beat show_life)
    : pool_(pool),
      io_(pool.io()),
      shared_job_(std::move(job)),
      job_(*shared_job_),
      show_life_(std::move(show_life)),
      began_(steady_clock::now()),
      ground_(std::make_shared<Ground>(Ground{shared_job_, {}, {}, {}, {}})),
      runtime_output_(io_),
      child_signal_(io_),
      event_(io_),
      settled_(io_, SteadyTime::max()),
      next_progress_(began_ + first_progress) {}

NodeContainer::~NodeContainer() {
  if (shim_) shim_->close();
  if (!nothing_left()) {
    spawn::signal_descendants(SIGTERM);
    if (!spawn::until_childless(0, interrupt_limit, show_life_)) {
      spawn::until_childless(SIGKILL, death_limit - interrupt_limit, show_life_);
    }
  }
  if (cut_off_) discard_here();
}

// On a thread of its own, while this one beats.
void NodeContainer::discard_here() {
  const auto done = std::make_shared<std::promise<void>>();
  auto thread = quiet_thread([ground = ground_, done] {
    discard(*ground);
    done->set_value();
  });
  if (!thread) return;
  thread->detach();
  const auto discarded = done->get_future();
  const auto deadline = steady_clock::now() + discard_limit;
  while (discarded.wait_for(process::beat_interval) == std::future_status::timeout &&
         steady_clock::now() < deadline) {
    show_life_();
  }
}

bool NodeContainer::discard(const Ground& ground) {
  const auto& removal = ground.plan.removal;
  if (!removal) return true;
  return process::output_of(removal->argv, removal->environment, discard_limit).has_value();
}

template <class T>
asio::awaitable<Result<T>> NodeContainer::beside(std::function<Result<T>()> work) {
  auto answer = co_await pool_.answer<Result<T>>(std::move(work), runtime_limit);
  if (answer) co_return *std::move(answer);
  co_return fail(fmt::format("container on {}", job_.place.node_name),
                 "the container's files: " + Pool::words_for(answer.error(), runtime_limit),
                 "check which file system hangs: that of TMPDIR, of the image or of --bind");
}

asio::awaitable<void> NodeContainer::bring_up() {
  Result<void> done = co_await prepare();
  if (done) {
    done = co_await create();
    Result<void> released = co_await release();
    if (done) done = std::move(released);
  }
  if (done) done = co_await await_shim();
  if (done) done = co_await look_inside();
  outcome_ = std::move(done);
  settled_.cancel();
}

asio::awaitable<Result<void>> NodeContainer::up() {
  while (!outcome_) co_await settled_.async_wait(use_nothrow_awaitable);
  co_return *outcome_;
}

// Does all steps up to the command line; blocks.
Result<void> NodeContainer::lay(Ground& ground) {
  const plan::Job& job = *ground.job;
  ground.folder = TRY(make_folder(job.environment));
  worker::keeper_removes(ground.folder);
  auto plan = plan::plan_container(job, ground.folder);
  if (!plan) return std::unexpected(plan.error());
  ground.plan = *std::move(plan);
  for (const std::string& note : ground.plan.runtime->notes(ground.plan.run)) say(note);
  auto door =
      TRY(worker::ShimDoor::open(fmt::format("{}/{}", ground.folder, plan::shim_socket_name)));
  ground.door.emplace(std::move(door));
  ground.preparation.emplace(*ground.plan.runtime, ground.plan.run, ground.plan.node,
                             job.environment);
  return {};
}

asio::awaitable<Result<void>> NodeContainer::prepare() {
  std::function<Result<void>()> work = [ground = ground_] { return lay(*ground); };
  auto laid = co_await beside<void>(std::move(work));
  if (!laid) co_return laid;
  boost::system::error_code failed;
  child_signal_.add(SIGCHLD, failed);
  if (failed) co_return fail("cannot watch for SIGCHLD", failed.message());
  spawn::become_subreaper();
  co_return Result<void>();
}

asio::awaitable<Result<void>> NodeContainer::look_inside() {
  std::function<Result<prepare::Workplace>()> work = [ground = ground_, shim = shim_] {
    return prepare::in_the_container(*ground->job, ground->plan.run.workdir, *shim);
  };
  auto place = co_await beside<prepare::Workplace>(std::move(work));
  if (!place) co_return std::unexpected(std::move(place.error()));
  workplace_ = *std::move(place);
  if (job_.options.verbose > 0) {
    say(fmt::format("program in the container on {}: {} ({})", job_.place.node_name,
                    workplace_.program.front(), workplace_.program_reason));
  }
  co_return Result<void>();
}

Result<void> NodeContainer::spawn(const container::Command& command) {
  if (job_.options.verbose > 0) say("container: " + shown_command(command.argv));
  auto [reading, writing] = TRY(process::make_pipe());
  const Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  spawn::Program program{{},         command.argv,  command.environment.entries(),
                         null.get(), writing.get(), writing.get()};
  const std::span<spawn::Program> programs(&program, 1);
  if (auto found = spawn::find_programs(programs, job_.place.node_name); !found) return found;
  const auto pids = TRY(spawn::spawn(programs, job_.inherited, job_.place.node_name));
  runtime_ = pids.front();
  boost::system::error_code ignored;
  runtime_output_.close(ignored);
  runtime_output_.assign(reading.release(), ignored);
  words_.clear();
  asio::co_spawn(io_, listen_to_runtime(), end_of_task);
  return {};
}

asio::awaitable<void> NodeContainer::listen_to_runtime() {
  std::array<char, 4096> buffer{};
  for (;;) {
    const auto [error, n] =
        co_await runtime_output_.async_read_some(asio::buffer(buffer), use_nothrow_awaitable);
    if (error == asio::error::operation_aborted) co_return;  // another command's pipe now
    if (error) break;
    show(std::string_view(buffer.data(), n));
  }
  boost::system::error_code ignored;
  runtime_output_.close(ignored);
  event_.cancel();
}

void NodeContainer::show(std::string_view words) {
  words_ += words;
  if (words_.size() > most_words_kept) words_.erase(0, words_.size() - most_words_kept);
  if (job_.options.verbose == 0) return;
  for (const std::string_view line : split(trim(words), '\n')) {
    say(fmt::format("{}: {}", ground_->plan.runtime->name(), printable(trim(line))));
  }
}

// A kept container or image, for this node or for all, is made by one of the processes that need
// it.
asio::awaitable<Result<void>> NodeContainer::create() {
  using State = container::Preparation::State;
  const std::function<Result<State>()> begin = [ground = ground_] {
    return ground->preparation->try_begin();
  };
  Result<State> state = co_await beside<State>(begin);
  while (state && *state == State::wait) {
    if (auto on = goes_on(ground_->preparation->what()); !on) co_return on;
    tell_progress("waits for another process that makes");
    event_.expires_after(container::lock_interval);
    co_await event_.async_wait(use_nothrow_awaitable);
    state = co_await beside<State>(begin);
  }
  if (!state) co_return std::unexpected(state.error());
  if (*state == State::ready) co_return Result<void>{};
  Result<void> made = co_await make();
  co_return made;
}

// Other processes wait until it is made, not until the run in it ends.
asio::awaitable<Result<void>> NodeContainer::release() {
  std::function<Result<void>()> work = [ground = ground_]() -> Result<void> {
    ground->preparation.reset();
    return {};
  };
  auto released = co_await beside<void>(std::move(work));
  co_return released;
}

asio::awaitable<Result<void>> NodeContainer::make() {
  const container::Preparation& preparation = *ground_->preparation;
  say(fmt::format("{}: making {}", preparation.what(), preparation.where()));
  using Commands = std::vector<container::Command>;
  std::function<Result<Commands>()> list = [ground = ground_]() -> Result<Commands> {
    return ground->preparation->commands();
  };
  const auto commands = co_await beside<Commands>(std::move(list));
  if (!commands) co_return std::unexpected(commands.error());
  for (const container::Command& command : *commands) {
    if (auto started = spawn(command); !started) co_return started;
    while (!runtime_ended()) {
      if (auto on = goes_on(preparation.what()); !on) co_return on;
      tell_progress("makes");
      co_await next_event(next_progress_);
    }
    if (runtime_status_ == 0) continue;
    co_await hear_out();
    co_return std::unexpected(
        preparation.failure(command, process::exit_code(runtime_status_), words_));
  }
  std::function<Result<void>()> complete = [ground = ground_] {
    return ground->preparation->completed();
  };
  auto completed = co_await beside<void>(std::move(complete));
  co_return completed;
}

asio::awaitable<Result<void>> NodeContainer::await_shim() {
  if (auto started = spawn(ground_->plan.command); !started) co_return started;
  cut_off_ = true;
  const std::string what = fmt::format("container on {}", job_.place.node_name);
  auto& door = ground_->door;
  while (!process::readable_within(ground_->door->descriptor(), milliseconds(0))) {
    if (runtime_ended()) {
      co_await hear_out();
      co_return std::unexpected(explain(what));
    }
    if (auto on = goes_on(what); !on) co_return on;
    tell_progress("starts");
    co_await next_event(next_progress_);
  }
  auto connection = door->admit(admission_limit);  // which is there: it does not wait
  if (!connection) co_return std::unexpected(connection.error());
  const auto shared = std::make_shared<Fd>(*std::move(connection));
  std::function<Result<worker::ShimFrame>()> hear = [shared, host = job_.place.node_name] {
    return worker::ShimLink::hear_hello(*shared, host);
  };
  const auto hello = co_await beside<worker::ShimFrame>(std::move(hear));
  if (!hello) co_return std::unexpected(explain(what));
  shim_ = std::make_shared<worker::ShimLink>(io_, std::move(*shared), *hello, job_.place.node_name);
  door.reset();
  cut_off_ = false;
  if (job_.options.verbose > 0) {
    const auto took = std::chrono::duration_cast<milliseconds>(steady_clock::now() - began_);
    say(fmt::format("container on {} is up after {} ms ({})", job_.place.node_name, took.count(),
                    ground_->plan.runtime->name()));
  }
  co_return Result<void>{};
}

// Whether the container has not started yet and has time left.
Result<void> NodeContainer::goes_on(const std::string& what) const {
  if (ending_) return fail(what, "the run ended before the container was started");
  if (steady_clock::now() < began_ + container_start_limit) return {};
  return fail(
      what,
      fmt::format("the container was not started within {} min", container_start_limit.count()),
      last_words(words_, lines_shown));
}

// Waits until a child ends, the runtime closes its output, the shim connects, or a line is due.
asio::awaitable<void> NodeContainer::next_event(SteadyTime limit) {
  event_.expires_at(std::min(limit, steady_clock::now() + progress_interval));
  child_signal_.async_wait([this](const boost::system::error_code& error, int) {
    if (!error) event_.cancel();
  });
  asio::posix::stream_descriptor door(io_);
  if (ground_->door) {
    boost::system::error_code ignored;
    door.assign(::fcntl(ground_->door->descriptor(), F_DUPFD_CLOEXEC, 0), ignored);
    door.async_wait(asio::posix::stream_descriptor::wait_read,
                    [this](const boost::system::error_code& error) {
                      if (!error) event_.cancel();
                    });
  }
  co_await event_.async_wait(use_nothrow_awaitable);
  child_signal_.cancel();
}

// The runtime's last output may still be in the pipe.
asio::awaitable<void> NodeContainer::hear_out() {
  const auto deadline = steady_clock::now() + last_words_limit;
  while (runtime_output_.is_open() && steady_clock::now() < deadline) {
    event_.expires_at(deadline);
    co_await event_.async_wait(use_nothrow_awaitable);
  }
}

bool NodeContainer::runtime_ended() {
  if (runtime_ == 0) return true;
  if (::waitpid(runtime_, &runtime_status_, WNOHANG) != runtime_) return false;
  runtime_ = 0;
  return true;
}

Error NodeContainer::explain(const std::string& what) const {
  if (auto known = ground_->plan.runtime->explain(words_, ground_->plan.run, ground_->plan.node))
    return *std::move(known);
  const std::string said = last_words(words_, lines_shown);
  return {what,
          fmt::format("{} {}{}", ground_->plan.runtime->name(), ending_words(runtime_status_),
                      said.empty() ? "" : ": " + said),
          "try it by hand: " + shown_command(ground_->plan.command.argv)};
}

void NodeContainer::tell_progress(std::string_view does) {
  const auto now = steady_clock::now();
  if (now < next_progress_) return;
  next_progress_ = now + progress_interval;
  const std::string said = last_words(words_, lines_shown);
  say(fmt::format("{}: {} {} the container, for {} s so far{}", job_.place.node_name,
                  ground_->plan.runtime->name(), does,
                  std::chrono::duration_cast<std::chrono::seconds>(now - began_).count(),
                  said.empty() ? "" : ": " + said));
}

// Reaps the children that have ended; true if none is left.
bool NodeContainer::nothing_left() {
  int status = 0;
  pid_t pid = 0;
  do {
    pid = process::reap_any(status);
  } while (pid > 0);
  return pid < 0;
}

asio::awaitable<void> NodeContainer::until_nothing_is_left(SteadyTime deadline) {
  while (!nothing_left() && steady_clock::now() < deadline) {
    co_await next_event(std::min(deadline, steady_clock::now() + look_interval));
  }
}

asio::awaitable<void> NodeContainer::end() {
  ending_ = true;
  if (!outcome_) spawn::signal_descendants(SIGTERM);
  event_.cancel();
  co_await up();
  if (shim_) shim_->close();
  co_await until_nothing_is_left(steady_clock::now() + container_end_limit);
  if (!nothing_left()) {
    spawn::signal_descendants(SIGKILL);
    co_await until_nothing_is_left(steady_clock::now() + death_limit);
  }
  if (std::exchange(cut_off_, false)) {
    std::function<bool()> work = [ground = ground_] { return discard(*ground); };
    co_await pool_.answer<bool>(std::move(work), discard_limit);
  }
  std::function<bool()> remove = [folder = ground_->folder] {
    std::error_code ignored;
    if (!folder.empty()) std::filesystem::remove_all(folder, ignored);
    if (!folder.empty()) worker::keeper_removes("");
    return true;
  };
  // The keeper tries once more to remove files on a file system that hangs now.
  co_await pool_.answer<bool>(std::move(remove), removal_limit);
}

}  // namespace toprun::agent
