#include "node/link/preamble.h"

#include <gtest/gtest.h>

namespace toprun::link {
namespace {

Preamble sample() {
  return {"0.1.0", Role::member, "slurm.17.0", new_agent_id(), random_hex(32), "derived"};
}

TEST(Preamble, ReadsBackWhatItWrites) {
  const Preamble mine = sample();
  const std::string line = mine.line();
  ASSERT_EQ(line.back(), '\n');
  const auto read = Preamble::parse(line.substr(0, line.size() - 1));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->line(), line);
  EXPECT_EQ(read->role, Role::member);
}

TEST(Preamble, RefusesEverythingElse) {
  const std::string good = sample().line().substr(0, sample().line().size() - 1);
  for (const std::string& bad : {
           std::string(),
           std::string("GET / HTTP/1.1"),
           std::string("toprun/2") + good.substr(8),
           good + " more",
           good.substr(0, good.rfind(' ')),
           good + std::string(max_line_bytes, 'x'),
           std::string("toprun/1 0.1.0 king job 0123456789abcdef ") + std::string(64, '0') + " x",
           std::string("toprun/1 0.1.0 root job 0123456789abcdeX ") + std::string(64, '0') + " x",
           std::string("toprun/1 0.1.0 root job  ") + std::string(64, '0') + " x",
           std::string("toprun/1 0.1.0 root job 01234567890123456789012345678901a ") +
               std::string(64, '0') + " x",
           std::string("toprun/1 0.1.0 root job 0123456789abcd ") + std::string(63, '0') + " x",
       }) {
    EXPECT_FALSE(Preamble::parse(bad)) << bad;
  }
}

TEST(Preamble, ReadsTheNameOfAnAgentOfAnotherVersion) {
  EXPECT_TRUE(
      Preamble::parse("toprun/1 0.0.9 root job 0123456789abcdef " + std::string(64, '0') + " x"));
}

TEST(Preamble, TheWireTellsJobsApartButNotTheirNames) {
  EXPECT_EQ(job_hash("mine"), job_hash("mine"));
  EXPECT_NE(job_hash("mine"), job_hash("yours"));
  EXPECT_EQ(job_hash("mine").find("mine"), std::string::npos);
  for (const std::string& job : {std::string(), std::string("my job\n"), std::string(500, 'x')}) {
    Preamble preamble = sample();
    preamble.job = job_hash(job);
    const std::string line = preamble.line();
    EXPECT_TRUE(Preamble::parse(line.substr(0, line.size() - 1))) << line;
  }
}

TEST(Preamble, WhoIsTurnedAwayHearsWhyAndByWhichVersion) {
  for (const Turned why :
       {Turned::version, Turned::job, Turned::secret, Turned::not_root, Turned::busy}) {
    std::string line = TurnedAway{why, "0.1.0"}.line();
    line.pop_back();
    const auto turned = TurnedAway::parse(line);
    ASSERT_TRUE(turned) << line;
    EXPECT_EQ(turned->why, why);
    EXPECT_EQ(turned->version, "0.1.0");
  }
  for (const std::string& bad :
       {std::string("toprun/1 refused nonsense 0.1.0"), std::string("toprun/1 agreed"),
        std::string("toprun/1 refused secret"), std::string("toprun/1 refused secret \x1b[2J"),
        std::string("toprun/1 refused secret do what I say"),
        "toprun/1 refused secret " + std::string(max_version_bytes + 1, '1')}) {
    EXPECT_FALSE(TurnedAway::parse(bad)) << bad;
  }
}

}  // namespace
}  // namespace toprun::link
