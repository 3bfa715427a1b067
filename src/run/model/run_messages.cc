#include "run/model/run_messages.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>
#include <utility>

#include <climits>
#include <nlohmann/json.hpp>

#include "run/model/fields.h"
#include "run/model/hang_wire.h"

namespace toprun::model {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr int none = -1;  // in arrays of numbers

std::vector<std::int64_t> ages_in(const json& object, const char* name, std::int64_t least) {
  return numbers_in<std::int64_t>(object, name, least, longest_grace.count());
}

constexpr std::array<std::pair<Failing, std::string_view>, 4> failings = {{
    {Failing::taking_part, "taking_part"},
    {Failing::finding_store, "finding_store"},
    {Failing::preparing, "preparing"},
    {Failing::running, "running"},
}};

std::string_view name_of(Failing doing) {
  return std::ranges::find(failings, doing, &decltype(failings)::value_type::first)->second;
}

Failing failing_in(std::string_view name) {
  for (const auto& [failing, text] : failings) {
    if (text == name) return failing;
  }
  throw OutOfRange{"doing"};
}

void describe(auto&, OneOf<Ready, AskedToGrow, RanksMove, MeasureRanks, Start> auto&) {}

void describe(auto& fields, OneOf<Staged> auto& staged) {
  fields.number("took_ms", staged.took, 0, longest_grace.count());
  fields.number("bytes", staged.bytes, 0, most_staged_bytes);
  fields.unusual("why_not", staged.why_not, std::string());
}

template <class Fields>
void describe(Fields& fields, OneOf<Started> auto& started) {
  fields.known_number("first_rank", started.first_rank, -1, most_ranks);
  fields.unusual("logs", started.logs, std::string());
  if constexpr (Fields::reads) {
    const json& object = fields.object();
    if (object.contains("pids")) started.pids = numbers_in(object, "pids", 0, INT_MAX);
    if (started.pids.size() > most_slots) throw OutOfRange("pids");
  } else {
    fields.unusual("pids", started.pids, std::vector<int>());
  }
  fields.known_number("warmed_ms", started.warmed, 0, longest_grace.count());
}

void describe(auto& fields, OneOf<Prefetched> auto& prefetched) {
  fields.number("took_ms", prefetched.took, 0, longest_grace.count());
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

void write(json& object, const RanksUse& use) {
  write_usage(object, use.usage);
}
void read_from(const json& object, RanksUse& use) {
  use.usage = usage_in(object);
}

// Messages that are written and read by hand, …
template <class Fields>
void describe(Fields& fields, OneOf<Arrivals, RanksSeen, RanksReported, RanksUse> auto& message) {
  if constexpr (Fields::reads) {
    read_from(fields.object(), message);
  } else {
    write(fields.object(), message);
  }
}

// … or by functions that nlohmann::json finds, too.
template <class Fields>
void describe(Fields& fields, OneOf<OutputLines, WorkerExit, Assignment> auto& message) {
  if constexpr (Fields::reads) {
    fields.object().get_to(message);
  } else {
    to_json(fields.object(), message);
  }
}

template <class Fields>
void describe(Fields& fields, OneOf<fabric::NetworkUse> auto& use) {
  fields.value("networks", use.networks);
  fields.number("ranks", use.ranks, 0, most_slots);
  fields.number("gpu_direct", use.gpu_direct, 0, most_slots);
  fields.value("troubles", use.troubles);
  fields.value("nccl", use.nccl);
  if constexpr (Fields::reads) {
    if (use.troubles.size() > fabric::max_troubles) throw OutOfRange("troubles");
    if (use.networks.size() > fabric::max_networks) throw OutOfRange("networks");
    if (use.nccl.size() > fabric::max_networks) throw OutOfRange("nccl");
  }
}

template <class Fields>
void describe(Fields& fields, OneOf<Gone> auto& gone) {
  fields.known_number("first_connect_age_ms", gone.first_connect_age, 0, longest_grace.count());
  if constexpr (Fields::reads) {
    if (!fields.object().contains("network")) return;
    FieldReader network(fields.object().at("network"));
    describe(network, gone.network.emplace());
  } else if (gone.network) {
    FieldWriter network(fields.object()["network"]);
    describe(network, *gone.network);
  }
}

void describe(auto& fields, OneOf<Orphaned> auto& orphaned) {
  fields.value("reason", orphaned.reason);
}

template <class Fields>
void describe(Fields& fields, OneOf<Failed> auto& failed) {
  std::string doing(name_of(failed.doing));
  fields.value("doing", doing);
  if constexpr (Fields::reads) failed.doing = failing_in(doing);
  fields.value("what", failed.error->what);
  fields.value("why", failed.error->why);
  fields.value("fix", failed.error->fix);
  fields.number("exit_code", failed.error->exit_code, 1, 255);
}

void describe(auto& fields, OneOf<Signalled, Leaving, Notice> auto& message) {
  fields.number("signal", message.signal, 1, NSIG - 1);
}

void describe(auto& fields, OneOf<RanksStill> auto& still) {
  fields.number("age_ms", still.age, 0, longest_grace.count());
  fields.value("communicate", still.some_communicate);
}

template <class Fields>
void describe(Fields& fields, OneOf<hang::Alarm> auto& alarm) {
  std::string key(hang::name_of(alarm.kind));
  fields.value("key", key);
  if constexpr (Fields::reads) {
    if (!hang::read_alarm_kind(key, alarm.kind)) throw OutOfRange("key");
  }
  fields.known_number("rank", alarm.rank, 0, most_ranks);
}

void describe(auto& fields, OneOf<LookAtRanks> auto& message) {
  fields.number("look", message.look, 0, most_looks);
  fields.unusual("is_hang", message.is_hang, false);
}

template <class Fields>
void describe(Fields& fields, OneOf<WaitAsSpare> auto& message) {
  int until = static_cast<int>(message.until);
  fields.unusual_number("until", until, static_cast<int>(Until::a_place_is_free), last_until);
  if constexpr (Fields::reads) message.until = static_cast<Until>(until);
}

void describe(auto& fields, OneOf<Taken> auto& taken) {
  fields.number("bytes", taken.bytes, 0, most_taken_bytes);
}

void describe(auto& fields, OneOf<Stop> auto& stop) {
  fields.number("grace_ms", stop.grace, 0, longest_grace.count());
}

void describe(auto& fields, OneOf<Interrupt> auto& interrupt) {
  fields.number("signal", interrupt.signal, 1, NSIG - 1);
  fields.number("grace_ms", interrupt.grace, 0, longest_grace.count());
}

void describe(auto& fields, OneOf<Finish> auto& finish) {
  fields.number("exit_code", finish.exit_code, 0, 255);
  fields.unusual("summary", finish.summary, std::string());
  fields.unusual("why", finish.why, std::string());
}

template <class Message>
struct Type {
  const char* name;
};
// The types on the wire.
constexpr std::tuple types = {Type<Staged>{"staged"},
                              Type<Ready>{"ready"},
                              Type<Started>{"started"},
                              Type<Prefetched>{"prefetched"},
                              Type<Arrivals>{"arrivals"},
                              Type<OutputLines>{"output"},
                              Type<WorkerExit>{"exit"},
                              Type<Gone>{"gone"},
                              Type<Orphaned>{"orphaned"},
                              Type<Failed>{"failed"},
                              Type<Signalled>{"signal"},
                              Type<Leaving>{"leave"},
                              Type<AskedToGrow>{"grow"},
                              Type<Notice>{"notice"},
                              Type<RanksStill>{"ranks_still"},
                              Type<RanksMove>{"ranks_move"},
                              Type<hang::Alarm>{"alarm"},
                              Type<RanksSeen>{"ranks_seen"},
                              Type<RanksReported>{"ranks_told"},
                              Type<RanksUse>{"ranks_use"},
                              Type<MeasureRanks>{"measure_ranks"},
                              Type<LookAtRanks>{"look_at_ranks"},
                              Type<WaitAsSpare>{"spare"},
                              Type<Assignment>{"assign"},
                              Type<Start>{"start"},
                              Type<Taken>{"taken"},
                              Type<Stop>{"stop"},
                              Type<Interrupt>{"interrupt"},
                              Type<Finish>{"finish"}};
template <class Message>
constexpr const char* type_name = std::get<Type<Message>>(types).name;
template <class Message>
constexpr const char* type_name<Shared<Message>> = type_name<Message>;

template <class Message>
struct ContentOf {
  using Type = Message;
};
template <class Message>
struct ContentOf<Shared<Message>> {
  using Type = Message;
};

const auto& content_of(const auto& message) {
  return message;
}
template <class Message>
const Message& content_of(const Shared<Message>& message) {
  return *message;
}

template <class... Messages>
json write_one_of(const std::variant<Messages...>& message) {
  return std::visit(
      []<class T>(const T& what) {
        json object = json::object();
        FieldWriter fields(object);
        describe(fields, content_of(what));
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
  FieldReader fields(object);
  describe(fields, message);
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
    return fail(what, fmt::format("the value of \"{}\" is out of range", out.what()));
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
