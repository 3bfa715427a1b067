#pragma once

#include <string>
#include <string_view>

#include "base/text/error.h"

namespace toprun::container {

inline constexpr std::size_t max_image_name = 255;  // bytes, without tag and digest; the same limit
                                                    // as in registries
inline constexpr std::size_t max_image_tag = 128;

enum class ImageKind {
  reference,  // in a registry or in a program's store
  sif,        // one file for Apptainer, .sif
  squashfs,   // one file for enroot, .sqsh
  archive,    // a tar file from docker save, or an OCI layout
  folder,     // a root file system
};

// The value of --container. The value is a path if it starts with "/", "./" or "../", or ends in
// .sif, .sqsh, .sqfs, .squashfs, .simg or .tar. Any other value is a reference to a registry, so a
// relative folder has to be written "./folder".
//
// Reference: [TRANSPORT://][USER@][REGISTRY/]NAME[:TAG][@DIGEST], in the grammar of the
// distribution project (reference/reference.go). The form REGISTRY#NAME (enroot) has the same
// meaning.
struct Image {
  ImageKind kind = ImageKind::reference;
  std::string transport = {};  // "docker", "oras" …, as the user typed it; empty: the user typed
                               // none
  std::string user = {};       // the user for the login, only for enroot
  std::string registry = {};   // "nvcr.io", "localhost:5000"; empty: not typed
  std::string name = {};       // "nvidia/pytorch"
  std::string tag = {};        // empty: not typed
  std::string digest = {};     // "sha256:…"
  std::string path = {};       // for a file or folder: its path as the user typed it; for a stored
                               // image: the name with its tag
  bool operator==(const Image&) const = default;

  bool is_path() const { return kind != ImageKind::reference; }
};

// Parses the value of --container. Errors (exit_usage) name the image and the invalid character or
// part.
Result<Image> parse_image(std::string_view text);

// Whether this name of an image is a path without a transport. In a file of options, a relative
// path is relative to that file's folder.
bool names_path(std::string_view text);

// Returns "docker.io/library/python:3.12", the complete reference, if the image has the transport
// docker://. A name without a transport is not changed, because the runtime searches its own store
// first.
std::string registry_reference(const Image& image);

// Returns "sif file", "folder" … for messages.
std::string_view kind_name(ImageKind kind);

// Checks an image that is a file or folder before a runtime uses it. The file or folder has to
// exist, to be readable, and to be of the kind that its name says. A SIF file also has to be for
// this machine's architecture. The header of a SIF file has a launch line of 32 bytes, magic,
// version and architecture (github.com/apptainer/sif pkg/sif). `machine` is the machine name from
// uname(2); empty: any machine. An image that is not a path is not checked.
Result<void> check_image_file(std::string_view image, std::string_view host,
                              std::string_view machine);

}  // namespace toprun::container
