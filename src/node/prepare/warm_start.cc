#include "node/prepare/warm_start.h"

#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>

#include "base/os/console.h"
#include "base/os/timer.h"
#include "base/os/uncaught.h"
#include "base/process/frames.h"
#include "base/text/text.h"
#include "node/worker/environment.h"

namespace toprun::prepare {
namespace asio = boost::asio;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds between_questions{20};
constexpr milliseconds answer_limit{2 * process::frame_limit};

// What cannot be forked from a Python that imports modules.
std::optional<std::string> why_never_warm(const plan::Job& job) {
  if (job.options.program == plan::Program::executable) {
    return "--no-python starts a program, and only Python's imports can be shared";
  }
  if (job.in_container() && job.place.stance == engines::Stance::in_place) {
    return "the engine starts each rank in a container of its own";
  }
  return std::nullopt;
}

spawn::Program command_in(const Workplace& workplace, int nproc) {
  spawn::Program command;
  command.argv = workplace.program;
  command.view = workplace.view;
  command.environment = worker::common_environment(workplace.environment, nproc).entries();
  return command;
}

}  // namespace

WarmStart::WarmStart(asio::io_context& io, Pool& pool, std::shared_ptr<const plan::Job> job)
    : io_(io), pool_(pool), job_(std::move(job)), changed_(io) {
  if (const auto why = why_never_warm(*job_)) {
    requested_ = false;
    tell(*why);
  } else if (!job_->in_container() && !job_->stages()) {
    begin(on_the_host(*job_));
  }
}

void WarmStart::begin(const Workplace& workplace) {
  if (!requested_ || parent_) return;
  const std::string& host = job_->place.node_name;
  auto parent = warm::Parent::start(command_in(workplace, job_->nproc), *job_->options.warm,
                                    job_->inherited, host);
  if (!parent) {
    requested_ = false;
    return tell(parent.error().line());
  }
  parent_ = *std::move(parent);
  asio::co_spawn(io_, follow(parent_), end_of_task);
}

// The steps of its start do not wait for settled().
asio::awaitable<void> WarmStart::follow(std::shared_ptr<warm::Parent> parent) {
  co_await warm::settle(io_, std::move(parent));
  changed_.cancel();
}

asio::awaitable<void> WarmStart::settled(const Workplace& workplace) {
  if (parent_ && was_ready_ && parent_->state() == warm::Parent::State::refused) {  // it has died
    was_ready_ = false;
    parent_.reset();
  }
  begin(workplace);
  while (parent_ && !parent_->settled()) {
    changed_.expires_at(SteadyTime::max());
    co_await changed_.async_wait(use_nothrow_awaitable);
  }
  if (!parent_) co_return;
  if (parent_->state() == warm::Parent::State::refused) {
    tell(parent_->why());
    parent_.reset();
    requested_ = false;
  } else if (!std::exchange(was_ready_, true)) {
    ready_after(parent_->import_time(), parent_->imported());
  }
}

asio::awaitable<void> WarmStart::settled_in(std::shared_ptr<worker::ShimLink> shim,
                                            const Workplace& workplace) {
  if (!requested_) co_return;
  const Ask ask_again = [shim] { return shim->warmth(); };
  const Ask start = [shim, command = command_in(workplace, job_->nproc),
                     modules = *job_->options.warm] { return shim->warm_up(command, modules); };
  auto warmth = co_await asked(was_ready_ ? ask_again : start);
  if (was_ready_ && (!warmth || !warmth->why_not.empty())) {  // it has died
    was_ready_ = false;
    warmth = co_await asked(start);
  }
  const auto deadline = std::chrono::steady_clock::now() + warm::import_limit;
  asio::steady_timer pause(io_);
  while (warmth && !warmth->settled && std::chrono::steady_clock::now() < deadline) {
    pause.expires_after(between_questions);
    co_await pause.async_wait(use_nothrow_awaitable);
    warmth = co_await asked(ask_again);
  }
  const std::string why = warmth ? warmth->why_not : warmth.error().line();
  requested_ = why.empty();
  if (!requested_) tell(why);
  if (requested_ && warmth->settled && !std::exchange(was_ready_, true)) {
    ready_after(warmth->import_time, warmth->imported);
  }
}

asio::awaitable<Result<worker::Warmth>> WarmStart::asked(Ask ask) {
  auto answer = co_await pool_.answer<Result<worker::Warmth>>(std::move(ask), answer_limit);
  if (answer) co_return *std::move(answer);
  co_return fail("the container does not answer", Pool::words_for(answer.error(), answer_limit));
}

std::shared_ptr<warm::Parent> WarmStart::parent() const {
  return parent_;
}

void WarmStart::tell(const std::string& why) const {
  say(warm::left_out(job_->place.node_name, why));
}

void WarmStart::ready_after(milliseconds time, const std::vector<std::string>& imported) {
  import_time_ = time;
  if (job_->options.verbose == 0) return;
  say(fmt::format("{}: the imports for --warm took {:.1f} s: {}", job_->place.node_name,
                  static_cast<double>(time.count()) / 1000, join(imported, ", ")));
}

}  // namespace toprun::prepare
