#include "node/link/dial.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sodium.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/net/hostlist.h"
#include "base/net/resolve.h"
#include "base/os/console.h"
#include "base/os/timer.h"
#include "base/text/clock.h"
#include "base/text/text.h"
#include "base/text/version.h"

namespace toprun::link {
namespace asio = boost::asio;
using asio::ip::tcp;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
namespace {

// If the attempt at a better address takes longer, the attempt at the next address starts in
// parallel (RFC 8305 section 5).
constexpr milliseconds attempt_delay{250};

// Runs the attempts 0 … count-1 in order. Each attempt starts when the previous attempt has failed
// or `attempt_delay` has passed. The first success is the result. Other attempts that still run are
// not stopped, so each attempt needs its own time limit. Nullopt: no attempt succeeded.
template <class T>
asio::awaitable<std::optional<std::pair<std::size_t, T>>> race(
    asio::io_context& io, std::size_t count,
    std::function<asio::awaitable<std::optional<T>>(std::size_t)> attempt) {
  struct State {
    explicit State(asio::io_context& context) : changed(context) {}
    asio::steady_timer changed;
    std::size_t running = 0;
    bool failed = false;
    std::optional<std::pair<std::size_t, T>> winner;
  };
  const auto state = std::make_shared<State>(io);
  const auto one = [](std::shared_ptr<State> shared, std::size_t index,
                      auto task) -> asio::awaitable<void> {
    auto result = co_await task(index);
    --shared->running;
    shared->failed = !result;
    if (result && !shared->winner) shared->winner.emplace(index, std::move(*result));
    shared->changed.cancel();
  };
  for (std::size_t i = 0; i < count && !state->winner; ++i) {
    ++state->running;
    state->failed = false;
    asio::co_spawn(io, one(state, i, attempt), asio::detached);
    state->changed.expires_after(attempt_delay);
    co_await state->changed.async_wait(use_nothrow_awaitable);
  }
  while (!state->winner && state->running > 0) {
    state->changed.expires_at(steady_clock::time_point::max());
    co_await state->changed.async_wait(use_nothrow_awaitable);
  }
  co_return std::move(state->winner);
}

constexpr milliseconds connect_limit{3'000};
constexpr milliseconds resolve_limit{2'000};
constexpr milliseconds munge_limit{5'000};  // shorter than the root's time limit for a handshake

tcp::endpoint endpoint_of(const hosts::Address& address, int port) {
  const sockaddr_storage storage = address.with_port(port);
  tcp::endpoint endpoint;
  endpoint.resize(address.length());
  std::memcpy(endpoint.data(), &storage, address.length());
  return endpoint;
}

// The first packets of a connection are acknowledged each by a packet of its own, unless the kernel
// knows that an answer follows.
void let_answers_acknowledge(const Fd& socket) {
  const int off = 0;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_QUICKACK, &off, sizeof off);
}

using Connection = std::shared_ptr<Channel>;

asio::awaitable<std::optional<Connection>> connect_one(asio::io_context& io, hosts::Address address,
                                                       int port, Patience patience,
                                                       milliseconds at_most,
                                                       std::shared_ptr<std::string> why) {
  auto socket = std::make_shared<tcp::socket>(io);
  asio::steady_timer limit(io, at_most);
  limit.async_wait([socket](const boost::system::error_code& error) {
    boost::system::error_code ignored;
    if (!error) socket->close(ignored);
  });
  const auto [error] =
      co_await socket->async_connect(endpoint_of(address, port), use_nothrow_awaitable);
  const bool is_late = error == asio::error::operation_aborted;  // the limit has closed the socket
  if (error && why) *why = is_late ? "no answer from " + address.text() : lower(error.message());
  if (error) co_return std::nullopt;
  boost::system::error_code failed;
  socket->set_option(tcp::no_delay(true), failed);
  Fd connection(socket->release(failed));
  if (failed) co_return std::nullopt;
  let_answers_acknowledge(connection);
  co_return std::make_shared<Channel>(Channels::of(io), std::move(connection), patience);
}

// The result of one round of attempts. Later values in this list are more informative.
struct Round {
  enum class End {
    unknown,   // the host's name does not resolve
    absent,    // no process answers
    busy,      // too many connections at its port
    not_root,  // another agent answers
    closed,    // closed without an answer
    stranger,  // the answer is not from a toprun agent
    other_job,
    unproved,  // claims this job, but has another version or secret
    refused,   // by the job's root
    joined,
  };
  End end = End::absent;
  std::string why;
  std::string fix;
  std::optional<Joined> joined;

  // Whether the state is normal for members that come first, or all at once.
  bool is_transient() const { return end == End::absent || end == End::busy || end == End::closed; }
  bool is_final() const { return end == End::refused || end == End::joined; }
  // Whether no root of this job answers, if it lasts. One that is short of descriptors says that it
  // is busy.
  bool is_foreign() const { return end >= End::closed && end <= End::unproved; }
};

constexpr std::string_view choose_another_port =
    "choose another port with --rdzv-endpoint or --master-port on all nodes";
constexpr std::string_view holder_is_named_there =
    "; `ss -ltnp` and toprun on that host print the program's name";

class Dialer {
 public:
  Dialer(Pool& pool, RootAddress root, Identity identity, Secret secret, Patience patience,
         MakeJoin make_join)
      : pool_(pool),
        io_(pool.io()),
        root_(std::move(root)),
        identity_(std::move(identity)),
        secret_(std::move(secret)),
        patience_(patience),
        make_join_(std::move(make_join)) {}

  asio::awaitable<Result<Joined>> run(milliseconds join_timeout);

 private:
  asio::awaitable<Round> round();
  asio::awaitable<Round> round_at(const std::string& host);
  asio::awaitable<Round> shake_hands(std::shared_ptr<Channel> channel);
  asio::awaitable<Result<std::string>> check(std::string root_proof);
  Round turned_away(const TurnedAway& turned) const;
  bool is_taken(const Round& round) const;
  Error last_word(Round round) const;
  void report_waiting(const Round& round);
  // The given limit, but at most the time left until the deadline.
  milliseconds within(milliseconds limit) const;
  milliseconds late_answer() const;
  milliseconds busy_pause(milliseconds pause) const;
  std::string where() const;
  std::string member_line() const;

  Pool& pool_;
  asio::io_context& io_;
  RootAddress root_;
  Identity identity_;
  Secret secret_;
  Patience patience_;
  MakeJoin make_join_;
  steady_clock::time_point deadline_;
  const steady_clock::time_point first_report_at_ = steady_clock::now() + first_report_delay;
  steady_clock::time_point next_report_ = steady_clock::now();
  std::chrono::seconds pause_ = report_waiting_every;  // before next_report_
  std::optional<Round::End> last_reported_;
};

milliseconds Dialer::within(milliseconds limit) const {
  const auto left = std::chrono::ceil<milliseconds>(deadline_ - steady_clock::now());
  return std::clamp(left, milliseconds(1), limit);
}

milliseconds Dialer::late_answer() const {
  return std::chrono::duration_cast<milliseconds>(answer_per_node * root_.nodes);
}

milliseconds Dialer::busy_pause(milliseconds pause) const {
  const auto most = std::chrono::ceil<milliseconds>(busy_retry_per_node * root_.nodes);
  return pause + milliseconds(randombytes_uniform(static_cast<std::uint32_t>(most.count()) + 1));
}

std::string Dialer::where() const {
  if (root_.others.empty()) {
    return fmt::format("the root agent at {}:{}", root_.host, root_.ports.front());
  }
  std::vector<std::string> hosts = root_.others;
  hosts.insert(hosts.begin(), root_.host);
  return fmt::format("the root agent at port {} of one of {}", root_.ports.front(),
                     hosts::compress_hostlist(hosts));
}

// Reports at once if the new result is more informative: the answers of a port may vary.
void Dialer::report_waiting(const Round& round) {
  const auto now = steady_clock::now();
  const bool is_new = last_reported_ && round.end != *last_reported_;
  const auto due = is_new ? next_report_ - pause_ + report_waiting_every : next_report_;
  if (now < due && last_reported_ && round.end <= *last_reported_) return;
  // A neighbouring job may have a port of those that the engine gave this one.
  const bool is_expected =
      round.is_transient() || (root_.chosen_by_engine && round.end == Round::End::other_job);
  if (is_expected && now < first_report_at_) return;
  const bool is_repeated = last_reported_ == round.end;
  pause_ = is_repeated ? std::min(2 * pause_, most_waiting_pause) : report_waiting_every;
  next_report_ = now + pause_;
  last_reported_ = round.end;
  const std::string& advice = round.fix.empty() ? root_.hint : round.fix;
  say(fmt::format("waiting for {}: {}{}", where(), round.why, advice.empty() ? "" : "; " + advice));
}

asio::awaitable<Result<Joined>> Dialer::run(milliseconds join_timeout) {
  deadline_ = steady_clock::now() + join_timeout;
  std::optional<steady_clock::time_point> stranger_since;
  const bool is_only_place = !root_.chosen_by_engine && root_.others.empty();
  milliseconds pause = first_retry(root_.nodes);
  for (;;) {
    const auto began = steady_clock::now();
    auto result = co_await round();
    const auto now = steady_clock::now();
    if (result.end == Round::End::joined) co_return std::move(*result.joined);
    if (result.end == Round::End::refused) {
      co_return fail(fmt::format("refused by {}", where()), result.why);
    }
    const auto limit = is_taken(result) ? taken_limit : stranger_limit;
    if (!result.is_foreign()) {
      stranger_since.reset();
    } else if (!stranger_since) {
      stranger_since = began;
    } else if ((is_only_place || is_taken(result)) && now - *stranger_since > limit) {
      co_return std::unexpected(last_word(std::move(result)));
    }
    if (auto why = root_.hopeless ? root_.hopeless() : std::nullopt) {
      co_return std::unexpected(std::move(*why));
    }
    // The last word about a foreign program follows soon, with the same reason.
    const bool ends_soon = stranger_since && (is_only_place || is_taken(result));
    if (!ends_soon) report_waiting(result);
    const bool is_overrun = result.end == Round::End::busy || result.end == Round::End::closed;
    asio::steady_timer timer(io_, within(is_overrun ? busy_pause(pause) : pause));
    co_await timer.async_wait(use_nothrow_awaitable);
    if (steady_clock::now() >= deadline_) {
      co_return fail(fmt::format("cannot join {} within {}", where(), duration_text(join_timeout)),
                     result.why, result.fix.empty() ? root_.hint : result.fix);
    }
    pause = std::min(pause * 3 / 2, longest_retry);
  }
}

bool Dialer::is_taken(const Round& round) const {
  return root_.taken && (round.end == Round::End::closed || round.end == Round::End::stranger);
}

Error Dialer::last_word(Round round) const {
  if (!is_taken(round)) {
    return {fmt::format("cannot join {}", where()), std::move(round.why), std::move(round.fix),
            exit_failure};
  }
  Error error = *root_.taken;
  error->why += ", and the program that answers there is not a toprun root";
  return error;
}

// The error of the likeliest root host explains best why no host answers, unless another host
// refuses.
asio::awaitable<Round> Dialer::round() {
  Round first = co_await round_at(root_.host);
  for (const std::string& host : root_.others) {
    if (first.is_final() || steady_clock::now() >= deadline_) break;
    Round other = co_await round_at(host);
    if (other.is_final()) first = std::move(other);
  }
  co_return first;
}

asio::awaitable<Round> Dialer::round_at(const std::string& host) {
  const auto addresses = co_await hosts::resolve_beside(pool_, host, within(resolve_limit));
  if (!addresses) co_return Round{Round::End::unknown, addresses.error().line(), {}, {}};
  Round most{Round::End::absent, "no process listens at this port", {}, {}};
  for (const int port : root_.ports) {
    const auto why = std::make_shared<std::string>();  // shared with attempts that outlast the race
    const std::function<asio::awaitable<std::optional<Connection>>(std::size_t)> attempt =
        [&](std::size_t i) {
          return connect_one(io_, (*addresses)[i], port, patience_, within(connect_limit), why);
        };
    auto connected = co_await race<Connection>(io_, addresses->size(), attempt);
    if (!connected) {
      if (most.end == Round::End::absent && !why->empty()) most.why = *why;
      continue;
    }
    Round result = co_await shake_hands(connected->second);
    if (result.end == Round::End::joined) {
      result.joined->root = (*addresses)[connected->first];
      result.joined->port = port;
    }
    if (result.is_final()) co_return result;
    if (root_.ports.size() > 1) result.why = fmt::format("at port {} {}", port, result.why);
    if (result.end >= most.end) most = std::move(result);
  }
  co_return most;
}

// Uses our own text, because a plaintext message may come from any process.
Round Dialer::turned_away(const TurnedAway& turned) const {
  switch (turned.why) {
    case Turned::version:
      return {Round::End::unproved,
              fmt::format("the agent that answers is toprun {}, but this agent is toprun {}",
                          turned.version, identity_.version),
              "run the same toprun on all nodes",
              {}};
    case Turned::secret:
      return {Round::End::unproved,
              "the agent that answers has a different secret",
              "set the same TOPRUN_SECRET for all agents, or set it for none",
              {}};
    case Turned::job:
      return {Round::End::other_job,
              "an agent of another job answers",
              fmt::format("give all agents the same --rdzv-id, or {}", choose_another_port),
              {}};
    case Turned::busy:
      return {Round::End::busy, "too many processes are connecting to its port now", {}, {}};
    case Turned::not_root:
      break;
  }
  return {Round::End::not_root, "the agent that answers is not its job's root", {}, {}};
}

std::string Dialer::member_line() const {
  return Preamble{identity_.version, Role::member,   identity_.job,
                  identity_.agent,   random_hex(32), secret_.proof(false)}
      .line();
}

// Asks munge on the pool: it is another process, which may be stopped.
asio::awaitable<Result<std::string>> Dialer::check(std::string root_proof) {
  if (secret_.origin() != Secret::Origin::munge) co_return secret_.against(root_proof);
  std::function<Result<std::string>()> work = [secret = secret_, root_proof] {
    return secret.against(root_proof);
  };
  auto checked = co_await pool_.answer<Result<std::string>>(std::move(work), munge_limit);
  if (checked) co_return *std::move(checked);
  co_return fail(
      "cannot read the munge credential of the job's root agent (the toprun to which the others "
      "connect)",
      checked.error() == Pool::NoAnswer::late ? "munge does not answer"
                                              : Pool::words_for(checked.error(), munge_limit),
      "check that munge runs on this node");
}

asio::awaitable<Round> Dialer::shake_hands(std::shared_ptr<Channel> channel) {
  const std::string mine = member_line();
  channel->write(mine);
  const milliseconds first_byte = within(patience_.first_byte + late_answer());
  auto line = co_await read_line(channel, first_byte);
  if (!line) {
    co_return Round{channel->was_closed_without_data() ? Round::End::closed : Round::End::stranger,
                    "the program that answers is not a toprun root: " + line.error()->why,
                    fmt::format("{}{}", choose_another_port, holder_is_named_there),
                    {}};
  }
  if (const auto turned = TurnedAway::parse(*line)) co_return turned_away(*turned);
  const auto theirs = Preamble::parse(*line);
  if (!theirs || theirs->role != Role::root) {
    co_return Round{Round::End::stranger,
                    "the program that answers is not a toprun root",
                    fmt::format("{}{}", choose_another_port, holder_is_named_there),
                    {}};
  }
  const auto secret = co_await check(theirs->proof);
  if (!secret) {
    const Error& trouble = secret.error();
    co_return Round{Round::End::unproved, trouble->what + ": " + trouble->why, trouble->fix, {}};
  }
  channel->key(false, *secret, theirs->line(), mine);
  model::Join me = co_await make_join_(*channel);
  if (theirs->version != identity_.version) {
    for (const Feature& feature : features) me.features.emplace_back(feature.name);
  }
  if (me.evidence) {
    model::Evidence seen = *me.evidence;
    seen.clock = since_1970(std::chrono::system_clock::now());
    me.evidence = std::move(seen);
  }
  const nlohmann::json join = me;
  channel->write_first({}, join);
  line = co_await read_line(channel, patience_.handshake);
  if (!line) co_return Round{Round::End::absent, line.error()->why, {}, {}};
  if (const auto turned = TurnedAway::parse(*line)) co_return turned_away(*turned);
  const auto verdict = co_await read_first(channel);
  if (!verdict) co_return Round{Round::End::unproved, verdict.error()->what, {}, {}};
  // The peer has proved to be the job's root.
  if (auto refused = model::refusal_in(*verdict)) {
    co_return Round{Round::End::refused, std::move(*refused), {}, {}};
  }
  Round round{Round::End::joined, {}, {}, Joined{}};
  round.joined->channel = std::move(channel);
  round.joined->root_agent = theirs->agent;
  co_return round;
}

std::string probe_line(const Identity& me) {
  return Preamble{me.version, Role::probe, me.job, me.agent, random_hex(32), "none"}.line();
}

asio::awaitable<std::optional<Preamble>> probe(asio::io_context& io, hosts::Address address,
                                               int port, Identity identity, Patience patience) {
  auto channel = co_await connect_one(io, address, port, patience, connect_limit, nullptr);
  if (!channel) co_return std::nullopt;
  (*channel)->write(probe_line(identity));
  const auto line = co_await read_line(*channel, patience.first_byte);
  if (!line) co_return std::nullopt;
  co_return Preamble::parse(*line);
}

// Compares the agent's id, because addresses such as a container bridge's exist on many hosts.
asio::awaitable<std::optional<hosts::Address>> find_agent(asio::io_context& io,
                                                          hosts::Address address,
                                                          model::StoreAddress store,
                                                          Identity identity, Patience patience) {
  const auto theirs = co_await probe(io, address, store.port, identity, patience);
  if (!theirs || theirs->agent != store.agent) co_return std::nullopt;
  co_return address;
}

}  // namespace

milliseconds first_retry(int nodes) {
  return std::clamp(std::chrono::duration_cast<milliseconds>(retry_per_node * nodes),
                    shortest_retry, longest_first_retry);
}

asio::awaitable<Result<Joined>> join_root(Pool& pool, RootAddress root, Identity identity,
                                          Secret secret, Patience patience,
                                          milliseconds join_timeout, MakeJoin make_join) {
  Dialer dialer(pool, std::move(root), std::move(identity), std::move(secret), patience,
                std::move(make_join));
  auto result = co_await dialer.run(join_timeout);
  co_return result;
}

asio::awaitable<Result<hosts::Address>> find_store(asio::io_context& io, model::StoreAddress store,
                                                   Identity identity, Patience patience) {
  std::vector<hosts::Address> candidates;
  for (const std::string& text : store.addresses) {
    if (const auto address = hosts::Address::parse(text)) candidates.push_back(*address);
  }
  const std::function<asio::awaitable<std::optional<hosts::Address>>(std::size_t)> attempt =
      [&](std::size_t i) { return find_agent(io, candidates[i], store, identity, patience); };
  auto found = co_await race<hosts::Address>(io, candidates.size(), attempt);
  if (found) co_return found->second;
  co_return fail(fmt::format("{} cannot reach {}, the host for rank 0, at port {}",
                             hosts::host_name(), store.host, store.port),
                 "tried " + join(store.addresses, ", "),
                 "check the firewall between the nodes, or start toprun on that host with a "
                 "reachable address in --local-addr");
}

asio::awaitable<std::optional<Preamble>> who_listens(Pool& pool, std::string host, int port,
                                                     Identity identity, Patience patience) {
  const auto addresses = co_await hosts::resolve_beside(pool, host, resolve_limit);
  if (!addresses) co_return std::nullopt;
  const std::function<asio::awaitable<std::optional<Preamble>>(std::size_t)> attempt =
      [&](std::size_t i) { return probe(pool.io(), (*addresses)[i], port, identity, patience); };
  auto found = co_await race<Preamble>(pool.io(), addresses->size(), attempt);
  if (!found) co_return std::nullopt;
  co_return found->second;
}

}  // namespace toprun::link
