#include "machine/container/image.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "base/os/fd.h"
#include "base/text/text.h"

namespace toprun::container {
namespace {

using namespace std::string_view_literals;

struct Suffix {
  std::string_view text;
  ImageKind kind;
};

constexpr std::array suffixes{
    Suffix{".sif", ImageKind::sif},           Suffix{".simg", ImageKind::sif},
    Suffix{".sqsh", ImageKind::squashfs},     Suffix{".sqfs", ImageKind::squashfs},
    Suffix{".squashfs", ImageKind::squashfs}, Suffix{".tar", ImageKind::archive},
    Suffix{".tar.gz", ImageKind::archive},
};

// Apptainer's and Podman's transports, and enroot's two ways to ask a daemon.
constexpr std::array registries{"docker"sv, "oras"sv, "library"sv, "shub"sv};
constexpr std::array stores{"docker-daemon"sv, "containers-storage"sv, "dockerd"sv, "podman"sv};
constexpr std::array archives{"docker-archive"sv, "oci-archive"sv, "oci"sv};

bool is_one_of(const auto& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::unexpected<Error> bad_image(std::string_view image, std::string why, std::string fix = {}) {
  return usage(fmt::format("container image {}", printable(image)), std::move(why), std::move(fix));
}

std::optional<ImageKind> kind_of_path(std::string_view text) {
  for (const Suffix& suffix : suffixes) {
    if (text.ends_with(suffix.text)) return suffix.kind;
  }
  if (text == "." || text == ".." || text.starts_with('/') || text.starts_with("./") ||
      text.starts_with("../")) {
    return ImageKind::folder;
  }
  return std::nullopt;
}

// The word before "://" or, for archives and daemons, before ":" alone.
std::string_view transport_of(std::string_view text) {
  if (const auto end = text.find("://"); end != text.npos) return text.substr(0, end);
  const std::string_view word = text.substr(0, text.find(':'));
  const bool known = is_one_of(stores, word) || is_one_of(archives, word);
  return known && word.size() < text.size() ? word : ""sv;
}

std::string_view without_transport(std::string_view text, std::string_view transport) {
  text.remove_prefix(transport.size() + 1);
  if (text.starts_with("//")) text.remove_prefix(2);
  return text;
}

// Domain of the grammar: what is not a domain is the first part of the name.
bool is_registry(std::string_view part) {
  return part == "localhost" ||
         std::ranges::any_of(part, [](char c) { return c == '.' || c == ':' || is_upper(c); });
}

std::optional<std::string> wrong_with_registry(std::string_view registry) {
  const auto colon = registry.find(':');
  const std::string_view host = registry.substr(0, colon);
  const bool good = std::ranges::all_of(host, [](char c) {
    return is_lower(c) || is_upper(c) || is_digit(c) || c == '.' || c == '-';
  });
  if (host.empty() || !good)
    return fmt::format("{} is not the name of a registry", printable(registry));
  if (colon == registry.npos) return std::nullopt;
  const auto port = parse_int(registry.substr(colon + 1));
  if (port && *port > 0 && *port < 65536) return std::nullopt;
  return fmt::format("{} has no port between 1 and 65535", printable(registry));
}

// path-component: alphanumeric [separator alphanumeric]*, separator: one dot, one or two
// underscores, dashes.
std::optional<std::string> wrong_with_component(std::string_view part) {
  if (part.empty()) return "a part between slashes is empty";
  for (const char c : part) {
    if (is_upper(c))
      return fmt::format("names have only lower-case letters, and {} does not", printable(part));
    if (is_lower(c) || is_digit(c) || c == '.' || c == '_' || c == '-') continue;
    return fmt::format("'{}' is not allowed in a name", printable({&c, 1}));
  }
  const auto is_inner = [](char c) { return c == '.' || c == '_' || c == '-'; };
  const bool doubled = part.contains("..") || part.contains("___") || part.contains("._") ||
                       part.contains("_.") || part.contains(".-") || part.contains("-.") ||
                       part.contains("_-") || part.contains("-_");
  if (is_inner(part.front()) || is_inner(part.back()) || doubled) {
    return fmt::format("{} must have letters or digits around each separator", part);
  }
  return std::nullopt;
}

std::optional<std::string> wrong_with_tag(std::string_view tag) {
  if (tag.empty()) return "the tag after ':' is empty";
  if (tag.size() > max_image_tag) return fmt::format("a tag has at most {} bytes", max_image_tag);
  for (const char c : tag) {
    if (is_lower(c) || is_upper(c) || is_digit(c) || c == '_' || c == '.' || c == '-') continue;
    return fmt::format("'{}' is not allowed in a tag", printable({&c, 1}));
  }
  if (tag.front() == '.' || tag.front() == '-') {
    return fmt::format("a tag does not begin with '{}'", tag.front());
  }
  return std::nullopt;
}

std::optional<std::string> wrong_with_digest(std::string_view digest) {
  constexpr std::size_t least_digits = 32;
  const auto colon = digest.find(':');
  const std::string_view digits = digest.substr(colon == digest.npos ? digest.size() : colon + 1);
  const bool hex =
      std::ranges::all_of(digits, [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
  const std::size_t request = digest.starts_with("sha256:") ? 64 : digits.size();
  if (hex && digits.size() >= least_digits && digits.size() == request) return std::nullopt;
  return "what follows '@' is not a digest, such as sha256: and 64 hexadecimal digits";
}

std::optional<std::string> wrong_with_name(const Image& image) {
  if (image.name.size() > max_image_name) {
    return fmt::format("a name has at most {} bytes", max_image_name);
  }
  for (const std::string_view part : split(image.name, '/')) {
    if (auto wrong = wrong_with_component(part)) return wrong;
  }
  return std::nullopt;
}

// Takes "REGISTRY/" or enroot's "REGISTRY#" off the text.
std::string_view take_registry(std::string_view& text) {
  const auto hash = text.find('#');
  const auto end = hash != text.npos ? hash : text.find('/');
  if (end == text.npos) return {};
  const std::string_view registry = text.substr(0, end);
  if (hash == text.npos && !is_registry(registry)) return {};
  text.remove_prefix(end + 1);
  return registry;
}

Result<Image> parse_reference(std::string_view whole, std::string_view transport,
                              std::string_view text) {
  Image image{.transport = std::string(transport)};
  if (text.empty()) return bad_image(whole, "a name must follow");
  image.path = text;
  if (const auto at = text.find('@'); at != text.npos && !text.substr(at).contains(':')) {
    image.user = text.substr(0, at);
    text.remove_prefix(at + 1);
  } else if (at != text.npos && text.substr(at).find('/') != text.npos) {
    image.user = text.substr(0, at);
    text.remove_prefix(at + 1);
  }
  if (const auto at = text.find('@'); at != text.npos) {
    image.digest = text.substr(at + 1);
    text = text.substr(0, at);
    if (const auto wrong = wrong_with_digest(image.digest)) return bad_image(whole, *wrong);
  }
  image.registry = take_registry(text);
  if (!image.registry.empty()) {
    if (const auto wrong = wrong_with_registry(image.registry)) return bad_image(whole, *wrong);
  }
  const auto colon = text.find(':');
  image.name = text.substr(0, colon);
  if (const auto wrong = wrong_with_name(image)) {
    const bool looks_like_file = image.name.contains('/') && image.registry.empty();
    return bad_image(
        whole, *wrong,
        looks_like_file ? fmt::format("for a folder write ./{}", printable(whole)) : "");
  }
  if (colon == text.npos) return image;
  image.tag = text.substr(colon + 1);
  if (const auto wrong = wrong_with_tag(image.tag)) return bad_image(whole, *wrong);
  return image;
}

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

Result<Image> parse_image(std::string_view text) {
  if (text.empty()) return bad_image("''", "must not be empty");
  if (!is_printable(text)) return bad_image(text, "control characters are not allowed");
  if (text.starts_with('-')) return bad_image(text, "an image does not begin with '-'");
  const std::string_view transport = transport_of(text);
  if (transport.empty()) {
    if (const auto kind = kind_of_path(text)) {
      return Image{.kind = *kind, .path = std::string(text)};
    }
    if (text.starts_with('~')) {
      return bad_image(text, "the shell has not replaced the '~'", "write the path as $HOME/...");
    }
    return parse_reference(text, {}, text);
  }
  const std::string_view rest = without_transport(text, transport);
  if (is_one_of(archives, transport)) {
    if (rest.empty()) return bad_image(text, "a path must follow");
    return Image{
        .kind = ImageKind::archive, .transport = std::string(transport), .path = std::string(rest)};
  }
  if (is_one_of(registries, transport) || is_one_of(stores, transport)) {
    return parse_reference(text, transport, rest);
  }
  return bad_image(text, fmt::format("{}:// is not known", printable(transport)),
                   fmt::format("known are {}, {}, {}", fmt::join(registries, ", "),
                               fmt::join(stores, ", "), fmt::join(archives, ", ")));
}

bool names_path(std::string_view text) {
  const auto image = parse_image(text);
  return image && image->is_path() && image->transport.empty();
}

std::string registry_reference(const Image& image) {
  std::string registry = image.registry;
  std::string name = image.name;
  if (image.transport == "docker") {
    if (registry.empty()) registry = "docker.io";
    if (registry == "docker.io" && !name.contains('/')) name = "library/" + name;
  }
  return fmt::format("{}{}{}{}{}{}{}", registry, registry.empty() ? "" : "/", name,
                     image.tag.empty() ? "" : ":", image.tag, image.digest.empty() ? "" : "@",
                     image.digest);
}

std::string_view kind_name(ImageKind kind) {
  switch (kind) {
    case ImageKind::reference:
      return "reference";
    case ImageKind::sif:
      return "SIF file";
    case ImageKind::squashfs:
      return "squashfs file";
    case ImageKind::archive:
      return "archive";
    case ImageKind::folder:
      return "folder";
  }
  return {};
}

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
