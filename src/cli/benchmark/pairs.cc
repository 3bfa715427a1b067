#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "base/json/json_text.h"
#include "base/net/hostlist.h"
#include "base/os/console.h"
#include "base/os/files.h"
#include "base/text/text.h"
#include "bench/measure/cells.h"
#include "bench/measure/memory.h"
#include "bench/measure/pair_play.h"
#include "bench/measure/session.h"
#include "bench/pairs/distances.h"
#include "bench/pairs/pair_verdict.h"
#include "bench/pairs/second_look.h"
#include "bench/tables/statistics.h"
#include "cli/benchmark/plot.h"
#include "cli/benchmark/request.h"
#include "cli/benchmark/worker.h"
#include "observe/picture/picture_file.h"
#include "run/model/exit.h"

namespace toprun::benchmark {
namespace {

using measure::Group;
using options::Call;
using options::FlagId;
using pairs::Measured;

struct PairRequest {
  measure::PairTerms terms;
  std::size_t most_rounds = pairs::every_round;
  std::optional<std::string> exclude_bad;
  std::optional<std::string> save;
  std::optional<std::string> plot;
};

// The collectives' -e is --maxbytes, as in nccl-tests; of a pair, only one size is measured.
Result<void> check_letter(const Call& call) {
  for (const options::Argument& argument : call.all(FlagId::env)) {
    if (!options::parse_size(argument)) continue;
    return usage(argument.label(),
                 "in bench pairs, -e means --env, and only one size can be measured",
                 "give the size with -b");
  }
  return {};
}

Result<PairRequest> request_of(const Call& call) {
  PairRequest requested;
  std::chrono::seconds limit =
      std::chrono::duration_cast<std::chrono::seconds>(requested.terms.limit);
  TRY(OptionReader(call)
          .take(FlagId::min_bytes, requested.terms.bytes, options::parse_size)
          .number(FlagId::iterations, requested.terms.transfers, 1, most_iterations)
          .number(FlagId::rounds, requested.most_rounds, 1, most_iterations)
          .number(FlagId::stall, limit, 1, longest_stall_s)
          .done());
  requested.terms.limit = limit;
  requested.exclude_bad = call.text(FlagId::exclude_bad);
  requested.save = call.text(FlagId::save);
  requested.plot = call.text(FlagId::plot);
  if (requested.plot) {
    TRY(picture::check_picture_name(*requested.plot));
  }
  return requested;
}

pairs::Cluster cluster_of(const Group& group) {
  pairs::Cluster cluster;
  const bool are_hosts = group.self.nodes == group.peers.size();
  for (const measure::Peer& peer : group.peers) {
    cluster.names.push_back(are_hosts ? peer.host
                                      : fmt::format("{} rank {}", peer.host, peer.rank));
    if (!are_hosts) cluster.hosts.push_back(peer.host);
    pairs::DomainPath& place = cluster.places.emplace_back();
    for (const std::string_view name : split(measure::domain_of(peer), '/')) {
      if (!name.empty()) place.emplace_back(name);
    }
  }
  return cluster;
}

std::vector<pairs::Round> first_pass(const pairs::Cluster& cluster, std::size_t most_rounds) {
  std::vector<pairs::Round> rounds;
  for (pairs::Batch& batch : pairs::batches(cluster.places, most_rounds)) {
    std::ranges::move(batch.rounds, std::back_inserter(rounds));
  }
  return rounds;
}

std::vector<std::string> hosts_of(const pairs::Cluster& cluster) {
  std::vector<std::string> hosts;
  for (std::size_t node = 0; node < cluster.names.size(); ++node) {
    hosts.push_back(cluster.host_of(node));
  }
  return hosts;
}

bool is_one_host(const std::vector<std::string>& hosts) {
  return std::ranges::all_of(hosts, [&](const auto& host) { return host == hosts.front(); });
}

std::string_view word_of(pairs::State state) {
  switch (state) {
    case pairs::State::measured:
      return "measured";
    case pairs::State::hung:
      return "hung";
    case pairs::State::failed:
      return "failed";
    case pairs::State::not_measured:
      return "not measured";
  }
  return {};
}

std::string json_of(const pairs::Cluster& cluster, const std::vector<Measured>& measured,
                    const std::vector<std::string>& findings) {
  JsonWriter json;
  json.raw("{\"schema\": \"toprun.bench_pairs/1\", \"hosts\": ").texts(hosts_of(cluster));
  json.raw(", \"findings\": ").texts(findings).raw(",\n \"pairs\": ");
  json.list(
      measured,
      [&](const Measured& one) {
        json.raw(fmt::format("[{}, {}, {:.4g}, {:.4g}, {:.4g}, ", one.a, one.b, one.gbps_ab,
                             one.gbps_ba, one.latency_us));
        json.text(word_of(one.state));
        json.raw("]");
      },
      ",\n  ");
  return json.raw("}\n").take();
}

// Of nodes whose places are unknown, those that are faster among themselves count as a rack's:
// else healthy nodes would be slow beside a pair that shares a switch.
void take_speed_for_places(pairs::Cluster& cluster, const std::vector<Measured>& measured) {
  constexpr std::size_t most_named = 4;
  if (!std::ranges::all_of(cluster.places, &pairs::DomainPath::empty)) return;
  const auto groups = pairs::speed_groups(cluster.names.size(), measured);
  if (groups.empty()) return;
  cluster.places = pairs::places_of(cluster, groups);
  cluster.levels = {"group of"};
  if (is_one_host(hosts_of(cluster)))
    return;  // parts of a host, such as its sockets, have no names
  std::vector<std::string> named;
  std::vector<double> inside;
  std::vector<double> outside;
  for (const pairs::SpeedGroup& group : groups) {
    inside.push_back(group.inside);
    outside.push_back(group.outside);
    std::set<std::string> hosts;
    for (const std::size_t node : group.nodes) hosts.insert(cluster.host_of(node));
    const std::vector<std::string> names(hosts.begin(), hosts.end());
    if (named.size() < most_named) named.push_back(hosts::compress_hostlist(names));
  }
  if (groups.size() > named.size()) {
    named.push_back(fmt::format("and {} more", groups.size() - named.size()));
  }
  say(
      fmt::format("no racks are known (--topology FILE names them), so toprun treats groups of "
                  "nodes with faster links among themselves as racks: {}; {:.2g} Gbps inside a "
                  "group, {:.2g} Gbps between groups",
                  join(named, ", "), bench::median(inside), bench::median(outside)));
}

// What both passes say: findings in words, and hosts to leave out.
struct Said {
  std::vector<pairs::Finding> findings;
  std::vector<std::string> lines;  // of the findings
  std::vector<std::string> bad_hosts;
  std::size_t not_compared = 0;  // nodes
};

void add_unconfirmed(const pairs::Cluster& cluster, std::span<const pairs::Finding> findings,
                     std::string_view why, Said& said) {
  for (const pairs::Finding& finding : findings) {
    const std::string line = fmt::format(
        "{}, not confirmed: {}", pairs::finding_line(cluster, pairs::Figure::rate, finding), why);
    // One pair may be slow by chance.
    if (finding.kind == pairs::Kind::pair) {
      say(line);
    } else {
      said.findings.push_back(finding);
      said.lines.push_back(line);
    }
  }
}

Said said_by(const pairs::Cluster& cluster, const pairs::Verdict& verdict,
             const pairs::Confirmed& confirmed) {
  Said said;
  said.not_compared = verdict.not_compared.size();
  for (const pairs::Finding& finding : confirmed.bad) {
    said.findings.push_back(finding);
    said.lines.push_back(pairs::finding_line(cluster, pairs::Figure::rate, finding));
  }
  add_unconfirmed(cluster, confirmed.open, "there is nothing to compare it with", said);
  add_unconfirmed(cluster, confirmed.left, "there was no time left to measure it again", said);
  add_unconfirmed(cluster, confirmed.most,
                  "most pairs at this distance are as slow, so perhaps the others are fast", said);
  said.bad_hosts = pairs::excluded(cluster, confirmed.bad);
  return said;
}

std::string all_clear(const pairs::Cluster& cluster, const Said& said, std::size_t measured) {
  const std::size_t ranks = cluster.names.size();
  const std::size_t all = ranks * (ranks - 1) / 2;
  const std::string_view word = cluster.hosts.empty() ? "node" : "rank";
  const std::string head = counted(ranks, word);
  if (said.not_compared == ranks) {
    if (measured == all) {
      return fmt::format("{}: too few to tell whether one is slower, {} measured", head,
                         counted(measured, "pair"));
    }
    return fmt::format("{}: too few pairs to tell whether one is slower, {} of {} measured", head,
                       measured, counted(all, "pair"));
  }
  if (said.not_compared == 0) {
    return fmt::format("{}: none is slower than the others, {} measured", head,
                       counted(measured, "pair"));
  }
  return fmt::format("{}: none is slower than the others, {} measured; {} could not be compared",
                     head, counted(measured, "pair"), counted(said.not_compared, word));
}

// Rank 0's end: words to stdout, files, the exit code.
Result<int> tell(const PairRequest& requested, const pairs::Cluster& cluster, const Said& said,
                 const std::vector<Measured>& measured, const Environment& environment) {
  const auto missed = static_cast<std::size_t>(
      std::ranges::count(measured, pairs::State::not_measured, &Measured::state));
  // One write: the agent reads stdout and stderr separately, and notes must not part the results.
  std::string results;
  for (const std::string& line : said.lines) results += line + "\n";
  if (said.lines.empty()) results += all_clear(cluster, said, measured.size() - missed) + "\n";
  for (const std::string& line :
       pairs::distance_lines(pairs::distances(cluster, measured), !said.findings.empty())) {
    results += "  " + line + "\n";
  }
  print(results);
  await_is_read(STDOUT_FILENO);
  const bool is_certain = pairs::is_certain(cluster, said.bad_hosts);
  if (!is_certain) {
    say(
        fmt::format("no racks are known, and nodes behind a slow or shared uplink look like slow "
                    "nodes, so toprun cannot tell which of {} are slow{}: give --topology FILE, "
                    "which names the racks, and measure again",
                    hosts::compress_hostlist(said.bad_hosts),
                    requested.exclude_bad
                        ? fmt::format(" and writes none of them to {}", *requested.exclude_bad)
                        : ""));
  }
  if (missed > 0) {
    say(fmt::format(
        "{} not measured, because a rank of the pair was still busy with an earlier pair",
        counted(missed, "pair")));
  }
  if (requested.save) {
    TRY(write_result(*requested.save, json_of(cluster, measured, said.lines), environment));
  }
  if (requested.exclude_bad) {
    std::string hosts;
    for (const std::string& host : said.bad_hosts) {
      if (is_certain) hosts += host + "\n";
    }
    TRY(write_result(*requested.exclude_bad, hosts, environment));
    if (hosts.empty() && is_certain) {
      say(fmt::format("{} is empty: no host is known to be slow", *requested.exclude_bad));
    }
  }
  if (requested.plot) {
    const auto svg = TRY(drawn(cluster, measured, said.findings));
    const auto picture = TRY(picture::picture_for(*requested.plot, svg, environment));
    TRY(write_result(*requested.plot, picture, environment));
  }
  return said.lines.empty() ? 0 : model::exit_found;
}

struct Pass {
  std::string_view name;
  std::chrono::milliseconds lasts;  // each pair, at least about so long
};
constexpr Pass all_pairs{"measuring all pairs", std::chrono::milliseconds(20)};
constexpr Pass suspects{"measuring the suspects again", std::chrono::milliseconds(200)};
constexpr Pass still_suspected{"measuring the remaining suspects again", suspects.lasts};

// What is suspected is measured again for at most so many times --stall-timeout: 300 s by default.
constexpr int second_look_stalls = 30;

struct Played {
  std::vector<Measured> measured;
  std::size_t rounds = 0;  // fewer than were named, where the time was over
};

// Plays rounds that rank 0 names; the results come back there.
Result<Played> played(measure::PairPlay& play, std::vector<pairs::Round> own, bool is_root,
                      const Pass& pass) {
  const auto rounds = TRY(play.agree(std::move(own)));
  measure::ProgressLines lines(std::chrono::steady_clock::now());
  std::vector<Measured> all;
  std::size_t i = 0;
  for (bool is_over = rounds.empty(); !is_over; ++i) {
    auto measured = TRY(play.play(rounds[i], pass.lasts, i + 1 == rounds.size()));
    is_over = play.is_over();
    for (Measured& one : measured) one.round = i;
    all.insert(all.end(), measured.begin(), measured.end());
    const measure::Progress progress{
        fmt::format("{}: round {} of {}", pass.name, i + 1, rounds.size()),
        static_cast<double>(i + 1), static_cast<double>(rounds.size())};
    if (!is_root) continue;
    if (const auto line = lines.at(progress, std::chrono::steady_clock::now())) say(*line);
  }
  return Played{play.without_gaps(std::move(all)), i};
}

// Where nothing is suspected, as on all ranks but 0, the ranks play rank 0's rounds.
Result<pairs::Confirmed> measured_again(measure::PairPlay& play, bool is_root,
                                        const pairs::Cluster& cluster,
                                        const pairs::Verdict& verdict,
                                        std::chrono::milliseconds stall_limit) {
  const auto most = second_look_stalls * stall_limit;
  const auto until = std::chrono::steady_clock::now() + most;
  play.end_passes_at(until);
  play.measure_each_direction();
  pairs::SecondLook look(cluster, verdict);
  std::size_t left = 0;  // rounds
  for (std::size_t pass = 0; pass < pairs::SecondLook::most_passes; ++pass) {
    const bool has_time = std::chrono::steady_clock::now() < until;
    const auto done = TRY(played(play, has_time ? look.next() : std::vector<pairs::Round>(),
                                 is_root, pass == 0 ? suspects : still_suspected));
    if (look.next().empty()) continue;
    left += look.next().size() - done.rounds;
    look.tell(done.measured, done.rounds);
  }
  if (left > 0) {
    say(
        fmt::format("the second measurement of suspects took longer than {} s ({} times "
                    "--stall-timeout): {} not measured",
                    std::chrono::duration_cast<std::chrono::seconds>(most).count(),
                    second_look_stalls, counted(left, "round") + (left == 1 ? " was" : " were")));
  }
  return look.found();
}

}  // namespace

Result<void> check_pairs(const Call& call) {
  TRY(check_letter(call));
  const auto requested = request_of(call);
  return requested ? Result<void>() : std::unexpected(requested.error());
}

Result<int> run_pairs(const Call& call, Group& group) {
  const auto requested = TRY(request_of(call));
  if (group.self.size < 2)
    return usage("bench pairs", "the job has only one rank",
                 "start more, as with --nproc-per-node 2 or --hosts n1,n2");
  TRY(measure::check_memory(2 * requested.terms.bytes, group.ranks_here()));
  pairs::Cluster cluster = cluster_of(group);
  const bool is_root = group.self.rank == 0;
  measure::PairPlay play(group, requested.terms);
  const auto first = TRY(played(
      play, is_root ? first_pass(cluster, requested.most_rounds) : std::vector<pairs::Round>(),
      is_root, all_pairs));
  if (is_root) take_speed_for_places(cluster, first.measured);
  const auto verdict = TRY(pairs::judge(cluster, first.measured));
  const auto confirmed =
      TRY(measured_again(play, is_root, cluster, verdict, requested.terms.limit));
  if (!is_root) return 0;
  return tell(requested, cluster, said_by(cluster, verdict, confirmed), first.measured,
              call.environment);
}

}  // namespace toprun::benchmark
