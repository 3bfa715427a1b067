#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/os/timer.h"
#include "node/agent/member.h"
#include "node/prepare/probes/network_proof.h"
#include "run/conductor/settings.h"

// What a member watches while its ranks run: their network, which ranks come to the store, and
// whether they make progress.
namespace toprun::agent {
namespace asio = boost::asio;
using std::chrono::milliseconds;

namespace {

constexpr std::chrono::seconds between_network_looks{1};
constexpr std::chrono::seconds network_look_limit{5};
// Most ranks import in less.
constexpr std::chrono::seconds first_look_at_arrivals{10};
constexpr std::chrono::seconds longest_between_looks{300};
// --hang-timeout: between two looks at the ranks, and how long one may take.
constexpr milliseconds shortest_between_glances{500};
constexpr milliseconds longest_between_glances{1'000};
constexpr std::chrono::seconds glance_limit{5};
constexpr milliseconds telling_limit{500};      // for a rank to print its line by SIGABRT
constexpr std::chrono::seconds longest_gap{8};  // longer ones are times in which nothing ran
// The root hears of such a time once it is this part of the limit.
constexpr int least_news_of_a_pause = 8;

milliseconds age(SteadyTime time, SteadyTime now) {
  return std::max(milliseconds(0), std::chrono::duration_cast<milliseconds>(now - time));
}

// In a hang, the ranks whose Python stack could not be read.
std::vector<int> unread_ranks(const std::vector<hang::Group>& groups) {
  std::vector<int> ranks;
  for (const hang::Group& group : groups) {
    const hang::Standing& standing = group.standing;
    if (!standing.frames.empty() || standing.no_frames.empty()) continue;
    ranks.insert(ranks.end(), group.ranks.begin(), group.ranks.end());
  }
  return ranks;
}

}  // namespace

// Whether the ranks of this attempt run, or are being started.
bool Member::runs(int attempt) const {
  const bool is_alive =
      part_.state() == run::PartState::starting || part_.state() == run::PartState::running;
  return is_alive && part_.assignment().attempt == attempt;
}

void Member::count_network(int attempt) {
  using Counters = std::vector<fabric::PortCounters>;
  session_.pool.run<Counters>(
      network_look_limit, [] { return fabric::read_counters(fabric::Sysfs()); },
      for_attempt<Counters>(attempt,
                            [this](Counters counters) { proof_.counters = std::move(counters); }));
}

asio::awaitable<void> Member::watch_network(int attempt) {
  const auto watch = std::make_shared<probes::NetworkWatch>(proof_.nccl_logs,
                                                            fabric::fast_path(*session_.network));
  Timer pause(session_.io);
  while (true) {
    pause.expires_after(between_network_looks);
    co_await pause.async_wait(use_nothrow_awaitable);
    if (!runs(attempt)) co_return;
    struct Seen {
      std::optional<std::string> why;
      bool is_settled = false;
    };
    std::function<Seen()> look = [watch] { return Seen{watch->look(), watch->is_settled()}; };
    const auto seen = co_await session_.pool.answer<Seen>(std::move(look), network_look_limit);
    if (!seen || !runs(attempt)) co_return;  // a file system that hangs tells nothing
    if (seen->why) push(run::NetworkRefused{attempt, probes::no_rdma(*seen->why)});
    if (seen->why || seen->is_settled) co_return;
  }
}

void Member::report_arrivals(int attempt) {
  push(run::RanksArrived{attempt, arrivals()});
}

asio::awaitable<void> Member::watch_arrivals(int attempt) {
  const auto world = static_cast<std::size_t>(part_.assignment().world_size);
  Timer pause(session_.io);
  std::pair<std::size_t, std::size_t> reported;
  for (auto wait = first_look_at_arrivals;; wait = std::min(2 * wait, longest_between_looks)) {
    pause.expires_after(wait);
    co_await pause.async_wait(use_nothrow_awaitable);
    if (!runs(attempt)) co_return;
    const store::Server::ArrivalCounts came = session_.arrival_counts();
    if (came.met == world) co_return;
    const bool some_are_missing = came.joined < world || came.met > 0;
    if (came.joined > 0 && some_are_missing && reported != std::pair(came.joined, came.met)) {
      reported = {came.joined, came.met};
      report_arrivals(attempt);
    }
  }
}

std::vector<RunningRank> Member::running_ranks() const {
  std::vector<RunningRank> ranks;
  const std::vector<pid_t> pids = workers_->pids();
  for (std::size_t i = 0; i < std::min(pids.size(), plans_.size()); ++i) {
    RunningRank rank{plans_[i].rank, pids[i]};
    for (const char* name :
         {"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"}) {
      if (!rank.visible_gpus) rank.visible_gpus = plans_[i].environment.get(name);
    }
    if (session_.container) {
      for (const char* name : {"RANK", "TORCHELASTIC_RUN_ID"}) {
        rank.marks.push_back(
            fmt::format("{}={}", name, plans_[i].environment.get(name).value_or("")));
      }
    }
    ranks.push_back(std::move(rank));
  }
  return ranks;
}

asio::awaitable<void> Member::watch_progress(int attempt) {
  const milliseconds limit = *session_.job.options.hang_timeout;
  using RankSamples = RankSight::RankSamples;
  const auto watch = session_.sight->watch(running_ranks());
  hang::Stillness stillness(limit);
  std::optional<hang::Still> reported;
  is_still_ = false;
  unread_.clear();
  SteadyTime last = SteadyClock::now();
  Timer pause(session_.io);
  while (true) {
    pause.expires_after(std::clamp(limit / 20, shortest_between_glances, longest_between_glances));
    co_await pause.async_wait(use_nothrow_awaitable);
    if (!runs(attempt)) co_return;
    std::function<RankSamples()> look = watch;
    const auto answer = co_await session_.pool.answer<RankSamples>(std::move(look), glance_limit);
    const RankSamples samples = answer.value_or(std::nullopt);
    if (!runs(attempt)) co_return;
    if (!samples) continue;
    const auto now = SteadyClock::now();
    const auto passed = now - std::exchange(last, now);
    const bool was_away = session_.paused || passed > longest_gap;
    if (was_away) stillness.leave_out(passed);
    stillness.look(*samples, now);
    const auto still = stillness.still();
    const bool is_long = still && now - still->since >= limit / 2;
    const bool is_news =
        reported.has_value() != is_long ||
        (reported &&
         (reported->some_communicate != still->some_communicate ||
          (was_away && still->since - reported->since >= limit / least_news_of_a_pause)));
    if (!is_news) continue;
    reported = is_long ? still : std::nullopt;
    is_still_ = is_long;
    push(run::StillnessChanged{attempt, reported});
  }
}

void Member::act(const run::LookAtWorkers& look) {
  struct Seen {
    std::vector<hang::Group> groups;
    std::vector<evidence::RecorderFiles> recorders;  // that listen
    std::shared_ptr<Fd> nccl;                        // null: it does not listen
  };
  std::vector<evidence::RecorderFiles> files;
  for (const worker::WorkerPlan& worker : plans_) {
    if (look.is_hang) files.push_back(evidence::recorder_files(worker.rank, worker.environment));
  }
  // NCCL tells of all nodes wherever it is asked.
  std::optional<Environment> asks_nccl;
  if (look.is_hang && !root_address_ && !plans_.empty()) asks_nccl = plans_.front().environment;
  session_.pool.run<Seen>(
      run::recorded_limit,
      [sight = session_.sight, ranks = running_ranks(), job = session_.shared_job,
       files = std::move(files), asks_nccl = std::move(asks_nccl)] {
        return Seen{sight->places_of(ranks, job->environment), sight->listening(files),
                    asks_nccl ? sight->connect_to_nccl(*asks_nccl) : nullptr};
      },
      for_attempt<Seen>(look.attempt, [this, look](Seen seen) {
        if (look.is_hang) unread_ = unread_ranks(seen.groups);
        const int more = (seen.recorders.empty() ? 0 : 1) + (seen.nccl ? 1 : 0);
        push(run::LookedAtWorkers{look.attempt, {look.look, std::move(seen.groups), more}});
        if (!seen.recorders.empty()) ask_recorders(look, std::move(seen.recorders));
        if (seen.nccl) ask_nccl(look, std::move(seen.nccl));
      }));
}

void Member::ask_recorders(const run::LookAtWorkers& look,
                           std::vector<evidence::RecorderFiles> files) {
  session_.pool.run<recorder::Summary>(
      run::recorded_limit,
      [sight = session_.sight, files = std::move(files)] {
        return sight->ask_recorders(files, run::recorders_limit);
      },
      for_attempt<recorder::Summary>(look.attempt, [this, look](recorder::Summary summary) {
        push(run::WorkersReported{look.attempt, {look.look, std::move(summary)}});
      }));
}

void Member::ask_nccl(const run::LookAtWorkers& look, std::shared_ptr<Fd> connection) {
  using Findings = std::vector<ras::Finding>;
  session_.pool.run<Findings>(
      run::recorded_limit,
      [sight = session_.sight, connection = std::move(connection), pids = workers_->pids()] {
        return sight->reported_by_nccl(*connection, pids, run::recorders_limit);
      },
      for_attempt<Findings>(look.attempt, [this, look](Findings findings) {
        push(run::WorkersReported{look.attempt, {look.look, {}, std::move(findings)}});
      }));
}

bool Member::make_unread_tell() {
  const bool is_ended_for_it = session_.job.options.on_hang != run::OnHang::report;
  const std::vector<int> unread = std::exchange(unread_, {});
  // In a container they have other ids.
  if (!is_ended_for_it || !is_still_ || unread.empty() || session_.container) return false;
  for (const RunningRank& rank : running_ranks()) {
    if (std::ranges::find(unread, rank.rank) != unread.end())
      session_.sight->abort_with_traceback(rank.pid);
  }
  return true;
}

asio::awaitable<void> Member::stop_later(int attempt, milliseconds grace) {
  Timer pause(session_.io, telling_limit);
  co_await pause.async_wait(use_nothrow_awaitable);
  if (runs(attempt)) workers_->stop(grace);
}

void Member::act(const run::MeasureWorkers& measure) {
  if (!meter_) meter_ = std::make_shared<RanksMeter>(session_.job.environment);
  auto said = said_by(workers_->last_outputs(), part_.assignment().world_size, SteadyClock::now());
  if (meter_->begin_gpus()) {
    // One that takes longer is left alone: it may be a driver that hangs.
    session_.pool.run<bool>(
        meter::nvidia_limit, [meter = meter_] { return meter->look_at_gpus(), true; },
        [](const Pool::Answer<bool>&) {});
  }
  using Usage = std::optional<meter::Node>;
  session_.pool.run<Usage>(
      glance_limit,
      [meter = meter_, ranks = running_ranks(), said = std::move(said)] {
        return meter->look(ranks, said);
      },
      for_attempt<Usage>(measure.attempt, [this, attempt = measure.attempt](Usage usage) {
        if (!usage) return;
        root_->send(model::to_wire(model::ToRoot{attempt, model::RanksUse{*std::move(usage)}}));
      }));
}

model::Arrivals Member::arrivals() const {
  const auto now = SteadyClock::now();
  model::Arrivals all;
  std::unordered_map<std::string, std::size_t> hosts;
  for (const store::Arrival& arrival : session_.arrivals()) {
    const auto [host, is_new] = hosts.emplace(arrival.address, all.hosts.size());
    if (is_new) all.hosts.push_back({arrival.address, {}});
    model::Arrivals::Rank rank{0, std::nullopt, age(arrival.joined, now), std::nullopt};
    // Any client may write any number.
    if (std::in_range<int>(arrival.pid)) rank.pid = static_cast<int>(arrival.pid);
    if (arrival.rank < part_.assignment().world_size) rank.rank = arrival.rank;
    if (arrival.met) rank.met_age = age(*arrival.met, now);
    all.hosts[host->second].ranks.push_back(rank);
  }
  return all;
}

model::Gone Member::last_words() const {
  model::Gone gone;
  const store::Server::Activity activity = session_.activity();
  const auto now = SteadyClock::now();
  if (activity.first_connect) gone.first_connect_age = age(*activity.first_connect, now);
  return gone;
}

}  // namespace toprun::agent
