#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace toprun::cli {

// A library that is linked into this program.
struct Library {
  std::string name;
  std::string version;       // as its headers say, else of its package; empty: unknown
  std::string license;       // an SPDX expression
  std::string home;          // its page
  std::string distribution;  // "debian": where its package is from; empty: no package is known
  std::string package = {};  // the source package, and its version with the distribution's patches
  std::string package_version = {};
};

std::vector<Library> linked_libraries();

// "0.7.0" of a package's version "1:0.7.0+dfsg-8".
std::string upstream_version(std::string_view package_version);

// A bill of materials: CycloneDX 1.5, JSON (cyclonedx.org/docs/1.5/json). Pure.
std::string sbom(const std::vector<Library>& libraries, std::string_view toprun_version);

// The output of `toprun version -v`: build, compiler, libraries.
std::string version_details();

}  // namespace toprun::cli
