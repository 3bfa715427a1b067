#include "node/agent/publish/job_picture.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

#include "base/json/json_text.h"
#include "engines/engine.h"
#include "engines/slurm/variables.h"
#include "node/agent/publish/report_file.h"
#include "observe/live/server.h"
#include "observe/snapshot/metrics.h"

namespace toprun::publish {
namespace asio = boost::asio;
using std::chrono::milliseconds;
namespace {

// Of many events in a row not each is shown: so long after one picture the next is written at the
// earliest. A tenth of the interval, since the more ranks there are the longer writing takes.
constexpr std::chrono::milliseconds shortest_rest{100};
constexpr int rests_per_interval = 10;

// Readers of the picture may run in another folder. Empty: the current folder is deleted.
std::string absolute(const std::string& path) {
  std::error_code failed;
  return std::filesystem::absolute(path, failed).string();
}

}  // namespace

JobPicture::JobPicture(Pool& pool, const plan::Job& job, const run::Coordinator& coordinator,
                       std::function<void(const std::string&, const model::ToNode&)> send)
    : self_(std::make_shared<JobPicture*>(this)),
      pool_(pool),
      job_(job),
      coordinator_(coordinator),
      send_(std::move(send)),
      came_(pool.io()),
      pause_(pool.io()),
      left_(pool.io()) {}

JobPicture::~JobPicture() {
  *self_ = nullptr;
}

std::optional<snapshot::Part> JobPicture::part_of(const std::string& agent) const {
  const model::Assignment* const part = coordinator_.part_of(agent);
  if (part == nullptr || part->group_rank < 0 || part->first_rank < 0) return std::nullopt;
  return snapshot::Part{static_cast<std::size_t>(part->group_rank),
                        static_cast<std::size_t>(part->first_rank),
                        static_cast<std::size_t>(part->nproc)};
}

bool JobPicture::heard(const std::string& agent, const model::ToRoot& message) {
  const auto* const use = std::get_if<model::RanksUse>(&message.what);
  const auto* const exit = std::get_if<Shared<model::WorkerExit>>(&message.what);
  const bool have_started = std::holds_alternative<model::Started>(message.what);
  if (use != nullptr && unanswered_ > 0 && --unanswered_ == 0) came_.cancel();
  const bool is_shown = use != nullptr || exit != nullptr || have_started;
  if (!is_shown || !attempt_ || message.attempt != attempt_) return use != nullptr;
  const auto part = part_of(agent);
  if (!part) return use != nullptr;
  if (use != nullptr) board_.measured(*part, use->usage, SteadyClock::now());
  if (have_started) board_.started(*part);
  if (exit != nullptr) board_.ended(*exit);
  return use != nullptr;
}

void JobPicture::lost(const std::string& agent) {
  if (const auto part = part_of(agent)) board_.lost(*part);
}

std::shared_ptr<JobPicture*> JobPicture::joined_by(Follower& follower) {
  followers_.insert(&follower);
  return self_;
}

void JobPicture::left_by(Follower& follower) {
  followers_.erase(&follower);
  left_.cancel();
}

void JobPicture::moved_on() {
  for (Follower* const follower : followers_) follower->wake();
  if (coordinator_.course().attempts.empty()) return;
  const run::AttemptCourse& attempt = coordinator_.course().attempts.back();
  if (attempt_ == attempt.number) {
    if (const auto signal = coordinator_.ending_signal()) board_.ordered_to_end(*signal);
    return;
  }
  if (attempt.nodes.empty()) return;
  attempt_ = attempt.number;
  std::size_t ranks = 0;
  for (const model::NodeRecord& node : attempt.nodes) ranks += static_cast<std::size_t>(node.nproc);
  board_.begin(attempt.nodes.size(), ranks);
}

void JobPicture::reported(std::string text) {
  if (messages_.size() == snapshot::most_messages) messages_.pop_front();
  messages_.push_back({std::chrono::system_clock::now(), std::move(text)});
}

void JobPicture::ended(std::string last_line) {
  reported(std::move(last_line));
  is_over_ = true;
}

asio::awaitable<void> JobPicture::finish() {
  for (Follower* const follower : followers_) follower->wake();
  const auto end = SteadyClock::now() + end_limit;
  while (!followers_.empty() && SteadyClock::now() < end) {
    left_.expires_at(end);
    co_await left_.async_wait(use_nothrow_awaitable);
  }
}

milliseconds JobPicture::interval() const {
  const auto for_all = milliseconds(1'000 * board_.nodes().size() / nodes_per_second);
  return std::max(shortest_interval, for_all);
}

asio::awaitable<void> JobPicture::look() {
  last_look_ = SteadyClock::now();
  ask_for_limit();
  if (std::exchange(asks_, true)) co_return;
  came_.expires_after(first_figures_limit);
  ask();
  if (unanswered_ > 0) co_await came_.async_wait(use_nothrow_awaitable);
}

void JobPicture::ask() {
  asks_ = SteadyClock::now() - last_look_ < attention;
  if (!asks_) return;
  unanswered_ = 0;
  if (coordinator_.stage() == run::Stage::running) {
    for (const auto& [agent, node] : coordinator_.roster().nodes()) {
      if (node->state != run::NodeState::running) continue;
      ++unanswered_;
      send_(agent, model::MeasureRanks{});
    }
  }
  pause_.expires_after(interval());
  pause_.async_wait([this](const boost::system::error_code& error) {
    if (!error) ask();
  });
}

void JobPicture::ask_for_limit() {
  if (limit_asked_ && last_look_ - *limit_asked_ < between_limits) return;
  limit_asked_ = last_look_;
  using Limit = std::optional<WallTime>;
  pool_.run<Limit>(
      engines::engine_answer_limit,
      [environment = job_.environment] { return engines::slurm::own_job_end(environment); },
      [self = self_](const Pool::Answer<Limit>& limit) {
        if (*self != nullptr && limit) (*self)->limit_ = *limit;
      });
}

snapshot::Run JobPicture::run() const {
  snapshot::Run run;
  run.record = record_of(job_, coordinator_.course());
  run.record.spares = coordinator_.spares();
  run.record.gathering = coordinator_.gathering();
  run.id = engines::slurm::own_job_id(job_.environment).value_or(job_.place.job_id);
  run.limit = limit_;
  run.node_log = absolute(job_.options.node_log.value_or(""));
  run.stage =
      coordinator_.is_stopping() ? snapshot::stopping_stage : run::name_of(coordinator_.stage());
  if (const auto verdict = coordinator_.verdict_so_far(); verdict && !run.record.attempts.empty()) {
    run.record.attempts.back().cause = cause_in(*verdict);
  }
  if (!is_over_) run.record.running_at = std::chrono::system_clock::now();
  const run::Settings& settings = coordinator_.settings();
  run.least_nodes = settings.size.least;
  run.most_nodes = settings.size.most;
  run.max_restarts = settings.max_restarts;
  run.joined = static_cast<std::size_t>(coordinator_.roster().present());
  if (coordinator_.stage() == run::Stage::gathering) run.missing = coordinator_.missing();
  run.hangs = coordinator_.hangs();
  run.messages = messages_;
  run.interval = interval();
  return run;
}

std::string JobPicture::notice(snapshot::Happening happening) const {
  return json_text(snapshot::notice_json(happening, run(), std::chrono::system_clock::now()));
}

snapshot::Hanging JobPicture::hanging() const {
  if (!coordinator_.hangs()) return {};
  const auto& hang = coordinator_.course().attempts.back().hang;
  if (!hang) return {};
  snapshot::Hanging hanging{hang->verdict.suspects, {}};
  for (const hang::Group& group : hang->verdict.groups) {
    if (group.standing.doing != hang::Doing::communicates) continue;
    hanging.blocked.insert(hanging.blocked.end(), group.ranks.begin(), group.ranks.end());
  }
  return hanging;
}

// Of many ranks the texts are megabytes: they are written on the pool.
asio::awaitable<std::optional<JobPicture::Parts>> JobPicture::parts() {
  const auto self = self_;
  co_await look();
  if (*self == nullptr) co_return std::nullopt;
  const auto now = std::chrono::system_clock::now();
  const auto steady = SteadyClock::now();
  std::function<Parts()> write = [run = run(), board = board_, hanging = hanging(),
                                  is_last = is_over_, now, steady] {
    return Parts{json_text(snapshot::job_json(run, now)),
                 json_text(snapshot::nodes_json(snapshot::nodes_of(run.record))),
                 json_text(snapshot::figures_json(board, hanging, now, steady)), is_last};
  };
  auto written = co_await pool_.answer<Parts>(std::move(write), live::answer_limit);
  if (!written) co_return std::nullopt;
  co_return *std::move(written);
}

asio::awaitable<std::optional<std::string>> JobPicture::picture() {
  const std::optional<Parts> written = co_await parts();
  if (!written) co_return std::nullopt;
  co_return snapshot::picture_text(written->job, written->nodes, written->figures);
}

asio::awaitable<std::optional<std::string>> JobPicture::metrics(snapshot::MetricsForm form) {
  const auto self = self_;
  co_await look();
  if (*self == nullptr) co_return std::nullopt;
  std::function<std::string()> write = [run = run(), board = board_, hanging = hanging(), form] {
    return snapshot::metrics_text(run, board, hanging, form);
  };
  auto written = co_await pool_.answer<std::string>(std::move(write), live::answer_limit);
  if (!written) co_return std::nullopt;
  co_return *std::move(written);
}

Follower::Follower(asio::io_context& io, JobPicture& picture)
    : picture_(picture.joined_by(*this)), pause_(io) {}

Follower::~Follower() {
  if (*picture_ != nullptr) (*picture_)->left_by(*this);
}

void Follower::wake() {
  has_moved_ = true;
  pause_.cancel();
}

asio::awaitable<std::optional<JobPicture::Parts>> Follower::next() {
  if (shown_ && *picture_ != nullptr) {
    const auto interval = (*picture_)->interval();
    co_await rest_until(*shown_ + std::max(shortest_rest, interval / rests_per_interval), false);
    co_await rest_until(*shown_ + interval, true);
  }
  if (*picture_ == nullptr) co_return std::nullopt;
  has_moved_ = false;
  auto parts = co_await (*picture_)->parts();
  shown_ = SteadyClock::now();
  is_over_ = parts && parts->is_last;
  co_return parts;
}

// Or until the run's end.
asio::awaitable<void> Follower::rest_until(SteadyTime end, bool or_event) {
  while (*picture_ != nullptr && !(*picture_)->is_over() && !(or_event && has_moved_) &&
         SteadyClock::now() < end) {
    pause_.expires_at(end);
    co_await pause_.async_wait(use_nothrow_awaitable);
  }
}

}  // namespace toprun::publish
