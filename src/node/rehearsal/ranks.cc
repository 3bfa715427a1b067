#include "node/rehearsal/ranks.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <ranges>

#include <boost/asio/post.hpp>

#include "base/text/text.h"

namespace toprun::rehearsal {
namespace {

using namespace std::chrono_literals;

// Above the kernel's own limit, so that none of these is a process here.
constexpr pid_t first_pid = 5'000'000;
constexpr milliseconds longest_import{3'000};
constexpr milliseconds longest_cleanup{3'000};  // after SIGTERM
// A process whose pipe is full tries again.
constexpr milliseconds between_writes{50};
constexpr int bits_of_signal = 8;  // an exit code stands above them

int number_in(const spawn::Program& program, std::string_view name) {
  for (const std::string& entry : program.environment) {
    if (!entry.starts_with(name) || entry[name.size()] != '=') continue;
    return static_cast<int>(parse_int(std::string_view(entry).substr(name.size() + 1)).value_or(0));
  }
  return 0;
}

}  // namespace

class Ranks::Of : public worker::Children, public std::enable_shared_from_this<Ranks::Of> {
 public:
  Of(Ranks& all, boost::asio::io_context& io, std::size_t node) : all_(all), io_(io), node_(node) {}

  Result<std::vector<pid_t>> start(std::vector<spawn::Program> programs) override {
    std::vector<pid_t> pids;
    for (const spawn::Program& program : programs) {
      const auto rank = std::make_shared<Rank>();
      rank->rank = number_in(program, "RANK");
      rank->attempt = number_in(program, "TOPRUN_ATTEMPT");
      rank->node = node_;
      rank->index = pids.size();
      rank->pid = all_.next_pid_++;
      rank->is_stubborn = all_.dice_.chance(all_.script_.stubborn_percent);
      rank->out = Fd(::fcntl(program.stdout_fd, F_DUPFD_CLOEXEC, 0));
      ::fcntl(rank->out.get(), F_SETFL, ::fcntl(rank->out.get(), F_GETFL) | O_NONBLOCK);
      all_.ranks_[rank->pid] = rank;
      ranks_.push_back(rank);
      pids.push_back(rank->pid);
      all_.start(rank);
    }
    return pids;
  }
  void watch() override {
    is_watched_ = true;
    changed();
  }
  void unwatch() override { is_watched_ = false; }
  Reaped reap() override {
    Reaped reaped;
    for (const auto& rank : ranks_) {
      if (rank->lives || std::exchange(rank->is_reaped, true)) continue;
      reaped.ended.push_back({rank->pid, rank->status});
    }
    reaped.childless =
        std::ranges::all_of(ranks_, [](const auto& rank) { return rank->is_reaped; });
    return reaped;
  }
  void signal_groups(std::span<const pid_t> leaders, int signal) override {
    for (const pid_t pid : leaders) signalled(*all_.ranks_.at(pid), signal);
  }
  void notify_groups(std::span<const pid_t>, int) override {}
  void signal_all(int signal) override {
    for (const auto& rank : ranks_) signalled(*rank, signal);
  }
  std::vector<std::string> describe_all() override { return {}; }

  std::size_t node() const { return node_; }
  void changed() {
    boost::asio::post(io_, [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (self && self->is_watched_ && self->on_change) self->on_change();
    });
  }

 private:
  void signalled(Rank& rank, int signal) {
    if (!rank.lives) return;
    if (signal == SIGKILL) return all_.end(rank, SIGKILL);
    const bool ends = signal == SIGTERM || signal == SIGINT || signal == SIGHUP;
    if (!ends || rank.is_stubborn) return;
    all_.timeline_.in(all_.dice_.time(0ms, longest_cleanup),
                      [&all = all_, weak = std::weak_ptr(all_.ranks_.at(rank.pid)), signal] {
                        const auto still = weak.lock();
                        if (still && still->lives) all.end(*still, signal);
                      });
  }

  Ranks& all_;
  boost::asio::io_context& io_;
  const std::size_t node_;
  std::vector<std::shared_ptr<Rank>> ranks_;
  bool is_watched_ = false;
};

Ranks::Ranks(simulation::Timeline& timeline, const Script& script)
    : timeline_(timeline), script_(script), dice_(script.seed + 1), next_pid_(first_pid) {}

std::shared_ptr<worker::Children> Ranks::children(boost::asio::io_context& io, std::size_t node) {
  auto made = std::make_shared<Of>(*this, io, node);
  groups_.push_back(made);
  return made;
}

void Ranks::start(const std::shared_ptr<Rank>& rank) {
  for (int i = 0; i < script_.lines; ++i) {
    rank->unwritten +=
        fmt::format("rank {} of attempt {}: line {:80}\n", rank->rank, rank->attempt, i);
  }
  const milliseconds joins = dice_.time(0ms, longest_import);
  for (const bool has_met : {false, true}) {
    timeline_.in(has_met ? joins + 100ms : joins, [this, rank, has_met] {
      if (rank->lives && on_arrival) on_arrival(*rank, has_met);
    });
  }
  timeline_.in(joins, [this, rank] { write(rank); });
  timeline_.in(longest_import + script_.work, [this, rank] { is_done(rank); });
}

void Ranks::write(const std::shared_ptr<Rank>& rank) {
  if (!rank->lives) return;
  const ssize_t written = ::write(rank->out.get(), rank->unwritten.data(), rank->unwritten.size());
  if (written > 0) rank->unwritten.erase(0, static_cast<std::size_t>(written));
  if (!rank->unwritten.empty()) {
    timeline_.in(between_writes, [this, rank] { write(rank); });
  } else if (rank->ends_with) {
    end(*rank, *rank->ends_with << bits_of_signal);
  }
}

void Ranks::is_done(const std::shared_ptr<Rank>& rank) {
  if (!rank->lives || rank->hangs) return;
  rank->ends_with = 0;
  if (rank->unwritten.empty()) end(*rank, 0);
}

void Ranks::end(Rank& rank, int status) {
  rank.lives = false;
  rank.status = status;
  rank.out.reset();
  for (const auto& weak : groups_) {
    const auto group = weak.lock();
    if (group && group->node() == rank.node) group->changed();
  }
}

Rank* Ranks::running(std::size_t node, std::size_t index) {
  for (const auto& rank : ranks_ | std::views::values) {
    if (rank->lives && rank->node == node && rank->index == index) return rank.get();
  }
  return nullptr;
}

void Ranks::exits(std::size_t node, std::size_t index, int code) {
  if (Rank* const rank = running(node, index)) end(*rank, code << bits_of_signal);
}

void Ranks::is_killed(std::size_t node, std::size_t index, int signal) {
  if (Rank* const rank = running(node, index)) end(*rank, signal);
}

int Ranks::hang(std::size_t node, std::size_t index) {
  Rank* const guilty = running(node, index);
  if (guilty == nullptr) return 0;
  guilty->is_guilty = true;
  for (const auto& rank : ranks_ | std::views::values) rank->hangs = rank->lives;
  return living();
}

void Ranks::go_on() {
  for (const auto& rank : ranks_ | std::views::values) {
    if (!rank->lives || !std::exchange(rank->hangs, false)) continue;
    timeline_.in(script_.work, [this, rank] { is_done(rank); });
  }
}

void Ranks::die_with(std::size_t node) {
  for (const auto& rank : ranks_ | std::views::values) {
    if (rank->lives && rank->node == node) end(*rank, SIGKILL);
  }
}

const Rank* Ranks::of(pid_t pid) const {
  const auto found = ranks_.find(pid);
  return found == ranks_.end() ? nullptr : found->second.get();
}

int Ranks::living() const {
  return static_cast<int>(std::ranges::count_if(ranks_ | std::views::values,
                                                [](const auto& rank) { return rank->lives; }));
}

}  // namespace toprun::rehearsal
