#include "bench/measure/pair_play.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text/text.h"
#include "bench/measure/lane.h"
#include "bench/tables/statistics.h"

namespace toprun::measure {
namespace {

constexpr std::uint64_t least_probe = 64u << 10;
constexpr std::uint64_t growth = 4;
constexpr double telling_us = 20'000;
constexpr double most_us = 1'000'000;              // of a measurement
constexpr std::uint64_t least_bytes = 16u << 10;   // of a slow pair's transfer
constexpr std::uint64_t most_that_last = 100'000;  // of tiny transfers
// More than the buffers of both sockets hold: Linux limits each by net.ipv4.tcp_rmem and tcp_wmem,
// to 6 and 4 MiB unless an administrator raised them.
constexpr std::uint64_t more_than_buffers = 24u << 20;

using pairs::Measured;
using pairs::Pair;
using pairs::State;
using std::chrono::steady_clock;

constexpr std::size_t pings = 20;
// Before the ranks that are away: there are no more rounds.
constexpr std::string_view end_word = "end";
// After so long one more ping has to do: queues of a slow uplink hold each for seconds.
constexpr std::chrono::milliseconds pings_last{200};

double microseconds_since(steady_clock::time_point began) {
  return std::chrono::duration<double, std::micro>(steady_clock::now() - began).count();
}

double gbps(std::uint64_t bytes, double microseconds) {
  return static_cast<double>(bytes) * 8 / microseconds / 1e3;
}

std::string text_of(const Measured& measured) {
  return fmt::format("{} {} {} {} {} {} {} {}", measured.a, measured.b, measured.gbps_ab,
                     measured.gbps_ba, measured.latency_us, static_cast<int>(measured.state),
                     measured.alone_ab, measured.alone_ba);
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
          state == 0   ? State::measured
          : state == 1 ? State::hung
                       : State::failed,
          number(6),
          number(7)};
}

}  // namespace

PairLoad first_load(const PairTerms& terms) {
  return {std::min(least_probe, terms.bytes), 0};
}

PairLoad next_load(const PairTerms& terms, const PairLoad& probe, double took_us,
                   std::chrono::milliseconds lasts) {
  if (took_us < telling_us && probe.bytes < terms.bytes) {
    return {std::min(probe.bytes * growth, terms.bytes), 0};
  }
  const double byte_us = std::max(took_us, 1.0) / static_cast<double>(probe.bytes);
  const double one_us = byte_us * static_cast<double>(terms.bytes);
  const auto transfers = static_cast<double>(terms.transfers);
  if (transfers * one_us <= most_us) {
    const double lasts_us = std::chrono::duration<double, std::micro>(lasts).count();
    const auto enough = static_cast<std::uint64_t>(lasts_us / one_us);
    return {terms.bytes,
            std::max<std::uint64_t>(terms.transfers, std::min(enough, most_that_last))};
  }
  const auto all = static_cast<std::uint64_t>(most_us / byte_us);
  const std::uint64_t bytes = std::min(std::max(all / terms.transfers, least_bytes), terms.bytes);
  return {bytes, std::clamp<std::uint64_t>(all / bytes, 1, terms.transfers)};
}

std::size_t skipped_of(const PairLoad& load) {
  return load.times > 1 ? std::max<std::size_t>(1, load.times / 4) : 0;
}

double transfer_us(const PairLoad& load, const PairArrival& arrival) {
  const std::uint64_t times = std::max<std::uint64_t>(load.times, 1);
  const double late = arrival.late_us / static_cast<double>(times - arrival.skipped);
  const double all = arrival.all_us / static_cast<double>(times);
  return load.bytes * times < more_than_buffers ? std::max(late, all) : late;
}

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

  // Both sides send the transfers of the load, each from and into the same memory. The partner
  // cannot send before `began`.
  Result<PairArrival> exchange(std::span<std::byte> out, std::span<std::byte> in,
                               const PairLoad& load, steady_clock::time_point began) const {
    const std::size_t times = std::max<std::uint64_t>(load.times, 1);
    Lane lane = blank_;
    lane.out.assign(times, {out.data(), load.bytes});
    lane.in.assign(times, {in.data(), nullptr, load.bytes});
    const std::size_t skipped = skipped_of(load);
    Arrival arrival{skipped * load.bytes, {}, {}};
    TRY(transfer(std::span(&lane, 1), nullptr, 1, limit_, &arrival));
    const auto all = arrival.all.value_or(began);
    const auto from = skipped > 0 ? arrival.mark.value_or(began) : began;
    const auto microseconds = [&](auto since) {
      return std::chrono::duration<double, std::micro>(all - since).count();
    };
    return PairArrival{microseconds(began), microseconds(from), skipped};
  }

  // Half of the median time of a byte that goes there and back, in µs; the partner reflects until
  // the byte is 0.
  Result<double> latency() const {
    std::vector<double> took;
    const auto until = steady_clock::now() + pings_last;
    for (std::byte more{1}; more != std::byte{0};) {
      const auto began = steady_clock::now();
      if (took.size() + 1 == pings || (!took.empty() && began >= until)) more = std::byte{0};
      TRY(send(std::span(&more, 1)));
      TRY(receive(std::span(&more, 1)));
      took.push_back(microseconds_since(began));
    }
    return bench::median(std::move(took)) / 2;
  }
  Result<double> reflect() const {
    for (std::byte more{1}; more != std::byte{0};) {
      TRY(receive(std::span(&more, 1)));
      TRY(send(std::span(&more, 1)));
    }
    return 0.0;
  }

 private:
  Lane blank_;
  std::chrono::milliseconds limit_;
};

std::string PairPlay::key(std::string_view name, std::size_t rank) const {
  return fmt::format("toprun.bench/{}/pairs/{}/{}/{}", group_.self.attempt, round_, name, rank);
}

bool PairPlay::is_away(std::size_t rank) const {
  return std::ranges::find(away_, rank) != away_.end();
}

bool PairPlay::is_lost(std::size_t rank) const {
  return std::ranges::find(lost_, rank) != lost_.end();
}

Result<std::vector<pairs::Round>> PairPlay::agree(std::vector<pairs::Round> rounds) {
  const std::string where = key("rounds", 0);
  if (group_.self.rank == 0) {
    std::string text;
    for (const pairs::Round& round : rounds) {
      for (const Pair& pair : round) text += fmt::format("{} {} ", pair.a, pair.b);
      text += '\n';
    }
    TRY(group_.store.set(where, text));
    return rounds;
  }
  const auto limit = round_limit();
  const auto arrived = TRY(group_.store.wait(std::span(&where, 1), limit));
  if (!arrived) {
    return fail(fmt::format("rank 0 did not send the next pairs of nodes within {} s",
                            std::chrono::ceil<std::chrono::seconds>(limit).count()));
  }
  const auto text = TRY(group_.store.get(where));
  for (const std::string_view line : split(text, '\n')) {
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
                                             std::chrono::milliseconds lasts, bool is_last) {
  lasts_ = lasts;
  const std::size_t own = group_.self.rank;
  for (const Pair& pair : round) {
    if ((pair.a != own && pair.b != own) || is_missed(pair)) continue;
    const Measured measured = meet(pair);
    if (own != pair.a) continue;
    TRY(group_.store.set(key("pair", pair.a), text_of(measured)));
  }
  TRY(group_.store.set(key("done", own), "1"));
  pairs::Round met;
  std::vector<Measured> missed;
  for (const Pair& pair : round) {
    if (!is_missed(pair)) {
      met.push_back(pair);
    } else if (own == 0) {
      missed.push_back(left_out(pair));
    }
  }
  TRY(close_round(is_last));
  auto measured = own == 0 ? collect(met, std::move(missed)) : missed;
  ++round_;
  return measured;
}

bool PairPlay::is_missed(const Pair& pair) const {
  return is_away(pair.a) || is_away(pair.b);
}

Measured PairPlay::left_out(const Pair& pair) const {
  const State state = is_lost(pair.a) || is_lost(pair.b) ? State::hung : State::not_measured;
  return {pair.a, pair.b, round_, 0, 0, 0, state};
}

std::vector<Measured> PairPlay::without_gaps(std::vector<Measured> pass) const {
  for (Measured& one : pass) {
    if (one.state == State::not_measured) one.state = left_out({one.a, one.b}).state;
  }
  return pass;
}

Measured PairPlay::meet(const Pair& pair) {
  const auto began = steady_clock::now();
  const auto measured = exchange(pair);
  if (measured) return *measured;
  group_.mesh.drop(group_.self.rank == pair.a ? pair.b : pair.a);
  const bool is_hung = steady_clock::now() - began >= terms_.limit;
  return {pair.a, pair.b, round_, 0, 0, 0, is_hung ? State::hung : State::failed};
}

// Returns a time before which the partner sends nothing of what follows.
Result<steady_clock::time_point> PairPlay::meet_partner(const Partner& partner,
                                                        bool is_first) const {
  std::byte ready{1};
  const std::span one(&ready, 1);
  if (!is_first) TRY(partner.receive(one));
  const auto began = steady_clock::now();
  TRY(partner.send(one));
  if (is_first) TRY(partner.receive(one));
  return began;
}

// Probes, and says the load of the measurement. Rank b tells a how long it received, because each
// knows one direction only, and a decides.
Result<PairLoad> PairPlay::agree_on_load(const Partner& partner, bool is_first,
                                         std::span<std::byte> out, std::span<std::byte> in) const {
  PairLoad load = first_load(terms_);
  while (load.is_probe()) {
    const auto arrival = TRY(partner.exchange(out, in, load, steady_clock::now()));
    const double took = arrival.all_us;
    double slowest_us = took;
    const auto reported = std::as_writable_bytes(std::span(&slowest_us, 1));
    TRY(is_first ? partner.receive(reported) : partner.send(reported));
    if (is_first) load = next_load(terms_, load, std::max(took, slowest_us), lasts_);
    const auto next = std::as_writable_bytes(std::span(&load, 1));
    TRY(is_first ? partner.send(next) : partner.receive(next));
  }
  return load;
}

// Both directions at once: the pairs of a round then load the network alike all the time. Rank b
// tells a what it received.
Result<Measured> PairPlay::exchange(const Pair& pair) {
  const bool is_first = group_.self.rank == pair.a;
  const std::size_t other = is_first ? pair.b : pair.a;
  TRY(group_.mesh.connect(std::span(&other, 1), 1, terms_.limit));
  const Partner partner(group_.mesh.socket(other, 0), group_.peers[other].text(), terms_.limit);
  std::vector<std::byte> out(terms_.bytes);
  std::vector<std::byte> in(terms_.bytes);
  const auto latency = TRY(is_first ? partner.latency() : partner.reflect());
  const auto load = TRY(agree_on_load(partner, is_first, out, in));
  const auto began = TRY(meet_partner(partner, is_first));
  const auto arrival = TRY(partner.exchange(out, in, load, began));
  double own = gbps(load.bytes, transfer_us(load, arrival));
  double others = 0;
  TRY(is_first ? partner.receive(std::as_writable_bytes(std::span(&others, 1)))
               : partner.send(std::as_bytes(std::span(&own, 1))));
  Measured measured{pair.a, pair.b, round_, others, own, latency, State::measured};
  if (each_direction_) {
    // A fifth of the measurement lasts long enough to tell a slow direction from the other.
    const std::size_t times = std::max<std::uint64_t>(load.times / 5, 1);
    const std::span bytes = std::span(in).first(load.bytes);
    double there = TRY(one_way(partner, is_first, bytes, times));
    TRY(is_first ? partner.receive(std::as_writable_bytes(std::span(&there, 1)))
                 : partner.send(std::as_bytes(std::span(&there, 1))));
    measured.alone_ab = there;
    measured.alone_ba = TRY(one_way(partner, !is_first, bytes, times));
  }
  group_.mesh.drop(other);
  return measured;
}

// Returns the rate at the side that receives.
Result<double> PairPlay::one_way(const Partner& partner, bool sends, std::span<std::byte> bytes,
                                 std::size_t times) const {
  const auto began = TRY(meet_partner(partner, sends));
  for (std::size_t i = 0; i < times; ++i) {
    TRY(sends ? partner.send(bytes) : partner.receive(bytes));
  }
  return sends ? 0 : gbps(times * bytes.size(), microseconds_since(began));
}

// Rank 0 waits for all and tells which ranks are away; the others wait for that.
Result<void> PairPlay::close_round(bool is_last) {
  const std::string where = key("away", 0);
  if (group_.self.rank != 0) return hear_who_is_away(where);
  is_over_ = is_last || steady_clock::now() >= until_;
  const auto is_waited_for = [&](std::size_t rank) {
    return is_over_ ? !is_lost(rank) : !is_away(rank);
  };
  std::vector<std::string> names;
  for (std::size_t rank = 0; rank < group_.self.size; ++rank) {
    if (is_waited_for(rank)) names.push_back(key("done", rank));
  }
  const auto all = TRY(group_.store.wait(names, round_limit()));
  std::vector<std::size_t> away = lost_;
  for (std::size_t rank = 0; rank < group_.self.size; ++rank) {
    if (is_lost(rank) || (all && is_waited_for(rank))) continue;
    const std::string name = key("done", rank);
    const auto arrived = TRY(group_.store.check(std::span(&name, 1)));
    if (!arrived) away.push_back(rank);
  }
  away_ = std::move(away);
  if (is_over_) lost_ = away_;
  return group_.store.set(where,
                          fmt::format("{} {}", is_over_ ? end_word : "", fmt::join(away_, " ")));
}

Result<void> PairPlay::hear_who_is_away(const std::string& where) {
  const auto arrived = TRY(group_.store.wait(std::span(&where, 1), 2 * round_limit()));
  if (!arrived) return fail("rank 0 has not finished its round of measurements in time");
  const auto text = TRY(group_.store.get(where));
  away_.clear();
  is_over_ = false;
  for (const std::string_view rank : words(text)) {
    if (rank == end_word) {
      is_over_ = true;
      continue;
    }
    away_.push_back(static_cast<std::size_t>(parse_int(rank).value_or(0)));
  }
  return {};
}

// Adds them to what was found before.
Result<std::vector<Measured>> PairPlay::collect(const pairs::Round& met,
                                                std::vector<Measured> found) {
  for (const Pair& pair : met) {
    const std::string name = key("pair", pair.a);
    const auto arrived = TRY(group_.store.check(std::span(&name, 1)));
    if (!arrived) {
      found.push_back({pair.a, pair.b, round_, 0, 0, 0, State::hung});
      continue;
    }
    const auto text = TRY(group_.store.get(name));
    found.push_back(measured_from(text, round_));
  }
  return found;
}

}  // namespace toprun::measure
