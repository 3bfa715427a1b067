
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>

#include "base/os/fd.h"
#include "base/text/text.h"
#include "machine/container/image.h"

namespace toprun::container {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t header_bytes = 48;
constexpr std::size_t magic_at = 32;
constexpr std::size_t machine_at = 45;
constexpr std::string_view sif_magic = "SIF_MAGIC\0"sv;
constexpr std::string_view squashfs_magic = "hsqs";

struct Machine {
  std::string_view code;
  std::string_view name;  // as images have it
  std::string_view uname;
};
constexpr std::array machines{
    Machine{"01", "386", "i686"},        Machine{"02", "amd64", "x86_64"},
    Machine{"03", "arm", "armv7l"},      Machine{"04", "arm64", "aarch64"},
    Machine{"06", "ppc64le", "ppc64le"}, Machine{"11", "s390x", "s390x"},
    Machine{"12", "riscv64", "riscv64"},
};

Result<std::string> beginning(const std::string& path, const std::string& what) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return fail_errno(what, "check its permissions: ls -l " + printable(path));
  std::string bytes(header_bytes, '\0');
  const ssize_t n = ::read(file.get(), bytes.data(), bytes.size());
  if (n < 0) return fail_errno(what);
  bytes.resize(static_cast<std::size_t>(n));
  return bytes;
}

Result<void> check_sif(const std::string& header, const std::string& what,
                       std::string_view machine) {
  const std::string_view bytes = header;
  if (bytes.size() < header_bytes || bytes.substr(magic_at, sif_magic.size()) != sif_magic) {
    // Older .simg files are squashfs behind a launch line, or plain.
    if (bytes.starts_with(squashfs_magic) || bytes.contains("\n" + std::string(squashfs_magic))) {
      return {};
    }
    return fail(what, "is not a SIF file", "perhaps the file was not copied or built completely");
  }
  const std::string_view code = bytes.substr(machine_at, 2);
  const auto built = std::ranges::find(machines, code, &Machine::code);
  if (machine.empty() || built == machines.end() || built->uname == machine) return {};
  return fail(what,
              fmt::format("the image is for {}, but this machine is {}", built->name, machine),
              "build the image on a machine with the architecture of this one: `toprun setup` "
              "builds the image in a job");
}

}  // namespace

Result<void> check_image_file(std::string_view image, std::string_view host,
                              std::string_view machine) {
  const auto parsed = parse_image(image);
  if (!parsed || !parsed->is_path()) return {};
  const std::string what = fmt::format("container image {} on {}", printable(parsed->path), host);
  struct stat status {};
  if (::stat(parsed->path.c_str(), &status) != 0) {
    constexpr const char* fix = "check the path, and whether this node has mounted its file system";
    if (errno == ENOENT) return usage(what, std::strerror(errno), fix);
    return fail_errno(what, fix);
  }
  const bool is_folder = S_ISDIR(status.st_mode);
  if (parsed->kind == ImageKind::folder && !is_folder) {
    return fail(what, "the name does not show the kind of image",
                "rename the image to a name that ends in .sif, .sqsh or .tar");
  }
  const bool is_file = parsed->kind == ImageKind::sif || parsed->kind == ImageKind::squashfs;
  if (is_file && !S_ISREG(status.st_mode)) return fail(what, "is not a file");
  if (!is_file) return {};
  const auto header = TRY(beginning(parsed->path, what));
  if (parsed->kind == ImageKind::sif) return check_sif(header, what, machine);
  if (header.starts_with(squashfs_magic)) return {};
  return fail(what, "is not a squashfs file",
              "perhaps the file was not copied or built completely");
}

}  // namespace toprun::container
