#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "run/conductor/coordinator.h"

namespace toprun::run::testing {

using namespace std::chrono_literals;

// A job with the agents a0, a1 … on the nodes n0, n1 …; a0 is the root's own agent.
struct Simple {
  explicit Simple(Settings requested) : coordinator(std::move(requested), now) {}

  static Settings elastic(int least, int most) {
    Settings settings;
    settings.size = {least, most, true};
    settings.elastic = true;
    settings.max_restarts = 3;
    settings.last_call = 5s;
    return settings;
  }

  void admit(int node, std::optional<int> max_restarts = {}) {
    model::Join join;
    join.agent = id(node);
    join.host = "n" + std::to_string(node);
    join.max_restarts = max_restarts;
    join.prepares = prepare;
    EXPECT_FALSE(coordinator.admit(join));
  }
  void come(int node) {
    admit(node);
    on(Came{id(node), node == 0 ? "" : "10.0.0.9", ""});
  }
  // The agent with this number joins from a host, which may have had another agent before.
  void come_to(const std::string& host, int agent) {
    model::Join join;
    join.agent = id(agent);
    join.host = host;
    join.prepares = prepare;
    if (coordinator.admit(join)) return;
    on(Came{id(agent), "10.0.0.9", ""});
  }
  static std::string id(int node) { return "a" + std::to_string(node); }

  void on(const Event& event) {
    coordinator.on(event, now);
    settle();
  }
  void after(std::chrono::milliseconds time) {
    now.steady += time;
    coordinator.pass(now);
    settle();
  }
  // Lets time pass in small steps, like a driver's timer.
  void pass(std::chrono::milliseconds time) {
    for (const auto end = now.steady + time; now.steady < end;) after(500ms);
  }
  void say(int node, decltype(model::ToRoot::what) what, std::optional<int> attempt = {}) {
    on(Said{id(node), {attempt ? attempt : coordinator.course().attempts.back().number, what}});
  }
  // Stores the sent messages, and answers Arrange with one rank per member. The member `unneeded`
  // becomes the spare; without it, the last members do.
  void settle() {
    for (auto actions = coordinator.take(); !actions.empty(); actions = coordinator.take()) {
      for (const Action& action : actions) {
        if (const auto* send = std::get_if<Send>(&action)) sent.push_back(*send);
        if (std::holds_alternative<KeepRecord>(action)) ++records;
        if (const auto* say = std::get_if<Say>(&action)) said.push_back(say->text);
        if (const auto* tell = std::get_if<TellPlaces>(&action)) places.push_back(*tell);
        if (const auto* show = std::get_if<Show>(&action)) shown.push_back(*show);
        if (const auto* close = std::get_if<Close>(&action)) closed.push_back(close->agent);
        const auto* arrange = std::get_if<Arrange>(&action);
        if (arrange == nullptr) continue;
        arranges.push_back(*arrange);
        if (answers) answer(*arrange);
      }
    }
  }
  void answer(const Arrange& arrange) {
    Arrangement plan;
    std::vector<std::size_t> spares;
    for (std::size_t i = 0; i < arrange.members.size(); ++i) {
      const bool is_unneeded =
          unneeded ? arrange.members[i].agent == id(*unneeded) : plan.parts.size() == arrange.seats;
      if (is_unneeded) {
        spares.push_back(i);
        continue;
      }
      model::Assignment part;
      part.group_rank = part.first_rank = static_cast<int>(plan.parts.size());
      part.world_size = static_cast<int>(arrange.seats);
      plan.nodes.push_back(plan.parts.size());
      plan.parts.push_back(part);
    }
    plan.store_host = store_host;
    coordinator.on(Arranged{arrange.attempt, std::move(plan), {}, std::move(spares)}, now);
  }
  void all_start(int nodes) {
    for (int node = 0; node < nodes; ++node) say(node, model::Ready{});
    for (int node = 0; node < nodes; ++node) say(node, model::Started{});
  }
  template <class Message>
  int count_sent(int node) const {
    return static_cast<int>(std::ranges::count_if(sent, [&](const Send& send) {
      return send.agent == id(node) && std::holds_alternative<Message>(send.message);
    }));
  }
  const Verdict& verdict() const { return coordinator.course().verdict; }

  bool prepare = true;         // newcomers wait for Start
  bool answers = true;         // to Arrange
  std::size_t store_host = 0;  // by part
  std::optional<int> unneeded;
  Moment now{SteadyTime() + 1h, WallTime() + 1h};
  Coordinator coordinator;
  std::vector<Send> sent;
  std::vector<Arrange> arranges;
  std::vector<std::string> said;
  int records = 0;  // KeepRecord
  std::vector<TellPlaces> places;
  std::vector<Show> shown;
  std::vector<std::string> closed;  // agents
};

}  // namespace toprun::run::testing
