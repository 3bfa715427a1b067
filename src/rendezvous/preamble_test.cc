#include "rendezvous/preamble.h"

#include <gtest/gtest.h>

namespace toprun::rendezvous {
namespace {

Preamble sample() {
  return {"0.1.0", Role::member, "slurm.17.0", random_hex(8), random_hex(32), "derived"};
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
       }) {
    EXPECT_FALSE(Preamble::parse(bad)) << bad;
  }
}

TEST(Preamble, JobNamesSurviveTheWire) {
  EXPECT_EQ(wire_job("slurm.17.0"), "slurm.17.0");
  EXPECT_EQ(wire_job("my job\n"), "my%20job%0a");
  EXPECT_EQ(wire_job(""), "-");
  const std::string hashed = wire_job(std::string(500, 'x'));
  EXPECT_TRUE(hashed.starts_with("hash-"));
  EXPECT_LE(hashed.size(), max_job_bytes);
  EXPECT_NE(hashed, wire_job(std::string(501, 'x')));
}

TEST(Preamble, RefusalsCarryCodeAndText) {
  for (const Refusal code : {Refusal::version, Refusal::secret, Refusal::job, Refusal::attempt,
                             Refusal::rank_taken, Refusal::full, Refusal::not_root}) {
    std::string line = refusal_line(code, "some text");
    line.pop_back();
    const auto refused = parse_refusal(line);
    ASSERT_TRUE(refused) << line;
    EXPECT_EQ(refused->code, code);
    EXPECT_EQ(refused->text, "some text");
  }
  EXPECT_FALSE(parse_refusal("toprun/1 refused nonsense x"));
  EXPECT_FALSE(parse_refusal("toprun/1 welcome"));
}

}  // namespace
}  // namespace toprun::rendezvous
