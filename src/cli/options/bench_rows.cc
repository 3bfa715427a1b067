#include <array>

#include "cli/options/flag_rows.h"

namespace toprun::options {
namespace {

constexpr Flag own(FlagId id, std::string_view name, char letter, std::string_view value,
                   std::string_view help, std::string_view default_value = {}) {
  return only(of(Command::bench),
              ours(id, name, letter, value, "", Group::of_verb, help, default_value));
}

// Names, letters and defaults are those of nccl-tests where it has such an option.
constexpr std::array bench_flags = {
    own(FlagId::min_bytes, "--minbytes", 'b', "SIZE",
        "Size of the messages, such as 8, 64K or 1G; if --maxbytes is larger, the size of the "
        "smallest message",
        "32M"),
    own(FlagId::max_bytes, "--maxbytes", 'e', "SIZE",
        "Size of the largest message; the sizes from --minbytes to this size are measured in steps",
        "same as --minbytes"),
    own(FlagId::step_bytes, "--stepbytes", 'i', "SIZE",
        "Number of bytes by which each size is larger than the size before it", "1M"),
    own(FlagId::step_factor, "--stepfactor", 'f', "FACTOR",
        "Factor by which each size is larger than the size before it; overrides --stepbytes"),
    own(FlagId::iterations, "--iters", 'n', "N", "Number of timed iterations for each message size",
        "20, or as many as take 50 ms"),
    own(FlagId::warmups, "--warmup-iters", 'w', "N",
        "Number of untimed iterations before the timed iterations", "1"),
    own(FlagId::check, "--check", 'c', "0|1",
        "After the timing, run one more iteration and count the wrong elements in its result", "1"),
    own(FlagId::reduction, "--op", 'o', "sum|prod|max|min|avg", "Reduction operation", "sum"),
    own(FlagId::datatype, "--datatype", 'd',
        "int8|uint8|int32|uint32|int64|uint64|half|float|double|bfloat16",
        "Data type of the elements", "float"),
    own(FlagId::root_rank, "--root", 'r', "RANK",
        "Rank that is the root of broadcast, reduce, gather and scatter", "0"),
    own(FlagId::backend, "--backend", 0, "tcp,gloo,nccl,rccl",
        "Library that moves the data: toprun's own TCP sockets, Gloo, or NCCL or RCCL between "
        "GPUs. Several libraries are measured alternately, in one run",
        "nccl or rccl if each rank has a GPU, else tcp"),
    own(FlagId::fabrics, "--fabrics", 0, "rdma,tcp",
        "Measure NCCL over each of these networks alternately: rdma is the network that NCCL "
        "itself chooses, tcp is TCP sockets"),
    own(FlagId::preset, "--preset", 0, "all_reduce_bench",
        "Use the settings of all_reduce_bench.py as defaults: 4 GB, 2 warm-ups, 5 iterations"),
    own(FlagId::connections, "--connections", 0, "N",
        "TCP connections to each neighbour; the data is divided among them", "1"),
    own(FlagId::until_cv, "--until-cv", 0, "PERCENT",
        "Repeat the iterations until the standard deviation of their times is below PERCENT % of "
        "the mean time"),
    own(FlagId::aggregated, "--agg-iters", 'm', "N",
        "Number of operations that NCCL executes as one group; the reported time is the group's "
        "time divided by N",
        "1"),
    own(FlagId::averaged, "--average", 'a', "0|1|2|3",
        "Time that is reported for an iteration: 0 is the time of rank 0, 1 the mean of all ranks, "
        "2 the minimum, 3 the maximum",
        "3"),
    own(FlagId::bisect, "--bisect", 0, "",
        "Find the nodes that make the collective hang or fail, by running it on smaller and "
        "smaller groups of nodes"),
    own(FlagId::compared_orders, "--orders", 0, "topology,hostname,worst",
        "Measure with the ranks in each of these orders alternately; topology is toprun's own "
        "order"),
    own(FlagId::compared_nodes, "--nodes", 0, "N,...",
        "Measure on the first N nodes of the job, for each N in the list"),
    own(FlagId::compared_ranks, "--ranks", 0, "N,...",
        "Measure with the first N ranks, for each N in the list"),
    own(FlagId::link_gbps, "--link-gbps", 0, "GBPS",
        "Bandwidth of one node's network in each direction, in Gbit/s; the column `wire` shows the "
        "share of this bandwidth that was used",
        "the rate that the kernel reports for rank 0's adapters"),
    own(FlagId::uplink_gbps, "--uplink-gbps", 0, "GBPS",
        "Bandwidth of the uplink of one domain of the lowest level, such as a rack, in each "
        "direction, in Gbit/s; with this option or --link-gbps the table shows the maximum busbw "
        "that the links allow"),
    own(FlagId::stall, "--stall-timeout", 'T', "SECONDS",
        "Fail if no byte arrives for this long, and print for which rank the other ranks wait",
        "60"),
    own(FlagId::expect_busbw, "--expect-busbw", 0, "GBYTES|usual",
        "Required busbw of the largest size in GB/s, or `usual` for the value that these GPUs "
        "usually reach; the exit code shows whether the measured busbw is high enough"),
    own(FlagId::fail_below, "--fail-below", 0, "SHARE",
        "Fail if busbw is below this share of --expect-busbw", "0.9"),
    also(
        of(Command::bench_import),
        own(FlagId::format, "--format", 0, "table|nccl-tests|markdown|csv|json",
            "Format of the output; the format nccl-tests has the columns of the program nccl-tests",
            "table")),
    also(of(Command::bench_pairs, Command::bench_import, Command::bench_history),
         own(FlagId::plot, "--plot", 0, "FILE",
             "Draw the results to FILE, a .svg file, or a .png file if rsvg-convert is installed; "
             "`toprun bench pairs` draws a matrix of all nodes by all nodes")),
    own(FlagId::history, "--history", 0, "",
        "Add the results of the largest message size to the file that `toprun bench history` "
        "shows"),
    only(of(Command::bench_history),
         own(FlagId::last, "--last", 0, "N", "Print the last N results of each kind of measurement",
             "10")),
    only(of(Command::bench_pairs), own(FlagId::min_bytes, "--minbytes", 'b', "SIZE",
                                       "Number of bytes in one transfer", "8M")),
    only(of(Command::bench_pairs), own(FlagId::iterations, "--iters", 'n', "N",
                                       "Number of transfers in each direction", "5")),
    only(of(Command::bench_pairs), own(FlagId::rounds, "--rounds", 0, "N",
                                       "Maximum number of rounds for each level of the network; "
                                       "all pairs of one round are measured at the same time",
                                       "as many rounds as all pairs need")),
    only(of(Command::bench_pairs),
         own(FlagId::stall, "--stall-timeout", 'T', "SECONDS",
             "Report that a pair hangs if no byte arrives for this long", "10")),
    only(of(Command::bench_pairs), own(FlagId::exclude_bad, "--exclude-bad", 0, "FILE",
                                       "Write the hosts that are slow or hang to FILE, one host "
                                       "per line; sbatch --exclude=./FILE reads this file")),
    only(of(Command::bench_pairs),
         own(FlagId::save, "--save", 'J', "FILE", "Save the results of all pairs to FILE as JSON")),
    only(of(Command::bench_compare),
         own(FlagId::fail_below, "--fail-below", 0, "RATIO",
             "Exit with code 3 if the speed of a result is less than this share of its earlier "
             "speed, such as 0.9, even if the spread of the result is not known")),
    only(of(Command::bench_compare, Command::bench_import),
         own(FlagId::collective, "--collective", 0,
             "all_reduce|all_gather|reduce_scatter|broadcast|reduce|alltoall|sendrecv|gather|"
             "scatter|barrier",
             "Collective that was measured, if the file does not name the collective")),
    also(of(Command::bench_import), own(FlagId::save, "--save", 'J', "FILE",
                                        "Also save all results to FILE as JSON, with the fields of "
                                        "nccl-tests and toprun's own fields")),
};

}  // namespace

std::span<const Flag> bench_rows() {
  return bench_flags;
}

}  // namespace toprun::options
