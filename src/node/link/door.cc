#include "node/link/door.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <cstring>
#include <utility>

#include "base/net/address.h"
#include "base/os/console.h"
#include "base/text/clock.h"
#include "base/text/version.h"

namespace toprun::link {
namespace asio = boost::asio;

namespace {

std::string peer_of(const Channel& channel) {
  const auto remote = channel.remote();
  sockaddr_storage storage{};
  std::memcpy(&storage, remote.data(), remote.size());
  return hosts::Address::from(storage).text();
}

}  // namespace

std::string busy_line(const Identity& me) {
  return TurnedAway{Turned::busy, me.version}.line();
}

Door::Door(asio::io_context& io, Identity identity, Patience patience, std::size_t most_visitors)
    : channels_(Channels::of(io)),
      identity_(std::move(identity)),
      patience_(patience),
      most_visitors_(most_visitors) {}

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

// A visitor that makes room for another gets no call any more.
void Door::begin_to_answer(Visitor visitor) {
  Channel& channel = *visitors_.at(visitor);
  channel.read_line(patience_.first_byte, [this, visitor, &channel](Result<std::string> line) {
    if (line) return answer(visitor, channel, *std::move(line));
    dismiss(visitor, channel);
  });
}

std::string Door::my_line() const {
  return Preamble{identity_.version, secret_ ? Role::root : Role::agent,
                  identity_.job,     identity_.agent,
                  random_hex(32),    secret_ ? secret_->proof(true) : "none"}
      .line();
}

void Door::visit(Fd connection, std::string first_bytes) {
  auto channel = std::make_shared<Channel>(channels_, std::move(connection), patience_);
  channel->put_back(std::move(first_bytes));
  if (visitors_.size() >= most_visitors_) {
    visitors_.begin()->second->abandon(busy_line(identity_));
    visitors_.erase(visitors_.begin());
  }
  visitors_[++last_visitor_] = std::move(channel);
  if (open_) begin_to_answer(last_visitor_);
}

// The job is compared first: another job may well have another version.
std::optional<Turned> Door::rejection_of(const Preamble& theirs) const {
  if (theirs.job != identity_.job) return Turned::job;
  if (!work_together(theirs.version, identity_.version)) return Turned::version;
  if (theirs.role == Role::member && !decisions_.admit) return Turned::not_root;
  return std::nullopt;
}

// Reports each reason only once, because any process that reaches the port can cause a report.
void Door::turn_away(Channel& channel, Turned why) {
  const bool concerns_the_job = why == Turned::version || why == Turned::secret;
  if (decisions_.admit && concerns_the_job && reported_.insert(why).second) {
    say(fmt::format("rejected the agent at {}: the agent has a different {}", peer_of(channel),
                    why == Turned::version ? "version of toprun, which does not work with this one"
                                           : "secret"));
  }
  channel.write(TurnedAway{why, identity_.version}.line());
}

// It cannot be answered, and its own toprun may not say why its connection ends.
void Door::tell_of_long_frame(const Channel& channel) {
  const auto now = std::chrono::steady_clock::now();
  if (long_reported_at_ && now - *long_reported_at_ < long_frames_while) {
    ++long_untold_;
    return;
  }
  const int before = std::exchange(long_untold_, 0);
  long_reported_at_ = now;
  say(
      fmt::format("rejected the agent at {}: its first message has {} bytes, and the maximum is "
                  "{}; check that the agent is the same toprun build{}",
                  peer_of(channel), channel.too_long_bytes(), max_first_frame_bytes,
                  before == 0 ? "" : fmt::format(" ({} more were rejected before)", before)));
}

void Door::dismiss(Visitor visitor, Channel& channel) {
  channel.close_after_answer([this, visitor] { visitors_.erase(visitor); });
}

void Door::answer(Visitor visitor, Channel& channel, std::string line) {
  const auto theirs = Preamble::parse(line);
  if (!theirs || theirs->role == Role::root || theirs->role == Role::agent) {
    return dismiss(visitor, channel);
  }
  if (const auto why = rejection_of(*theirs)) {
    turn_away(channel, *why);
  } else if (theirs->role == Role::probe) {
    channel.write(my_line());
  } else if (theirs->role == Role::member) {
    return answer_member(visitor, channel, *theirs);
  } else {
    if (on_stage) on_stage(channel.give_away(), line + "\n");
    visitors_.erase(visitor);
    return;
  }
  dismiss(visitor, channel);
}

void Door::answer_member(Visitor visitor, Channel& channel, const Preamble& theirs) {
  const std::string mine = my_line();
  channel.write(mine);
  channel.key(true, secret_->text(), mine, theirs.line());
  channel.read_first([this, visitor, &channel,
                      member_version = theirs.version](const Result<nlohmann::json>& frame) {
    if (frame) return admit(visitor, channel, member_version, *frame);
    if (channel.has_other_key()) turn_away(channel, Turned::secret);
    if (channel.too_long_bytes() > 0) tell_of_long_frame(channel);
    dismiss(visitor, channel);
  });
}

void Door::admit(Visitor visitor, Channel& channel, const std::string& member_version,
                 const nlohmann::json& frame) {
  auto join = model::join_in(frame);
  if (!join) {
    channel.write_first(std::string(agreed_line),
                        model::refusal({model::Refusal::job, join.error().line()}));
    return dismiss(visitor, channel);
  }
  join->version = member_version;
  if (join->evidence) {
    model::Evidence heard = *join->evidence;
    heard.clock_behind = since_1970(std::chrono::system_clock::now()) - heard.clock;
    join->evidence = std::move(heard);
  }
  const auto refused = decisions_.admit(*join);
  channel.write_first(std::string(agreed_line),
                      refused ? model::refusal(*refused) : model::welcome());
  if (refused) return dismiss(visitor, channel);
  // Also if writing failed: the member has been admitted, so its loss must be noticed.
  const auto joined = visitors_.extract(visitor);
  decisions_.joined(*join, joined.mapped());
  channel.start();
}

}  // namespace toprun::link
