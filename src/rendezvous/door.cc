#include "rendezvous/door.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace toprun::rendezvous {
namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

asio::awaitable<void> refuse(const std::shared_ptr<Channel>& channel, const Refused& refused) {
  std::string line = refusal_line(refused.code, refused.text);
  co_await channel->write(std::move(line));
}

}  // namespace

Door::Door(asio::io_context& io, Identity identity, Patience patience)
    : io_(io), identity_(std::move(identity)), patience_(patience) {}

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
  for (auto& channel : std::exchange(waiting_, {})) {
    asio::co_spawn(io_, answer(std::move(channel)),
                   [this](const std::exception_ptr&) { --visitors_; });
  }
}

std::string Door::my_line() const {
  return Preamble{identity_.version, secret_ ? Role::root : Role::agent,
                  identity_.job,     identity_.agent,
                  random_hex(32),    secret_ ? secret_->proof(true) : "none"}
      .line();
}

void Door::visit(Fd connection, std::string first_bytes) {
  if (visitors_ >= max_visitors) return;
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
  ++visitors_;
  if (!open_) {
    waiting_.push_back(std::move(channel));
    return;
  }
  asio::co_spawn(io_, answer(std::move(channel)),
                 [this](const std::exception_ptr&) { --visitors_; });
}

std::optional<Refused> Door::unfit(const Preamble& theirs) const {
  if (theirs.version != identity_.version) {
    return Refused{Refusal::version, fmt::format("this agent is toprun {}, the other toprun {}",
                                                 identity_.version, theirs.version)};
  }
  if (theirs.job != identity_.job) {
    return Refused{Refusal::job, fmt::format("this port belongs to job {}, the other agent to {}",
                                             identity_.job, theirs.job)};
  }
  if (theirs.role == Role::member && !decisions_.admit) {
    return Refused{Refusal::not_root, "this agent is not its job's root"};
  }
  return std::nullopt;
}

asio::awaitable<void> Door::answer(std::shared_ptr<Channel> channel) {
  const auto line = co_await channel->read_line(patience_.first_byte);
  if (!line) co_return;
  const auto theirs = Preamble::parse(*line);
  if (!theirs || (theirs->role != Role::member && theirs->role != Role::probe)) co_return;
  const auto refused = unfit(*theirs);
  if (refused) {
    co_await refuse(channel, *refused);
    co_return;
  }
  if (theirs->role == Role::probe) {
    std::string mine = my_line();
    co_await channel->write(std::move(mine));
    co_return;
  }
  co_await answer_member(channel, *theirs);
}

asio::awaitable<void> Door::answer_member(std::shared_ptr<Channel> channel, Preamble theirs) {
  const std::string mine = my_line();
  const auto written = co_await channel->write(mine);
  if (!written) co_return;
  channel->key(true, secret_->text(), mine, theirs.line());
  const auto header = co_await channel->read_header();
  if (!header) co_return;
  const auto frame = co_await channel->read_frame();
  if (!frame) {
    const Refused refused{Refusal::secret, "this agent's secret is another than the root agent's"};
    co_await refuse(channel, refused);
    co_return;
  }
  const auto join = read<Join>(*frame);
  if (!join) co_return;
  const auto refused = decisions_.admit(*join);
  if (refused) {
    co_await refuse(channel, *refused);
    co_return;
  }
  std::string welcome(welcome_line);
  auto sent = co_await channel->write(std::move(welcome));
  if (sent) sent = co_await channel->write_header();
  // Also if writing failed: the member has been admitted, so its loss has to be noticed.
  decisions_.joined(*join, channel);
  channel->start();
}

}  // namespace toprun::rendezvous
