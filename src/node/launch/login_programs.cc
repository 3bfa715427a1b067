#include "node/launch/login_programs.h"

#include <sys/stat.h>

#include <fstream>

#include "base/process/build_id.h"
#include "base/process/program.h"
#include "base/text/text.h"

namespace toprun::launch {
namespace {

constexpr std::array<std::string_view, 2> machines = {"x86_64", "aarch64"};
constexpr std::size_t head_bytes = 64u << 10;

std::string path_for(std::string_view machine) {
  const auto own = process::own_path();
  return own ? (own->parent_path() / fmt::format("toprun-{}", machine)).string() : std::string();
}

std::string head_of(const std::string& path) {
  std::string head(head_bytes, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(file.gcount()));
  return head;
}

}  // namespace

// The programs are not read, because most hosts have them already, and the linker's digest
// identifies them.
Result<std::vector<LoginProgram>> login_programs() {
  struct stat status {};
  if (::stat(process::own_program, &status) != 0) return fail_errno("cannot read toprun's program");
  engines::Binary own{process::this_machine(), process::build_id(),
                      static_cast<std::size_t>(status.st_size)};
  if (own.id.empty()) {
    return fail("toprun's program has no build id",
                "the ELF note with the build id was removed from the program",
                "build toprun again");
  }
  std::vector<LoginProgram> programs{{std::move(own), process::own_program}};
  for (const std::string_view machine : machines) {
    const std::string path = path_for(machine);
    if (machine == programs.front().binary.machine || ::stat(path.c_str(), &status) != 0) continue;
    std::string id = process::build_id_in(head_of(path));
    if (id.empty()) continue;
    programs.push_back(
        {{std::string(machine), std::move(id), static_cast<std::size_t>(status.st_size)}, path});
  }
  return programs;
}

engines::LoginTrouble no_program_for(std::string_view machine) {
  const std::string shown = printable(machine);
  if (std::ranges::find(machines, machine) == machines.end()) {
    return {
        fmt::format("the host is a machine of the kind {}, and toprun is built for {} only", shown,
                    join(std::vector<std::string>(machines.begin(), machines.end()), " and ")),
        "leave HOST out"};
  }
  return {
      fmt::format("the host is a machine of the kind {}, and toprun has no program for it", shown),
      fmt::format("put the toprun of {} beside this one, as {}", shown, path_for(machine))};
}

}  // namespace toprun::launch
