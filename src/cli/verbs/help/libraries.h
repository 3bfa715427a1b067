#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace toprun::cli {

// A library that is linked into this binary.
struct Library {
  std::string name;
  std::string version;       // from its headers, else from its package; empty: unknown
  std::string license;       // an SPDX expression
  std::string home;          // its home page
  std::string distribution;  // the source of its package: "debian"; empty: no package is known
  // The source package; package_version includes the distribution's patches
  std::string package = {};
  std::string package_version = {};
};

std::vector<Library> linked_libraries();

// The upstream version in a package's version: "0.7.0" for "1:0.7.0+dfsg-8".
std::string upstream_version(std::string_view package_version);

// A bill of materials: CycloneDX 1.5, JSON (cyclonedx.org/docs/1.5/json). Pure.
std::string sbom(const std::vector<Library>& libraries, std::string_view toprun_version);

// The output of `toprun version -v`: build, compiler, libraries.
std::string version_details();

}  // namespace toprun::cli
