// The tests of all rooms in one program: unit_tests [ROOM] [GoogleTest's options]; a room is a
// filter.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>
#include <string_view>

namespace {

struct Names {
  std::set<std::string> inside;  // of the room's files
  std::set<std::string> outside;
};

Names names_of_tests(std::string_view room) {
  const std::string folder =
      (std::filesystem::path(__FILE__).parent_path().parent_path().parent_path() / "src" / room /
       "")
          .string();
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  Names names;
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *all.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      const testing::TestInfo& test = *suite.GetTestInfo(j);
      const bool is_inside = std::string_view(test.file()).starts_with(folder);
      auto& these = is_inside ? names.inside : names.outside;
      these.insert(fmt::format("{}.{}", suite.name(), test.name()));
    }
  }
  return names;
}

// Whether a filter with their names selects the room's tests and no others.
bool can_be_selected(const Names& names, std::string_view room) {
  if (names.inside.empty()) {
    fmt::print(stderr, "unit_tests: there are no tests in src/{}\n", room);
    return false;
  }
  for (const std::string& name : names.inside) {
    if (!names.outside.contains(name)) continue;
    fmt::print(stderr, "unit_tests: another room than {} has a test {}, too: rename one\n", room,
               name);
    return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc < 2) return RUN_ALL_TESTS();
  const std::string_view room = argv[1];
  const Names names = names_of_tests(room);
  if (!can_be_selected(names, room)) return 2;
  GTEST_FLAG_SET(filter, fmt::format("{}", fmt::join(names.inside, ":")));
  return RUN_ALL_TESTS();
}
