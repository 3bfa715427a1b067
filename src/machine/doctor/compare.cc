#include "machine/doctor/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/net/hostlist.h"
#include "base/text/text.h"

namespace toprun::doctor {
namespace {

// Findings of one check with different evidence, such as another amount on each host, become one
// when there are more than this.
constexpr std::size_t most_of_a_check = 8;

using Shared = std::vector<SharedFinding>;
using PlaceOfHost = std::map<std::string, std::string>;

struct ValuesOfTrait {
  std::vector<ValueOfHost> values;
  PlaceOfHost places;
};

std::string hosts_text(std::size_t count) {
  return fmt::format("{} host{}", count, count == 1 ? "" : "s");
}

// One check's findings; beyond the limit the hosts join the last one.
Shared limited(Shared all) {
  if (all.size() <= most_of_a_check) return all;
  std::ranges::stable_sort(all, std::greater{}, [](const auto& one) { return one.hosts.size(); });
  SharedFinding& last = all[most_of_a_check - 1];
  last.finding.evidence += fmt::format(" on {}, and similar on other hosts", last.hosts.front());
  for (const SharedFinding& more : std::span(all).subspan(most_of_a_check)) {
    last.hosts.insert(last.hosts.end(), more.hosts.begin(), more.hosts.end());
  }
  all.resize(most_of_a_check);
  return all;
}

Shared common_findings(std::span<const HostReport> reports, Checks checks) {
  std::map<std::pair<Severity, std::string>, Shared> by_check;
  for (const HostReport& report : reports) {
    for (const Finding& finding : report.findings) {
      if (finding.severity == Severity::ok && checks == Checks::with_findings) continue;
      Shared& known = by_check[{finding.severity, finding.id}];
      const auto same = std::ranges::find_if(known, [&](const SharedFinding& one) {
        return one.finding.evidence == finding.evidence;
      });
      if (same == known.end()) {
        known.push_back({{report.host}, finding});
      } else if (same->hosts.back() != report.host) {
        same->hosts.push_back(report.host);
      }
    }
  }
  Shared all;
  for (auto& [check, findings] : by_check) {
    for (SharedFinding& one : limited(std::move(findings))) all.push_back(std::move(one));
  }
  return all;
}

// Where all of these hosts have the trait; empty: not at one place.
std::string place_of(const std::vector<std::string>& hosts, const PlaceOfHost& places) {
  const std::string& first = places.at(hosts.front());
  const auto is_same = [&](const std::string& host) { return places.at(host) == first; };
  return std::ranges::all_of(hosts, is_same) ? first : "";
}

// How the hosts of a trait disagree.
void add_differences(const TraitRow& row, const std::string& subject, ValuesOfTrait trait,
                     Shared& all) {
  const auto groups = groups_by_value(std::move(trait.values));
  if (groups.size() < 2) return;
  const std::string what = fmt::format(fmt::runtime(row.what), subject);
  const auto finding = [&](std::string evidence) {
    return Finding{std::string(row.id), row.severity, std::move(evidence), std::string(row.fix)};
  };
  const bool has_norm = groups[0].hosts.size() > groups[1].hosts.size();
  if (!has_norm || groups.size() > most_of_a_check) {
    std::vector<std::string> texts, hosts;
    for (const ValueGroup& group : groups) {
      hosts.insert(hosts.end(), group.hosts.begin(), group.hosts.end());
      if (texts.size() < most_of_a_check) {
        texts.push_back(fmt::format("{} on {}", group.value, hosts::short_list(group.hosts)));
      }
    }
    if (groups.size() > texts.size()) {
      texts.push_back(fmt::format("{} more values", groups.size() - texts.size()));
    }
    all.push_back({std::move(hosts), finding(what + " differs: " + join(texts, ", "))});
    return;
  }
  for (const ValueGroup& odd : std::span(groups).subspan(1)) {
    const std::string place = place_of(odd.hosts, trait.places);
    all.push_back(
        {odd.hosts,
         finding(fmt::format("{}{} is {}, and {} on {}", what, place.empty() ? "" : " of " + place,
                             odd.value, groups[0].value,
                             groups[0].hosts.size() == 1 ? groups[0].hosts[0]
                                                         : hosts_text(groups[0].hosts.size())))});
    if (place.empty() || row.command.empty() || groups[0].value.contains(' ')) continue;
    all.back().finding.commands = {fmt::format(fmt::runtime(row.command), place, groups[0].value)};
  }
}

Shared odd_ones(std::span<const HostReport> reports) {
  std::map<std::pair<std::string, std::string>, ValuesOfTrait> by_trait;
  for (const HostReport& report : reports) {
    for (const Trait& trait : report.traits) {
      ValuesOfTrait& known = by_trait[{trait.id, trait.subject}];
      known.values.push_back({report.host, trait.value});
      known.places[report.host] = trait.place;
    }
  }
  Shared all;
  for (const TraitRow& row : trait_rows()) {
    for (auto& [trait, values] : by_trait) {
      if (trait.first == row.id) add_differences(row, trait.second, std::move(values), all);
    }
  }
  return all;
}

// Clocks are compared with the one in the middle: this machine may be the one that is wrong.
Shared wrong_clocks(std::span<const HostReport> reports) {
  if (reports.size() < 2) return {};
  std::vector<std::chrono::milliseconds> clocks;
  for (const HostReport& report : reports) clocks.push_back(report.clock_behind);
  const auto middle = clocks.begin() + std::ssize(clocks) / 2;
  std::ranges::nth_element(clocks, middle);
  Shared all;
  for (const HostReport& report : reports) {
    const auto behind = report.clock_behind - *middle;
    if (std::chrono::abs(behind) <= clock_tolerance) continue;
    all.push_back({{report.host},
                   {"clock-difference", Severity::warning,
                    fmt::format("the clock is {} {} the others", duration_text(abs(behind)),
                                behind.count() > 0 ? "behind" : "ahead of"),
                    "set the clock with NTP (chronyc makestep): until then, times in logs and "
                    "files are wrong"}});
  }
  return limited(std::move(all));
}

Shared silent_hosts(std::span<const HostReport> reports, std::span<const std::string> expected) {
  std::set<std::string_view> answered;
  for (const HostReport& report : reports) answered.insert(report.host);
  std::vector<std::string> silent;
  for (const std::string& host : expected) {
    if (!answered.contains(host)) silent.push_back(host);
  }
  if (silent.empty()) return {};
  return {{std::move(silent),
           {"no-answer", Severity::error,
            "`toprun doctor` could not run on this host, or gave no answer",
            "see the message on stderr; log in to this host and run `toprun doctor`"}}};
}

}  // namespace

std::vector<ValueGroup> groups_by_value(std::vector<ValueOfHost> values) {
  std::map<std::string, std::vector<std::string>> by_value;
  for (ValueOfHost& one : values) by_value[std::move(one.value)].push_back(std::move(one.host));
  std::vector<ValueGroup> groups;
  for (auto& [value, hosts] : by_value) groups.push_back({value, std::move(hosts)});
  std::ranges::stable_sort(groups, std::greater{},
                           [](const ValueGroup& group) { return group.hosts.size(); });
  return groups;
}

std::vector<SharedFinding> compare(std::span<const HostReport> reports,
                                   std::span<const std::string> expected, Checks checks) {
  Shared all = common_findings(reports, checks);
  for (Shared more : {odd_ones(reports), wrong_clocks(reports), silent_hosts(reports, expected)}) {
    std::ranges::move(more, std::back_inserter(all));
  }
  std::ranges::stable_sort(all, std::greater{},
                           [](const SharedFinding& one) { return one.finding.severity; });
  return all;
}

}  // namespace toprun::doctor
