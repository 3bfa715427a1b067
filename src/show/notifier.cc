#include "show/notifier.h"

#include <fmt/format.h>

#include <deque>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/clock.h"
#include "base/complaint.h"
#include "base/console.h"
#include "base/text.h"
#include "base/timer.h"
#include "process/command.h"

namespace toprun::show {
namespace asio = boost::asio;

struct Notifier::State {
  State(Pool& threads, std::vector<std::string> all, Environment inherited)
      : pool(threads),
        targets(std::move(all)),
        environment(std::move(inherited)),
        rests(threads.io()) {}

  Pool& pool;
  const std::vector<std::string> targets;
  const Environment environment;
  std::deque<std::string> waiting;
  bool tells = false;
  Timer rests;  // cancelled when all are told
};

namespace {

bool is_url(std::string_view target) {
  return target.starts_with("http://") || target.starts_with("https://");
}

std::vector<std::string> command_for(const std::string& target) {
  if (!is_url(target)) return {"sh", "-c", target};
  return {"curl",
          "--silent",
          "--show-error",
          "--fail",
          "--max-time",
          fmt::to_string(notify_limit.count()),
          "--output",
          "/dev/null",
          "--header",
          "Content-Type: application/json",
          "--data-binary",
          "@-",
          "--",
          target};
}

std::string failure_of(const process::Finished& finished) {
  const auto reason = complaint(finished.err, 1);
  const std::string code = fmt::format("exit code {}", finished.code);
  return reason.empty() ? code : fmt::format("{} ({})", reason.front(), code);
}

// What went wrong, a line for each target.
std::vector<std::string> tell_all(const std::vector<std::string>& targets,
                                  const Environment& environment, const std::string& notice) {
  std::vector<std::string> complaints;
  for (const std::string& target : targets) {
    const auto done = process::run(command_for(target), environment, notify_limit, notice);
    if (done && done->code == 0) continue;
    complaints.push_back(fmt::format("--notify {}: {}", printable(target),
                                     done ? failure_of(*done) : done.error().line()));
  }
  return complaints;
}

}  // namespace

Notifier::Notifier(Pool& pool, std::vector<std::string> targets, Environment environment)
    : state_(std::make_shared<State>(pool, std::move(targets), std::move(environment))) {}

bool Notifier::has_targets() const {
  return !state_->targets.empty();
}

void Notifier::tell(std::string notice) {
  if (!has_targets() || state_->waiting.size() == most_notices) return;
  state_->waiting.push_back(std::move(notice));
  if (!state_->tells) tell_next(state_);
}

void Notifier::tell_next(const std::shared_ptr<State>& state) {
  if (state->waiting.empty()) {
    state->tells = false;
    state->rests.cancel();
    return;
  }
  std::string notice = std::move(state->waiting.front());
  state->waiting.pop_front();
  using Complaints = std::vector<std::string>;
  state->tells = true;
  // Each target has its own limit; its process may survive it.
  const auto limit = notify_limit * (state->targets.size() + 1);
  state->pool.run<Complaints>(
      limit,
      [targets = state->targets, environment = state->environment, notice = std::move(notice)] {
        return tell_all(targets, environment, notice);
      },
      [state, limit](const std::optional<Complaints>& complaints) {
        const Complaints late{
            fmt::format("--notify: not done after {}, left behind", duration_text(limit))};
        for (const std::string& complaint : complaints.value_or(late)) say(complaint);
        tell_next(state);
      });
}

asio::awaitable<void> Notifier::finish() {
  const SteadyTime deadline = SteadyClock::now() + notify_limit;
  while (state_->tells && SteadyClock::now() < deadline) {
    state_->rests.expires_at(deadline);
    co_await state_->rests.async_wait(asio::as_tuple(asio::use_awaitable));
  }
  if (state_->tells)
    say(fmt::format("--notify: not done after {} s, left behind", notify_limit.count()));
}

}  // namespace toprun::show
