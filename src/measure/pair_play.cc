#include "measure/pair_play.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"
#include "measure/lane.h"

namespace toprun::measure {
namespace {

using pairs::Measured;
using pairs::Pair;
using std::chrono::steady_clock;

constexpr std::size_t pings = 20;

double microseconds_since(steady_clock::time_point began) {
  return std::chrono::duration<double, std::micro>(steady_clock::now() - began).count();
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// One rank's connection to its partner.
class Partner {
 public:
  Partner(int socket, std::string name, std::chrono::milliseconds limit)
      : socket_(socket), name_(std::move(name)), limit_(limit) {}

  Result<void> send(std::span<const std::byte> bytes) const {
    Lane lane = blank();
    lane.out = {{bytes.data(), bytes.size()}};
    return transfer(std::span(&lane, 1), nullptr, 1, limit_);
  }
  Result<void> receive(std::span<std::byte> bytes) const {
    Lane lane = blank();
    lane.in = {{bytes.data(), nullptr, bytes.size()}};
    return transfer(std::span(&lane, 1), nullptr, 1, limit_);
  }

  // There and back: microseconds.
  Result<double> ping(std::span<const std::byte> there, std::span<std::byte> back) const {
    const auto began = steady_clock::now();
    if (auto sent = send(there); !sent) return std::unexpected(sent.error());
    if (auto received = receive(back); !received) return std::unexpected(received.error());
    return microseconds_since(began);
  }
  Result<void> pong(std::span<std::byte> there, std::span<const std::byte> back) const {
    if (auto received = receive(there); !received) return received;
    return send(back);
  }

 private:
  Lane blank() const {
    Lane lane;
    lane.out_socket = lane.in_socket = socket_;
    lane.to = lane.from = name_;
    return lane;
  }

  int socket_;
  std::string name_;
  std::chrono::milliseconds limit_;
};

// The median time in microseconds of so many messages that the caller sends and an answer of one
// byte; the partner calls answer() at the same time.
Result<double> ask(const Partner& partner, std::span<const std::byte> message, std::size_t times) {
  std::vector<double> took;
  std::byte answer{};
  for (std::size_t i = 0; i < times; ++i) {
    const auto one = partner.ping(message, std::span(&answer, 1));
    if (!one) return std::unexpected(one.error());
    took.push_back(*one);
  }
  return median(std::move(took));
}

Result<void> answer(const Partner& partner, std::span<std::byte> message, std::size_t times) {
  const std::byte byte{};
  for (std::size_t i = 0; i < times; ++i) {
    if (auto done = partner.pong(message, std::span(&byte, 1)); !done) return done;
  }
  return {};
}

double gbps(std::uint64_t bytes, double microseconds) {
  return static_cast<double>(bytes) * 8 / microseconds / 1e3;
}

std::string text_of(const Measured& measured) {
  return fmt::format("{} {} {} {} {} {}", measured.a, measured.b, measured.gbps_ab,
                     measured.gbps_ba, measured.latency_us, static_cast<int>(measured.state));
}

Measured measured_from(std::string_view text, std::size_t round) {
  const auto fields = words(text);
  const auto number = [&](std::size_t i) {
    return i < fields.size() ? parse_double(fields[i]).value_or(0) : 0;
  };
  const auto state = number(5);
  return {static_cast<std::size_t>(number(0)),
          static_cast<std::size_t>(number(1)),
          round,
          number(2),
          number(3),
          number(4),
          state == 0   ? pairs::State::measured
          : state == 1 ? pairs::State::hung
                       : pairs::State::failed};
}

}  // namespace

std::string PairPlay::key(std::string_view name, std::size_t rank) const {
  return fmt::format("toprun.bench/{}/pairs/{}/{}/{}", group_.self.attempt, round_, name, rank);
}

bool PairPlay::is_gone(std::size_t rank) const {
  return std::ranges::find(gone_, rank) != gone_.end();
}

Result<std::vector<pairs::Round>> PairPlay::agree(std::vector<pairs::Round> rounds) {
  const std::string where = key("rounds", 0);
  if (group_.self.rank == 0) {
    std::string text;
    for (const pairs::Round& round : rounds) {
      for (const Pair& pair : round) text += fmt::format("{} {} ", pair.a, pair.b);
      text += '\n';
    }
    if (auto set = group_.store.set(where, text); !set) return std::unexpected(set.error());
    return rounds;
  }
  const std::string_view keys[] = {where};
  const auto there = group_.store.wait(keys, round_limit());
  if (!there) return std::unexpected(there.error());
  if (!*there) return fail("rank 0 does not say what is to be measured next");
  const auto text = group_.store.get(where);
  if (!text) return std::unexpected(text.error());
  for (const std::string_view line : split(*text, '\n')) {
    const auto numbers = words(line);
    if (line.empty()) continue;
    pairs::Round& round = rounds.emplace_back();
    for (std::size_t i = 0; i + 1 < numbers.size(); i += 2) {
      round.push_back({static_cast<std::size_t>(parse_int(numbers[i]).value_or(0)),
                       static_cast<std::size_t>(parse_int(numbers[i + 1]).value_or(0))});
    }
  }
  return rounds;
}

Result<std::vector<Measured>> PairPlay::play(const pairs::Round& round) {
  const std::size_t own = group_.self.rank;
  for (const Pair& pair : round) {
    if (pair.a != own && pair.b != own) continue;
    const Measured measured = meet(pair);
    if (own != pair.a && !is_gone(pair.a)) continue;
    if (auto set = group_.store.set(key("pair", pair.a), text_of(measured)); !set) {
      return std::unexpected(set.error());
    }
  }
  if (auto set = group_.store.set(key("done", own), "1"); !set) return std::unexpected(set.error());
  if (auto closed = close_round(); !closed) return std::unexpected(closed.error());
  auto measured = own == 0 ? collect(round) : Result<std::vector<Measured>>();
  ++round_;
  return measured;
}

Measured PairPlay::meet(const Pair& pair) {
  if (is_gone(pair.a) || is_gone(pair.b)) {
    return {pair.a, pair.b, round_, 0, 0, 0, pairs::State::hung};
  }
  const auto began = steady_clock::now();
  const auto measured = exchange(pair);
  if (measured) return *measured;
  group_.mesh.drop(group_.self.rank == pair.a ? pair.b : pair.a);
  const bool is_hung = steady_clock::now() - began >= terms_.limit;
  return {pair.a, pair.b, round_, 0, 0, 0, is_hung ? pairs::State::hung : pairs::State::failed};
}

// Rank a asks first, then b does and tells a what it found.
Result<Measured> PairPlay::exchange(const Pair& pair) {
  const bool is_first = group_.self.rank == pair.a;
  const std::size_t other = is_first ? pair.b : pair.a;
  if (auto made = group_.mesh.connect(std::span(&other, 1), 1, terms_.limit); !made) {
    return std::unexpected(made.error());
  }
  const Partner partner(group_.mesh.socket(other, 0), group_.peers[other].text(), terms_.limit);
  std::vector<std::byte> message(terms_.bytes);
  const std::span small = std::span(message).first(1);
  double back = 0;
  const auto back_bytes = std::as_writable_bytes(std::span(&back, 1));
  // The first transfer opens the connection's window.
  const std::size_t warm = 1;
  if (is_first) {
    const auto latency = ask(partner, small, pings);
    const auto opened = latency ? ask(partner, message, warm) : latency;
    const auto forth = opened ? ask(partner, message, terms_.transfers) : opened;
    if (!forth) return std::unexpected(forth.error());
    auto done = answer(partner, message, warm + terms_.transfers);
    if (done) done = partner.receive(back_bytes);
    if (!done) return std::unexpected(done.error());
    group_.mesh.drop(other);
    return Measured{pair.a,
                    pair.b,
                    round_,
                    gbps(terms_.bytes, *forth),
                    back,
                    *latency / 2,
                    pairs::State::measured};
  }
  auto done = answer(partner, small, pings);
  if (done) done = answer(partner, message, warm + terms_.transfers);
  if (!done) return std::unexpected(done.error());
  const auto opened = ask(partner, message, warm);
  const auto took = opened ? ask(partner, message, terms_.transfers) : opened;
  if (!took) return std::unexpected(took.error());
  back = gbps(terms_.bytes, *took);
  if (auto sent = partner.send(back_bytes); !sent) return std::unexpected(sent.error());
  group_.mesh.drop(other);
  return Measured{pair.a, pair.b, round_, 0, back, 0, pairs::State::measured};
}

// Rank 0 waits for all and tells who is gone; the others wait for that.
Result<void> PairPlay::close_round() {
  const std::string where = key("gone", 0);
  const std::string_view keys[] = {where};
  if (group_.self.rank != 0) {
    const auto there = group_.store.wait(keys, 2 * round_limit());
    if (!there) return std::unexpected(there.error());
    if (!*there) return fail("rank 0 does not come out of a round");
    const auto text = group_.store.get(where);
    if (!text) return std::unexpected(text.error());
    gone_.clear();
    for (const std::string_view rank : words(*text)) {
      gone_.push_back(static_cast<std::size_t>(parse_int(rank).value_or(0)));
    }
    return {};
  }
  std::vector<std::string> names;
  for (std::size_t rank = 0; rank < group_.self.size; ++rank) {
    if (!is_gone(rank)) names.push_back(key("done", rank));
  }
  const std::vector<std::string_view> waited(names.begin(), names.end());
  const auto all = group_.store.wait(waited, round_limit());
  if (!all) return std::unexpected(all.error());
  for (std::size_t rank = 0; rank < group_.self.size && !*all; ++rank) {
    const std::string name = key("done", rank);
    const std::string_view one[] = {name};
    const auto there = group_.store.check(one);
    if (!there) return std::unexpected(there.error());
    if (!*there && !is_gone(rank)) gone_.push_back(rank);
  }
  return group_.store.set(where, fmt::format("{}", fmt::join(gone_, " ")));
}

Result<std::vector<Measured>> PairPlay::collect(const pairs::Round& round) {
  std::vector<Measured> found;
  for (const Pair& pair : round) {
    const std::string name = key("pair", pair.a);
    const std::string_view one[] = {name};
    const auto there = group_.store.check(one);
    if (!there) return std::unexpected(there.error());
    if (!*there) {
      found.push_back({pair.a, pair.b, round_, 0, 0, 0, pairs::State::hung});
      continue;
    }
    const auto text = group_.store.get(name);
    if (!text) return std::unexpected(text.error());
    found.push_back(measured_from(*text, round_));
  }
  return found;
}

}  // namespace toprun::measure
