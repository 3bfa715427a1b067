#include "cli/options/split.h"

#include <gtest/gtest.h>

#include "base/text/text.h"

namespace toprun::options {
namespace {

std::vector<std::string> argv_of(std::string_view line) {
  std::vector<std::string> argv;
  for (const std::string_view word : words(line)) argv.emplace_back(word);
  return argv;
}

// One line that says all of a split: "run --flag=value … | SCRIPT | arguments", or "error: …".
std::string shown(const std::vector<std::string>& argv) {
  const auto result = split(argv);
  if (!result) {
    EXPECT_EQ(result.error()->exit_code, exit_usage);
    return "error: " + result.error().line();
  }
  std::string out = "run";
  for (const ParsedOption& option : result->options) {
    out += fmt::format(" {}", option.flag->name.empty() ? "-h" : option.flag->name);
    if (!option.flag->is_switch()) out += "=" + option.value;
  }
  out += " | " + result->script.value_or("(none)") + " |";
  for (const std::string& argument : result->arguments) out += " " + argument;
  return out;
}

struct SplitCase {
  std::string line;
  std::string expected;
};

void expect_all(const std::vector<SplitCase>& cases) {
  for (const SplitCase& c : cases) EXPECT_EQ(shown(argv_of(c.line)), c.expected) << c.line;
}

TEST(Split, RunCountsOnlyAsTheFirstArgument) {
  expect_all({
      {"toprun train.py", "run | train.py |"},
      {"toprun run train.py", "run | train.py |"},
      {"toprun run run", "run | run |"},
      {"toprun -- run x", "run | run | x"},
      {"toprun -v topo", "run --verbose | topo |"},
      {"toprun ./topo", "run | ./topo |"},
  });
}

TEST(Split, EverythingAfterTheScriptIsTheScripts) {
  expect_all({
      {"toprun script.py -np 8 -n 2 --help --nnodes",
       "run | script.py | -np 8 -n 2 --help --nnodes"},
      {"toprun script.py -- x", "run | script.py | x"},
      {"toprun script.py --", "run | script.py |"},
      {"toprun script.py -- -- x", "run | script.py | -- x"},
      {"toprun script.py -- x -- y", "run | script.py | x -- y"},
      {"toprun script.py a -- x", "run | script.py | a -- x"},
      {"toprun -- script.py -- x", "run | script.py | -- x"},
      {"toprun -m pkg.train -- --depth=20", "run --module | pkg.train | --depth=20"},
      {"torchrun -t3 script.py -- -t 0", "run --tee=3 | script.py | -t 0"},
      {"toprun --nnodes 2 -- --odd-name.py -v", "run --nnodes=2 | --odd-name.py | -v"},
      {"toprun - a b", "run | - | a b"},
      {"toprun script.py --n 3", "run | script.py | --n 3"},
      {"toprun --", "run | (none) |"},
      {"toprun", "run | (none) |"},
  });
}

TEST(Split, LongOptions) {
  expect_all({
      {"toprun --nproc-per-node 4 s", "run --nproc-per-node=4 | s |"},
      {"toprun --nproc_per_node 4 s", "run --nproc-per-node=4 | s |"},
      {"toprun --nproc_per_node=4 s", "run --nproc-per-node=4 | s |"},
      {"toprun --rdzv-conf=a=b,c=d s", "run --rdzv-conf=a=b,c=d | s |"},
      {"toprun --role= s", "run --role= | s |"},
      {"toprun --topology_required s", "run --topology-required | s |"},
      {"toprun --nnodes 1 --nnodes 2 s", "run --nnodes=1 --nnodes=2 | s |"},
      {"toprun --nnodes", "error: --nnodes needs a value; --nnodes N|MIN:MAX"},
      {"toprun --nnodes --standalone s", "error: --nnodes needs a value; --nnodes N|MIN:MAX"},
      {"toprun --tee -- 3 s", "error: --tee needs a value; --tee STREAMS"},
      {"toprun --standalone=1 s", "error: --standalone takes no value; write --standalone alone"},
  });
}

TEST(Split, AbbreviationsAmongTorchrunsOptionsOnly) {
  expect_all({
      {"toprun --nno 2 s", "run --nnodes=2 | s |"},
      {"toprun --nproc 2 s", "run --nproc-per-node=2 | s |"},
      {"toprun --nproc_per=2 s", "run --nproc-per-node=2 | s |"},
      {"toprun --rol=a=b s", "run --role=a=b | s |"},
      {"toprun --stand s", "run --standalone | s |"},
      {"toprun --he s", "run --help | (none) |"},
      {"toprun --no s",
       "error: ambiguous option --no: it could be --node-rank, --no-python; "
       "write the full name of the option"},
      {"toprun --rdzv x s",
       "error: ambiguous option --rdzv: it could be --rdzv-endpoint, "
       "--rdzv-backend, --rdzv-id, --rdzv-conf; write the full name of the option"},
      {"toprun --log x s",
       "error: ambiguous option --log: it could be --log-dir, --log-line-prefix-template, "
       "--logs-specs; write the full name of the option"},
      {"toprun --np 2 s", "run --nproc-per-node=2 | s |"},
      {"toprun --no-p s", "run --no-python | s |"},  // our --no-preflight does not count
      {"toprun --virtual s", "run --virtual-local-rank | s |"},
      {"toprun --topo x s", "error: unknown option --topo; did you mean --topology?"},
      {"toprun --orde x s", "error: unknown option --orde; did you mean --order?"},
      {"toprun --report x s", "run --report=x | s |"},
  });
}

TEST(Split, ShortOptions) {
  expect_all({
      {"toprun -t 3 s", "run --tee=3 | s |"},
      {"toprun -t3 s", "run --tee=3 | s |"},
      {"toprun -t=3 s", "run --tee=3 | s |"},
      {"toprun -r 0:1,1:2 s", "run --redirects=0:1,1:2 | s |"},
      {"toprun -mt 3 s", "run --module --tee=3 | s |"},
      {"toprun -vvmt3 s", "run --verbose --verbose --module --tee=3 | s |"},
      {"toprun -m pkg.train -m", "run --module | pkg.train | -m"},
      {"toprun -mx s", "error: unknown option -mx; toprun --help lists the options"},
      {"toprun -np 4 s", "error: unknown option -np; did you mean --nproc-per-node?"},
      {"toprun -t", "error: --tee needs a value; --tee STREAMS"},
  });
}

TEST(Split, HelpAndVersionEndTheReading) {
  expect_all({
      {"toprun -h", "run -h | (none) |"},
      {"toprun --nnodes 2 --help --bogus", "run --nnodes=2 --help | (none) |"},
      {"toprun --version s", "run --version | (none) |"},
      {"toprun --print-completion bash --bogus", "run --print-completion=bash | (none) |"},
      {"toprun -hm", "run -h | (none) |"},
      {"toprun s --help", "run | s | --help"},
  });
}

TEST(Split, UnknownOptions) {
  expect_all({
      {"toprun --ordre=name s", "error: unknown option --ordre; did you mean --order?"},
      {"toprun --nprocs-per-node 2 s",
       "error: unknown option --nprocs-per-node; did you mean --nproc-per-node?"},
      {"toprun --zebra s", "error: unknown option --zebra; toprun --help lists the options"},
      {"toprun --nprocs 2 s", "error: unknown option --nprocs; did you mean --nproc-per-node?"},
  });
}

TEST(Split, WordsWithADashThatAreNoOptions) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"toprun", "--tee", "-1", "s"}, "run --tee=-1 | s |"},
      {{"toprun", "--role", "-.5", "s"}, "run --role=-.5 | s |"},
      {{"toprun", "--role", "-", "s"}, "run --role=- | s |"},
      {{"toprun", "--role", "-x y", "s"}, "run --role=-x y | s |"},
      {{"toprun", "--role", "", "s"}, "run --role= | s |"},
      {{"toprun", "--role=a b", "s"}, "run --role=a b | s |"},
      {{"toprun", "--role", "--tee=a b", "s"}, "error: --role needs a value; --role NAME"},
      {{"toprun", "-x y", "a"}, "run | -x y | a"},
      {{"toprun", "-3", "a"}, "run | -3 | a"},
      {{"toprun", "", "a"}, "run |  | a"},
  };
  for (const auto& [argv, expected] : cases) EXPECT_EQ(shown(argv), expected) << join(argv, "·");
}

TEST(Split, CalledTorchrunThereIsOnlyTorchrun) {
  expect_all({
      {"/opt/bin/torchrun --nnodes 2 s -v", "run --nnodes=2 | s | -v"},
      {"torchrun topo order", "run | topo | order"},
      {"torchrun run s", "run | run | s"},
      {"my-torchrun version", "run | version |"},
      {"torchrun --order name s",
       "error: unknown option --order: under the name torchrun, toprun accepts only torchrun's "
       "options; start the program as toprun"},
      {"torchrun -v s",
       "error: unknown option -v: under the name torchrun, toprun accepts only torchrun's options; "
       "start the program as toprun"},
      {"torchrun --version s",
       "error: unknown option --version: under the name torchrun, toprun accepts only torchrun's "
       "options; start the program as toprun"},
      {"torchrun --zebra s", "error: unknown option --zebra; torchrun --help lists the options"},
  });
  EXPECT_TRUE(split({"torchrun", "s"})->called_torchrun());
  EXPECT_FALSE(split({"torchrun/toprun", "s"})->called_torchrun());
}

TEST(Split, TheSeedsCommandLines) {
  expect_all({
      {"torchrun --standalone --nnodes 1 --nproc_per_node 8 --node_rank 0 --master_addr n0 "
       "--master_port 29400 train.py -np 8 -n 1",
       "run --standalone --nnodes=1 --nproc-per-node=8 --node-rank=0 --master-addr=n0 "
       "--master-port=29400 | train.py | -np 8 -n 1"},
      {"toprun --nproc_per_node 20 --nnodes 2 --node_rank 1 --rdzv_endpoint host:23456 "
       "--rdzv_backend c10d --max_restarts 0 --role 17: --tee 3 pi.py",
       "run --nproc-per-node=20 --nnodes=2 --node-rank=1 --rdzv-endpoint=host:23456 "
       "--rdzv-backend=c10d --max-restarts=0 --role=17: --tee=3 | pi.py |"},
  });
}

TEST(Split, AVerbWithAScriptHasTheGrammarOfRunAndItsOwnOptions) {
  const auto reported = [](const std::vector<std::string>& words, Command command) -> std::string {
    const auto result = split_verb(words, command);
    if (!result) return result.error().line();
    std::string out;
    for (const ParsedOption& option : result->options) {
      out += fmt::format("{}={} ", option.flag->name, option.value);
    }
    return out + "| " + result->script.value_or("");
  };
  struct Line {
    std::vector<std::string> words;
    Command command;
    std::string_view expected;
  };
  const std::vector<Line> lines = {
      {{"-N2", "-t3", "a.py", "-x"}, Command::submit, "--nodes=2 --time=3 | a.py"},
      {{"-t3", "a.py"}, Command::run, "--tee=3 | a.py"},
      {{"--max-rest=2", "a.py"}, Command::submit, "--max-restarts=2 | a.py"},
      {{"--exclusive", "a.py"}, Command::submit, "--exclusive= | a.py"},
      {{"--exclusive=user", "a.py"}, Command::submit, "--exclusive=user | a.py"},
      {{"--signal", "USR1@60", "a.py"}, Command::submit, "--signal=USR1@60 | a.py"},
      {{"--signal", "USR1", "a.py"}, Command::run, "--signals-to-handle=USR1 | a.py"},
      {{"--nodes", "2", "a.py"}, Command::run, "unknown option --nodes; did you mean --nnodes?"},
      {{"--time", "10", "a.py"},
       Command::run,
       "unknown option --time; --time is an option of toprun submit"},
      {{"-N2", "a.py"}, Command::run, "unknown option -N2; -N is an option of toprun submit"},
      {{"--tee", "3"},
       Command::shell,
       "unknown option --tee; toprun shell --help lists the options"},
  };
  for (const auto& [words, command, expected] : lines)
    EXPECT_EQ(reported(words, command), expected);
}

TEST(Split, AVerbsOperandsStandAmongItsOptions) {
  using Words = std::vector<std::string>;
  struct Line {
    Command command;
    Words words;
    Words operands;
    Words options;  // as single words
  };
  const std::vector<Line> cases = {
      {Command::logs, {"17", "-f"}, {"17"}, {"--follow"}},
      {Command::logs, {"--rank", "-1", "17"}, {"17"}, {"--rank=-1"}},
      {Command::cancel, {"1", "-sUSR1", "2_[3-4]"}, {"1", "2_[3-4]"}, {"--signal=USR1"}},
      {Command::cancel, {"--", "-1", "--signal"}, {"-1", "--signal"}, {}},
      {Command::jobs, {"-ar"}, {}, {"--all", "--recent"}},
      {Command::eta, {}, {}, {}},
      {Command::topo_order, {"--explain", "n5", "--json"}, {}, {"--explain=n5", "--json"}},
      {Command::topo_order, {"--explain", "--json"}, {}, {"--explain", "--json"}},
      {Command::topo_order, {"--nproc_per_node=2"}, {}, {"--nproc-per-node=2"}},
      {Command::topo_draw, {"-o", "-"}, {}, {"--output=-"}},
      {Command::grow, {"--help"}, {}, {"--help"}},
  };
  for (const Line& each : cases) {
    const auto split = split_verb(each.words, each.command);
    ASSERT_TRUE(split) << split.error().line();
    Words options;
    for (const ParsedOption& option : split->options) options.push_back(word_of(option));
    EXPECT_EQ(split->arguments, each.operands) << testing::PrintToString(each.words);
    EXPECT_EQ(options, each.options) << testing::PrintToString(each.words);
    EXPECT_FALSE(split->script);
  }
}

TEST(Split, AVerbRefusesWhatItDoesNotKnow) {
  struct Refused {
    Command command;
    std::vector<std::string> words;
    std::string line;
  };
  const std::vector<Refused> cases = {
      {Command::cancel, {}, "no ID given; toprun cancel --help shows the usage"},
      {Command::status,
       {"1", "2"},
       "unexpected argument 2: toprun status shows one job at a time; run it for each job; toprun "
       "jobs lists all"},
      {Command::logs,
       {"1", "2"},
       "unexpected argument 2: toprun logs shows one job at a time; run it for each job; toprun "
       "jobs "
       "lists all"},
      {Command::topo_show, {"x"}, "unexpected argument x; give hosts with --hosts LIST"},
      {Command::doctor, {"n[0-3]"}, "unexpected argument n[0-3]; give hosts with --hosts LIST"},
      {Command::topo_draw,
       {"--x"},
       "unknown option --x; toprun topo draw --help lists the options"},
      {Command::bench,
       {"--list"},
       "unknown option --list; toprun bench --help lists the collectives"},
      {Command::jobs, {"--recnt"}, "unknown option --recnt; did you mean --recent?"},
      {Command::submit,
       {"--ntasks-per-node", "2", "a.py"},
       "unknown option --ntasks-per-node; toprun starts the ranks: give --nproc-per-node"},
      {Command::submit,
       {"--ntasks_per_node=2", "a.py"},
       "unknown option --ntasks_per_node; toprun starts the ranks: give --nproc-per-node"},
      {Command::submit,
       {"-n", "4", "a.py"},
       "unknown option -n; toprun starts the ranks: give --nodes and --nproc-per-node"},
      {Command::submit,
       {"-n4", "a.py"},
       "unknown option -n4; toprun starts the ranks: give --nodes and --nproc-per-node"},
      {Command::submit,
       {"--ntasks=4", "a.py"},
       "unknown option --ntasks; toprun starts the ranks: give --nodes and --nproc-per-node"},
      {Command::submit,
       {"--nice=100", "a.py"},
       "unknown option --nice; only Slurm knows this option: write --slurm-arg=--nice or "
       "--slurm-arg=--nice=VALUE"},
      {Command::submit,
       {"--wrap=x", "a.py"},
       "unknown option --wrap; give the command itself: toprun submit --no-python COMMAND"},
      {Command::submit,
       {"--image", "x", "a.py"},
       "unknown option --image; toprun calls it --container"},
      {Command::submit,
       {"--num_gpus=8", "a.py"},
       "unknown option --num_gpus; toprun calls it --gpus-per-node"},
      {Command::run,
       {"--num_processes=8", "a.py"},
       "unknown option --num_processes; toprun counts the ranks of one node: give "
       "--nproc-per-node"},
      {Command::run,
       {"--num_gpus", "8", "a.py"},
       "unknown option --num_gpus; toprun calls it --nproc-per-node"},
      {Command::run,
       {"-n4", "a.py"},
       "unknown option -n4; toprun counts the ranks of one node: give --nproc-per-node"},
      {Command::run,
       {"--ntasks=4", "a.py"},
       "unknown option --ntasks; toprun counts the ranks of one node: give --nproc-per-node"},
      {Command::run, {"-H", "a,b", "a.py"}, "unknown option -H; toprun calls it --hosts"},
      {Command::run,
       {"--include", "n0", "a.py"},
       "unknown option --include; toprun calls it --hosts"},
      {Command::run,
       {"--mixed_precision", "bf16", "a.py"},
       "unknown option --mixed_precision; set -e ACCELERATE_MIXED_PRECISION=VALUE"},
      {Command::run,
       {"--multi_gpu", "a.py"},
       "unknown option --multi_gpu; leave it out: toprun starts a rank for each GPU"},
      {Command::bench,
       {"all_reduce", "-g2"},
       "unknown option -g2; toprun starts one rank for each GPU: give --nproc-per-node"},
      {Command::run,
       {"--walltime", "a.py"},
       "unknown option --walltime; toprun --help lists the options"},
      {Command::jobs, {"--nice"}, "unknown option --nice; toprun jobs --help lists the options"},
      {Command::doctor, {"--on"}, "unknown option --on; toprun doctor --help lists the options"},
      {Command::submit,
       {"--node", "2", "a.py"},
       "ambiguous option --node: it could be --node-rank, --nodes, --nodelist; write the full name "
       "of the option"},
      {Command::topo_order,
       {"--order", "name"},
       "unknown option --order; this verb shows the order by topology; toprun --dry-run --order "
       "ORDER shows another order, toprun topo score compares orders"},
      {Command::jobs,
       {"--ntasks"},
       "unknown option --ntasks; toprun jobs --help lists the options"},
      {Command::bench,
       {"all_reduce", "--json"},
       "unknown option --json; --format json prints JSON"},
      {Command::bench_import, {"x", "--json"}, "unknown option --json; --format json prints JSON"},
      {Command::bench_compare,
       {"a", "b", "--json"},
       "unknown option --json; toprun bench import FILE --format json prints the results of one "
       "file"},
      {Command::bench_history,
       {"--json"},
       "unknown option --json; its file, bench.jsonl, has a line of JSON for each recorded "
       "measurement"},
      {Command::topo_draw,
       {"--json"},
       "unknown option --json; toprun topo draw --help lists the options"},
      {Command::bench_pairs,
       {"--format=json"},
       "unknown option --format; --save FILE writes the results as JSON"},
      {Command::bench_pairs,
       {"--backend", "nccl"},
       "unknown option --backend; bench pairs always measures TCP connections of its own"},
      {Command::jobs, {"--json=1"}, "--json takes no value; write --json alone"},
      {Command::store, {"--port"}, "--port needs a value; --port PORT"},
  };
  for (const Refused& each : cases) {
    const auto split = split_verb(each.words, each.command);
    ASSERT_FALSE(split) << each.line;
    EXPECT_EQ(split.error().line(), each.line);
    EXPECT_EQ(split.error()->exit_code, exit_usage);
  }
}

}  // namespace
}  // namespace toprun::options
