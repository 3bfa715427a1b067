#include "node/rehearsal/actor.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>

#include "base/os/timer.h"
#include "base/os/uncaught.h"
#include "node/rehearsal/play.h"
#include "node/worker/workers.h"

namespace toprun::rehearsal {
namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr milliseconds slowest_look_for_the_store{500};
constexpr std::chrono::seconds store_patience{30};

// What the looks at the ranks of the play show.
class Sight : public agent::RankSight {
 public:
  Sight(Play& play, std::size_t node) : play_(play), node_(node) {}

  std::function<RankSamples()> watch(std::vector<agent::RunningRank> ranks) const override {
    return [&play = play_, ranks = std::move(ranks)]() -> RankSamples {
      std::vector<hang::RankSample> samples;
      for (const agent::RunningRank& one : ranks) samples.push_back(sample(play, one));
      return samples;
    };
  }
  std::vector<hang::Group> places_of(const std::vector<agent::RunningRank>& ranks,
                                     const Environment&) const override {
    hang::Groups groups;
    for (const agent::RunningRank& one : ranks) {
      const Rank* const rank = play_.ranks().of(one.pid);
      groups.add(rank != nullptr && rank->lives ? standing(*rank) : hang::standing_of_the_ended(),
                 std::array{one.rank});
    }
    return std::move(groups).take();
  }
  std::vector<evidence::RecorderFiles> listening(
      const std::vector<evidence::RecorderFiles>& files) const override {
    return play_.has_recorders() ? files : std::vector<evidence::RecorderFiles>();
  }
  recorder::Summary ask_recorders(const std::vector<evidence::RecorderFiles>&,
                                  milliseconds) const override {
    return {};
  }
  std::shared_ptr<Fd> connect_to_nccl(const Environment& environment) const override {
    if (!play_.has_ras()) return nullptr;
    auto connection = std::make_shared<Fd>(::open("/dev/null", O_RDWR | O_CLOEXEC));
    attempts_[connection->get()] = environment.get("TOPRUN_ATTEMPT").value_or("");
    return connection;
  }
  std::vector<ras::Finding> reported_by_nccl(const Fd& connection, const std::vector<pid_t>& pids,
                                             milliseconds) const override {
    for (const pid_t pid : pids) {
      if (pid == 0) continue;  // it has ended
      const Rank* const rank = play_.ranks().of(pid);
      const bool is_of_it =
          rank != nullptr && fmt::to_string(rank->attempt) == attempts_[connection.get()];
      play_.expect(is_of_it, "n{}: NCCL of attempt {} is asked about a rank of another", node_,
                   attempts_[connection.get()]);
    }
    return {};
  }
  void abort_with_traceback(pid_t) const override {}

 private:
  static hang::RankSample sample(Play& play, const agent::RunningRank& one) {
    const Rank* const rank = play.ranks().of(one.pid);
    hang::RankSample sample;
    sample.lives = rank != nullptr && rank->lives;
    if (!sample.lives) return sample;
    sample.communicates = rank->hangs && !rank->is_guilty;
    sample.path = 1;
    sample.computes = !rank->hangs;
    return sample;
  }
  static hang::Standing standing(const Rank& rank) {
    hang::Standing standing;
    standing.doing = rank.hangs && !rank.is_guilty ? hang::Doing::communicates
                     : rank.hangs                  ? hang::Doing::waits
                                                   : hang::Doing::computes;
    return standing;
  }

  Play& play_;
  const std::size_t node_;
  mutable std::map<int, std::string> attempts_;  // by connection, of the ranks in which it ends
};

}  // namespace

// A terminal that may take nothing for a while.
class Actor::Screen : public output::Console {
 public:
  void write(bool, std::string text) override { waiting_ += stands_ ? text.size() : 0; }
  bool room(bool) const override { return waiting_ <= output::Terminal::limits.high_bytes; }
  bool idle() override { return waiting_ == 0; }
  bool shows_colours(bool) const override { return false; }
  void end_line() override {}
  output::Cursor& cursor(bool is_err) override { return cursors_[is_err ? 1 : 0]; }

  void stand(bool stands) {
    stands_ = stands;
    if (stands) return;
    waiting_ = 0;
    for (const auto& taken : std::exchange(taken_, {})) taken();
    notify();
  }
  void show(std::string lines, std::function<void()> taken) {
    write(false, std::move(lines));
    if (room(false)) return taken();
    taken_.push_back(std::move(taken));
  }

 private:
  bool stands_ = false;
  std::size_t waiting_ = 0;  // bytes
  std::vector<std::function<void()>> taken_;
  std::array<output::Cursor, 2> cursors_;
};

Actor::Actor(Play& play, Loop& loop, std::shared_ptr<const plan::Job> its_job, std::size_t index)
    : Services(loop, std::move(its_job), fmt::format("agent-{}", index)),
      play_(play),
      index_(index),
      screen_(std::make_shared<Screen>()) {
  console = screen_;
  sight = std::make_shared<Sight>(play, index);
  route = hosts::Address::parse(fmt::format("10.0.0.{}", index + 1));
}

Actor::~Actor() = default;

model::Join Actor::join() const {
  model::Join join;
  join.agent = agent_id;
  join.host = job.place.node_name;
  join.pid = 1;
  join.nnodes = job.nnodes;
  join.slots = job.nproc;
  join.node_index = job.place.my_node;
  join.max_restarts = job.options.max_restarts;
  join.addresses = {route->text()};
  join.store_port = job.ports.front();
  return join;
}

void Actor::begin(std::shared_ptr<model::Link> link) {
  asio::co_spawn(io, link ? play_member(std::move(link)) : play_root(),
                 [this](const std::exception_ptr& error, int code) {
                   end_of_task(error);
                   exit_code_ = code;
                 });
}

asio::awaitable<int> Actor::play_root() {
  root_ = std::make_unique<agent::Root>(*this, link::Secret::given("rehearsal"), "");
  member_ =
      std::make_unique<agent::Member>(*this, root_->admit_own(join()), std::nullopt, agent_id);
  const int code = co_await agent::lead(*this, *root_, *member_);
  co_await last_words();
  co_return code;
}

asio::awaitable<int> Actor::play_member(std::shared_ptr<model::Link> link) {
  member_ = std::make_unique<agent::Member>(*this, link, hosts::Address::parse("10.0.0.1"),
                                            play_.id_of_root());
  const int code = co_await agent::follow(*this, *member_, std::move(link));
  co_await last_words();
  co_return code;
}

void Actor::become_root(link::Secret, Admission admission) {
  admission_ = std::move(admission);
}

// Its answers keep their order, as those of a store's thread.
void Actor::renew_store(bool here, int ranks, StoreNews news) {
  store_.reset();
  auto renewed = std::move(news.renewed);
  if (here) store_ = Store{-1, ranks, std::move(news), {}, 0};
  asio::post(io, std::move(renewed));
}

void Actor::rank_came(const Rank& rank, bool has_met) {
  if (!store_) return;
  store_->attempt = rank.attempt;
  const SteadyTime now = SteadyClock::now();
  if (!has_met) {
    store_->arrivals.push_back({"", static_cast<std::uint32_t>(rank.pid), rank.rank, now, {}});
  } else {
    const auto found = std::ranges::find(store_->arrivals, static_cast<std::uint32_t>(rank.pid),
                                         &store::Arrival::pid);
    if (found == store_->arrivals.end()) return;
    found->met = now;
    ++store_->met;
  }
  const auto all = static_cast<std::size_t>(store_->expected);
  const bool is_last = has_met ? store_->met == all : store_->arrivals.size() == all;
  if (is_last) asio::post(io, store_->news.arrived);
}

store::Server::ArrivalCounts Actor::arrival_counts() const {
  if (!store_) return {};
  return {store_->arrivals.size(), store_->met};
}

std::vector<store::Arrival> Actor::arrivals() const {
  return store_ ? store_->arrivals : std::vector<store::Arrival>();
}

store::Server::Activity Actor::activity() const {
  store::Server::Activity activity;
  if (store_ && !store_->arrivals.empty()) activity.first_connect = store_->arrivals.front().joined;
  return activity;
}

asio::awaitable<Result<hosts::Address>> Actor::find_store(model::StoreAddress store) {
  const bool is_there = play_.lives(store.agent);
  Timer pause(io, is_there ? play_.dice().time(0ms, slowest_look_for_the_store) : store_patience);
  co_await pause.async_wait(use_nothrow_awaitable);
  if (!is_there) co_return fail("cannot reach the store");
  co_return *hosts::Address::parse(store.addresses.front());
}

std::shared_ptr<worker::Children> Actor::children() {
  return play_.ranks().children(io, index_);
}

void Actor::show(const std::string&, bool, std::string lines, std::function<void()> taken) {
  screen_->show(std::move(lines), std::move(taken));
}

void Actor::happens(std::function<void(Actor&)> what) {
  asio::post(io, [this, what = std::move(what)] { what(*this); });
}

void Actor::stand(bool stands) {
  happens([stands](Actor& actor) { actor.screen_->stand(stands); });
}

void Actor::pause(bool pauses) {
  happens([pauses](Actor& actor) {
    actor.paused = pauses;
    if (actor.on_pause) actor.on_pause(pauses);
  });
}

asio::awaitable<bool> Actor::flushed() {
  if (!screen_->idle()) {
    Timer limit(io, worker::flush_limit);
    co_await limit.async_wait(use_nothrow_awaitable);
  }
  co_return screen_->idle();
}

asio::awaitable<void> Actor::last_words() {
  [[maybe_unused]] const bool written = co_await flushed();
}

}  // namespace toprun::rehearsal
