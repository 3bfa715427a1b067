#include "cli/benchmark/request.h"

#include <gtest/gtest.h>

#include "bench/measure/cells.h"
#include "cli/options/command_lines.h"

namespace toprun::benchmark {
namespace {

using options::Command;
using options::FlagId;

std::vector<std::string_view> choices_of(FlagId id, Command command = Command::bench) {
  return options::choices(options::flag_of(id, command));
}

template <class Rows>
std::vector<std::string_view> names_of(const Rows& rows) {
  std::vector<std::string_view> names;
  for (const auto& row : rows) names.push_back(row.name);
  return names;
}

// The table of options stands below the rooms that know these names.
TEST(BenchRequest, HelpNamesWhatThereIs) {
  EXPECT_EQ(choices_of(FlagId::datatype), names_of(measure::types()));
  EXPECT_EQ(choices_of(FlagId::reduction), names_of(measure::ops()));
  EXPECT_EQ(choices_of(FlagId::collective, Command::bench_import), names_of(bench::collectives()));
  EXPECT_EQ(options::choices(options::line_of(Command::bench).operands.front().form),
            names_of(bench::collectives()));
}

Result<BenchRequest> read(std::vector<std::string> words) {
  auto split = options::split_verb(words, Command::bench);
  if (!split) return std::unexpected(split.error());
  return bench_request({Command::bench, *std::move(split), {}, std::move(words)});
}

std::optional<std::string> unused(std::vector<std::string> words, bench::Collective collective) {
  auto split = options::split_verb(words, Command::bench);
  if (!split) return split.error().line();
  return unused_size({Command::bench, *std::move(split), {}, std::move(words)}, collective);
}

TEST(BenchRequest, ABarrierHasNoSize) {
  using bench::Collective;
  EXPECT_EQ(unused({"barrier", "-b", "1M"}, Collective::barrier),
            "a barrier does not transfer data, so toprun ignores --minbytes 1M");
  EXPECT_EQ(unused({"barrier"}, Collective::barrier), std::nullopt);
  EXPECT_EQ(unused({"all_reduce", "-b", "1M"}, Collective::all_reduce), std::nullopt);
}

TEST(BenchRequest, TypesHaveTheNamesOfPyTorchToo) {
  using measure::Type;
  const struct {
    std::string word;
    Type type;
  } rows[] = {{"half", Type::half},      {"float16", Type::half},    {"fp16", Type::half},
              {"float", Type::float32},  {"float32", Type::float32}, {"fp32", Type::float32},
              {"double", Type::float64}, {"float64", Type::float64}, {"fp64", Type::float64},
              {"bf16", Type::bfloat16},  {"int", Type::int32},       {"long", Type::int64}};
  for (const auto& row : rows) {
    const auto request = read({"all_reduce", "-d", row.word});
    ASSERT_TRUE(request) << request.error().line();
    EXPECT_EQ(request->measured.type, row.type) << row.word;
  }
  EXPECT_FALSE(read({"all_reduce", "-d", "float8"}));
}

// One size unless a range is asked for, as in nccl-tests; the other end follows the one given.
TEST(BenchRequest, Sizes) {
  constexpr std::uint64_t usual = 32u << 20;
  const struct {
    std::vector<std::string> words;
    std::uint64_t least, most;
  } rows[] = {
      {{"all_reduce"}, usual, usual},
      {{"all_reduce", "-b", "8"}, 8, 8},
      {{"all_reduce", "-b", "1G"}, 1u << 30, 1u << 30},
      {{"all_reduce", "-e", "1M"}, 1u << 20, 1u << 20},
      {{"all_reduce", "-e", "1G", "-f", "2"}, usual, 1u << 30},
      {{"-b8", "all_reduce", "-e", "64K", "-f2"}, 8, 64u << 10},
  };
  for (const auto& row : rows) {
    const auto request = read(row.words);
    ASSERT_TRUE(request) << request.error().line();
    EXPECT_EQ(request->measured.min_bytes, row.least);
    EXPECT_EQ(request->measured.max_bytes, row.most);
  }
}

}  // namespace
}  // namespace toprun::benchmark
