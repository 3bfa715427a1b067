#include "measure/pair_play.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"
#include "bench/statistics.h"
#include "measure/lane.h"

namespace toprun::measure {
namespace {

using pairs::Measured;
using pairs::Pair;
using std::chrono::steady_clock;

constexpr std::size_t pings = 20;
constexpr std::uint64_t most_that_last = 100'000;  // of tiny transfers

double microseconds_since(steady_clock::time_point began) {
  return std::chrono::duration<double, std::micro>(steady_clock::now() - began).count();
}

}  // namespace

// One rank's connection to its partner.
class PairPlay::Partner {
 public:
  Partner(int socket, std::string name, std::chrono::milliseconds limit) : limit_(limit) {
    blank_.out_socket = blank_.in_socket = socket;
    blank_.to = blank_.from = std::move(name);
  }

  Result<void> send(std::span<const std::byte> bytes) const {
    Lane lane = blank_;
    lane.out = {{bytes.data(), bytes.size()}};
    return transfer(std::span(&lane, 1), nullptr, 1, limit_);
  }
  Result<void> receive(std::span<std::byte> bytes) const {
    Lane lane = blank_;
    lane.in = {{bytes.data(), nullptr, bytes.size()}};
    return transfer(std::span(&lane, 1), nullptr, 1, limit_);
  }

  // Both sides send the message so many times and receive as much: how long receiving one took, in
  // µs. Of several the first quarter does not count: the other side may begin later, and what it
  // sent before this one began has come in at once.
  Result<double> exchange(std::span<std::byte> out, std::span<std::byte> in,
                          std::size_t times) const {
    Lane lane = blank_;
    lane.out.assign(times, {out.data(), out.size()});
    lane.in.assign(times, {in.data(), nullptr, in.size()});
    const std::size_t skipped = times > 1 ? std::max<std::size_t>(1, times / 4) : 0;
    Arrival arrival{skipped * in.size(), {}, {}};
    const auto began = steady_clock::now();
    const auto done = transfer(std::span(&lane, 1), nullptr, 1, limit_, &arrival);
    if (!done) return std::unexpected(done.error());
    const auto from = skipped > 0 ? arrival.mark.value_or(began) : began;
    return std::chrono::duration<double, std::micro>(arrival.all.value_or(began) - from).count() /
           static_cast<double>(times - skipped);
  }

  // Half of the median time of a byte that goes there and back, in µs; the partner reflects.
  Result<double> latency() const {
    std::vector<double> took;
    std::byte byte{};
    for (std::size_t i = 0; i < pings; ++i) {
      const auto began = steady_clock::now();
      auto done = send(std::span(&byte, 1));
      if (done) done = receive(std::span(&byte, 1));
      if (!done) return std::unexpected(done.error());
      took.push_back(microseconds_since(began));
    }
    return bench::median(std::move(took)) / 2;
  }
  Result<double> reflect() const {
    std::byte byte{};
    for (std::size_t i = 0; i < pings; ++i) {
      auto done = receive(std::span(&byte, 1));
      if (done) done = send(std::span(&byte, 1));
      if (!done) return std::unexpected(done.error());
    }
    return 0.0;
  }

 private:
  Lane blank_;
  std::chrono::milliseconds limit_;
};

namespace {

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

Result<std::vector<Measured>> PairPlay::play(const pairs::Round& round,
                                             std::chrono::milliseconds lasts) {
  lasts_ = lasts;
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

// As many as last long enough, but so many that a slow pair, which must not be taken for one that
// hangs, needs no longer than the limit; 0: the first one has to do. Rank a says it.
Result<std::uint64_t> PairPlay::agree_on_transfers(const Partner& partner, bool is_first,
                                                   double first_us) const {
  const auto as_long_as = [&](std::chrono::milliseconds time) {
    const double us = std::chrono::duration<double, std::micro>(time).count();
    return static_cast<std::uint64_t>(us / first_us);
  };
  const std::uint64_t wanted =
      std::max<std::uint64_t>(terms_.transfers, std::min(as_long_as(lasts_), most_that_last));
  std::uint64_t times = std::min(wanted, as_long_as(terms_.limit));
  const auto bytes = std::as_writable_bytes(std::span(&times, 1));
  const auto told = is_first ? partner.send(bytes) : partner.receive(bytes);
  if (!told) return std::unexpected(told.error());
  return times;
}

// Both directions at once: the pairs of a round then load the network alike all the time. Rank b
// tells a what it received.
Result<Measured> PairPlay::exchange(const Pair& pair) {
  const bool is_first = group_.self.rank == pair.a;
  const std::size_t other = is_first ? pair.b : pair.a;
  if (auto made = group_.mesh.connect(std::span(&other, 1), 1, terms_.limit); !made) {
    return std::unexpected(made.error());
  }
  const Partner partner(group_.mesh.socket(other, 0), group_.peers[other].text(), terms_.limit);
  std::vector<std::byte> out(terms_.bytes);
  std::vector<std::byte> in(terms_.bytes);
  const auto latency = is_first ? partner.latency() : partner.reflect();
  // The first one opens the connection's window.
  const auto opened = latency ? partner.exchange(out, in, 1) : latency;
  if (!opened) return std::unexpected(opened.error());
  const auto times = agree_on_transfers(partner, is_first, *opened);
  if (!times) return std::unexpected(times.error());
  const auto took = *times > 0 ? partner.exchange(out, in, *times) : opened;
  if (!took) return std::unexpected(took.error());
  double own = gbps(terms_.bytes, *took);
  double others = 0;
  const auto done = is_first ? partner.receive(std::as_writable_bytes(std::span(&others, 1)))
                             : partner.send(std::as_bytes(std::span(&own, 1)));
  if (!done) return std::unexpected(done.error());
  group_.mesh.drop(other);
  return Measured{pair.a, pair.b, round_, others, own, *latency, pairs::State::measured};
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
