#include <array>

#include "cli/options/flag_rows.h"

namespace toprun::options {
namespace {

constexpr Flag of_setup(Flag flag) {
  flag.group = Group::building;
  return ours(flag, of(Command::setup));
}

constexpr std::array setup_flags = {
    of_setup({.name = "--venv",
              .value = "DIR",
              .variable = "TOPRUN_VENV",
              .id = FlagId::venv,
              .help = "Build a virtual environment in DIR, for the option --venv of the other "
                      "verbs"}),
    of_setup({.name = "--requirement",
              .letter = 'r',
              .value = "FILE",
              .id = FlagId::requirement,
              .repeatable = true,
              .help = "Install what this requirements file lists, as `pip install -r` does"}),
    of_setup({.name = "--import",
              .value = "NAME,...",
              .id = FlagId::import_test,
              .repeatable = true,
              .help = "Python modules that the finished environment must be able to import",
              .default_value = "the modules of the requested packages"}),
    of_setup({.name = "--python",
              .value = "FILE",
              .id = FlagId::base_python,
              .help = "Python that creates the environment",
              .default_value = "the first Python of the list \"Which Python\" below that exists "
                               "after --modules are loaded"}),
    of_setup({.name = "--system-site-packages",
              .id = FlagId::system_site_packages,
              .help = "Let the environment see the packages that are installed for the Python "
                      "that creates the environment"}),
    of_setup({.name = "--upgrade-pip",
              .id = FlagId::upgrade_pip,
              .help = "Upgrade pip, setuptools and wheel before anything else is installed"}),
    of_setup({.name = "--horovod",
              .value = "nccl|gloo|mpi",
              .id = FlagId::horovod,
              .value_optional = true,
              .help = "Build Horovod after all other packages, for the installed torch: with "
                      "NCCL for GPUs, or only with Gloo or MPI"}),
    of_setup({.name = "--nccl-home",
              .value = "DIR",
              .id = FlagId::nccl_home,
              .help = "Folder in which NCCL is installed, for --horovod, if the compiler does not "
                      "find NCCL"}),
    of_setup({.name = "--container",
              .value = "FILE",
              .variable = "TOPRUN_CONTAINER",
              .id = FlagId::container,
              .help =
                  "Build the image file FILE (.sif by Apptainer, .sqsh by enroot) from the image "
                  "that --from names; other verbs run it with --container FILE. The support for "
                  "enroot was written from its manual and has never been tested with enroot"}),
    of_setup({.name = "--from",
              .value = "IMAGE",
              .id = FlagId::image_from,
              .of_one_call = true,
              .help = "Source of the image: docker://NAME:TAG, or a .tar file of docker save"}),
    of_setup({.name = "--force",
              .id = FlagId::force,
              .of_one_call = true,
              .help = "Build again, and replace the environment or image that `toprun setup` "
                      "has built at this path"}),
};

}  // namespace

std::span<const Flag> setup_rows() {
  return setup_flags;
}

}  // namespace toprun::options
