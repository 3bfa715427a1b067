#include "decide/topology/cloud/azure.h"

#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <set>
#include <system_error>

#include "base/net/hostlist.h"
#include "base/os/files.h"
#include "base/process/command.h"
#include "base/text/text.h"
#include "decide/topology/ports.h"

namespace toprun::topology {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view program_name = "sharp_cmd";
constexpr std::string_view sharp_command_text = "sharp_cmd topology";
constexpr std::size_t max_answer_bytes = 64u << 20;

// A temporary folder for the program's input and output files.
class Scratch {
 public:
  explicit Scratch(const Environment& environment)
      : path_(environment.non_empty("TMPDIR").value_or("/tmp") + "/toprun-sharp-XXXXXX") {
    made_ = ::mkdtemp(path_.data()) != nullptr;
    if (!made_) error_ = errno;
  }
  ~Scratch() {
    std::error_code ignored;
    if (made_) fs::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  Result<void> check() const {
    if (made_) return {};
    return fail("cannot make " + path_, std::generic_category().message(error_), "set TMPDIR");
  }
  std::string file(std::string_view name) const { return fmt::format("{}/{}", path_, name); }

 private:
  std::string path_;
  bool made_ = false;
  int error_ = 0;
};

// The ports' GUIDs without leading zeros, the form of the program's own output and of Azure's own
// tools.
std::string guids_of(std::span<const HostPorts> hosts) {
  std::string text;
  for (const HostPorts& host : hosts) {
    for (const Port& port : host.ports) text += fmt::format("{:#x}\n", port.guid);
  }
  return text;
}

// The root is one of the hosts, and machines of one size use the same adapter names.
std::string first_device(std::span<const HostPorts> hosts) {
  const Port& port = hosts.front().ports.front();
  return fmt::format("{}:{}", port.device, port.number);
}

std::unexpected<Error> no_ports_error(const Request& request) {
  const bool asked = std::ranges::any_of(
      request.members, [](const Member& member) { return member.ports.has_value(); });
  return fail("--topology azure: no node reported an InfiniBand port",
              asked ? "no port in /sys/class/infiniband has the link layer InfiniBand"
                    : "only the agents of a job search for InfiniBand ports",
              asked ? "use machines with InfiniBand, or describe the network in a file: --topology "
                      "FILE"
                    : "start a job with -v, which shows the order, or describe the network in a "
                      "file: --topology FILE");
}

Result<Map> ask_sharp(const std::string& program, std::span<const HostPorts> hosts,
                      const Request& request) {
  const Scratch scratch(request.environment);
  TRY(scratch.check());
  const std::string guids = scratch.file("guids");
  const std::string answer = scratch.file("topology");
  std::ofstream(guids) << guids_of(hosts);
  const std::string device = first_device(hosts);
  Environment environment = request.environment;
  if (!environment.has("SHARP_SMX_UCX_INTERFACE"))
    environment.set("SHARP_SMX_UCX_INTERFACE", device);
  const auto ran = process::output_of(sharp_command(program, device, guids, answer), environment,
                                      request.budget);
  auto text = ran ? read_file(answer, max_answer_bytes) : std::unexpected(ran.error());
  if (!text) {
    Error error = text.error();
    error->what = fmt::format("`{}` tells nothing", sharp_command_text);
    error->why =
        ran ? "the program did not write a file" : ran.error()->what + ": " + ran.error()->why;
    error->fix =
        "check with sharp_hello whether SHARP's manager answers; or save the file on a machine "
        "where the manager answers, and pass the file with --topology";
    return std::unexpected(std::move(error));
  }
  return parse_port_topology(*text, std::string(sharp_command_text), hosts);
}

}  // namespace

std::optional<std::string> find_sharp_cmd(const Environment& environment, const fs::path& root) {
  if (auto found = process::find_program(std::string(program_name), environment)) return found;
  std::vector<fs::path> places;
  if (const auto folder = environment.non_empty("HPCX_SHARP_DIR")) {
    places.push_back(fs::path(*folder) / "bin");
  }
  places.push_back(root / "opt/mellanox/sharp/bin");
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator i(root / "opt", error), end; !error && i != end; i.increment(error)) {
    names.push_back(i->path().filename().string());
  }
  std::erase_if(names, [](const std::string& name) { return !name.starts_with("hpcx"); });
  std::ranges::sort(names, [](const auto& a, const auto& b) { return natural_less(b, a); });
  for (const std::string& name : names) places.push_back(root / "opt" / name / "sharp/bin");
  for (const fs::path& place : places) {
    const fs::path program = place / program_name;
    if (fs::is_regular_file(program, error)) return program.string();
  }
  return std::nullopt;
}

std::vector<std::string> sharp_command(const std::string& program, const std::string& device,
                                       const std::string& guids_file,
                                       const std::string& topology_file) {
  return {program,        "topology", "--ib-dev",        device,
          "--guids_file", guids_file, "--topology_file", topology_file};
}

Result<std::optional<Map>> read_azure(const Request& request) {
  const std::vector<HostPorts> hosts = ports_of(request.members);
  if (hosts.empty()) return no_ports_error(request);
  const auto program = find_sharp_cmd(request.environment);
  if (!program) {
    return fail("--topology azure: sharp_cmd is not on this node",
                "toprun looked for the program in PATH, $HPCX_SHARP_DIR/bin, "
                "/opt/mellanox/sharp/bin and /opt/hpcx*/sharp/bin",
                "load HPC-X, or run `sharp_cmd topology` on a machine that has sharp_cmd and pass "
                "the output file with --topology");
  }
  auto map = TRY(ask_sharp(*program, hosts, request));
  if (!map.hosts.empty()) map.source = "azure";
  std::set<std::string_view> reported;
  for (const HostPorts& host : hosts) reported.insert(host.host);
  std::vector<std::string> without;
  for (const Member& member : request.members) {
    if (!reported.contains(member.name)) without.push_back(member.name);
  }
  if (!without.empty()) {
    map.warnings.push_back("no InfiniBand port was found on " + hosts::compress_hostlist(without));
  }
  return std::move(map);
}

}  // namespace toprun::topology
