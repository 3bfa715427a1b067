#include "run/model/exit.h"

#include <gtest/gtest.h>

#include <csignal>

#include <nlohmann/json.hpp>

#include "base/os/os_testing.h"

namespace toprun::model {
namespace {

using std::chrono::milliseconds;

const SteadyTime start = std::chrono::steady_clock::now() - std::chrono::seconds(60);

constexpr const char* gloo_lost =
    "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer "
    "[127.0.0.1]:41953";

WorkerExit ended(int rank, int at_ms, int exit_code, int signal = 0) {
  WorkerExit exit;
  exit.host = "n" + std::to_string(rank);
  exit.rank = rank;
  exit.exit_code = exit_code;
  exit.signal = signal;
  exit.ended = start + milliseconds(at_ms);
  return exit;
}

WorkerExit saying(WorkerExit exit, std::string exception) {
  exit.exception = std::move(exception);
  return exit;
}

WorkerExit printing(WorkerExit exit, std::string line) {
  exit.last_output = {"some line before", std::move(line)};
  return exit;
}

WorkerExit stopped(WorkerExit exit) {
  exit.ours = true;
  return exit;
}

WorkerExit recording(WorkerExit exit, std::string message, std::optional<int> raised_at_ms) {
  exit.error_file = ErrorFile{"/l/error.json", std::move(message), std::nullopt};
  if (raised_at_ms) exit.error_file->raised = start + milliseconds(*raised_at_ms);
  return exit;
}

TEST(Exit, KnowsAVictimByItsLastWords) {
  const std::vector<std::pair<std::string, bool>> exceptions = {
      {gloo_lost, true},
      {"RuntimeError: Gloo connectFullMesh failed with [..] connect [10.0.0.1]:5: Connection "
       "refused",
       true},
      {"ConnectionRefusedError: [Errno 111] Connection refused",
       false},  // not from the job's own connections
      {"torch.distributed.DistBackendError: NCCL error in: ../NCCLUtils.cpp:1, remote process "
       "exited "
       "or there was a network error, NCCL version 2.27",
       true},
      {"torch.distributed.DistBackendError: NCCL error\nncclRemoteError: A call failed", true},
      {"torch.distributed.DistNetworkError: failed to recv, got 0 bytes", true},
      {"RuntimeError: recvValue failed on SocketImpl(fd=3): Connection reset by peer", true},
      {"BrokenPipeError: [Errno 32] Broken pipe", true},
      {"torch.distributed.DistStoreError: wait timeout after 300000ms, keys: /a", true},
      {"ValueError: boom", false},
      {"torch.OutOfMemoryError: CUDA out of memory.", false},
      {"AssertionError", false},
  };
  for (const auto& [text, victim] : exceptions) {
    EXPECT_EQ(tells_only_of_a_lost_peer(saying(ended(0, 0, 1), text)), victim) << text;
  }
  EXPECT_TRUE(tells_only_of_a_lost_peer(printing(ended(0, 0, 1), "Connection closed by peer")));
  // src/bench/measure/schedule_test.cc has the same sentences.
  for (const auto* text :
       {"toprun: waiting for bytes from rank 1 on n1: no data was transferred "
        "for 5 s",
        "toprun: rank 1 on n1 takes no more bytes: no data was transferred for 5 s",
        "toprun: receiving from rank 1 on n1: connection closed by peer"}) {
    EXPECT_TRUE(tells_only_of_a_lost_peer(printing(ended(0, 0, 1), text))) << text;
  }
  EXPECT_FALSE(tells_only_of_a_lost_peer(
      printing(ended(0, 0, 3), "download: no data was transferred for 60 s")));
  EXPECT_TRUE(tells_only_of_a_lost_peer(printing(ended(0, 0, 0, SIGABRT), "Broken pipe")));
  EXPECT_FALSE(tells_only_of_a_lost_peer(printing(ended(0, 0, 0, SIGSEGV), "Broken pipe")));
  EXPECT_FALSE(tells_only_of_a_lost_peer(ended(0, 0, 1)));
  // The worker's own error outweighs the lines around it.
  EXPECT_FALSE(tells_only_of_a_lost_peer(saying(printing(ended(0, 0, 1), "Broken pipe"), "E: x")));
  EXPECT_FALSE(tells_only_of_a_lost_peer(recording(saying(ended(0, 0, 1), gloo_lost), "E: x", 0)));
}

TEST(Exit, RootCause) {
  struct Case {
    const char* name;
    std::vector<WorkerExit> exits;
    int rank;  // -1: none
    int code;
  };
  const std::vector<Case> cases = {
      {"nobody", {}, -1, 0},
      {"all well", {ended(0, 1, 0), ended(1, 2, 0)}, -1, 0},
      {"the only one", {ended(0, 1, 0), ended(1, 2, 7)}, 1, 7},
      {"a signal", {ended(0, 1, 0, SIGSEGV), stopped(ended(1, 2, 0, SIGTERM))}, 0, 139},
      {"the earliest", {ended(0, 20, 3), ended(1, 10, 4), ended(2, 30, 5)}, 1, 4},
      {"only stopped ones",
       {stopped(ended(0, 1, 0, SIGTERM)), stopped(ended(1, 1, 0, SIGKILL))},
       -1,
       0},
      {"victims yield",
       {saying(ended(0, 10, 1), gloo_lost), saying(ended(1, 20, 6), "E: x")},
       1,
       6},
      {"a crash is no victim",
       {saying(ended(0, 10, 1), gloo_lost), ended(1, 20, 0, SIGKILL)},
       1,
       137},
      {"the earliest victim if there is no other",
       {saying(ended(0, 20, 1), gloo_lost), saying(ended(1, 10, 2), gloo_lost)},
       1,
       2},
      {"slow on its way out: stopped after an error of its own",
       {saying(ended(0, 10, 9), gloo_lost), stopped(saying(ended(1, 12, 0, SIGTERM), "E: x"))},
       1,
       1},
      {"the same, but it ended by itself after our signal",
       {saying(ended(0, 10, 9), gloo_lost), stopped(saying(ended(1, 12, 5), "E: x"))},
       1,
       5},
      {"a stopped victim is none",
       {saying(ended(0, 10, 9), gloo_lost), stopped(saying(ended(1, 12, 0, SIGTERM), gloo_lost))},
       0,
       9},
      {"what we stopped never outweighs a failure of another's own",
       {saying(ended(0, 10, 9), "E: a"), stopped(saying(ended(1, 12, 0, SIGTERM), "E: b"))},
       0,
       9},
      {"the error file's time counts",
       {saying(ended(0, 10, 3), "E: a"), recording(ended(1, 2000, 4), "E: b", 5)},
       1,
       4},
      {"an error file without a time",
       {ended(0, 10, 3), recording(ended(1, 20, 4), "E: b", {})},
       0,
       3},
      {"an error file of one we stopped",
       {saying(ended(0, 10, 3), gloo_lost),
        recording(stopped(ended(1, 20, 0, SIGTERM)), "E: b", 5)},
       1,
       1},
  };
  for (const Case& c : cases) {
    const WorkerExit* const cause = root_cause(c.exits);
    ASSERT_EQ(cause == nullptr ? -1 : cause->rank, c.rank) << c.name;
    if (cause != nullptr) {
      EXPECT_EQ(cause_code(*cause), c.code) << c.name;
    }
  }
}

TEST(Exit, TravelsAsJson) {
  WorkerExit sent = recording(saying(ended(3, 10, 7), "E: x"), "E: x", 5);
  sent.local_rank = 1;
  sent.pid = 4711;
  sent.program = "/usr/bin/python3";
  sent.last_output = {"a", "b"};
  sent.kernel_evidence = "the kernel says";
  const auto received = nlohmann::json::parse(nlohmann::json(sent).dump()).get<WorkerExit>();
  EXPECT_EQ(received.host, "n3");
  EXPECT_EQ(received.rank, 3);
  EXPECT_EQ(received.local_rank, 1);
  EXPECT_EQ(received.pid, 4711);
  EXPECT_EQ(received.program, "/usr/bin/python3");
  EXPECT_EQ(received.exit_code, 7);
  EXPECT_FALSE(received.ours);
  EXPECT_EQ(received.exception, "E: x");
  EXPECT_EQ(received.last_output, sent.last_output);
  EXPECT_EQ(received.kernel_evidence, sent.kernel_evidence);
  EXPECT_EQ(received.error_file->message, "E: x");
  // Allows for ages in whole milliseconds and for the duration of this test.
  EXPECT_LT(received.ended - sent.ended, milliseconds(5000));
  EXPECT_EQ(std::chrono::round<milliseconds>(received.ended - *received.error_file->raised).count(),
            5);
  EXPECT_THROW(nlohmann::json::parse(R"({"host":"n"})").get<WorkerExit>(),
               nlohmann::json::exception);
}

TEST(Exit, OfAnotherHostHasItsBounds) {
  if (emulated()) GTEST_SKIP() << "tens of MB, for which an emulator takes minutes";
  WorkerExit sent;
  sent.exit_code = 70'000;
  sent.signal = -3;
  sent.exception.assign(2u << 20, 'x');
  sent.last_output.assign(1'000, std::string(10'000, 'y'));
  sent.error_file = ErrorFile{"p", std::string(2u << 20, 'z'), std::nullopt};
  const auto received = nlohmann::json::parse(nlohmann::json(sent).dump()).get<WorkerExit>();
  EXPECT_EQ(received.exit_code, 255);
  EXPECT_EQ(received.signal, 0);
  EXPECT_EQ(received.exception.size(), longest_text_bytes);
  EXPECT_EQ(received.error_file->message.size(), longest_text_bytes);
  ASSERT_EQ(received.last_output.size(), last_output_lines);
  EXPECT_EQ(received.last_output.front().size(), last_output_line_bytes);
}

}  // namespace
}  // namespace toprun::model
