#include "machine/stacks/find.h"

#include <gtest/gtest.h>

#include "machine/stacks/stacks_testing.h"

namespace toprun::stacks {
namespace {

TEST(Find, KnowsTheVersionInAName) {
  const std::pair<const char*, int> rows[] = {
      {"/usr/lib/libpython3.8.so.1.0", 8},
      {"/usr/bin/python3.10", 10},
      {"/x/lib-dynload/_socket.cpython-38-x86_64-linux-gnu.so", 8},
      {"/x/lib-dynload/_socket.cpython-312-x86_64-linux-gnu.so", 12},
      {"/opt/python3.11/bin/tool", 0},
      {"/usr/bin/python3", 0},
      {"/usr/lib/libpython3.so", 0},
      {"/usr/bin/pypy3.10", 0},
      {"", 0},
      {"/usr/bin/python3.99999999999999999999", 100},
  };
  for (const auto& [name, minor] : rows) {
    if (minor == 100) {
      EXPECT_GE(minor_in_name(name), 100);
    } else {
      EXPECT_EQ(minor_in_name(name), minor) << name;
    }
  }
}

// A stripped, static program that holds a runtime which describes itself.
FakeMemory static_python(std::uint32_t version) {
  FakeMemory memory(std::vector<std::byte>(0x20000));
  memory.put_text(0x20ff8, description_cookie);  // across the end of a step of the search
  memory.put(0x21000, std::uint64_t{version});
  return memory;
}

TEST(Find, FindsARuntimeThatNoSymbolNames) {
  const Mapping mappings[] = {{0x10000, 0x11000, 0, false, "/opt/tool"},
                              {0x11000, 0x30000, 0x1000, true, "/opt/tool"}};
  auto memory = static_python(0x030d00f0);
  const Search found = find_python(memory, mappings, "/opt/tool");
  ASSERT_TRUE(found.python);
  EXPECT_EQ(found.python->layout().minor, 13);

  auto newer = static_python(0x031000f0);
  const Search unknown = find_python(newer, mappings, "/opt/tool");
  EXPECT_FALSE(unknown.python);
  EXPECT_TRUE(unknown.foreign);
  EXPECT_EQ(unknown.why, "the memory layout of Python 3.16 is unknown to this toprun");
}

TEST(Find, TellsOtherPythonsFromOtherPrograms) {
  FakeMemory memory(std::vector<std::byte>(0x1000));
  const Mapping pypy[] = {{0x10000, 0x11000, 0, false, "/opt/pypy3"}};
  EXPECT_TRUE(find_python(memory, pypy, "/opt/pypy3").foreign);
  EXPECT_EQ(find_python(memory, pypy, "/opt/pypy3").why,
            "pypy3 is not a CPython 3.8 or newer that could be recognized");
  const Mapping other[] = {{0x10000, 0x11000, 0, false, "/bin/sleep"}};
  EXPECT_FALSE(find_python(memory, other, "/bin/sleep").foreign);
  EXPECT_EQ(find_python(memory, other, "/bin/sleep").why, "");
}

}  // namespace
}  // namespace toprun::stacks
