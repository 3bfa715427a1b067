#include "launch/peers.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/console.h"

namespace toprun::launch {
namespace asio = boost::asio;
using nlohmann::json;

bool Peers::all_members_are_there() const {
  return std::ranges::all_of(
      members(), [&](const rendezvous::Join& join) { return peers_.contains(join.agent); });
}

void Peers::add(const rendezvous::Join& join, std::shared_ptr<rendezvous::Link> link,
                std::string address) {
  const std::string agent = join.agent;
  link->on_message = [this, agent](json message) { inbox_.push(Said{agent, std::move(message)}); };
  link->on_lost = [this, join](std::string reason) {
    const bool silent = reason.starts_with("no word");
    inbox_.push(Left{join, std::move(reason), silent});
  };
  link->on_closed = [this, join] { inbox_.push(Left{join, {}, false, true}); };
  peers_[agent] = Peer{join, std::move(link), std::move(address)};
  inbox_.push(Came{agent});
}

asio::awaitable<std::optional<Peers::Event>> Peers::next(std::optional<SteadyTime> deadline) {
  for (;;) {
    std::optional<Event> event = co_await inbox_.next(deadline);
    if (!event || concerns_the_job(*event)) co_return event;
  }
}

bool Peers::concerns_the_job(Event& event) {
  if (auto* left = std::get_if<Left>(&event)) {
    const bool member = gathering_.is_member(left->join.agent);
    if (!member) say(fmt::format("{} no longer waits as a spare", left->join.host));
    gathering_.forget(left->join.agent);
    peers_.erase(left->join.agent);
    if (!member) event = SparesChanged{};
    return true;
  }
  if (const auto* said = std::get_if<Said>(&event)) return gathering_.is_member(said->agent);
  if (const auto* came = std::get_if<Came>(&event); came && !gathering_.is_member(came->agent)) {
    say(fmt::format("{} waits as a spare", at(came->agent).join.host));
    tell(came->agent, {{"type", "spare"}});
    event = SparesChanged{};
  }
  return true;
}

void Peers::tell(const std::string& agent, const json& message) {
  peers_.at(agent).link->send(message);
}

void Peers::tell_members(const json& message) {
  for (const rendezvous::Join& join : members()) tell(join.agent, message);
}

void Peers::tell_all(const json& message) {
  for (const auto& [agent, peer] : peers_) tell(agent, message);
}

void Peers::dismiss(const std::string& agent, const json& farewell) {
  tell(agent, farewell);
  peers_.at(agent).link->close();
}

void Peers::dismiss_all(const json& farewell) {
  tell_all(farewell);
  for (const auto& [agent, peer] : peers_) peer.link->close();
}

asio::awaitable<void> Peers::all_gone(SteadyTime deadline) {
  while (!peers_.empty()) {
    const std::optional<Event> event = co_await inbox_.next(deadline);
    if (!event) co_return;
    const auto* left = std::get_if<Left>(&*event);
    if (left != nullptr && left->properly) peers_.erase(left->join.agent);
  }
}

}  // namespace toprun::launch
