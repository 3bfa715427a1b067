#include "machine/stacks/python.h"

#include <gtest/gtest.h>

#include "machine/stacks/stacks_testing.h"

namespace toprun::stacks {
namespace {

constexpr Address start = 0x10000;
constexpr Address runtime = start;
constexpr Address interpreter = start + 0x400;
constexpr Address thread = start + 0x800;
constexpr Address types = start + 0x1000;    // code, str, bytes, 0x100 each
constexpr Address objects = start + 0x2000;  // 0x100 each

// A Python 3.10 with one thread, which has called inner() from outer().
class TinyPython {
 public:
  TinyPython() {
    memory.put(runtime + layout.interpreters, interpreter);
    memory.put(interpreter + layout.threads, thread);
    memory.put(thread + layout.pthread, start + 0x4000);
    int number = 0;
    for (const char* name : {"code", "str", "bytes"}) {
      const Address type = types + static_cast<Address>(number++) * 0x100;
      memory.put(type + layout.type_name, type + 0x80);
      memory.put_text(type + 0x80, name);
    }
    add_function(0, "inner", 3);
    add_function(1, "outer", 70);
    memory.put(thread + layout.frame, frame(0));
    memory.put(frame(0) + layout.previous, frame(1));
  }

  static Address frame(Address number) { return objects + number * 0x1000; }
  static Address code(Address number) { return frame(number) + 0x200; }

  void add_function(Address number, std::string_view name, int first_line) {
    const Address at = code(number);
    memory.put(frame(number) + layout.code, at);
    memory.put<int>(frame(number) + layout.place, 1);
    memory.put(frame(number) + layout.state, layout.executing);
    memory.put(at + layout.type, types);
    memory.put<int>(at + layout.first_line, first_line);
    memory.put(at + layout.name, text(at + 0x200, name));
    memory.put(at + layout.file, text(at + 0x300, "a.py"));
    memory.put(at + layout.line_table, at + 0x400);
    memory.put(at + 0x400 + layout.type, types + 0x200);
    memory.put<std::uint64_t>(at + 0x400 + layout.bytes_size, 4);
    memory.put<std::uint32_t>(at + 0x400 + layout.bytes_data, 0x02020102);  // two lines on
  }

  Address text(Address at, std::string_view value) {
    constexpr std::uint32_t ascii_compact_one_byte = 1 << 6 | 1 << 5 | 1 << 2;
    memory.put(at + layout.type, types + 0x100);
    memory.put<std::uint64_t>(at + layout.text_length, value.size());
    memory.put(at + layout.text_state, ascii_compact_one_byte);
    memory.put_text(at + layout.ascii_data, value);
    return at;
  }

  std::optional<std::vector<Frame>> stack() {
    return Python(layout, runtime).stack(memory, {.state = thread});
  }

  Layout layout = *fixed_layout(10);
  FakeMemory memory{std::vector<std::byte>(0x8000), start};
};

TEST(Python, GivesFunctionsFromTheInnermostOn) {
  TinyPython tiny;
  EXPECT_EQ(tiny.stack(), (std::vector<Frame>{{"inner", "a.py", 6}, {"outer", "a.py", 73}}));
  tiny.memory.put<Address>(thread + tiny.layout.frame, 0);
  EXPECT_EQ(tiny.stack(), std::vector<Frame>{});
}

TEST(Python, ListsItsThreads) {
  TinyPython tiny;
  const Python python(tiny.layout, runtime);
  ASSERT_EQ(python.threads(tiny.memory).size(), 1u);
  EXPECT_EQ(python.threads(tiny.memory)[0].pthread, start + 0x4000);
  tiny.memory.put(thread + tiny.layout.next_thread, thread);  // in a circle
  EXPECT_EQ(python.threads(tiny.memory).size(), most_python_threads);
  tiny.memory.put<Address>(runtime + tiny.layout.interpreters, 0);
  EXPECT_TRUE(python.threads(tiny.memory).empty());
}

TEST(Python, EndsWhereStacksDoNot) {
  TinyPython tiny;
  tiny.memory.put(tiny.frame(1) + tiny.layout.previous, tiny.frame(0));
  ASSERT_TRUE(tiny.stack());
  EXPECT_EQ(tiny.stack()->size(), most_frames);
}

TEST(Python, BelievesNothingThatItReads) {
  const Layout layout = *fixed_layout(10);
  const struct {
    const char* what;
    Address at;
    Address value;
  } rows[] = {
      {"a frame that is not mapped", TinyPython::frame(0) + layout.previous, 0x7f0000000000},
      {"a frame at an odd address", TinyPython::frame(0) + layout.previous, start + 3},
      {"a small number for a function", TinyPython::frame(1) + layout.code, 8},
      {"text in place of a function", TinyPython::frame(1) + layout.code,
       TinyPython::code(1) + 0x200},
      {"a function in place of its name", TinyPython::code(1) + layout.name, TinyPython::code(1)},
      {"no file", TinyPython::code(0) + layout.file, 0},
      {"text in place of the lines", TinyPython::code(0) + layout.line_table,
       TinyPython::code(0) + 0x200},
      {"a name of a gigabyte", TinyPython::code(0) + 0x200 + layout.text_length, 1u << 30},
      {"lines without end", TinyPython::code(0) + 0x400 + layout.bytes_size, 1u << 30},
  };
  for (const auto& row : rows) {
    TinyPython tiny;
    tiny.memory.put(row.at, row.value);
    EXPECT_FALSE(tiny.stack()) << row.what;
  }
}

TEST(Python, KeepsNamesOnlyWhileTheyAreTheSame) {
  TinyPython tiny;
  Python python(tiny.layout, runtime);
  ASSERT_TRUE(python.stack(tiny.memory, {.state = thread}));
  tiny.memory.put(tiny.code(0) + tiny.layout.name, tiny.text(tiny.code(0) + 0x600, "other"));
  const auto stack = python.stack(tiny.memory, {.state = thread});
  ASSERT_TRUE(stack);
  EXPECT_EQ(stack->front().function, "other");
}

TEST(Python, FindsTheKernelsIdsInTheCLibrarysThreads) {
  FakeMemory memory(std::vector<std::byte>(0x8000), start);
  const PythonThread threads[] = {{.state = 0, .pthread = start},
                                  {.state = 0, .pthread = start + 0x1000},
                                  {.state = 0, .pthread = start + 0x7f00}};  // ends within the head
  memory.put<int>(start + 48, 101);
  memory.put<int>(start + 0x1000 + 48, 103);
  memory.put<int>(start + 0x7f00 + 48, 102);
  memory.put<int>(start + 16, 103);  // by chance
  const int ids[] = {101, 102, 103};
  EXPECT_EQ(native_ids(memory, threads, ids), (std::vector<int>{101, 103, 102}));
  const int others[] = {7};
  EXPECT_EQ(native_ids(memory, threads, others), (std::vector<int>{0, 0, 0}));
}

TEST(Python, FindsItsMainThread) {
  FakeMemory memory(std::vector<std::byte>(0x1000), start);
  const PythonThread threads[] = {{1, 0x20, 5}, {2, 0x30, 6}, {3, 0x40, 6}};
  const Python newer(*fixed_layout(12), start);
  EXPECT_EQ(newer.main_thread(memory, threads, 6)->state, 3u);  // of the first interpreter
  EXPECT_FALSE(newer.main_thread(memory, threads, 7));
  const Layout layout = *fixed_layout(9);
  memory.put<Address>(start + layout.main_thread, 0x20);
  EXPECT_EQ(Python(layout, start).main_thread(memory, threads, 6)->state, 1u);
}

}  // namespace
}  // namespace toprun::stacks
