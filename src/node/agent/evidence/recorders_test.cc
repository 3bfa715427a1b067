#include "node/agent/evidence/recorders.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/os/fd.h"
#include "base/os/trust.h"

namespace toprun::evidence {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr const char* dump =
    R"({"version": "2.10", "entries": [{"record_id": 4, "process_group": ["0", "default_pg"],
        "collective_seq_id": 5, "state": "completed"}]})";

class Recorders : public ::testing::Test {
 protected:
  Recorders() : folder_(*new_private_folder(::testing::TempDir(), "recorders")) {
    let_recorders_listen(environment_, folder_ + "/pipes", folder_ + "/dumps");
  }
  ~Recorders() override { fs::remove_all(folder_); }

  RecorderFiles files(int rank) const { return recorder_files(rank, environment_); }
  std::string dump_of(int rank) const { return files(rank).dumps.front(); }
  // A rank that listens at its pipe.
  Fd listen(int rank) const {
    EXPECT_EQ(::mkfifo(files(rank).pipe.c_str(), 0666), 0);
    return Fd(::open(files(rank).pipe.c_str(), O_RDONLY | O_NONBLOCK));
  }
  static void write(const std::string& path, std::string_view text) {
    std::ofstream(path, std::ios::binary) << text;
  }

  const std::string folder_;
  Environment environment_;
};

TEST_F(Recorders, TheirPipesAreInAFolderOfTheUsersOwn) {
  struct stat status {};
  ASSERT_EQ(::stat((folder_ + "/pipes").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  EXPECT_EQ(files(3).pipe, folder_ + "/pipes/rank_3.pipe");
  EXPECT_EQ(files(3).dumps.front(), folder_ + "/dumps/comm_lib_trace_rank_3");
  EXPECT_TRUE(fs::is_empty(folder_ + "/pipes"));
}

TEST_F(Recorders, WhatTheUserHasSetStays) {
  Environment own;
  own.set("TORCH_NCCL_DEBUG_INFO_PIPE_FILE", "/mine/p");
  own.set("TORCH_NCCL_DEBUG_INFO_TEMP_FILE", "/mine/d");
  let_recorders_listen(own, folder_ + "/pipes", folder_ + "/dumps");
  const RecorderFiles found = recorder_files(7, own);
  EXPECT_EQ(found.pipe, "/mine/p7.pipe");
  EXPECT_EQ(found.dumps, (std::vector<std::string>{"/mine/d7"}));
  Environment none;
  let_recorders_listen(none, folder_ + "/no/such", std::nullopt);
  EXPECT_EQ(recorder_files(7, none).pipe, "");
  none.set("HOME", "/home/ada");
  EXPECT_EQ(recorder_files(7, none).dumps.front(), "/home/ada/.cache/torch/comm_lib_trace_rank_7");
}

TEST_F(Recorders, ADumpIsAskedForAndRead) {
  write(dump_of(0), dump);  // of an earlier time
  const Fd pipe = listen(0);
  std::thread rank([&] {
    char byte = 0;
    while (::read(pipe.get(), &byte, 1) != 1) std::this_thread::sleep_for(10ms);
    write(dump_of(0), std::string(dump).insert(1, R"("cut": 1, )").substr(0, 60));
    std::this_thread::sleep_for(200ms);
    write(dump_of(0), std::string(dump).insert(1, R"("whole": 1, )"));
  });
  const recorder::Summary found = ask_recorders(listening({files(0), files(1)}), 30s);
  rank.join();
  EXPECT_EQ(found.ranks, (std::vector{0}));
  ASSERT_EQ(found.groups.size(), 1u);
  EXPECT_EQ(found.groups[0].reached[0].last, 5);
}

TEST_F(Recorders, NobodyIsWaitedForWhoDoesNotListen) {
  { const Fd gone = listen(0); }
  ASSERT_EQ(::symlink(files(0).pipe.c_str(), files(1).pipe.c_str()), 0);
  write(files(2).pipe, "a file");
  EXPECT_EQ(listening({files(0), files(1), files(2), files(3)}).size(), 1u);
  EXPECT_EQ(ask_recorders({files(0), files(1), files(2), files(3)}, 1h), recorder::Summary());
  EXPECT_EQ(fs::file_size(files(2).pipe), 6u);
}

TEST_F(Recorders, ADumpThatDoesNotComeIsNotWaitedForLonger) {
  const Fd pipe = listen(0);
  EXPECT_EQ(ask_recorders({files(0)}, 50ms), recorder::Summary());
}

}  // namespace
}  // namespace toprun::evidence
