#include "scheduler/pmi.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "base/fd.h"

namespace toprun::scheduler {
namespace {

// A proxy that answers each line that it gets with the next of `answers`, then says no more.
class Proxy {
 public:
  explicit Proxy(std::vector<std::string> answers) {
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
const std::vector<std::string> hydra = {
    "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n",
    "cmd=my_kvsname kvsname=kvs_7\n",
    "cmd=put_result rc=0 msg=success\n",
    "cmd=barrier_out\n",
    "cmd=get_result rc=0 msg=success value=10.0.0.1,10.0.0.2\n",
    "cmd=get_result rc=0 msg=success value=(vector,(0,2,2))\n"};

TEST(Pmi, Rank0SaysWhereItIs) {
  Proxy proxy(hydra);
  const auto meeting = meet_by_pmi(proxy.fd(), 0, 4, "10.0.0.1,10.0.0.2", soon());
  ASSERT_TRUE(meeting) << meeting.error().line();
  EXPECT_EQ(meeting->job, "kvs_7");
  EXPECT_EQ(meeting->said, "10.0.0.1,10.0.0.2");
  EXPECT_EQ(proxy.asked(),
            "cmd=init pmi_version=1 pmi_subversion=1\ncmd=get_my_kvsname\ncmd=put kvsname=kvs_7 "
            "key=toprun-root value=10.0.0.1,10.0.0.2\ncmd=barrier_in\ncmd=get kvsname=kvs_7 "
            "key=toprun-root\ncmd=get kvsname=kvs_7 key=PMI_process_mapping\n");
  EXPECT_EQ(meeting->nodes, 2);
}

TEST(Pmi, MappingsCountNodes) {
  struct Case {
    const char* mapping;
    int ranks;
    int nodes;  // -1: not of the form
  };
  for (const auto& [mapping, ranks, nodes] : {Case{"(vector,(0,2,2))", 4, 2},
                                              {"(vector,(0,2,2))", 3, 2},
                                              {"(vector,(0,2,2))", 2, 1},
                                              {"(vector,(0,2,1))", 4, 2},
                                              {"(vector,(0,3,8),(3,1,4))", 28, 4},
                                              {"(vector,(1,1,4),(0,1,4))", 5, 2},
                                              {"", 4, -1},
                                              {"(vector)", 4, -1},
                                              {"(vector,(0,2))", 4, -1},
                                              {"(vector,(0,0,2))", 4, -1},
                                              {"(vector,(0,2,0))", 4, -1},
                                              {"(vector,(0,2,x))", 4, -1},
                                              {"(vector,(0,2,2)", 4, -1},
                                              {"(vector,(0,99999999999,1))", 4, -1}}) {
    EXPECT_EQ(nodes_in_mapping(mapping, ranks).value_or(-1), nodes) << mapping;
  }
}

TEST(Pmi, OthersHearIt) {
  std::vector<std::string> answers = hydra;
  answers.erase(answers.begin() + 2);
  Proxy proxy(answers);
  const auto meeting = meet_by_pmi(proxy.fd(), 1, 4, "", soon());
  ASSERT_TRUE(meeting) << meeting.error().line();
  EXPECT_EQ(meeting->said, "10.0.0.1,10.0.0.2");
  EXPECT_EQ(proxy.asked().find("put"), std::string::npos);
}

TEST(Pmi, WhatGoesWrongIsSaid) {
  struct Case {
    const char* what;
    std::vector<std::string> answers;
    const char* expected;
  };
  for (auto& [what, answers, expected] : std::vector<Case>{
           {"it never answers", {}, "PMI: not all ranks came to the meeting in time"},
           {"a rank is missing", {hydra[0], hydra[1]}, "PMI: not all ranks came to the meeting in"},
           {"it ends", {hydra[0], "close"}, "PMI: mpiexec's proxy has closed the connection"},
           {"it refuses",
            {"cmd=response_to_init rc=-1\n"},
            "mpiexec answers \"cmd=response_to_init"},
           {"another protocol", {"0016cmd=fullinit;\n"}, "mpiexec answers \"0016cmd=fullinit;\""},
           {"it does not stop", {std::string(5000, 'x')}, "is not a line"},
       }) {
    Proxy proxy(answers);
    const auto meeting = meet_by_pmi(proxy.fd(), 1, 4, "", soon());
    ASSERT_FALSE(meeting) << what;
    EXPECT_NE(meeting.error().line().find(expected), std::string::npos)
        << what << ": " << meeting.error().line();
    proxy.asked();
  }
}

}  // namespace
}  // namespace toprun::scheduler
