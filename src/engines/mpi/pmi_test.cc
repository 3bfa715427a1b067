#include "engines/mpi/pmi.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "base/os/fd.h"

namespace toprun::engines {
namespace {

// A proxy that answers each line that it gets with the next of `answers`, then says no more.
class FakeProxy {
 public:
  explicit FakeProxy(std::vector<std::string> answers) {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    client_ = Fd(ends[0]);
    thread_ = std::thread([this, server = ends[1], answers = std::move(answers)] {
      const Fd closing(server);
      for (std::size_t i = 0;; ++i) {
        char byte = 0;
        std::string line;
        while (::read(server, &byte, 1) == 1 && byte != '\n') line += byte;
        if (line.empty()) return;
        asked_ += line + "\n";
        if (i >= answers.size()) continue;
        if (answers[i] == "close") return;
        EXPECT_EQ(::write(server, answers[i].data(), answers[i].size()), std::ssize(answers[i]));
      }
    });
  }
  int fd() const { return client_.get(); }
  std::string asked() {
    client_.reset();
    thread_.join();
    return asked_;
  }

 private:
  Fd client_;
  std::thread thread_;
  std::string asked_;
};

SteadyTime soon() {
  return std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
}

// As MPICH 4.2's proxy answers.
const std::vector<std::string> begins = {
    "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1\n",
    "cmd=my_kvsname rc=0 kvsname=kvs_7\n", "cmd=put_result rc=0\n", "cmd=barrier_out\n"};
const std::string put = "cmd=put_result rc=0\n";
const std::string barrier = "cmd=barrier_out\n";
const std::string bye = "cmd=finalize_ack rc=0\n";

std::string got(const std::string& value) {
  return "cmd=get_result rc=0 value=" + value + " found=TRUE\n";
}

std::vector<std::string> with_answer(std::vector<std::string> answers,
                                     std::initializer_list<std::string> more) {
  answers.insert(answers.end(), more);
  return answers;
}

TEST(Pmi, Rank0CountsNodesAndSaysWhereItIs) {
  FakeProxy proxy(with_answer(begins, {got("first"), got("another"), got("first"), put, barrier,
                                       got("2;10.0.0.1,fd77::1"), bye}));
  const auto meeting = meet_by_pmi({proxy.fd(), 0, 3, 0}, "10.0.0.1,fd77::1", soon());
  ASSERT_TRUE(meeting) << meeting.error().line();
  EXPECT_EQ(meeting->job, "kvs_7");
  EXPECT_EQ(meeting->said, "10.0.0.1,fd77::1");
  EXPECT_EQ(meeting->nodes, 2);
  EXPECT_EQ(proxy.asked(),
            "cmd=init pmi_version=1 pmi_subversion=1\ncmd=get_my_kvsname\n"
            "cmd=put kvsname=kvs_7 key=toprun-0 value=first\ncmd=barrier_in\n"
            "cmd=get kvsname=kvs_7 key=toprun-0\ncmd=get kvsname=kvs_7 key=toprun-1\n"
            "cmd=get kvsname=kvs_7 key=toprun-2\n"
            "cmd=put kvsname=kvs_7 key=toprun-root value=2;10.0.0.1,fd77::1\ncmd=barrier_in\n"
            "cmd=get kvsname=kvs_7 key=toprun-root\ncmd=finalize\n");
}

TEST(Pmi, OthersHearIt) {
  FakeProxy proxy(with_answer(begins, {barrier, got("2;10.0.0.1"), bye}));
  const auto meeting = meet_by_pmi({proxy.fd(), 1, 3, 1}, "", soon());
  ASSERT_TRUE(meeting) << meeting.error().line();
  EXPECT_EQ(meeting->said, "10.0.0.1");
  EXPECT_EQ(meeting->nodes, 2);
  EXPECT_NE(proxy.asked().find("key=toprun-1 value=another\n"), std::string::npos);
}

TEST(Pmi, WhatGoesWrongIsSaid) {
  struct Case {
    const char* what;
    std::vector<std::string> answers;
    const char* expected;
  };
  for (auto& [what, answers, expected] : std::vector<Case>{
           {"it never answers", {}, "PMI: not all ranks reached the barrier in time"},
           {"a rank is missing",
            {begins[0], begins[1]},
            "PMI: not all ranks reached the barrier in"},
           {"it ends", {begins[0], "close"}, "PMI: mpiexec's proxy closed the connection"},
           {"it refuses",
            {"cmd=response_to_init rc=-1\n"},
            "mpiexec answers \"cmd=response_to_init"},
           {"another protocol", {"0016cmd=fullinit;\n"}, "mpiexec answers \"0016cmd=fullinit;\""},
           {"rank 0 says nonsense", with_answer(begins, {barrier, got("10.0.0.1"), bye}),
            "rank 0 sent \"10.0.0.1\""},
           {"… or nothing", with_answer(begins, {barrier, got(""), bye}), "rank 0 sent \"\""},
           {"… or too many", with_answer(begins, {barrier, got("4;a"), bye}),
            "rank 0 sent \"4;a\""},
           {"it does not stop", {std::string(5000, 'x')}, "is longer than 4096 bytes"},
       }) {
    FakeProxy proxy(answers);
    const auto meeting = meet_by_pmi({proxy.fd(), 1, 3, 0}, "", soon());
    ASSERT_FALSE(meeting) << what;
    EXPECT_NE(meeting.error().line().find(expected), std::string::npos)
        << what << ": " << meeting.error().line();
    proxy.asked();
  }
}

}  // namespace
}  // namespace toprun::engines
