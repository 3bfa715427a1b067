#include "node/agent/publish/notifier.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <utility>

#include "base/os/console.h"
#include "base/os/timer.h"
#include "base/process/command.h"
#include "base/text/clock.h"
#include "base/text/shown_line.h"
#include "base/text/text.h"

namespace toprun::publish {
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
  // The index of the target in work, which a message names if it takes too long.
  std::shared_ptr<std::atomic<std::size_t>> current = {};
  Timer rests;  // cancelled when all have it
};

namespace {

bool is_url(std::string_view target) {
  return target.starts_with("http://") || target.starts_with("https://");
}

// As curl reads a quoted value of its configuration.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? std::string_view("\\n") : std::string_view(&c, 1);
  }
  return out + '"';
}

// curl's options, from a descriptor: an address is often itself the secret that lets one write
// there, and every user may read the command lines of a host.
std::string curl_options(std::string_view url, const Fd& notice) {
  return fmt::format(
      "silent\nshow-error\nfail\ngloboff\nmax-time = {}\noutput = /dev/null\n"
      "header = \"Content-Type: application/json\"\ndata-binary = \"@/proc/{}/fd/{}\"\nurl = {}\n",
      notify_limit.count(), ::getpid(), notice.get(), quoted(url));
}

Result<process::Finished> post(std::string_view url, const Environment& environment,
                               std::string_view notice) {
  const auto file = TRY(process::memory_file(notice));
  return process::tell({"curl", "--config", "-"}, environment, notify_limit,
                       curl_options(url, file));
}

// A URL without what may be secret: user, password, path and query.
std::string shown(std::string_view target) {
  if (!is_url(target)) return printable(target);
  const std::size_t begin = target.find("//") + 2;
  const std::string_view authority =
      target.substr(begin, std::min(target.find_first_of("/?#\\", begin), target.size()) - begin);
  const std::size_t user = authority.rfind('@');
  return printable(fmt::format("{}{}/…", target.substr(0, begin),
                               user == authority.npos ? authority : authority.substr(user + 1)));
}

std::string failure_of(const process::Finished& finished) {
  const auto reason = complaint(finished.err, 1);
  const std::string code = fmt::format("exit code {}", finished.code);
  return reason.empty() ? code : fmt::format("{} ({})", reason.front(), code);
}

// What went wrong, a line for each target.
std::vector<std::string> tell_all(const std::vector<std::string>& targets,
                                  const Environment& environment, const std::string& notice,
                                  std::atomic<std::size_t>& current) {
  std::vector<std::string> complaints;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    current = i;
    const std::string& target = targets[i];
    const auto done = is_url(target) ? post(target, environment, notice)
                                     : process::tell({"sh", "-c", target}, environment,
                                                     notify_limit, notice + '\n');
    if (done && done->code == 0) continue;
    complaints.push_back(fmt::format("--notify {}: {}", shown(target),
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
  // One that was left behind keeps its own.
  state->current = std::make_shared<std::atomic<std::size_t>>(0);
  // Each target has its own limit; its process may survive it.
  const auto limit = notify_limit * (state->targets.size() + 1);
  state->pool.run<Complaints>(
      limit,
      [targets = state->targets, environment = state->environment, notice = std::move(notice),
       current = state->current] { return tell_all(targets, environment, notice, *current); },
      [state, limit](const Pool::Answer<Complaints>& reported) {
        Complaints complaints;
        if (reported) {
          complaints = *reported;
        } else {
          complaints.push_back(fmt::format("--notify {}: {}; left behind",
                                           shown(state->targets[*state->current]),
                                           Pool::words_for(reported.error(), limit)));
        }
        for (const std::string& complaint : complaints) say(complaint);
        tell_next(state);
      });
}

asio::awaitable<void> Notifier::finish() {
  const SteadyTime deadline = SteadyClock::now() + notify_limit;
  while (state_->tells && SteadyClock::now() < deadline) {
    state_->rests.expires_at(deadline);
    co_await state_->rests.async_wait(use_nothrow_awaitable);
  }
  if (state_->tells)
    say(fmt::format(
        "--notify {}: the notification is not finished after {} s: toprun stops waiting for it",
        shown(state_->targets[*state_->current]), notify_limit.count()));
}

}  // namespace toprun::publish
