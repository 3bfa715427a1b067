#include "cli/verbs/help/help.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <ares.h>
#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <mbedtls/version.h>
#include <pcre2.h>
#include <sodium.h>
#include <toml++/impl/version.h>

#include <algorithm>

#include <boost/version.hpp>
#include <nlohmann/json.hpp>

#include "base/json/json_text.h"
#include "base/process/command.h"
#include "base/text/version.h"

namespace toprun::cli {
namespace {

#if defined(__clang__)
constexpr std::string_view compiler = "clang " __clang_version__;
#else
constexpr std::string_view compiler = "g++ " __VERSION__;
#endif

struct Package {
  std::string_view library;
  std::string_view distribution;
  std::string_view name;
  std::string_view version;
};

// Made by cmake/Packages.cmake.
constexpr Package packages[] = {
#include "linked_packages.inc"
    {}};

std::string dotted(int major, int minor, int patch) {
  return fmt::format("{}.{}.{}", major, minor, patch);
}

// The version from the library's headers or functions; munge and yaml-cpp have none.
std::vector<Library> stated() {
  const auto boost =
      dotted(BOOST_VERSION / 100'000, BOOST_VERSION / 100 % 1000, BOOST_VERSION % 100);
  const auto fmts = dotted(FMT_VERSION / 10'000, FMT_VERSION / 100 % 100, FMT_VERSION % 100);
  const auto json =
      dotted(NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH);
  const auto toml = dotted(TOML_LIB_MAJOR, TOML_LIB_MINOR, TOML_LIB_PATCH);
  const auto pcre2 = fmt::format("{}.{}", PCRE2_MAJOR, PCRE2_MINOR);
  return {
      {"Boost", boost, "BSL-1.0", "https://www.boost.org", {}},
      {"libsodium", sodium_version_string(), "ISC", "https://libsodium.org", {}},
      {"c-ares", ares_version(nullptr), "MIT", "https://c-ares.org", {}},
      {"libmunge", {}, "LGPL-3.0-or-later", "https://dun.github.io/munge", {}},
      {"yaml-cpp", {}, "MIT", "https://github.com/jbeder/yaml-cpp", {}},
      {"PCRE2", pcre2, "BSD-3-Clause", "https://www.pcre.org", {}},
      {"Mbed TLS", MBEDTLS_VERSION_STRING, "Apache-2.0", "https://www.trustedfirmware.org", {}},
      {"fmt", fmts, "MIT", "https://fmt.dev", {}},
      {"nlohmann-json", json, "MIT", "https://json.nlohmann.me", {}},
      {"toml++", toml, "MIT", "https://marzer.github.io/tomlplusplus", {}},
      {"glibc",
       gnu_get_libc_version(),
       "LGPL-2.1-or-later",
       "https://www.gnu.org/software/libc",
       {}},
      {"libstdc++", {}, "GPL-3.0-or-later WITH GCC-exception-3.1", "https://gcc.gnu.org", {}},
  };
}

// A package URL (github.com/package-url/purl-spec); what is not a letter, digit or ".-_~" is
// encoded.
std::string purl(const Library& library) {
  const auto encoded = [](std::string_view text) {
    std::string out;
    for (const char c : text) {
      const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                         (c >= '0' && c <= '9') || std::string_view(".-_~").contains(c);
      out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
    return out;
  };
  return fmt::format("pkg:deb/{}/{}@{}?arch=source", library.distribution, encoded(library.package),
                     encoded(library.package_version));
}

}  // namespace

std::string upstream_version(std::string_view package_version) {
  if (const auto epoch = package_version.find(':'); epoch != package_version.npos) {
    package_version.remove_prefix(epoch + 1);
  }
  return std::string(package_version.substr(0, package_version.find_first_of("-+~")));
}

std::vector<Library> linked_libraries() {
  std::vector<Library> libraries = stated();
  for (Library& library : libraries) {
    const auto* package = std::ranges::find(packages, library.name, &Package::library);
    if (package == std::end(packages)) continue;
    library.distribution = package->distribution;
    library.package = package->name;
    library.package_version = package->version;
    if (library.version.empty()) library.version = upstream_version(package->version);
  }
  return libraries;
}

std::string sbom(const std::vector<Library>& libraries, std::string_view toprun_version) {
  using nlohmann::ordered_json;
  ordered_json components = ordered_json::array();
  for (const Library& library : libraries) {
    ordered_json component = {{"type", "library"},
                              {"bom-ref", library.name},
                              {"name", library.name},
                              {"version", library.version},
                              {"licenses", {{{"expression", library.license}}}}};
    if (!library.package.empty()) component["purl"] = purl(library);
    component["externalReferences"] = {{{"type", "website"}, {"url", library.home}}};
    components.push_back(std::move(component));
  }
  ordered_json names = ordered_json::array();
  for (const Library& library : libraries) names.push_back(library.name);
  const ordered_json document = {
      {"bomFormat", "CycloneDX"},
      {"specVersion", "1.5"},
      {"version", 1},
      {"metadata",
       {{"component",
         {{"type", "application"},
          {"bom-ref", "toprun"},
          {"name", "toprun"},
          {"version", toprun_version},
          {"licenses", {{{"expression", "Apache-2.0"}}}}}}}},
      {"components", std::move(components)},
      {"dependencies", {{{"ref", "toprun"}, {"dependsOn", std::move(names)}}}}};
  return json_text(document, 2) + '\n';
}

std::string version_details() {
  std::string text = fmt::format("build    {}\ncompiler {}\n", process::build_id(), compiler);
  for (const Library& library : linked_libraries()) {
    text += fmt::format("  {:<14} {:<10} {}\n", library.name, library.version,
                        library.package.empty()
                            ? ""
                            : fmt::format("{} {}", library.package, library.package_version));
  }
  return text;
}

}  // namespace toprun::cli
