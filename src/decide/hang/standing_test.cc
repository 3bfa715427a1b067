#include "decide/hang/standing.h"

#include <gtest/gtest.h>

#include <array>

namespace toprun::hang {
namespace {

using stacks::Frame;
using stacks::Process;

constexpr const char* c10d =
    "/v/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py";
constexpr const char* logger = "/v/lib/python3.11/site-packages/torch/distributed/c10d_logger.py";

const std::vector<Frame> in_all_reduce = {{"all_reduce", c10d, 2810},
                                          {"wrapper", logger, 81},
                                          {"step", "/job/train.py", 88},
                                          {"<module>", "/job/train.py", 120}};

Process sleeping(std::vector<Frame> frames) {
  Process process;
  process.threads = {stacks::Thread{.id = 1, .state = 'S', .python = std::move(frames)}};
  return process;
}

TEST(Standing, OfARankInACollective) {
  const Standing standing = standing_of(sleeping(in_all_reduce));
  EXPECT_EQ(standing.doing, Doing::communicates);
  EXPECT_EQ(place_text(standing), "in all_reduce, train.py:88 in step");
}

TEST(Standing, OfWhatEndsInACollectiveByOtherWays) {
  const std::string torch = "/v/lib/python3.11/site-packages/torch/";
  // Compiled code and functional collectives go through _ops.py.
  EXPECT_TRUE(is_communication(
      std::array<Frame, 2>{Frame{"__call__", torch + "_ops.py", 1},
                           {"wait_tensor", torch + "distributed/_functional_collectives.py", 2}}));
  EXPECT_TRUE(is_communication(
      std::array<Frame, 1>{Frame{"_engine_run_backward", torch + "autograd/graph.py", 825}}));
  EXPECT_TRUE(
      is_communication(std::array<Frame, 1>{Frame{"synchronize", torch + "cuda/__init__.py", 1}}));
  // A model that FSDP has wrapped computes below torch/distributed/.
  EXPECT_FALSE(is_communication(std::array<Frame, 3>{
      Frame{"forward", "/job/model.py", 7},
      {"_call_impl", torch + "nn/modules/module.py", 1},
      {"forward", torch + "distributed/fsdp/fully_sharded_data_parallel.py", 1}}));
  EXPECT_FALSE(is_communication(std::array<Frame, 0>{}));
}

TEST(Standing, NamesTheUsersLine) {
  const std::string lib = "/usr/lib/python3.11/";
  EXPECT_EQ(place_text(standing_of(sleeping({{"load", "/job/data.py", 41}}))),
            "at data.py:41 in load");
  EXPECT_EQ(place_text(standing_of(sleeping({{"wait", lib + "threading.py", 320},
                                             {"get", lib + "queue.py", 171},
                                             {"load", "/job/data.py", 41}}))),
            "in Queue.get, data.py:41 in load");
  // Thread.join, whose inner function has another name in each version of Python.
  EXPECT_EQ(place_text(standing_of(sleeping({{"_wait_for_tstate_lock", lib + "threading.py", 1136},
                                             {"join", lib + "threading.py", 1116},
                                             {"main", "/job/train.py", 9}}))),
            "in join, train.py:9 in main");
  EXPECT_EQ(place_text(standing_of(sleeping({{"select", lib + "selectors.py", 415},
                                             {"wait", lib + "multiprocessing/connection.py", 948},
                                             {"get", lib + "multiprocessing/queues.py", 113},
                                             {"load", "/job/data.py", 41}}))),
            "in Queue.get, data.py:41 in load");
  EXPECT_EQ(place_text(standing_of(sleeping({{"_try_wait", lib + "subprocess.py", 1},
                                             {"wait", lib + "subprocess.py", 2},
                                             {"run", lib + "subprocess.py", 3},
                                             {"load", "/job/data.py", 41}}))),
            "in run, data.py:41 in load");
  EXPECT_EQ(place_text(standing_of(sleeping({{"wait", lib + "threading.py", 320}}))),
            "at threading.py:320 in wait");
  EXPECT_EQ(place_text(standing_of(sleeping({}))), "");
}

TEST(Standing, FollowsTheKernelsState) {
  const auto with = [](char state) {
    Process process = sleeping(in_all_reduce);
    process.threads.front().state = state;
    process.threads.front().wchan = "folio_wait_bit";
    return standing_of(process);
  };
  EXPECT_EQ(with('T').doing, Doing::stopped);
  EXPECT_EQ(with('t').doing, Doing::stopped);
  EXPECT_EQ(with('D').doing, Doing::uninterruptible);
  EXPECT_EQ(with('D').wchan, "folio_wait_bit");
  EXPECT_EQ(with('S').wchan, "");
  EXPECT_EQ(with('Z').doing, Doing::ended);
  EXPECT_EQ(with('R').doing, Doing::communicates);  // NCCL's users spin
  EXPECT_EQ(with('S').doing, Doing::communicates);
  EXPECT_EQ(standing_of(Process{}).doing, Doing::ended);
  Process running = sleeping({{"spin", "/job/a.py", 3}});
  running.threads.front().state = 'R';
  EXPECT_EQ(standing_of(running).doing, Doing::computes);
}

TEST(Standing, TellsALockFromASleep) {
  const auto in = [](const std::string& wchan) {
    Process process = sleeping({{"checkpoint", "/job/hang.py", 16}});
    process.threads.front().wchan = wchan;
    return standing_of(process).doing;
  };
  EXPECT_EQ(in("futex_wait_queue"), Doing::locked);
  EXPECT_EQ(in("futex_do_wait"), Doing::locked);
  EXPECT_EQ(in("hrtimer_nanosleep"), Doing::waits);
  EXPECT_EQ(in(""), Doing::waits);
  EXPECT_EQ(doing_text(Doing::locked), "waits for a lock or another thread");
}

TEST(Standing, ShowsTheChildThatItWaitsFor) {
  Process rank =
      sleeping({{"poll", "/usr/lib/python3.11/subprocess.py", 1}, {"load", "/job/data.py", 41}});
  Process idle = sleeping({{"get", "/usr/lib/python3.11/multiprocessing/queues.py", 103}});
  idle.command = "python3";
  Process idle_by_semaphore = idle;
  idle_by_semaphore.threads.front().wchan = "futex_wait_queue";
  Process stuck = sleeping({{"__getitem__", "/job/data.py", 7}});
  stuck.command = "python3";
  Process program = sleeping({});
  program.command = "ffmpeg";
  program.threads.front().state = 'D';
  rank.children = {idle, idle_by_semaphore, stuck, stuck, program};
  EXPECT_EQ(place_text(standing_of(rank)),
            "in poll, data.py:41 in load; its child process 'python3' sleeps at data.py:7 in "
            "__getitem__; "
            "its child process 'ffmpeg' hangs in the kernel");
  Process waiting = sleeping(in_all_reduce);
  waiting.children = {stuck};
  EXPECT_TRUE(standing_of(waiting).children.empty());
}

TEST(Standing, ShowsTheThreadsThatItMayWaitFor) {
  const std::string lib = "/usr/lib/python3.11/";
  const Frame begin{"_bootstrap", lib + "threading.py", 995};
  const auto thread = [](std::vector<Frame> frames) {
    return stacks::Thread{.id = 2, .state = 'S', .python = std::move(frames)};
  };
  Process rank = sleeping({{"join", lib + "threading.py", 1116}, {"<module>", "/job/train.py", 9}});
  rank.threads.front().wchan = "futex_wait_queue";
  const stacks::Thread idle = thread({{"wait", lib + "threading.py", 320},
                                      {"run", "/v/site-packages/tqdm/_monitor.py", 60},
                                      begin});
  const stacks::Thread loads = thread({{"load", "/job/data.py", 41}, begin});
  std::vector<Frame> reduces = in_all_reduce;
  reduces.push_back(begin);
  rank.threads.insert(rank.threads.end(), {idle, thread({}), thread(reduces), loads, loads});
  EXPECT_EQ(place_text(standing_of(rank)),
            "in join, train.py:9 in <module>; its thread waits in all_reduce, train.py:88 in step; "
            "its thread sleeps at data.py:41 in load");
  // One of a library is told where no other is.
  rank.threads.resize(2);
  EXPECT_EQ(place_text(standing_of(rank)),
            "in join, train.py:9 in <module>; its thread sleeps at threading.py:320 in wait");
  // Who sleeps, or waits for other ranks, does not wait for a thread.
  rank.threads.front().wchan = "hrtimer_nanosleep";
  EXPECT_TRUE(standing_of(rank).threads.empty());
  rank.threads.assign(1'000, loads);
  for (std::size_t i = 0; i < rank.threads.size(); ++i) {
    rank.threads[i].wchan = "futex_wait_queue";
    rank.threads[i].python.front().line = static_cast<int>(i);
  }
  EXPECT_EQ(standing_of(rank).threads.size(), most_threads_shown);
}

TEST(Standing, LeavesOutTheMachineryOfImports) {
  const Frame machinery{"_find_and_load", "<frozen importlib._bootstrap>", 1176};
  std::vector<Frame> frames(2 * most_frames, machinery);
  frames.insert(frames.begin(), {"<module>", "/env/torch/nn.py", 7});
  frames.push_back({"<module>", "/job/train.py", 2});
  const Standing standing = standing_of(sleeping(frames));
  ASSERT_EQ(standing.frames.size(), 2u);
  EXPECT_EQ(standing.frames.back().file, "/job/train.py");
}

TEST(Standing, IsBounded) {
  Process deep =
      sleeping(std::vector<Frame>(5000, Frame{std::string(10'000, 'f'), "/job/a.py", 1}));
  const Standing standing = standing_of(deep);
  EXPECT_EQ(standing.frames.size(), most_frames);
  EXPECT_EQ(standing.frames.front().function.size(), longest_name);
}

TEST(Groups, AreOfEqualPlaces) {
  Groups groups;
  const Standing here = standing_of(sleeping(in_all_reduce));
  Standing there = here;
  there.frames[2].line = 89;
  groups.add(here, std::array{3});
  groups.add(there, std::array{5});
  groups.add(here, std::array{1, 2});
  const std::vector<Group> all = std::move(groups).take();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].ranks, (std::vector{1, 2, 3}));
  EXPECT_EQ(all[1].ranks, (std::vector{5}));
}

TEST(Doing, HasNamesThatAreReadBack) {
  for (const Doing doing : {Doing::communicates, Doing::waits, Doing::computes, Doing::stopped,
                            Doing::uninterruptible, Doing::ended}) {
    Doing read{};
    EXPECT_TRUE(read_doing(name_of(doing), read));
    EXPECT_EQ(read, doing);
  }
  Doing read{};
  EXPECT_FALSE(read_doing("sings", read));
}

}  // namespace
}  // namespace toprun::hang
