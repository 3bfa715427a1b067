#include <gtest/gtest.h>

#include "engines/mpi/mpirun.h"

namespace toprun::engines {
namespace {

std::string all_of(std::string_view bytes, std::size_t at_once) {
  MpirunOutput output;
  std::string out;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(at_once, bytes.size()))) {
    out += output.add(bytes.substr(0, at_once));
  }
  return out + output.rest();
}

TEST(MpirunOutput, HasWholeLinesHoweverItComes) {
  const struct {
    std::string_view mixed, lines;
  } rows[] = {
      {"[1,0]<stdout>:a\n[1,1]<stdout>:b\n", "a\nb\n"},
      // As Open MPI 4.1.4 has printed it.
      {"[1,1]<stdout>:a[1,0]<stdout>:a[1,1]<stdout>:b\n[1,1]<stdout>:c[1,0]<stdout>:b\n"
       "[1,0]<stdout>:c[1,0]<stdout>:d\n[1,0]<stdout>:\n[1,1]<stdout>:d\n[1,1]<stdout>:\n",
       "ab\nab\ncd\n\ncd\n\n"},
      {"[1,12]<stderr>:error[1,3]<stddiag>:no\n[1,12]<stderr>:s\n", "no\nerrors\n"},
      {"mpirun's own\n[1,0]<stdout>:x\n", "mpirun's own\nx\n"},
      {"[1,0]<stdout>:[INFO] step [1,2]\n", "[INFO] step [1,2]\n"},
      {"[1,0]<stdout>: 10%\r[1,0]<stdout>: 20%\r[1,0]<stdout>:\n", " 10%\r 20%\r\n"},
      {"[1,0]<stdout>:no end", "no end"},
      {"[1,0]<stdout>:[", "["},
  };
  for (const auto& [mixed, lines] : rows) {
    for (const std::size_t at_once : {1u, 2u, 7u, 1000u}) {
      EXPECT_EQ(all_of(mixed, at_once), lines) << mixed << ' ' << at_once;
    }
  }
}

TEST(MpirunOutput, HoldsNoMoreThanALine) {
  MpirunOutput output;
  output.add("[1,0]<stdout>:");
  std::size_t shown = 0;
  for (int i = 0; i < 100; ++i) shown += output.add(std::string(4096, 'x')).size();
  EXPECT_GE(shown + MpirunOutput::longest_line_bytes, 100u * 4096);
}

TEST(MpirunOutput, TellsWhoWroteWhat) {
  using Texts = std::map<int, std::string>;
  EXPECT_EQ(texts_by_rank(""), Texts{});
  EXPECT_EQ(texts_by_rank("no\ntags [1]\n"), (Texts{{by_mpirun, "no\ntags [1]\n"}}));
  EXPECT_EQ(texts_by_rank("cut<stderr>:x\n[1,1]<stderr>:a[1,0]<stderr>:b\n---\n[1,1]<stderr>:[c\n"),
            (Texts{{by_mpirun, "cut<stderr>:x\n---\n"}, {0, "b\n"}, {1, "a[c\n"}}));
}

}  // namespace
}  // namespace toprun::engines
