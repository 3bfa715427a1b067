#include <gtest/gtest.h>

#include "decide/topology/cloud/cloud.h"
#include "decide/topology/topology_testing.h"

namespace toprun::topology {
namespace {

std::string path_text(std::string_view text) {
  const auto path = parse_gcp_physical_host(text);
  if (!path) return "error: " + path.error();
  std::string out;
  for (const auto& domain : *path) out += "/" + domain.value_or("?");
  return out;
}

TEST(GcpPhysicalHost, IsAPathWithTheHostAtItsEnd) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"/c/r/h", "/c/r"},
      {"c/r/h", "/c/r"},
      {"/c/r/h\n", "/c/r"},
      {"/CJ0/1a2b/0f", "/CJ0/1a2b"},
      {"/c/b/s/h", "/c/b/s"},
      {"c/b/s/h", "/c/b/s"},
      {"/r/h", "/r"},
      {"/c//h", "/c/?"},
      {"//r/h", "/?/r"},
      {"/h", "error: '/h' does not name a domain above the host"},
      {"h", "error: '/h' does not name a domain above the host"},
      {"/c/r/", "error: the host's own id is missing"},
      {"/", "error: '/' does not name a domain above the host"},
      {"///h", "error: it does not name a domain"},
      {"/c/r r/h", "error: 'r r' is not an id"},
      {std::string("/c/r\0/h", 7), "error: 'r\\x00' is not an id"},
      {"/c/r\xff/h", "error: 'r\\xff' is not an id"},
      {"<html>not found</html>", "error: '<html>not found<' is not an id"},
      {"/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/h", "/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16"},
      {"/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/h", "error: the path has more than 16 levels"},
  };
  for (const auto& [text, expected] : rows) EXPECT_EQ(path_text(text), expected) << text;
}

TEST(GcpPhysicalHost, HugeAnswersAreRefused) {
  EXPECT_EQ(path_text(std::string(4000, '/') + "h"), "error: the path has more than 16 levels");
  EXPECT_TRUE(path_text("/" + std::string(4000, 'x') + "/h").starts_with("error: 'xxx"));
  EXPECT_EQ(path_text(std::string(1u << 20, '/') + "h"), "error: it is longer than 4096 bytes");
}

// Nodes n0, n1 … with these answers; "-": the attribute does not exist; "!": no answer.
Request request_of(const std::vector<std::string>& answers, std::string topology = "auto") {
  Request request{std::move(topology), {}, {}};
  for (const std::string& answer : answers) {
    CloudEvidence evidence{"gcp", answer, ""};
    if (answer == "-" || answer == "!") evidence.text.reset();
    if (answer == "!") evidence.trouble = "no answer within 1 s";
    request.members.push_back(
        {"n" + std::to_string(request.members.size()) + ".example.org", "", "", evidence});
  }
  return request;
}

std::string text_of_answers(const std::vector<std::string>& answers,
                            std::string topology = "auto") {
  const auto map = read_gcp(request_of(answers, std::move(topology)));
  if (!map || !*map) return "none";
  std::string text = (*map)->source + "|" + text_of(**map);
  for (const std::string& warning : (*map)->warnings) text += warning + "\n";
  return text;
}

TEST(Gcp, PutsMembersWhereTheyAre) {
  EXPECT_EQ(
      text_of_answers({"/c/b/0", "/c/a/1"}),
      "gcp|cluster rack\nn0.example.org c/b physical_host\nn1.example.org c/a physical_host\n");
  EXPECT_EQ(text_of_answers({"c/b/s/0"}),
            "gcp|cluster block subblock\nn0.example.org c/b/s physical_host\n");
  const auto map = read_gcp(request_of({"c/b/s/0"}));
  EXPECT_EQ((*map)->hosts[0].location.written, "/c/b/s/0");
}

TEST(Gcp, OneWarningForAllWithoutAPlacementPolicy) {
  const std::string why =
      " is empty, as on machines that were created without a compact placement policy; verify with "
      "`gcloud compute instances describe ";
  const std::string command = " --zone=ZONE --format=\"value(resourceStatus.physicalHost)\"`\n";
  EXPECT_EQ(text_of_answers({"/c/b/0", "", "\n", "/c/a/3"}),
            "gcp|cluster rack\nn0.example.org c/b physical_host\nn3.example.org c/a "
            "physical_host\nn[1-2].example.org: Google does not report their place: physical_host" +
                why + "n1" + command);
  EXPECT_EQ(text_of_answers({"", ""}),
            "|\nn[0-1].example.org: Google does not report their place: physical_host" + why +
                "n0" + command);
}

TEST(Gcp, SaysOfWhomItKnowsNothing) {
  EXPECT_EQ(text_of_answers({"/c/b/0", "-", "!", "!", "nonsense"}),
            "gcp|cluster rack\nn0.example.org c/b physical_host\n"
            "n[2-3].example.org: physical_host is not known: no answer within 1 s\n"
            "n1.example.org: the metadata server does not have physical_host\n"
            "physical_host of n4.example.org is malformed and ignored: '/nonsense' does not name a "
            "domain above the host\n");
  EXPECT_EQ(text_of_answers({"/c/b/0", "/c/b/s/1"}),
            "gcp|cluster block subblock\nn1.example.org c/b/s physical_host\n"
            "physical_host of n0.example.org has fewer levels than on the other hosts, so toprun "
            "cannot compare it with theirs\n");
  Request joined_late = request_of({"", "", ""});
  std::swap(joined_late.members[0], joined_late.members[2]);
  EXPECT_TRUE((*read_gcp(joined_late))->warnings[0].starts_with("n[0-2].example.org: "));
  // Most machines have no such attribute, so `auto` adds no warning.
  EXPECT_EQ(text_of_answers({"-", "-"}), "|\n");
  EXPECT_EQ(text_of_answers({"-", "-"}, "gcp"),
            "|\nn[0-1].example.org: the metadata server does not have physical_host\n");
}

}  // namespace
}  // namespace toprun::topology
