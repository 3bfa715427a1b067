#include "decide/cost/links.h"

#include <gtest/gtest.h>

namespace toprun::cost {
namespace {

std::string text_of(const Result<Links>& links) {
  if (!links) return links.error().line();
  std::string text;
  for (const Links::Level& level : links->levels) {
    text += fmt::format("{} {:g}:{:g}{} ", level.name, level.gbps, level.latency_us,
                        level.assumed ? "?" : "");
  }
  return text + fmt::format("host {:g}:{:g}{}", links->host.gbps, links->host.latency_us,
                            links->host.assumed ? "?" : "");
}

TEST(Links, TheUserGoesBeforeTheSourceAndThatBeforeWhatIsAssumed) {
  topology::Map map;
  map.levels = {"spine", "leaf", "nvlink"};
  EXPECT_EQ(text_of(links_of(map, {}, 8)), "spine 0:1? leaf 0:1? nvlink 57600:2? host 3200:5?");
  map.links = {{"leaf", {3200.0, {}}}, {"host", {1600.0, 4.0}}};
  EXPECT_EQ(text_of(links_of(map, {{"leaf", {800.0, 2.5}}}, 4)),
            "spine 0:1? leaf 800:2.5 nvlink 28800:2? host 1600:4");
  EXPECT_EQ(text_of(links_of(map, {{"rack", {800.0, {}}}}, 4)),
            "--link rack: the network does not have this level; choose one of: spine, leaf, "
            "nvlink, host");
}

TEST(Links, DomainsHaveTheirOwnRatesUnlessTheUserNamesOneForAll) {
  topology::Map map;
  map.levels = {"spine", "leaf"};
  map.domain_gbps = {{"leaf", {{"L0", 400}, {"L1", 0}}}, {"gone", {{"g", 1}}}};
  const auto rates = [&](const LinksByLevel& of_user) {
    return links_of(map, of_user, 1)->levels[1].gbps_of_domain;
  };
  EXPECT_EQ(rates({}), map.domain_gbps["leaf"]);
  EXPECT_EQ(rates({{"leaf", {std::nullopt, 2.0}}}), map.domain_gbps["leaf"]);
  EXPECT_EQ(rates({{"leaf", {800.0, {}}}}), (std::map<std::string, double>()));
}

TEST(ParseLink, Table) {
  struct Case {
    std::string text;
    std::string result;
  };
  const std::string form =
      "; write LEVEL=GBPS or LEVEL=GBPS:MICROSECONDS, as in rack=400 or rack=400:2";
  for (const auto& [text, result] : std::vector<Case>{
           {"rack=0.4", "rack 0.4"},
           {"rack=400:2.5", "rack 400 2.5"},
           {"a=b", "--link a=b: the bandwidth is a number of gigabits per second above 0" + form},
           {"rack=0",
            "--link rack=0: the bandwidth is a number of gigabits per second above 0" + form},
           {"rack=inf",
            "--link rack=inf: the bandwidth is a number of gigabits per second above 0" + form},
           {"rack=nan",
            "--link rack=nan: the bandwidth is a number of gigabits per second above 0" + form},
           {"rack=1:-1", "--link rack=1:-1: the latency is a number of microseconds" + form},
           {"rack=1:", "--link rack=1:: the latency is a number of microseconds" + form},
           {"=4", "--link =4: it names no level" + form},
           {"rack", "--link rack: it names no level" + form},
       }) {
    const auto link = parse_link(text);
    const std::string got =
        !link ? link.error().line()
              : fmt::format(
                    "{} {:g}{}", link->first, *link->second.gbps,
                    link->second.latency_us ? fmt::format(" {:g}", *link->second.latency_us) : "");
    EXPECT_EQ(got, result) << text;
  }
}

}  // namespace
}  // namespace toprun::cost
