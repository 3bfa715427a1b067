#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace toprun::engines {

// Takes apart what Open MPI's mpirun has mixed. It passes on what it happens to read of each rank,
// half a line of one behind half a line of another; told --tag-output (Open MPI 3 and 4, mpirun(1);
// seen with 4.1.4) it puts "[1,RANK]<stdout>:" before each piece and each line within one. What
// comes out has whole lines and no tags. What mpirun says itself has none and passes.
class MpirunOutput {
 public:
  static constexpr std::size_t longest_line_bytes = 64u << 10;  // a longer one comes in pieces

  // The lines that these bytes complete. A carriage return ends one too.
  std::string add(std::string_view bytes);
  // Whatever has no end yet.
  std::string rest();

 private:
  void take(std::string_view piece, std::string& out);

  static constexpr int no_rank = -1;
  int rank_ = no_rank;                     // whose piece this is
  std::map<int, std::string> unfinished_;  // by rank
  std::string held_;                       // may be the beginning of a tag
};

// What each rank wrote in such a text, by rank, and under `by_mpirun` what has no tag.
inline constexpr int by_mpirun = -1;
std::map<int, std::string> texts_by_rank(std::string_view tagged);

}  // namespace toprun::engines
