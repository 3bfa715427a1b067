#include <array>

#include "options/flag_rows.h"

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
    own(of(Command::jobs), FlagId::all, "--all", 'a', "", "Everybody's jobs"),
    own(of(Command::jobs), FlagId::recent, "--recent", 'r', "",
        "The last 20 of yours that have ended, and what ended them: those that the engine "
        "remembers or that left files in this folder"),
    json(Command::jobs, "One JSON object: toprun.jobs/1, toprun.recent/1"),
    json(Command::status, "One JSON object, toprun.status/1"),
    own(of(Command::logs), FlagId::follow, "--follow", 'f', "",
        "Show more as it comes, until the job ends; the exit code is the job's"),
    own(of(Command::logs), FlagId::rank, "--rank", 0, "RANK",
        "Only this rank's own files (--redirects or --tee keep them)"),
    own(of(Command::logs), FlagId::node, "--node", 0, "HOST", "Only this host's output"),
    own(of(Command::stacks), FlagId::dumps, "--dumps", 0, "DIR",
        "No running job, but what PyTorch's flight recorder left in this folder after a time-out"),
    json(Command::stacks, "One JSON object, toprun.stacks/1; with --dumps toprun.dumps/1"),
    own(of(Command::report), FlagId::html, "--html", 0, "",
        "A page that needs no other file and no network, instead of JSON"),
    own(of(Command::report), FlagId::output, "--output", 'o', "FILE", "The file, or - for stdout",
        "-"),
    json(Command::top, "One JSON object a line, toprun.live/1, until the job ends"),
    json(Command::eta, "One JSON object, toprun.eta/1"),
    own(of(Command::cancel), FlagId::signal, "--signal", 's', "SIGNAL",
        "Send this signal to the job's processes instead of ending it"),
    own(of(Command::cancel), FlagId::dry_run, "--dry-run", 0, "",
        "Print the command and do not run it"),
    json(Command::cluster, "One JSON object, toprun.cluster/1"),

    own(of(Command::topo_show), FlagId::all, "--all", 0, "",
        "A line for each domain, also where more than 16 are alike"),
    own(orders, FlagId::wanted_nodes, "--nnodes", 0, "N",
        "So many nodes are needed: which of them, and which stay idle"),
    own(orders, FlagId::earlier_order, "--stable", 0, "FILE",
        "A file with an earlier order of the job, as --format hosts prints it: hosts that stay "
        "keep "
        "their places"),
    own(of(Command::topo_draw), FlagId::drawn_order, "--order", 0,
        "topology|given|name|torchrun|FILE",
        "Whose ring is drawn: one of these, or a file with host names", "topology"),
    own(of(Command::topo_draw), FlagId::groups, "--groups", 0, "tp|cp|ep|etp|dp|edp|pp",
        "Which groups of --parallel have a colour each", "the costliest that leave a node"),
    own(of(Command::topo_draw), FlagId::output, "--output", 'o', "FILE",
        "The file: .svg, .png (by rsvg-convert) or .dot; or - for stdout", "-"),
    own(of(Command::topo_draw), FlagId::format, "--format", 0, "svg|png|dot",
        "What is drawn, dot for Graphviz; goes before the file's suffix", "svg"),
    own(of(Command::topo_order), FlagId::format, "--format", 0,
        "table|json|hosts|hostfile|rankfile|seq|slurm|deepspeed|kubernetes|dlrover",
        "One of the formats below", "table"),
    json(Command::topo_order, "The same as --format json"),
    optional_value(own(of(Command::topo_order), FlagId::explain, "--explain", 0, "HOST",
                       "Say why each node is where it is, or the one HOST of the job")),
    own(of(Command::topo_score), FlagId::message_size, "--size", 0, "SIZE",
        "Bytes on each node, as in 16M", "64M"),
    own(of(Command::topo_score), FlagId::scored_order, "--order", 0, "FILE",
        "A file with host names, one or a list per line: scores that order too"),
    json(Command::topo_show, "One JSON object, toprun.topo_show/1"),
    json(Command::topo_score, "One JSON object, toprun.topo_score/1"),
    own(of(Command::topo_convert), FlagId::form, "--to", 0, "topology.conf|topology.yaml|labels",
        "One of the forms below", "the one of -o's name"),
    own(of(Command::topo_convert), FlagId::output, "--output", 'o', "FILE",
        "The file, or - for stdout", "-"),

    own(networks_of_a_node | of(Command::doctor), FlagId::root, "--root", 0, "DIR",
        "Read /sys, /proc, /etc and /dev below DIR: a copy of another machine's"),
    own(networks_of_a_node, FlagId::nccl_version, "--nccl", 0, "VERSION",
        "For this version of NCCL"),
    own(networks_of_a_node, FlagId::other_host, "--to", 0, "HOST",
        "The way to this node of the job, which a name or an address gives, instead of the "
        "default route"),
    own(of(Command::net_env), FlagId::shell, "--shell", 0, "",
        "Lines for a shell: export NAME=VALUE"),
    json(Command::net_show, "One JSON object, toprun.net_show/1"),
    own(of(Command::doctor), FlagId::all, "--all", 0, "", "Also the checks that found nothing"),
    own(of(Command::doctor), FlagId::here, "--here", 0, "",
        "Only this machine, also in an allocation of several nodes"),
    own(of(Command::doctor), FlagId::fix, "--fix", 0, "",
        "Print the commands that mend what was found, and run none"),
    json(Command::doctor,
         "One JSON object in a line: toprun.doctor/1, of several hosts toprun.doctor_hosts/1"),
    own(of(Command::doctor), FlagId::json_lines, "--json-lines", 0, "",
        "As --here, with a JSON object for each finding, none longer than srun keeps in one line"),
    json(Command::net_env, "One JSON object, toprun.net_env/1"),

    json(Command::config_show, "One JSON object, toprun.config/1"),
    own(of(Command::config_init), FlagId::output, "--output", 'o', "FILE",
        "The file, or - for stdout", "toprun.toml"),
    own(of(Command::config_init), FlagId::force, "--force", 0, "", "Replace a file that is there"),

    own(of(Command::store), FlagId::port, "--port", 0, "PORT",
        "Port to listen on; 0: the kernel chooses", "29500"),
    limit("--max-key", "BYTES", "Longest key", "8K"),
    limit("--max-value", "BYTES", "Longest value in a request", "8M"),
    limit("--max-keys-per-request", "N", "Most keys in a request, or watched by a connection",
          "131072"),
    limit("--max-request", "BYTES", "Longest request", "1G"),
    limit("--max-memory", "BYTES", "Keys, values, waits and buffers together", "4G"),
    limit("--max-connections", "N", "Most connections at once", "200000"),
    limit("--max-backlog", "BYTES", "Replies that a client has not read yet", "64M"),

    own(of(Command::version), FlagId::verbose, "--verbose", 'v', "",
        "Its build, and the libraries that are linked in"),
    own(of(Command::version), FlagId::bill_of_materials, "--sbom", 0, "",
        "These as a bill of materials: CycloneDX 1.5, JSON"),

    only(~(starting | families),
         ours(FlagId::help, "--help", 'h', "", "", Group::general, "This help")),
};

}  // namespace

std::span<const Flag> verb_rows() {
  return verb_flags;
}

}  // namespace toprun::options
