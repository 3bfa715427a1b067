#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/os/os_testing.h"
#include "machine/stacks/inspect.h"

namespace toprun::stacks {
namespace {

// As py-spy 0.4.3 prints it, shortened.
constexpr const char* dump = R"([
  {"pid": 7, "thread_id": 139, "thread_name": "MainThread", "os_thread_id": 7, "active": false,
   "owns_gil": false, "frames": [
    {"name": "leaf", "filename": "/a/b.py", "module": null, "short_filename": "b.py", "line": 7,
     "locals": null, "is_entry": false, "is_shim_entry": false},
    {"name": "<module>", "filename": "/a/b.py", "line": 13}], "process_info": null},
  {"pid": 7, "thread_id": 140, "thread_name": null, "os_thread_id": 9, "frames": []}])";

TEST(Spy, GivesFramesByThread) {
  EXPECT_EQ(parse_spy(dump),
            (StacksByThread{{7, {{"leaf", "/a/b.py", 7}, {"<module>", "/a/b.py", 13}}}}));
}

TEST(Spy, IsReadWithCare) {
  for (const char* text : {"", "{}", "[", "no JSON"}) EXPECT_FALSE(parse_spy(text)) << text;
  for (const char* text :
       {"[]", "[7]", "[{}]", R"([{"os_thread_id": "7", "frames": []}])",
        R"([{"os_thread_id": 7, "frames": [7]}])", R"([{"os_thread_id": 7, "frames": {}}])"}) {
    EXPECT_EQ(parse_spy(text), StacksByThread{}) << text;
  }
  EXPECT_EQ(parse_spy(R"([{"os_thread_id": 7, "frames": [{"name": 7, "line": "x"}]}])"),
            (StacksByThread{{7, {{"", "", 0}}}}));
}

TEST(Spy, IsAskedWherePathHasIt) {
  const TemporaryFolder folder;
  const std::string program = folder.path() / "py-spy";
  std::ofstream(program) << "#!/bin/sh\n[ \"$*\" = 'dump --nonblocking --json --pid 7' ] && echo "
                            "'[{\"os_thread_id\": 7, \"frames\": [{\"name\": \"f\"}]}]'\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const Environment environment{{"PATH", folder.path().string() + ":/usr/bin:/bin"}};
  EXPECT_EQ(ask_spy(7, environment, std::chrono::seconds(60)),
            (StacksByThread{{7, {{"f", "", 0}}}}));
  EXPECT_FALSE(ask_spy(8, environment, std::chrono::seconds(60)));
}

}  // namespace
}  // namespace toprun::stacks
