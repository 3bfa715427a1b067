#include "machine/doctor/host_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <variant>

#include <nlohmann/json.hpp>

#include "base/json/json_text.h"
#include "base/net/hostlist.h"
#include "base/text/text.h"

namespace toprun::doctor {
namespace {

using Json = nlohmann::json;

std::string dumped(const Json& json) {
  return json_text(json) + '\n';
}

double seconds(WallTime time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

Json json_of(const Trait& trait) {
  Json json = {{"id", trait.id}, {"subject", trait.subject}, {"value", trait.value}};
  if (!trait.place.empty()) json["place"] = trait.place;
  return json;
}

void shorten(Json& json, std::size_t most) {
  if (json.is_string() && json.get_ref<const std::string&>().size() > most) {
    json = json.get<std::string>().substr(0, most) + "…";
  } else if (json.is_structured()) {
    for (Json& part : json) shorten(part, most);
  }
}

std::string line_of(const std::string& host, const char* kind, Json entry) {
  std::string line;
  for (std::size_t most = max_line_bytes; most > 0; most /= 2) {
    shorten(entry, most);
    line = dumped({{"host", host}, {kind, entry}});
    if (line.size() <= max_line_bytes) break;
  }
  return line;
}

Finding finding_in(const Json& json) {
  Finding finding{json.at("id"), severity_of(json.at("severity").get<std::string>()),
                  json.at("evidence"), json.at("fix"), json.at("commands")};
  finding.is_idle = !json.value("applies", true);
  return finding;
}

std::chrono::milliseconds clock_behind(double time, WallTime arrived) {
  const double behind = seconds(arrived) - time;
  constexpr double most = 1e9;  // a clock that is off by 30 years
  return std::chrono::milliseconds(
      static_cast<std::int64_t>(1000 * std::clamp(behind, -most, most)));
}

// The last line of a host.
struct End {
  int lines = 0;
  std::chrono::milliseconds clock_behind{0};
};

std::variant<Finding, Trait, End> entry_in(const Json& json, WallTime arrived) {
  if (json.contains("lines")) {
    return End{json.at("lines").get<int>(), clock_behind(json.at("time").get<double>(), arrived)};
  }
  if (json.contains("trait")) {
    const Json& trait = json.at("trait");
    return Trait{trait.at("id"), trait.at("subject"), trait.at("value"),
                 trait.value("place", std::string())};
  }
  return finding_in(json.at("finding"));
}

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

// The names on which all hosts agree, in one line.
SharedFinding agreed_names(const Shared& same, std::size_t names,
                           std::span<const HostReport> reports) {
  std::set<std::string_view> seen;
  bool is_compared = false;
  for (const SharedFinding& name : same) {
    seen.insert(name.hosts.begin(), name.hosts.end());
    if (name.hosts.size() > 1) is_compared = true;
  }
  std::vector<std::string> hosts;
  for (const HostReport& report : reports) {
    if (seen.contains(report.host)) hosts.push_back(report.host);
  }
  const std::string_view where =
      is_compared ? " to the same address on every other host" : " on the other host";
  std::string evidence =
      same.size() == names
          ? fmt::format("each name resolves{} ({} name{})", where, names, names == 1 ? "" : "s")
          : fmt::format("{} of {} names resolve{}", same.size(), names, where);
  return {std::move(hosts), {same[0].finding.id, Severity::ok, std::move(evidence), {}}};
}

// How the hosts of a trait disagree in `all`, or in `same` the value that they share.
void add_differences(const TraitRow& row, const std::string& subject, ValuesOfTrait trait,
                     Shared& all, Shared& same) {
  const auto groups = groups_by_value(std::move(trait.values));
  const std::string what = fmt::format(fmt::runtime(row.what), subject);
  if (groups.size() < 2) {
    if (groups.empty()) return;
    // No host looks its own name up, so of two hosts one knows each name: nothing to compare.
    const bool is_name = !subject.empty();
    if (is_name ? groups[0].value == unknown_address : groups[0].hosts.size() < 2) return;
    same.push_back(
        {groups[0].hosts,
         {std::string(row.id), Severity::ok, fmt::format("{}: {}", what, groups[0].value), {}}});
    return;
  }
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

Shared odd_ones(std::span<const HostReport> reports, Checks checks) {
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
    Shared same;
    std::size_t names = 0;
    for (auto& [trait, values] : by_trait) {
      if (trait.first == row.id) {
        if (!trait.second.empty()) ++names;
        add_differences(row, trait.second, std::move(values), all, same);
      }
    }
    if (checks != Checks::all || same.empty()) continue;
    if (names > 0) same[0] = agreed_names(same, names, reports);
    all.push_back(std::move(same[0]));
  }
  return all;
}

// Clocks are compared with the one in the middle: this machine may be the one that is wrong.
Shared wrong_clocks(std::span<const HostReport> reports, Checks checks) {
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
  if (all.empty() && checks == Checks::all) {
    std::vector<std::string> hosts;
    for (const HostReport& report : reports) hosts.push_back(report.host);
    all.push_back(
        {std::move(hosts),
         {"clock-difference",
          Severity::ok,
          fmt::format("each clock is within {} of the middle one", duration_text(clock_tolerance)),
          {}}});
  }
  return limited(std::move(all));
}

Shared silent_hosts(std::span<const HostReport> reports, std::span<const std::string> expected,
                    std::span<const Unreached> unreached) {
  std::set<std::string_view> answered;
  for (const HostReport& report : reports) answered.insert(report.host);
  Shared all;
  for (const Unreached& one : unreached) {
    answered.insert(one.hosts.begin(), one.hosts.end());
    all.push_back({one.hosts,
                   {"no-answer", Severity::error,
                    "`toprun doctor` could not run on this host: " + one.why, one.fix}});
  }
  std::vector<std::string> silent;
  for (const std::string& host : expected) {
    if (!answered.contains(host)) silent.push_back(host);
  }
  if (silent.empty()) return all;
  all.push_back(
      {std::move(silent),
       {"no-answer", Severity::error,
        "`toprun doctor` could not run on this host, or gave no answer",
        "read what ssh, srun or toprun says about this host on stderr, or log in to it and run "
        "`toprun doctor`"}});
  return all;
}

}  // namespace

Json json_of(const Finding& finding) {
  return {{"id", finding.id},
          {"severity", name_of(finding.severity)},
          {"applies", !finding.is_idle},
          {"evidence", finding.evidence},
          {"fix", finding.fix},
          {"commands", finding.commands}};
}

std::string json_of(const HostReport& report, WallTime now) {
  Json findings = Json::array();
  for (const Finding& finding : report.findings) findings.push_back(json_of(finding));
  Json traits = Json::array();
  for (const Trait& trait : report.traits) traits.push_back(json_of(trait));
  return dumped({{"schema", "toprun.doctor/1"},
                 {"host", report.host},
                 {"time", seconds(now)},
                 {"findings", std::move(findings)},
                 {"traits", std::move(traits)}});
}

std::string json_lines_of(const HostReport& report, WallTime now, Checks checks) {
  std::string text;
  int lines = 0;
  const auto add = [&](const char* kind, Json entry) {
    if (lines == HostReports::max_lines_of_a_host) return;
    text += line_of(report.host, kind, std::move(entry));
    ++lines;
  };
  for (const Finding& finding : report.findings) {
    const bool is_reported = checks == Checks::all || finding.severity != Severity::ok;
    if (!is_reported) continue;
    add("finding", json_of(finding));
  }
  for (const Trait& trait : report.traits) add("trait", json_of(trait));
  return text + dumped({{"host", report.host}, {"time", seconds(now)}, {"lines", lines}});
}

bool HostReports::take(std::string_view line, WallTime arrived) {
  if (line.size() > max_line_bytes) return false;
  try {
    const Json json = Json::parse(line);
    auto entry = entry_in(json, arrived);
    const std::string host = json.at("host");
    if (known_.size() == max_hosts && !known_.contains(host)) return false;
    Known& known = known_[host];
    known.report.host = host;
    if (const auto* end = std::get_if<End>(&entry)) {
      known.expected = end->lines;
      known.report.clock_behind = end->clock_behind;
      return true;
    }
    if (known.lines == max_lines_of_a_host) return false;
    ++known.lines;
    if (auto* trait = std::get_if<Trait>(&entry)) {
      known.report.traits.push_back(std::move(*trait));
    } else {
      known.report.findings.push_back(std::get<Finding>(std::move(entry)));
    }
    return true;
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

std::vector<HostReport> HostReports::complete() const {
  std::vector<HostReport> reports;
  for (const auto& [host, known] : known_) {
    if (known.lines == known.expected) reports.push_back(known.report);
  }
  return reports;
}

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
                                   std::span<const std::string> expected, Checks checks,
                                   std::span<const Unreached> unreached) {
  Shared all = common_findings(reports, checks);
  for (Shared more : {odd_ones(reports, checks), wrong_clocks(reports, checks),
                      silent_hosts(reports, expected, unreached)}) {
    std::ranges::move(more, std::back_inserter(all));
  }
  std::ranges::stable_sort(all, std::greater{},
                           [](const SharedFinding& one) { return one.finding.severity; });
  return all;
}

}  // namespace toprun::doctor
