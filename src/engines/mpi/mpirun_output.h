#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace toprun::engines {

// Separates the output of ranks that Open MPI's mpirun has mixed. mpirun prints each piece that it
// reads from a rank, so half a line of one rank may follow half a line of another. With
// --tag-output (Open MPI 3 and 4, mpirun(1); seen with 4.1.4), mpirun prints "[1,RANK]<stdout>:"
// before each piece and before each line within a piece. The result has whole lines without tags.
// mpirun's own messages have no tags and pass unchanged.
class MpirunOutput {
 public:
  static constexpr std::size_t longest_line_bytes = 64u << 10;  // a longer line is split into
                                                                // pieces

  // The lines that these bytes complete. A carriage return also ends a line.
  std::string add(std::string_view bytes);
  // The text of lines that are not complete.
  std::string rest();

 private:
  void take(std::string_view piece, std::string& out);

  static constexpr int no_rank = -1;
  int rank_ = no_rank;                     // the rank that wrote the current piece
  std::map<int, std::string> unfinished_;  // by rank
  std::string held_;                       // may be the beginning of a tag
};

// The output of each rank in such a text, by rank. Text without a tag has the key `by_mpirun`.
inline constexpr int by_mpirun = -1;
std::map<int, std::string> texts_by_rank(std::string_view tagged);

}  // namespace toprun::engines
