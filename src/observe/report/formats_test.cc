#include "observe/report/formats.h"

#include <gtest/gtest.h>

#include <set>

#include <nlohmann/json.hpp>

namespace toprun::report {
namespace {

// Two racks with alternating hosts, a host with only a known cluster, and one without a place; two
// processes each, one on n2.
placement::Placement five_hosts() {
  const topology::Map map{"file racks.txt",
                          {"cluster", "rack"},
                          {{"n0", {{"c", "b"}, "racks.txt:1", "/c/b/0"}},
                           {"n1", {{"c", "a"}, "racks.txt:2", {}}},
                           {"n2", {{"c", "b"}, "racks.txt:3", {}}},
                           {"n3", {{"c", std::nullopt}, "racks.txt:4", {}}}},
                          {}};
  return *placement::place({{"x", 2}, {"n0", 2}, {"n1", 2}, {"n2", 1}, {"n3", 2}}, map);
}

std::string text_of(std::string_view format) {
  return find_format(format)->text(five_hosts());
}

TEST(Formats, AreTheTextsThatTheirReadersTake) {
  const std::vector<std::pair<std::string_view, std::string_view>> rows = {
      {"table",
       "Standard\n"
       "rank  hostname  physical_host\n"
       "0     x         unknown\n"
       "2     n0        /c/b/0\n"
       "4     n1        /c/a/n1\n"
       "6     n2        /c/b/n2\n"
       "7     n3        /c//n3\n"
       "Sorted by topology\n"
       "rank  hostname  physical_host\n"
       "0     n1        /c/a/n1\n"
       "2     n0        /c/b/0\n"
       "4     n2        /c/b/n2\n"
       "5     n3        /c//n3\n"
       "7     x         unknown\n"},
      {"hosts", "n1\nn0\nn2\nn3\nx\n"},
      {"hostfile", "n1 slots=2\nn0 slots=2\nn2 slots=1\nn3 slots=2\nx slots=2\n"},
      {"rankfile",
       "rank 0=n1 slot=0\nrank 1=n1 slot=1\nrank 2=n0 slot=0\nrank 3=n0 slot=1\n"
       "rank 4=n2 slot=0\nrank 5=n3 slot=0\nrank 6=n3 slot=1\nrank 7=x slot=0\nrank 8=x slot=1\n"},
      {"seq", "n1\nn1\nn0\nn0\nn2\nn3\nn3\nx\nx\n"},
      {"slurm", "n1\nn1\nn0\nn0\nn2\nn3\nn3\nx\nx\n"},
      {"deepspeed", "n1 slots=2\nn0 slots=2\nn2 slots=1\nn3 slots=2\nx slots=2\n"},
      {"kubernetes", "[\"n1\", \"n0\", \"n2\", \"n3\", \"x\"]\n"},
      {"dlrover", "{\"n1\": \"c/a\", \"n0\": \"c/b\", \"n2\": \"c/b\"}\n"},
  };
  for (const auto& [format, text] : rows) EXPECT_EQ(text_of(format), text) << format;
  EXPECT_EQ(rows.size() + 1, formats().size());  // and JSON
}

TEST(Formats, JsonHoldsEverything) {
  const auto json = nlohmann::json::parse(text_of("json"));
  EXPECT_EQ(json["order"], nlohmann::json({"n1", "n0", "n2", "n3", "x"}));
  EXPECT_EQ(json["nodes"][3]["path"], nlohmann::json({"c", nullptr}));
  EXPECT_EQ(json["nodes"][4]["first_rank"], 7);
  EXPECT_EQ(json["unplaced"], nlohmann::json({"x"}));
}

TEST(Formats, EmptyAndWithoutProcesses) {
  const placement::Placement none = *placement::place({}, {});
  const placement::Placement idle = *placement::place({{"a", 0}, {"b", 1}}, {});
  for (const auto* format : {"hosts", "hostfile", "rankfile", "seq", "slurm", "deepspeed"}) {
    EXPECT_EQ(find_format(format)->text(none), "") << format;
  }
  EXPECT_EQ(find_format("rankfile")->text(idle), "rank 0=b slot=0\n");
  EXPECT_EQ(find_format("slurm")->text(idle), "b\n");
  EXPECT_EQ(find_format("hostfile")->text(idle), "b slots=1\n");
  EXPECT_EQ(find_format("hosts")->text(idle), "a\nb\n");
  EXPECT_EQ(find_format("kubernetes")->text(none), "[]\n");
  EXPECT_EQ(find_format("dlrover")->text(idle), "{}\n");
}

TEST(Formats, HaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const Format& format : formats()) {
    EXPECT_TRUE(names.insert(format.name).second) << format.name;
    EXPECT_EQ(find_format(format.name), &format);
    EXPECT_FALSE(format.help.empty());
  }
  EXPECT_EQ(find_format("tables"), nullptr);
  EXPECT_EQ(formats().front().name, "table");
}

}  // namespace
}  // namespace toprun::report
