#include "run/model/run_messages.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include <climits>
#include <nlohmann/json.hpp>

#include "run/model/hang_wire.h"
#include "run/model/usage_wire.h"

namespace toprun::model {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr int none = -1;  // in arrays of numbers

int signal_in(const json& object) {
  return static_cast<int>(whole_number(object, "signal", 1, NSIG - 1));
}

milliseconds grace_in(const json& object) {
  return milliseconds(whole_number(object, "grace_ms", 0, longest_grace.count()));
}

std::vector<std::int64_t> ages_in(const json& object, const char* name, std::int64_t least) {
  return numbers_in<std::int64_t>(object, name, least, longest_grace.count());
}

std::optional<milliseconds> age_in(const json& object, const char* name) {
  if (!object.contains(name)) return std::nullopt;
  return milliseconds(whole_number(object, name, 0, longest_grace.count()));
}

constexpr std::array<std::pair<Failing, std::string_view>, 4> failings = {{
    {Failing::taking_part, "taking_part"},
    {Failing::finding_store, "finding_store"},
    {Failing::preparing, "preparing"},
    {Failing::running, "running"},
}};

Failing failing_in(const json& object) {
  const auto name = object.at("doing").get<std::string>();
  for (const auto& [failing, text] : failings) {
    if (text == name) return failing;
  }
  throw OutOfRange{"doing"};
}

// For every message: its name on the wire, its writer and its reader.
void write(json& object, const Staged& staged) {
  object["took_ms"] = staged.took.count();
  object["bytes"] = staged.bytes;
  if (!staged.why_not.empty()) object["why_not"] = staged.why_not;
}
void read_from(const json& object, Staged& staged) {
  staged.took = milliseconds(whole_number(object, "took_ms", 0, longest_grace.count()));
  staged.bytes = static_cast<std::uint64_t>(whole_number(object, "bytes", 0, most_staged_bytes));
  if (object.contains("why_not")) object.at("why_not").get_to(staged.why_not);
}

void write(json&, const Ready&) {}
void read_from(const json&, Ready&) {}

void write(json& object, const Started& started) {
  if (started.first_rank) object["first_rank"] = *started.first_rank;
  if (!started.logs.empty()) object["logs"] = started.logs;
  if (!started.pids.empty()) object["pids"] = started.pids;
  if (started.warmed) object["warmed_ms"] = started.warmed->count();
}
void read_from(const json& object, Started& started) {
  if (object.contains("first_rank")) {
    started.first_rank = static_cast<int>(whole_number(object, "first_rank", -1, most_ranks));
  }
  if (object.contains("logs")) object.at("logs").get_to(started.logs);
  if (object.contains("pids")) started.pids = numbers_in(object, "pids", 0, INT_MAX);
  if (started.pids.size() > most_slots) throw OutOfRange("pids");
  started.warmed = age_in(object, "warmed_ms");
}

void write(json& object, const Prefetched& prefetched) {
  object["took_ms"] = prefetched.took.count();
}
void read_from(const json& object, Prefetched& prefetched) {
  prefetched.took = milliseconds(whole_number(object, "took_ms", 0, longest_grace.count()));
}

// One array per field: with 100,000 ranks an object for each would be five times as long.
json json_of(const Arrivals::Host& host) {
  json object = {{"address", host.address},
                 {"pids", json::array()},
                 {"ranks", json::array()},
                 {"joined_ages_ms", json::array()},
                 {"met_ages_ms", json::array()}};
  for (const Arrivals::Rank& rank : host.ranks) {
    object["pids"].push_back(rank.pid);
    object["ranks"].push_back(rank.rank.value_or(none));
    object["joined_ages_ms"].push_back(rank.joined_age.count());
    object["met_ages_ms"].push_back(rank.met_age ? rank.met_age->count() : none);
  }
  return object;
}

Arrivals::Host host_in(const json& object) {
  Arrivals::Host host;
  object.at("address").get_to(host.address);
  const auto pids = numbers_in(object, "pids", 0, INT_MAX);
  const auto ranks = numbers_in(object, "ranks", none, most_ranks);
  const auto joined = ages_in(object, "joined_ages_ms", 0);
  const auto met = ages_in(object, "met_ages_ms", none);
  const std::size_t count = pids.size();
  if (ranks.size() != count || joined.size() != count || met.size() != count) {
    throw OutOfRange("hosts");
  }
  for (std::size_t i = 0; i < count; ++i) {
    Arrivals::Rank rank{pids[i], std::nullopt, milliseconds(joined[i]), std::nullopt};
    if (ranks[i] != none) rank.rank = ranks[i];
    if (met[i] != none) rank.met_age = milliseconds(met[i]);
    host.ranks.push_back(rank);
  }
  return host;
}

void write(json& object, const Arrivals& arrivals) {
  object["hosts"] = json::array();
  for (const Arrivals::Host& host : arrivals.hosts) object["hosts"].push_back(json_of(host));
}
void read_from(const json& object, Arrivals& arrivals) {
  std::size_t count = 0;
  for (const json& host : object.at("hosts")) {
    arrivals.hosts.push_back(host_in(host));
    count += arrivals.hosts.back().ranks.size();
    if (count > most_arrivals) throw OutOfRange("hosts");
  }
}

void write(json& object, const OutputLines& output) {
  to_json(object, output);
}
void read_from(const json& object, OutputLines& output) {
  object.get_to(output);
}

void write(json& object, const WorkerExit& exit) {
  to_json(object, exit);
}
void read_from(const json& object, WorkerExit& exit) {
  object.get_to(exit);
}

json json_of(const fabric::NetworkUse& use) {
  return {{"networks", use.networks},
          {"ranks", use.ranks},
          {"gpu_direct", use.gpu_direct},
          {"troubles", use.troubles},
          {"nccl", use.nccl}};
}

fabric::NetworkUse network_in(const json& object) {
  fabric::NetworkUse use;
  object.at("networks").get_to(use.networks);
  use.ranks = static_cast<int>(whole_number(object, "ranks", 0, most_slots));
  use.gpu_direct = static_cast<int>(whole_number(object, "gpu_direct", 0, most_slots));
  object.at("troubles").get_to(use.troubles);
  if (use.troubles.size() > fabric::max_troubles) throw OutOfRange("troubles");
  if (use.networks.size() > fabric::max_networks) throw OutOfRange("networks");
  object.at("nccl").get_to(use.nccl);
  if (use.nccl.size() > fabric::max_networks) throw OutOfRange("nccl");
  return use;
}

void write(json& object, const Gone& gone) {
  if (gone.first_connect_age) object["first_connect_age_ms"] = gone.first_connect_age->count();
  if (gone.network) object["network"] = json_of(*gone.network);
}
void read_from(const json& object, Gone& gone) {
  gone.first_connect_age = age_in(object, "first_connect_age_ms");
  if (const auto network = object.find("network"); network != object.end()) {
    gone.network = network_in(*network);
  }
}

void write(json& object, const Orphaned& orphaned) {
  object["reason"] = orphaned.reason;
}
void read_from(const json& object, Orphaned& orphaned) {
  object.at("reason").get_to(orphaned.reason);
}

void write(json& object, const Failed& failed) {
  for (const auto& [failing, text] : failings) {
    if (failing == failed.doing) object["doing"] = text;
  }
  object["what"] = failed.error.what;
  object["why"] = failed.error.why;
  object["fix"] = failed.error.fix;
  object["exit_code"] = failed.error.exit_code;
}
void read_from(const json& object, Failed& failed) {
  failed.doing = failing_in(object);
  object.at("what").get_to(failed.error.what);
  object.at("why").get_to(failed.error.why);
  object.at("fix").get_to(failed.error.fix);
  failed.error.exit_code = static_cast<int>(whole_number(object, "exit_code", 1, 255));
}

template <class T>
concept OfSignal =
    std::is_same_v<T, Signalled> || std::is_same_v<T, Leaving> || std::is_same_v<T, Notice>;
void write(json& object, const OfSignal auto& message) {
  object["signal"] = message.signal;
}
void read_from(const json& object, OfSignal auto& message) {
  message.signal = signal_in(object);
}

void write(json&, const AskedToGrow&) {}
void read_from(const json&, AskedToGrow&) {}

void write(json& object, const RanksStill& still) {
  object["age_ms"] = still.age.count();
  object["communicate"] = still.some_communicate;
}
void read_from(const json& object, RanksStill& still) {
  still.age = milliseconds(whole_number(object, "age_ms", 0, longest_grace.count()));
  object.at("communicate").get_to(still.some_communicate);
}

void write(json&, const RanksMove&) {}
void read_from(const json&, RanksMove&) {}

void write(json& object, const hang::Alarm& alarm) {
  object["key"] = hang::name_of(alarm.kind);
  if (alarm.rank) object["rank"] = *alarm.rank;
}
void read_from(const json& object, hang::Alarm& alarm) {
  if (!hang::read_alarm_kind(object.at("key").get<std::string>(), alarm.kind)) {
    throw OutOfRange("key");
  }
  if (object.contains("rank")) {
    alarm.rank = static_cast<int>(whole_number(object, "rank", 0, most_ranks));
  }
}

void write(json& object, const RanksUse& use) {
  write_usage(object, use.usage);
}
void read_from(const json& object, RanksUse& use) {
  use.usage = usage_in(object);
}

void write(json&, const MeasureRanks&) {}
void read_from(const json&, MeasureRanks&) {}

void write(json& object, const LookAtRanks& message) {
  object["look"] = message.look;
  if (message.is_hang) object["is_hang"] = true;
}
void read_from(const json& object, LookAtRanks& message) {
  message.look = static_cast<int>(whole_number(object, "look", 0, most_looks));
  if (object.contains("is_hang")) object.at("is_hang").get_to(message.is_hang);
}

void write(json& object, const WaitAsSpare& message) {
  if (message.until != Until::a_place_is_free) object["until"] = static_cast<int>(message.until);
}
void read_from(const json& object, WaitAsSpare& message) {
  const int until = object.value("until", 0);
  if (until < 0 || until > last_until) throw OutOfRange("until");
  message.until = static_cast<Until>(until);
}

void write(json& object, const Assignment& assignment) {
  to_json(object, assignment);
}
void read_from(const json& object, Assignment& assignment) {
  object.get_to(assignment);
}

void write(json&, const Start&) {}
void read_from(const json&, Start&) {}

void write(json& object, const Taken& taken) {
  object["bytes"] = taken.bytes;
}
void read_from(const json& object, Taken& taken) {
  taken.bytes = static_cast<std::size_t>(whole_number(object, "bytes", 0, most_taken_bytes));
}

void write(json& object, const Stop& stop) {
  object["grace_ms"] = stop.grace.count();
}
void read_from(const json& object, Stop& stop) {
  stop.grace = grace_in(object);
}

void write(json& object, const Interrupt& interrupt) {
  object["signal"] = interrupt.signal;
  object["grace_ms"] = interrupt.grace.count();
}
void read_from(const json& object, Interrupt& interrupt) {
  interrupt.signal = signal_in(object);
  interrupt.grace = grace_in(object);
}

void write(json& object, const Finish& finish) {
  object["exit_code"] = finish.exit_code;
  if (!finish.summary.empty()) object["summary"] = finish.summary;
}
void read_from(const json& object, Finish& finish) {
  finish.exit_code = static_cast<int>(whole_number(object, "exit_code", 0, 255));
  if (object.contains("summary")) object.at("summary").get_to(finish.summary);
}

// The types on the wire.
template <class Message>
constexpr const char* type_name = nullptr;
template <class Message>
constexpr const char* type_name<Shared<Message>> = type_name<Message>;
template <>
constexpr const char* type_name<Staged> = "staged";
template <>
constexpr const char* type_name<Ready> = "ready";
template <>
constexpr const char* type_name<Started> = "started";
template <>
constexpr const char* type_name<Prefetched> = "prefetched";
template <>
constexpr const char* type_name<Arrivals> = "arrivals";
template <>
constexpr const char* type_name<OutputLines> = "output";
template <>
constexpr const char* type_name<WorkerExit> = "exit";
template <>
constexpr const char* type_name<Gone> = "gone";
template <>
constexpr const char* type_name<Orphaned> = "orphaned";
template <>
constexpr const char* type_name<Failed> = "failed";
template <>
constexpr const char* type_name<Signalled> = "signal";
template <>
constexpr const char* type_name<Leaving> = "leave";
template <>
constexpr const char* type_name<AskedToGrow> = "grow";
template <>
constexpr const char* type_name<Notice> = "notice";
template <>
constexpr const char* type_name<RanksStill> = "ranks_still";
template <>
constexpr const char* type_name<RanksMove> = "ranks_move";
template <>
constexpr const char* type_name<hang::Alarm> = "alarm";
template <>
constexpr const char* type_name<RanksSeen> = "ranks_seen";
template <>
constexpr const char* type_name<RanksReported> = "ranks_told";
template <>
constexpr const char* type_name<RanksUse> = "ranks_use";
template <>
constexpr const char* type_name<MeasureRanks> = "measure_ranks";
template <>
constexpr const char* type_name<LookAtRanks> = "look_at_ranks";
template <>
constexpr const char* type_name<WaitAsSpare> = "spare";
template <>
constexpr const char* type_name<Assignment> = "assign";
template <>
constexpr const char* type_name<Start> = "start";
template <>
constexpr const char* type_name<Taken> = "taken";
template <>
constexpr const char* type_name<Stop> = "stop";
template <>
constexpr const char* type_name<Interrupt> = "interrupt";
template <>
constexpr const char* type_name<Finish> = "finish";

template <class Message>
struct ContentOf {
  using Type = Message;
};
template <class Message>
struct ContentOf<Shared<Message>> {
  using Type = Message;
};

template <class... Messages>
json write_one_of(const std::variant<Messages...>& message) {
  return std::visit(
      []<class T>(const T& what) {
        json object = json::object();
        write(object, what);
        object["type"] = type_name<T>;
        return object;
      },
      message);
}

// Reads a message named `name` into `found`; false if it is not a `Message`.
template <class Message, class Variant>
bool read_if_named(const json& object, std::string_view type, std::optional<Variant>& found) {
  if (type != type_name<Message>) return false;
  typename ContentOf<Message>::Type message;
  read_from(object, message);
  found.emplace(std::move(message));
  return true;
}

template <class... Messages>
std::optional<std::variant<Messages...>> read_one_of(const json& object, std::string_view type,
                                                     const std::variant<Messages...>*) {
  std::optional<std::variant<Messages...>> found;
  (void)(read_if_named<Messages>(object, type, found) || ...);
  return found;
}

// Calls `read` with the message's type; converts an exception into an error.
template <class Read>
auto reading(const json& object, const Read& read)
    -> Result<decltype(read(std::declval<std::string>()))> {
  const std::string type = type_of(object);
  const std::string what = fmt::format("a message \"{}\" is malformed", type);
  try {
    return read(type);
  } catch (const OutOfRange& out) {
    return fail(what, fmt::format("\"{}\" is not in its range", out.what()));
  } catch (const json::exception& error) {
    return fail(what, error.what());
  }
}

}  // namespace

json to_wire(const ToRoot& message) {
  json object = write_one_of(message.what);
  if (message.attempt) object["attempt"] = *message.attempt;
  return object;
}

json to_wire(const ToNode& message) {
  return write_one_of(message);
}

Result<std::optional<ToRoot>> to_root_in(const json& object) {
  return reading(object, [&](const std::string& type) -> std::optional<ToRoot> {
    auto what = read_one_of(object, type, static_cast<const decltype(ToRoot::what)*>(nullptr));
    if (!what) return std::nullopt;
    ToRoot message{std::nullopt, *std::move(what)};
    if (object.contains("attempt")) {
      message.attempt = static_cast<int>(whole_number(object, "attempt", 0, most_attempts));
    }
    return message;
  });
}

Result<std::optional<ToNode>> to_node_in(const json& object) {
  return reading(object, [&](const std::string& type) {
    return read_one_of(object, type, static_cast<const ToNode*>(nullptr));
  });
}

}  // namespace toprun::model
