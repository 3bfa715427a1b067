#include <array>

#include "cli/options/flag_rows.h"

namespace toprun::options {
namespace {

constexpr Flag own(Commands commands, FlagId id, std::string_view name, char letter,
                   std::string_view value, std::string_view help,
                   std::string_view default_value = {}) {
  return only(commands, ours(id, name, letter, value, "", Group::of_verb, help, default_value));
}

constexpr Flag json(Command command, std::string_view help) {
  return own(of(command), FlagId::json, "--json", 0, "", help);
}

constexpr Flag limit(std::string_view name, std::string_view unit, std::string_view help,
                     std::string_view default_value) {
  return own(of(Command::store), FlagId::unasked, name, 0, unit, help, default_value);
}

// Options of the verbs that start nothing. Options shared with a launch are in launch_rows.cc.
constexpr std::array verb_flags = {
    own(of(Command::jobs), FlagId::all, "--all", 'a', "", "Show all users' jobs"),
    own(of(Command::jobs), FlagId::recent, "--recent", 'r', "",
        "Show your last 20 jobs that have ended, and why they ended. toprun finds these jobs in "
        "the engine's records and in the files of this folder"),
    json(Command::jobs, "Print one JSON object: toprun.jobs/1, or with --recent toprun.recent/1"),
    json(Command::status, "Print one JSON object, toprun.status/1"),
    own(of(Command::logs), FlagId::follow, "--follow", 'f', "",
        "Show new lines until the job ends, then exit with the job's exit code"),
    own(of(Command::logs), FlagId::rank, "--rank", 0, "RANK",
        "Show only this rank's files, which --redirects or --tee wrote"),
    own(of(Command::logs), FlagId::node, "--node", 0, "HOST", "Show only this host's output"),
    own(of(Command::logs), FlagId::last_lines, "--tail", 'n', "N",
        "Show only the last N lines of each file; with -f, then new lines too"),
    own(of(Command::stacks), FlagId::dumps, "--dumps", 0, "DIR",
        "Instead of a running job, read the dumps that PyTorch's flight recorder left in DIR after "
        "a time-out"),
    json(Command::stacks,
         "Print one JSON object (schema toprun.stacks/1, with --dumps toprun.dumps/1)"),
    own(of(Command::report), FlagId::html, "--html", 0, "",
        "Write an HTML page instead of JSON; the page works without other files and without a "
        "network"),
    own(of(Command::report), FlagId::output, "--output", 'o', "FILE",
        "File to write, or - for stdout", "-"),
    own(of(Command::man), FlagId::output, "--output", 'o', "DIR",
        "Write the pages of toprun and of each verb to this folder"),
    json(Command::top,
         "Print the job's state as one JSON object per line (format toprun.live/1) until the job "
         "ends"),
    json(Command::eta, "Print one JSON object, toprun.eta/1"),
    own(of(Command::cancel), FlagId::signal, "--signal", 's', "SIGNAL",
        "Send this signal to the job's processes instead of ending the job"),
    own(of(Command::cancel), FlagId::dry_run, "--dry-run", 0, "",
        "Print the command that would end or signal the job, without running the command"),
    json(Command::cluster, "Print one JSON object, toprun.cluster/1"),

    own(of(Command::topo_show), FlagId::all, "--all", 0, "",
        "Show a line for each domain, even where more than 16 domains are alike"),
    own(orders, FlagId::requested_nodes, "--nnodes", 0, "N",
        "Number of nodes that the job needs; the output shows which nodes are used and which stay "
        "idle"),
    own(orders, FlagId::earlier_order, "--stable", 0, "FILE",
        "File with an earlier order of the job, in the format that --format hosts prints; hosts "
        "that are still in the job keep their positions"),
    own(of(Command::topo_draw), FlagId::drawn_order, "--order", 0,
        "topology|given|name|torchrun|file:PATH",
        "Order of the nodes in the ring; file: each line is a host name or a list of host names",
        "topology"),
    own(of(Command::topo_draw), FlagId::groups, "--groups", 0, "tp|cp|ep|etp|dp|edp|pp",
        "Kind of groups of --parallel to show, each group in its own colour",
        "the costliest kind whose groups are on several nodes"),
    own(of(Command::topo_draw), FlagId::output, "--output", 'o', "FILE",
        "File to write: .svg, .png (with rsvg-convert) or .dot; or - for stdout", "-"),
    own(of(Command::topo_draw), FlagId::format, "--format", 0, "svg|png|dot",
        "Format of the picture, dot for Graphviz; overrides the file's suffix", "svg"),
    own(of(Command::topo_order), FlagId::format, "--format", 0,
        "table|json|hosts|hostfile|rankfile|seq|slurm|deepspeed|kubernetes|dlrover",
        "Format of the output; a table below describes each format", "table"),
    json(Command::topo_order, "The same as --format json"),
    optional_value(own(of(Command::topo_order), FlagId::explain, "--explain", 0, "HOST",
                       "Explain the position of each node, or only of HOST")),
    own(of(Command::topo_score), FlagId::message_size, "--size", 0, "SIZE",
        "Size of the message on each node, such as 16M", "64M"),
    own(of(Command::topo_score), FlagId::scored_order, "--order", 0, "file:PATH",
        "File with one more order of the hosts, whose cost toprun computes too; each line is a "
        "host name "
        "or a list of host names"),
    json(Command::topo_show, "Print one JSON object, toprun.topo_show/1"),
    json(Command::topo_score, "Print one JSON object, toprun.topo_score/1"),
    own(of(Command::topo_convert), FlagId::form, "--to", 0, "topology.conf|topology.yaml|labels",
        "Format of the output; a table below describes each format",
        "according to the file name of --output"),
    own(of(Command::topo_convert), FlagId::output, "--output", 'o', "FILE",
        "File to write, or - for stdout", "-"),

    own(networks_of_a_node | of(Command::doctor), FlagId::root, "--root", 0, "DIR",
        "Read /sys, /proc, /etc and /dev under DIR, for example in a copy from another machine"),
    own(networks_of_a_node, FlagId::nccl_version, "--nccl", 0, "VERSION",
        "Version of NCCL that toprun assumes"),
    own(networks_of_a_node, FlagId::other_host, "--to", 0, "HOST",
        "Use the route to HOST, the name or address of another node of the job, instead of the "
        "default route"),
    own(of(Command::net_env), FlagId::shell, "--shell", 0, "",
        "Print lines for a shell: export NAME=VALUE"),
    json(Command::net_show, "Print one JSON object, toprun.net_show/1"),
    own(of(Command::doctor), FlagId::all, "--all", 0, "",
        "Also show the checks that found nothing"),
    own(of(Command::doctor), FlagId::here, "--here", 0, "",
        "Check only this machine, even in an allocation of several nodes"),
    own(of(Command::doctor), FlagId::fix, "--fix", 0, "",
        "Print the commands that would fix the problems, without running the commands; a problem "
        "that no command fixes is printed as a comment that says what to do"),
    json(Command::doctor,
         "Print one JSON object on one line: toprun.doctor/1 for one host, toprun.doctor_hosts/1 "
         "for several hosts"),
    own(of(Command::doctor), FlagId::json_lines, "--json-lines", 0, "",
        "Like --here, but print one JSON object per finding; each object is so short that srun "
        "does not split its line"),
    json(Command::net_env, "Print one JSON object, toprun.net_env/1"),

    own(of(Command::config_show), FlagId::all, "--all", 0, "",
        "Also show the options that no file and no variable sets, with their defaults"),
    json(Command::config_show, "Print one JSON object, toprun.config/1, with all options"),
    own(of(Command::config_init), FlagId::output, "--output", 'o', "FILE",
        "File to write, or - for stdout", "toprun.toml"),
    own(of(Command::config_init), FlagId::force, "--force", 0, "", "Replace an existing file"),

    own(of(Command::store), FlagId::port, "--port", 0, "PORT",
        "Port to listen on; 0: the kernel chooses", "29500"),
    limit("--max-key", "BYTES", "Maximum size of a key", "8K"),
    limit("--max-value", "BYTES",
          "Maximum size of a value; requests with a longer value are refused", "8M"),
    limit("--max-keys-per-request", "N",
          "Maximum number of keys in one request, and of keys that one connection watches",
          "131072"),
    limit("--max-request", "BYTES", "Maximum size of a request", "1G"),
    limit("--max-memory", "BYTES",
          "Maximum memory for keys, values, pending requests and buffers together", "4G"),
    limit("--max-connections", "N", "Maximum number of open connections", "200000"),
    limit("--max-backlog", "BYTES", "Maximum bytes of replies that one client has not read yet",
          "64M"),

    own(of(Command::version), FlagId::verbose, "--verbose", 'v', "",
        "Also show the build and the libraries that are part of the program"),
    own(of(Command::version), FlagId::bill_of_materials, "--sbom", 0, "",
        "Print a bill of materials, the libraries that are part of the program: CycloneDX 1.5, "
        "JSON"),

    only(~(starting | families),
         ours(FlagId::help, "--help", 'h', "", "", Group::general, "This help")),
};

}  // namespace

std::span<const Flag> verb_rows() {
  return verb_flags;
}

}  // namespace toprun::options
