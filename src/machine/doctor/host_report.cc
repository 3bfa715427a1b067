#include "machine/doctor/host_report.h"

#include <algorithm>
#include <variant>

#include <nlohmann/json.hpp>

#include "base/json/json_text.h"
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

}  // namespace toprun::doctor
