#include <gtest/gtest.h>

#include <algorithm>

#include "base/text/text.h"
#include "machine/doctor/host_report.h"
#include "machine/doctor/report.h"

namespace toprun::doctor {
namespace {

using namespace std::chrono_literals;

HostReport healthy(const std::string& host) {
  return {host,
          {{"memory", Severity::ok, "the cgroup has memory left"}},
          {{"mtu", "", "1500"}, {"kernel", "", "6.1"}, {"addresses", "n0", "10.0.0.1"}}};
}

std::vector<HostReport> hosts(int count) {
  std::vector<HostReport> reports;
  for (int i = 0; i < count; ++i) reports.push_back(healthy(fmt::format("n{}", i)));
  return reports;
}

std::vector<std::string> names(int count) {
  std::vector<std::string> all;
  for (int i = 0; i < count; ++i) all.push_back(fmt::format("n{}", i));
  return all;
}

// "n[0-1] warning mtu: …", a line each.
std::string reported(const std::vector<HostReport>& reports, int expected) {
  std::string text;
  for (const auto& [hosts, finding] : compare(reports, names(expected))) {
    text += fmt::format("{} {} {}: {}\n", join(hosts, " "), name_of(finding.severity), finding.id,
                        finding.evidence);
  }
  return text;
}

TEST(Compare, FindsNothingAmongEqualHosts) {
  EXPECT_EQ(reported(hosts(8), 8), "");
  EXPECT_EQ(reported(hosts(1), 1), "");
  EXPECT_EQ(reported({}, 0), "");
}

TEST(Compare, TellsAllChecksWhereTheyAreWanted) {
  auto all = hosts(2);
  for (HostReport& report : all) {
    report.findings.push_back({"nofile", Severity::ok, "1024 open files", ""});
  }
  HostReports read;
  for (const HostReport& report : all) {
    for (const auto line : split(json_lines_of(report, WallTime{}, Checks::all), '\n')) {
      if (!line.empty()) EXPECT_TRUE(read.take(line, WallTime{}));
    }
  }
  const auto reports = read.complete();
  EXPECT_TRUE(compare(reports, names(2)).empty());
  const auto reported = compare(reports, names(2), Checks::all);
  const auto is_ours = [](const SharedFinding& one) { return one.finding.id == "nofile"; };
  const auto ours = std::ranges::find_if(reported, is_ours);
  ASSERT_NE(ours, reported.end());
  EXPECT_EQ(ours->hosts, names(2));
  EXPECT_FALSE(json_lines_of(all[0], WallTime{}).contains("nofile"));
}

TEST(Compare, TellsEveryComparisonWhereAllAreWanted) {
  std::string text;
  auto all = hosts(3);
  all[2].traits[1].value = "5.10";
  for (HostReport& report : all) report.traits.push_back({"addresses", "n1", "10.0.0.2"});
  for (const auto& [hosts, finding] : compare(all, names(3), Checks::all)) {
    text += fmt::format("{} {} {}: {}\n", join(hosts, " "), name_of(finding.severity), finding.id,
                        finding.evidence);
  }
  EXPECT_EQ(text,
            "n2 note kernel: the kernel is 5.10, and 6.1 on 2 hosts\n"
            "n0 n1 n2 ok memory: the cgroup has memory left\n"
            "n0 n1 n2 ok mtu: the MTU: 1500\n"
            "n0 n1 n2 ok addresses: each name resolves to the same address on every other host (2 "
            "names)\n"
            "n0 n1 n2 ok clock-difference: each clock is within 2.0 s of the middle one\n");
}

// No host looks its own name up.
TEST(Compare, EachNameIsSeenFromTheOtherHosts) {
  const auto seen = [](int count, std::string_view value) {
    auto all = hosts(count);
    for (HostReport& report : all) {
      report.traits.clear();
      for (const std::string& name : names(count)) {
        if (name != report.host) report.traits.push_back({"addresses", name, "10.0.0." + name});
      }
    }
    all[1].traits[0].value = value;
    all[count == 2 ? 0 : 2].traits[0].value = value;  // of two hosts: n1 is what n0 sees
    std::string text;
    for (const auto& [on, finding] : compare(all, names(count), Checks::all)) {
      if (finding.id != "addresses") continue;
      text +=
          fmt::format("{} {}: {}\n", join(on, " "), name_of(finding.severity), finding.evidence);
    }
    return text;
  };
  EXPECT_EQ(seen(3, "10.0.0.n0"),
            "n0 n1 n2 ok: each name resolves to the same address on every other host (3 names)\n");
  EXPECT_EQ(seen(3, "unknown"),
            "n0 n1 n2 ok: 2 of 3 names resolve to the same address on every other host\n");
  EXPECT_EQ(seen(2, "10.0.0.1"), "n0 n1 ok: each name resolves on the other host (2 names)\n");
  EXPECT_EQ(seen(2, "unknown"), "");
}

TEST(Compare, NamesTheOddOneOut) {
  auto all = hosts(8);
  all[3].traits[0].value = "1400";
  all[5].traits[2].value = "10.9.9.9";
  all[6].traits[1].value = "5.10";
  EXPECT_EQ(reported(all, 8),
            "n3 warning mtu: the MTU is 1400, and 1500 on 7 hosts\n"
            "n5 warning addresses: the address of n0 is 10.9.9.9, and 10.0.0.1 on 7 hosts\n"
            "n6 note kernel: the kernel is 5.10, and 6.1 on 7 hosts\n");
}

TEST(Compare, SaysWhyAHostWasNotReached) {
  const Unreached one[] = {{{"n2", "n3"}, "connection refused", "start sshd there"}};
  const auto found = compare(hosts(2), names(5), Checks::with_findings, one);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].hosts, (std::vector<std::string>{"n2", "n3"}));
  EXPECT_EQ(found[0].finding.evidence,
            "`toprun doctor` could not run on this host: connection refused");
  EXPECT_EQ(found[0].finding.fix, "start sshd there");
  EXPECT_EQ(found[1].hosts, std::vector<std::string>{"n4"});
}

TEST(Compare, SaysOfWhichInterfaceAndHowItIsMended) {
  auto all = hosts(4);
  for (HostReport& report : all) report.traits[0].place = "eth0";
  all[3].traits[0].value = "1400";
  const auto found = compare(all, names(4));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].finding.evidence, "the MTU of eth0 is 1400, and 1500 on 3 hosts");
  EXPECT_EQ(found[0].finding.commands, std::vector<std::string>{"ip link set dev eth0 mtu 1500"});
  // Elsewhere it has another name: what is seen on the odd host is said of that.
  for (int i = 0; i < 3; ++i) all[static_cast<std::size_t>(i)].traits[0].place = "ens3";
  EXPECT_EQ(reported(all, 4), "n3 warning mtu: the MTU of eth0 is 1400, and 1500 on 3 hosts\n");
}

TEST(Compare, NamesNoInterfaceWhereHostsOfOneValueHaveSeveral) {
  auto all = hosts(5);
  for (HostReport& report : all) report.traits[0].place = "eth0";
  all[2].traits[0] = {"mtu", "", "1400", "eth0"};
  all[3].traits[0] = {"mtu", "", "1400", "ens3"};
  const auto found = compare(all, names(5));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].finding.evidence, "the MTU is 1400, and 1500 on 3 hosts");
  EXPECT_TRUE(found[0].finding.commands.empty());
}

TEST(Compare, BlamesNobodyWhereHalfDiffers) {
  auto all = hosts(4);
  all[2].traits[0].value = all[3].traits[0].value = "9000";
  EXPECT_EQ(reported(all, 4),
            "n0 n1 n2 n3 warning mtu: the MTU differs: 1500 on n[0-1], 9000 on "
            "n[2-3]\n");
}

TEST(Compare, WhatIsUnknownOnAHostIsNoDifference) {
  auto all = hosts(3);
  all[1].traits.clear();
  EXPECT_EQ(reported(all, 3), "");
}

TEST(Compare, SharesEqualFindings) {
  auto all = hosts(3);
  for (const int i : {0, 2}) {
    all[static_cast<std::size_t>(i)].findings.push_back({"bonds", Severity::warning, "a is down"});
  }
  all[1].findings.push_back({"verbs", Severity::error, "none"});
  EXPECT_EQ(reported(all, 3), "n1 error verbs: none\nn0 n2 warning bonds: a is down\n");
}

TEST(Compare, BoundsTheLinesOfACheck) {
  auto all = hosts(500);
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].findings.push_back({"ports", Severity::warning, fmt::format("{} ports", i)});
  }
  const auto found = compare(all, names(500));
  EXPECT_EQ(found.size(), 8u);
  EXPECT_EQ(found.back().hosts.size(), 493u);
  EXPECT_EQ(found.back().finding.evidence, "7 ports on n7, and similar on other hosts");
}

TEST(Compare, TheClockOfTheMiddleIsRight) {
  auto all = hosts(4);
  for (HostReport& report : all) report.clock_behind = 60s;  // this machine's clock is wrong
  all[2].clock_behind = 64s;
  all[3].clock_behind = 61s;
  EXPECT_EQ(reported(all, 4),
            "n2 warning clock-difference: the clock is 3.0 s behind the others\n");
}

TEST(Compare, NamesHostsWithoutAnAnswer) {
  EXPECT_EQ(
      reported(hosts(2), 4),
      "n2 n3 error no-answer: `toprun doctor` could not run on this host, or gave no answer\n");
}

TEST(HostReports, TravelAsLinesInAnyOrder) {
  HostReport report = healthy("n1");
  report.findings.push_back({"x", Severity::error, "seen\n\"it\"", "mend", {"a", "b"}});
  report.findings.push_back({"long", Severity::note, std::string(5'000, '\x01'), "", {}});
  const WallTime now = std::chrono::system_clock::now();
  const std::string lines = json_lines_of(report, now) + json_lines_of(healthy("n0"), now);
  HostReports reports;
  auto parts = split(lines, '\n');
  parts.pop_back();  // behind the last line
  std::ranges::reverse(parts);
  for (const std::string_view line : parts) {
    EXPECT_LT(line.size(), max_line_bytes);
    EXPECT_TRUE(reports.take(line, now + 5s)) << line;
  }
  const auto all = reports.complete();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[1].host, "n1");
  EXPECT_NEAR(static_cast<double>(all[1].clock_behind.count()), 5000, 2);
  ASSERT_EQ(all[1].findings.size(), 2u) << "those that are not ok";
  EXPECT_EQ(all[1].findings[1].severity, Severity::error);
  EXPECT_EQ(all[1].findings[1].evidence, "seen\n\"it\"");
  EXPECT_EQ(all[1].findings[1].commands, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(all[1].traits.size(), 3u);
}

TEST(HostReports, AreIncompleteWithoutALine) {
  const WallTime now{};
  const std::string text = json_lines_of(healthy("n0"), now);
  const auto lines = split(text, '\n');
  for (std::size_t lost = 0; lost + 1 < lines.size(); ++lost) {
    HostReports reports;
    for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
      if (i != lost) reports.take(lines[i], now);
    }
    EXPECT_TRUE(reports.complete().empty()) << lost;
  }
}

TEST(HostReports, RefuseAnyOtherForm) {
  HostReports reports;
  for (const char* line :
       {"", "x", "{}", "[]", "null", R"({"host":1,"time":0,"lines":0})",
        R"({"host":"a","time":"x","lines":0})", R"({"host":"a","lines":0})",
        R"({"host":"a","finding":{}})", R"({"host":"a","trait":{"id":"x"}})", R"({"host":"a"})"}) {
    EXPECT_FALSE(reports.take(line, WallTime{})) << line;
  }
  EXPECT_FALSE(reports.take(std::string(max_line_bytes + 1, ' '), WallTime{}));
  EXPECT_TRUE(reports.complete().empty());
}

}  // namespace
}  // namespace toprun::doctor
