#include "engines/slurm/forms.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace toprun::engines::slurm {
namespace {

void expect(std::string_view option, std::initializer_list<std::string_view> right,
            std::initializer_list<std::string_view> wrong) {
  for (const std::string_view value : right) EXPECT_EQ(wrong_form(option, value), "") << value;
  for (const std::string_view value : wrong) EXPECT_NE(wrong_form(option, value), "") << value;
}

TEST(Forms, AreSbatchs) {
  expect("--nodes", {"4", "2-4", "1k", "1,4-8:2"}, {"two", "", "0", "-4", "4 nodes", "n0"});
  expect("--gpus-per-node", {"8", "a100:8", "a100:2,v100:1"}, {"eight", "a100", "a100:", "8,"});
  expect("--cpus-per-task", {"7"}, {"7.5", "-1", "all"});
  expect("--mem", {"0", "900G", "900g", "64GB", "1024"}, {"all", "G", "64 G", "64X", "-1"});
  expect("--time", {"90", "1:30", "1:30:00", "2-12", "2-12:00:00", "UNLIMITED"},
         {"1h", "", "soon", "1:2:3:4", "1-", "-1", "1-2-3", "1:", "1:2-3"});
  expect("--array", {"0-9", "1,3,5-7", "0-15:4", "0-9%2", "7", "1-3,5%1"},
         {"5-1", "1-3,9-8", "0-x", "", "a", "0-", "-3", "0-9%", "0-9%x", "1,,2", "0-9:", "[0-9]"});
  expect("--mail-type", {"END", "end,Fail", "TIME_LIMIT_80,ARRAY_TASKS", "NONE"},
         {"FIAL", "", "END;FAIL", "END,"});
  expect("--partition", {"two", ""}, {});
}

}  // namespace
}  // namespace toprun::engines::slurm
