#pragma once

#include <string>
#include <string_view>

#include "base/text/error.h"

namespace toprun::container {

inline constexpr std::size_t max_image_name = 255;  // bytes, tag and digest apart, as registries do
inline constexpr std::size_t max_image_tag = 128;

enum class ImageKind {
  reference,  // of a registry or of what a program has stored
  sif,        // one file of Apptainer's, .sif
  squashfs,   // one file of enroot's, .sqsh
  archive,    // a tar file of docker save, or an OCI layout
  folder,     // a root file system
};

// What --container names. A path is what starts with "/", "./" or "../", or ends in .sif, .sqsh,
// .sqfs, .squashfs, .simg or .tar; all else is a reference. So a relative folder is "./folder".
//
// Reference: [TRANSPORT://][USER@][REGISTRY/]NAME[:TAG][@DIGEST], by the grammar of the
// distribution project (reference/reference.go); enroot's REGISTRY#NAME means the same.
struct Image {
  ImageKind kind = ImageKind::reference;
  std::string transport = {};  // "docker", "oras" … as typed; empty: none was typed
  std::string user = {};       // who logs in, enroot only
  std::string registry = {};   // "nvcr.io", "localhost:5000"; empty: none was typed
  std::string name = {};       // "nvidia/pytorch"
  std::string tag = {};        // empty: none was typed
  std::string digest = {};     // "sha256:…"
  std::string path = {};       // of a file or folder, as typed; a stored image's with its tag
  bool operator==(const Image&) const = default;

  bool is_path() const { return kind != ImageKind::reference; }
};

// Errors (exit_usage) name the image and the character or part that is wrong.
Result<Image> parse_image(std::string_view text);

// Whether this is a path and nothing before it: what a file of options takes from its own folder.
bool names_path(std::string_view text);

// "docker.io/library/python:3.12": complete, as a reference that says docker:// means it; a name
// without a transport stays as it was typed, because the program's own store is looked in first.
std::string registry_reference(const Image& image);

// "sif file", "folder" … for messages.
std::string_view kind_name(ImageKind kind);

}  // namespace toprun::container
