#include "node/agent/session.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>

#include "base/os/console.h"
#include "base/os/fd.h"
#include "base/os/style.h"
#include "base/os/timer.h"
#include "base/process/frames.h"
#include "base/text/text.h"
#include "base/text/version.h"
#include "engines/engine.h"
#include "node/link/dial.h"
#include "node/link/preamble.h"
#include "node/plan/login_orders.h"
#include "node/worker/keeper.h"
#include "node/worker/workers.h"

namespace toprun::agent {
namespace asio = boost::asio;

namespace {

constexpr std::size_t max_launcher_line_bytes = 1024;
constexpr std::size_t door_share = 4;  // at most so small a part of the open files is visitors'

bool by_login(const plan::Job& job) {
  return is_by_login(job.place.engine);
}

hosts::Address address_of(const asio::ip::tcp::endpoint& endpoint) {
  sockaddr_storage storage{};
  std::memcpy(&storage, endpoint.data(), endpoint.size());
  return hosts::Address::from(storage);
}

}  // namespace

Session::Session(asio::io_context& loop, const plan::Job& run, int heartbeat_fd)
    : Services(loop, std::make_shared<const plan::Job>(run), link::new_agent_id()),
      open_files(raise_open_files()),
      identity{std::string(version), link::job_hash(run.name), agent_id},
      door(io, identity, run.patience, std::min(link::max_visitors, open_files / door_share)),
      own_lines(io, open_terminal()),
      store_ready_(io),
      store_due_(io),
      kept_(heartbeat_fd >= 0),
      parent_(::getppid()),
      signals_(io, [this](const auto& received) { take(received); }),
      heartbeat_(io),
      heartbeat_fd_(heartbeat_fd),
      launcher_(io),
      launcher_silence_(io) {
  for (const int signal :
       {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, run::grow_signal}) {
    signals_.add(signal);
  }
  for (const int signal : run.options.signals_to_handle.value) signals_.add(signal);
  signals_.add(SIGTSTP);
  signals_.add(SIGCONT);
  if (heartbeat_fd >= 0) {
    signals_.add(worker::queued_signal());
    send_beat(worker::beat_of_queue);
    schedule_beat();
    if (worker::keeper_rests()) pause(true);  // it came before there was a handler
  }
}

Session::~Session() {
  if (store) store::Server::abandon(std::move(store));
}

output::Terminal& Session::open_terminal() {
  terminal = std::make_shared<output::Terminal>(
      io, output::ConsoleDescriptors{.shared_with_others = job.several_processes()},
      wants_colours(job.environment));
  console = terminal;
  return *terminal;
}

void Session::become_root(link::Secret secret, Admission admission) {
  door.become_root(std::move(secret),
                   {std::move(admission.admit),
                    [this, joined = std::move(admission.joined)](
                        const model::Join& join, std::shared_ptr<link::Channel> channel) {
                      // Those beside it may have come by loopback, which leads the others nowhere.
                      if (!route || route->is_loopback()) route = address_of(channel->local());
                      std::string theirs = address_of(channel->remote()).text();
                      joined(join, std::move(channel), std::move(theirs), route->text());
                    }});
}

asio::awaitable<Result<hosts::Address>> Session::find_store(model::StoreAddress address) {
  return link::find_store(io, std::move(address), identity, job.patience);
}

std::shared_ptr<worker::Children> Session::children() {
  if (container) return container->shim();
  std::shared_ptr<worker::Children> own =
      worker::own_children(io, job.inherited, job.place.node_name, warm ? warm->parent() : nullptr);
  own->on_progress = [this] { show_life(); };
  return own;
}

void Session::show(const std::string& host, bool is_err, std::string lines,
                   std::function<void()> taken) {
  terminal->show(host, is_err, std::move(lines), std::move(taken));
}

asio::awaitable<bool> Session::flushed() {
  const auto limit = std::make_shared<Timer>(io, worker::flush_limit);
  const auto written = std::make_shared<bool>(false);
  own_lines.when_written([limit, written] {
    *written = true;
    limit->expires_at(SteadyTime::min());
  });
  co_await limit->async_wait(use_nothrow_awaitable);
  co_return *written;
}

asio::awaitable<void> Session::last_words() {
  const bool written = co_await flushed();
  if (!written) own_lines.give_up();
}

std::expected<void, hosts::CannotListen> Session::listen(bool root, bool beside_root) {
  std::vector<int> requested = job.ports;
  if (!root) requested = beside_root ? std::vector<int>{0} : std::vector<int>{requested.front(), 0};
  if (root && !job.several_processes() && job.port_is_ours_to_choose) requested.push_back(0);
  std::expected<Fd, hosts::CannotListen> listener =
      std::unexpected(hosts::CannotListen{fail("no port").error(), {}});
  for (const int candidate : requested) {
    listener = hosts::listen_on(candidate, job.reach());
    if (listener) break;
  }
  if (!listener) return std::unexpected(listener.error());
  port = hosts::port_of(*listener);
  store::Limits limits;
  limits.undecided = store::undecided_among(open_files);
  auto server = store::Server::without_thread(
      std::move(*listener), limits,
      [this](Fd connection, std::string first_bytes) {
        const auto shared = std::make_shared<Fd>(std::move(connection));
        boost::asio::post(io, [this, shared, bytes = std::move(first_bytes)] {
          door.visit(std::move(*shared), bytes);
        });
      },
      link::busy_line(identity));
  if (!server) return std::unexpected(hosts::CannotListen{server.error(), {}});
  store = std::move(*server);
  Fd readiness(::fcntl(store->readiness(), F_DUPFD_CLOEXEC, 0));
  if (!readiness) {
    return std::unexpected(
        hosts::CannotListen{fail_errno("the store cannot start: fcntl").error(), {}});
  }
  store_ready_.assign(readiness.release());
  watch_store();
  return {};
}

// Until the store serves clients, and has a thread for them.
void Session::watch_store() {
  store_ready_.async_wait(asio::posix::stream_descriptor::wait_read,
                          [this](const boost::system::error_code& error) {
                            if (error || store->has_thread()) return;
                            take_turn_of_store();
                            watch_store();
                          });
}

void Session::take_turn_of_store() {
  const auto due = store->take_turn();
  if (!due) return;
  store_due_.expires_after(*due);
  store_due_.async_wait([this](const boost::system::error_code& error) {
    if (!error && !store->has_thread()) take_turn_of_store();
  });
}

void Session::renew_store(bool here, int ranks, StoreNews news) {
  const auto arrived = [this, arrived = std::move(news.arrived)] {
    boost::asio::post(io, arrived);
  };
  const auto alarmed = [this, alarmed = std::move(news.alarmed)](const hang::Alarm& alarm) {
    boost::asio::post(io, [alarmed, alarm] { alarmed(alarm); });
  };
  store->next_attempt(
      here ? store::Clients::served : store::Clients::refused,
      {here ? static_cast<std::size_t>(ranks) : 0, arrived, alarmed},
      [this, renewed = std::move(news.renewed)] { boost::asio::post(io, renewed); });
  if (store->has_thread()) store_ready_.close();
}

void Session::send_beat(char byte) {
  last_beat_ = std::chrono::steady_clock::now();
  // A full pipe means that the keeper is not reading just now: it will find the bytes later.
  [[maybe_unused]] const ssize_t n = ::write(heartbeat_fd_, &byte, 1);
}

// Each byte wakes the keeper, and ranks start within fractions of a millisecond of each other.
void Session::show_life() {
  const auto least_pause = std::min(job.keeper_beat / 2, process::beat_interval);
  const auto pause = std::chrono::steady_clock::now() - last_beat_;
  if (kept_ && pause >= least_pause) send_beat(worker::beat_of_life);
}

void Session::schedule_beat() {
  heartbeat_.expires_after(job.keeper_beat);
  heartbeat_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    send_beat(worker::beat_of_life);
    schedule_beat();
  });
}

void Session::pause(bool asked) {
  paused = asked;
  if (on_pause) on_pause(paused);
  if (!paused) return;
  if (terminal) terminal->show_below("");  // the shell's words would stand behind it
  if (kept_) send_beat(worker::beat_of_rest);
}

void Session::take(const ReceivedSignals::Received& received) {
  const int signal = received.signal;
  // The kernel sends SIGTERM when the keeper dies, and SIGHUP first to an agent that is stopped
  // then.
  const bool of_the_kernel = signal == SIGTERM || signal == SIGHUP;
  const bool orphaned = kept_ && of_the_kernel && ::getppid() != parent_;
  if (orphaned) {
    return orphan(fmt::format("toprun (pid {}), which started it, was killed", parent_),
                  std::chrono::milliseconds(0));
  }
  if (signal == SIGTSTP || signal == SIGCONT) {
    return pause(kept_ ? worker::keeper_rests() : signal == SIGTSTP);
  }
  if (signal == SIGWINCH) {
    if (on_resize) on_resize();
    return;
  }
  if (engines::is_of_an_engine(received.sender)) {
    // The keeper received the signal too and passes it on; or it is a notice that the ranks also
    // received.
    if (kept_) return;
    if (is_notice(signal, job.options) && engines::signals_every_process(job.environment)) return;
  }
  const bool by_keeper = kept_ && received.sender == parent_;
  hand_on(signal, false, by_keeper ? EndSignals::Way::keeper : EndSignals::Way::itself);
}

void Session::hand_on(int signal, bool for_all, EndSignals::Way way) {
  const bool ends = !is_notice(signal, job.options) && !asks_to_grow(signal, job.options);
  if (ends && !end_signals_.count(way, std::chrono::steady_clock::now())) return;
  if (on_signal) {
    on_signal(signal, for_all);
  } else if (ended_with && way != EndSignals::Way::launcher) {
    worker::leave(*ended_with);
  }
}

// From here on standard input is empty: a command or a rank that reads it would take lines that are
// meant for this agent.
Result<void> Session::follow_launcher() {
  Fd lines(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
  const Fd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!lines || !nothing) return fail_errno("cannot follow the launcher", more_open_files);
  ::dup2(nothing.get(), STDIN_FILENO);
  launcher_.assign(lines.release());
  if (by_login(job)) expect_beat();
  read_launcher();
  return {};
}

void Session::read_launcher() {
  const auto chunk = std::make_shared<std::array<char, 256>>();
  launcher_.async_read_some(
      boost::asio::buffer(*chunk),
      [this, chunk](const boost::system::error_code& error, std::size_t size) {
        if (error) {
          lose_launcher();
          return;
        }
        if (by_login(job)) expect_beat();
        launcher_line_.append(chunk->data(), size);
        for (std::size_t end; (end = launcher_line_.find('\n')) != std::string::npos;) {
          obey(launcher_line_.substr(0, end));
          launcher_line_.erase(0, end + 1);
        }
        if (launcher_line_.size() > max_launcher_line_bytes) launcher_line_.clear();
        read_launcher();
      });
}

// The one launcher of a step is gone for all its agents, which end the job in order. With logins
// it may be this agent's connection only.
void Session::lose_launcher() {
  launcher_silence_.cancel();
  if (!by_login(job)) return obey("signal 15");
  orphan("the connection to the launcher was lost", fence_grace);
}

// A second look, because this process may have been stopped itself.
void Session::expect_beat() {
  launcher_silence_.expires_after(plan::launcher_silence_limit);
  launcher_silence_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    if (paused) return expect_beat();
    launcher_silence_.expires_after(launcher_beat);
    launcher_silence_.async_wait([this](const boost::system::error_code& again) {
      if (!again) lose_launcher();
    });
  });
}

void Session::orphan(std::string words, std::chrono::milliseconds grace) {
  if (!on_orphaned) worker::leave(exit_failure);
  on_orphaned(std::move(words), grace);
}

void Session::post_result() const {
  if (!ended_with || !result_address_) return;
  // An engine's command then ends with its own code, which is mostly the same.
  [[maybe_unused]] const bool reached = link::post_result(*result_address_, *ended_with);
}

void Session::obey(std::string_view line) {
  if (auto address = link::parse_result_address(line)) result_address_ = std::move(address);
  const auto parts = words(line);
  const bool for_all = parts.size() == 3 && parts[2] == "for-all";
  if ((parts.size() != 2 && !for_all) || parts[0] != "signal") return;
  const auto number = parse_int(parts[1]);
  if (number == SIGTSTP || number == SIGCONT) return pause(*number == SIGTSTP);
  if (!number || *number <= 0 || *number >= NSIG) return;
  hand_on(static_cast<int>(*number), for_all, EndSignals::Way::launcher);
}

}  // namespace toprun::agent
