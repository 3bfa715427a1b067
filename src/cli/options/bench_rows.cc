#include <array>

#include "cli/options/flag_rows.h"

namespace toprun::options {
namespace {

constexpr Flag of_bench(Flag flag) {
  flag.group = Group::of_verb;
  return ours(flag, of(Command::bench));
}

// Names, letters and defaults are those of nccl-tests where it has such an option.
constexpr std::array bench_flags = {
    of_bench({.name = "--minbytes",
              .letter = 'b',
              .value = "SIZE",
              .id = FlagId::min_bytes,
              .help = "Size of the messages, such as 8, 64K or 1G; if --maxbytes is larger, the "
                      "size of the smallest message",
              .default_value = "32M"}),
    of_bench({.name = "--maxbytes",
              .letter = 'e',
              .value = "SIZE",
              .id = FlagId::max_bytes,
              .help = "Size of the largest message; the sizes from --minbytes to this size are "
                      "measured in steps",
              .default_value = "same as --minbytes"}),
    of_bench({.name = "--stepbytes",
              .letter = 'i',
              .value = "SIZE",
              .id = FlagId::step_bytes,
              .help = "Bytes to add to a size to get the next size",
              .default_value = "1M"}),
    of_bench({.name = "--stepfactor",
              .letter = 'f',
              .value = "FACTOR",
              .id = FlagId::step_factor,
              .help = "Multiply each size by FACTOR to get the next size; overrides --stepbytes"}),
    of_bench({.name = "--iters",
              .letter = 'n',
              .value = "N",
              .id = FlagId::iterations,
              .help = "Number of timed iterations for each message size",
              .default_value = "20, or more if 20 take less than 50 ms"}),
    of_bench({.name = "--warmup-iters",
              .letter = 'w',
              .value = "N",
              .id = FlagId::warmups,
              .help = "Number of untimed iterations before the timed iterations",
              .default_value = "1"}),
    of_bench({.name = "--check",
              .letter = 'c',
              .value = "0|1",
              .id = FlagId::check,
              .help = "After the timing, run one more iteration and count the wrong elements in "
                      "its result",
              .default_value = "1"}),
    of_bench({.name = "--op",
              .letter = 'o',
              .value = "sum|prod|max|min|avg",
              .id = FlagId::reduction,
              .help = "Reduction operation",
              .default_value = "sum"}),
    of_bench({.name = "--datatype",
              .letter = 'd',
              .value = "int8|uint8|int32|uint32|int64|uint64|half|float|double|bfloat16",
              .id = FlagId::datatype,
              .help = "Data type of the elements; also float16, fp16, float32, fp32, float64, "
                      "fp64, bf16, int and long",
              .default_value = "float"}),
    of_bench({.name = "--root",
              .letter = 'r',
              .value = "RANK",
              .id = FlagId::root_rank,
              .help = "Rank that is the root of broadcast, reduce, gather and scatter",
              .default_value = "0"}),
    of_bench({.name = "--backend",
              .value = "tcp,gloo,nccl,rccl",
              .id = FlagId::backend,
              .help = "Library that moves the data: toprun's own TCP sockets, Gloo (not for "
                      "reduce_scatter), or NCCL or RCCL between GPUs. Several libraries are "
                      "measured alternately, in one run",
              .default_value = "nccl or rccl if each rank has a GPU, else tcp"}),
    of_bench({.name = "--fabrics",
              .value = "rdma,tcp",
              .id = FlagId::fabrics,
              .help = "Measure NCCL over each of these networks alternately: rdma is the network "
                      "that NCCL chooses (RDMA if it works), tcp means TCP sockets"}),
    of_bench({.name = "--preset",
              .value = "all_reduce_bench",
              .id = FlagId::preset,
              .help = "Use the settings of all_reduce_bench.py, a script of the book "
                      "ml-engineering, as defaults: 4 GB, 2 warm-ups, 5 iterations"}),
    of_bench({.name = "--connections",
              .value = "N",
              .id = FlagId::connections,
              .help = "Number of TCP connections to each neighbour, with --backend tcp; the data "
                      "is divided among them",
              .default_value = "1"}),
    of_bench({.name = "--until-cv",
              .value = "PERCENT",
              .id = FlagId::until_cv,
              .help = "Repeat the iterations until the standard deviation of their times is "
                      "below PERCENT % of the mean time, but at most 20 times"}),
    of_bench({.name = "--agg-iters",
              .letter = 'm',
              .value = "N",
              .id = FlagId::aggregated,
              .help = "Number of operations that NCCL executes as one group; the reported time is "
                      "the group's time divided by N",
              .default_value = "1"}),
    of_bench({.name = "--average",
              .letter = 'a',
              .value = "0|1|2|3",
              .id = FlagId::averaged,
              .help = "Time that is reported for an iteration: 0 is the time of rank 0, 1 the mean "
                      "of all ranks, 2 the minimum, 3 the maximum",
              .default_value = "3"}),
    of_bench({.name = "--bisect",
              .id = FlagId::bisect,
              .help = "Find the nodes that make the collective hang or fail, by running it on "
                      "smaller and smaller groups of nodes"}),
    of_bench({.name = "--orders",
              .value = "topology,hostname,worst",
              .id = FlagId::compared_orders,
              .help = "Measure with the ranks in these orders alternately: toprun's own order, the "
                      "order of the host names, the worst order for the network"}),
    of_bench({.name = "--nodes",
              .value = "N,...",
              .id = FlagId::compared_nodes,
              .help = "Measure on the first N nodes of the job, for each N in the list"}),
    of_bench({.name = "--ranks",
              .value = "N,...",
              .id = FlagId::compared_ranks,
              .help = "Measure with the first N ranks, for each N in the list"}),
    of_bench({.name = "--link-gbps",
              .value = "GBPS",
              .id = FlagId::link_gbps,
              .help = "Bandwidth of one node's network in each direction, in Gbit/s; the column "
                      "`wire` shows the share of this bandwidth that was used",
              .default_value = "the rate that the kernel reports for rank 0's adapters"}),
    of_bench(
        {.name = "--uplink-gbps",
         .value = "GBPS",
         .id = FlagId::uplink_gbps,
         .help = "Bandwidth of one rack's uplink in each direction, in Gbit/s; with this option or "
                 "--link-gbps the table shows the maximum busbw that the links allow"}),
    of_bench({.name = "--stall-timeout",
              .letter = 'T',
              .value = "SECONDS",
              .id = FlagId::stall,
              .help = "Fail if no byte arrives for this long, and print for which rank the other "
                      "ranks wait",
              .default_value = "60"}),
    of_bench(
        {.name = "--expect-busbw",
         .value = "GBYTES|usual",
         .id = FlagId::expect_busbw,
         .help = "Expected busbw of the largest size in GB/s, or `usual` for the value that these "
                 "GPUs usually reach; --fail-below sets how much lower the measured busbw may be"}),
    of_bench(
        {.name = "--fail-below",
         .value = "SHARE",
         .id = FlagId::fail_below,
         .help =
             "Exit with 3 if the measured busbw is below SHARE times the value of --expect-busbw",
         .default_value = "0.9"}),
    of_bench({.name = "--format",
              .value = "table|nccl-tests|markdown|csv|json",
              .id = FlagId::format,
              .known_to = of(Command::bench, Command::bench_import),
              .help = "Format of the output; the format nccl-tests has the columns of the program "
                      "nccl-tests",
              .default_value = "table"}),
    of_bench({.name = "--plot",
              .value = "FILE",
              .id = FlagId::plot,
              .known_to = of(Command::bench, Command::bench_pairs, Command::bench_import,
                             Command::bench_history),
              .help = "Draw the results to FILE: .svg, or .png if rsvg-convert is installed; "
                      "`toprun bench pairs` draws a matrix with a row and a column for each node"}),
    of_bench({.name = "--history",
              .id = FlagId::history,
              .help = "Add the results of the largest message size to the file that `toprun "
                      "bench history` shows on rank 0's host"}),
    of_bench({.name = "--last",
              .value = "N",
              .id = FlagId::last,
              .known_to = of(Command::bench_history),
              .help = "Print the last N results of each kind of measurement",
              .default_value = "10"}),
    of_bench({.name = "--minbytes",
              .letter = 'b',
              .value = "SIZE",
              .id = FlagId::min_bytes,
              .known_to = of(Command::bench_pairs),
              .help = "Number of bytes in one transfer",
              .default_value = "8M"}),
    of_bench({.name = "--iters",
              .letter = 'n',
              .value = "N",
              .id = FlagId::iterations,
              .known_to = of(Command::bench_pairs),
              .help = "Number of transfers in each direction",
              .default_value = "5"}),
    of_bench({.name = "--rounds",
              .value = "N",
              .id = FlagId::rounds,
              .known_to = of(Command::bench_pairs),
              .help = "Maximum number of rounds for each level of the network; all pairs of one "
                      "round are measured at the same time",
              .default_value = "as many rounds as all pairs need"}),
    of_bench({.name = "--stall-timeout",
              .letter = 'T',
              .value = "SECONDS",
              .id = FlagId::stall,
              .known_to = of(Command::bench_pairs),
              .help = "Report that a pair hangs if no byte arrives for this long",
              .default_value = "10"}),
    of_bench({.name = "--exclude-bad",
              .value = "FILE",
              .id = FlagId::exclude_bad,
              .known_to = of(Command::bench_pairs),
              .help = "Write the hosts that are slow or hang to FILE, one host per line; sbatch "
                      "--exclude=./FILE reads this file"}),
    of_bench({.name = "--save",
              .letter = 'J',
              .value = "FILE",
              .id = FlagId::save,
              .known_to = of(Command::bench_pairs),
              .help = "Save the results of all pairs to FILE as JSON"}),
    of_bench({.name = "--fail-below",
              .value = "RATIO",
              .id = FlagId::fail_below,
              .known_to = of(Command::bench_compare),
              .help = "Exit with code 3 if the speed of a result is less than this share of its "
                      "earlier speed, such as 0.9, even if the spread of the result is not "
                      "known"}),
    of_bench({.name = "--collective",
              .value = "all_reduce|all_gather|reduce_scatter|broadcast|reduce|alltoall|sendrecv|"
                       "gather|scatter|barrier",
              .id = FlagId::collective,
              .known_to = of(Command::bench_compare, Command::bench_import),
              .help = "Collective that was measured, if the file does not name the collective"}),
    of_bench({.name = "--save",
              .letter = 'J',
              .value = "FILE",
              .id = FlagId::save,
              .known_to = of(Command::bench, Command::bench_import),
              .help = "Also save all results to FILE as JSON, with the fields of nccl-tests and "
                      "toprun's own fields"}),
};

}  // namespace

std::span<const Flag> bench_rows() {
  return bench_flags;
}

}  // namespace toprun::options
