#include "rendezvous/door.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "base/console.h"

namespace toprun::rendezvous {
namespace asio = boost::asio;
using asio::ip::tcp;

Door::Door(asio::io_context& io, Identity identity, Patience patience, std::size_t most_visitors)
    : io_(io), identity_(std::move(identity)), patience_(patience), most_visitors_(most_visitors) {}

void Door::become_root(Secret secret, Decisions decisions) {
  secret_ = std::move(secret);
  decisions_ = std::move(decisions);
  open();
}

void Door::become_agent() {
  open();
}

void Door::open() {
  open_ = true;
  const auto waiting = visitors_;  // a copy: a visitor that is answered at once leaves the map
  for (const auto& [visitor, channel] : waiting) begin_to_answer(visitor);
}

void Door::begin_to_answer(Visitor visitor) {
  asio::co_spawn(io_, serve(visitor, visitors_.at(visitor)),
                 [this, visitor](const std::exception_ptr&) { visitors_.erase(visitor); });
}

std::string Door::my_line() const {
  return Preamble{identity_.version, secret_ ? Role::root : Role::agent,
                  identity_.job,     identity_.agent,
                  random_hex(32),    secret_ ? secret_->proof(true) : "none"}
      .line();
}

void Door::visit(Fd connection, std::string first_bytes) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (::getsockname(connection.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0) return;
  tcp::socket socket(io_);
  boost::system::error_code error;
  socket.assign(address.ss_family == AF_INET ? tcp::v4() : tcp::v6(), connection.get(), error);
  if (error) return;
  connection.release();
  auto channel = std::make_shared<Channel>(std::move(socket), patience_);
  channel->put_back(std::move(first_bytes));
  if (visitors_.size() >= most_visitors_) {
    visitors_.begin()->second->abandon(TurnedAway{Turned::busy, identity_.version}.line());
    visitors_.erase(visitors_.begin());
  }
  visitors_[++last_visitor_] = std::move(channel);
  if (open_) begin_to_answer(last_visitor_);
}

// The job is compared first: another job may well have another version.
std::optional<Turned> Door::rejection_of(const Preamble& theirs) const {
  if (theirs.job != identity_.job) return Turned::job;
  if (theirs.version != identity_.version) return Turned::version;
  if (theirs.role == Role::member && !decisions_.admit) return Turned::not_root;
  return std::nullopt;
}

// Reports each reason only once, because anybody who reaches the port can cause a report.
asio::awaitable<void> Door::turn_away(std::shared_ptr<Channel> channel, Turned why) {
  const bool concerns_the_job = why == Turned::version || why == Turned::secret;
  if (decisions_.admit && concerns_the_job && reported_.insert(why).second) {
    say(fmt::format("turned an agent at {} away: it has another {}",
                    channel->remote().address().to_string(),
                    why == Turned::version ? "version of toprun" : "secret"));
  }
  std::string line = TurnedAway{why, identity_.version}.line();
  co_await channel->write(std::move(line));
}

asio::awaitable<void> Door::serve(Visitor visitor, std::shared_ptr<Channel> channel) {
  const bool joined = co_await answer(visitor, channel);
  if (!joined) co_await channel->close_after_answer();
}

asio::awaitable<bool> Door::answer(Visitor visitor, std::shared_ptr<Channel> channel) {
  const auto line = co_await channel->read_line(patience_.first_byte);
  if (!line) co_return false;
  const auto theirs = Preamble::parse(*line);
  if (!theirs || theirs->role == Role::root || theirs->role == Role::agent) co_return false;
  if (const auto why = rejection_of(*theirs)) {
    co_await turn_away(channel, *why);
    co_return false;
  }
  if (theirs->role == Role::probe) {
    std::string mine = my_line();
    co_await channel->write(std::move(mine));
    co_return false;
  }
  if (theirs->role == Role::stage) {
    if (on_stage) on_stage(channel->give_away(), *line + "\n");
    co_return true;
  }
  const bool joined = co_await answer_member(visitor, channel, *theirs);
  co_return joined;
}

asio::awaitable<bool> Door::answer_member(Visitor visitor, std::shared_ptr<Channel> channel,
                                          Preamble theirs) {
  const std::string mine = my_line();
  auto sent = co_await channel->write(mine);
  if (!sent) co_return false;
  channel->key(true, secret_->text(), mine, theirs.line());
  const auto header = co_await channel->read_header();
  if (!header) co_return false;
  const auto frame = co_await channel->read_frame();
  if (!frame && channel->has_other_key()) co_await turn_away(channel, Turned::secret);
  if (!frame) co_return false;
  const bool was_turned_away = visitors_.erase(visitor) == 0;  // while its frame was pending
  if (was_turned_away) co_return false;
  const auto join = read<Join>(*frame);
  if (!join) co_return false;
  const auto refused = decisions_.admit(*join);
  const nlohmann::json verdict = refused ? refusal(*refused) : welcome();
  std::string agreed(agreed_line);
  sent = co_await channel->write_first(std::move(agreed), verdict);
  if (refused) co_return false;
  // Also if writing failed: the member has been admitted, so its loss must be noticed.
  decisions_.joined(*join, channel);
  channel->start();
  co_return true;
}

}  // namespace toprun::rendezvous
