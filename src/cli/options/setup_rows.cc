#include <array>

#include "cli/options/flag_rows.h"

namespace toprun::options {
namespace {

constexpr std::array setup_flags = {
    only(of(Command::setup),
         ours(FlagId::venv, "--venv", 0, "DIR", "TOPRUN_VENV", Group::building,
              "Build a virtual environment in DIR, for the option --venv of the other verbs")),
    repeatable(only(of(Command::setup),
                    ours(FlagId::requirement, "--requirement", 'r', "FILE", "", Group::building,
                         "Install what this requirements file lists, as `pip install -r` does"))),
    repeatable(only(of(Command::setup),
                    ours(FlagId::import_test, "--import", 0, "NAME,...", "", Group::building,
                         "Python modules that the finished environment must be able to import",
                         "the modules of the requested packages"))),
    only(
        of(Command::setup),
        ours(FlagId::base_python, "--python", 0, "FILE", "", Group::building,
             "Python that creates the environment",
             "after --modules are loaded, the first existing Python of the list \"Which Python\"")),
    only(of(Command::setup),
         ours(FlagId::system_site_packages, "--system-site-packages", 0, "", "", Group::building,
              "Let the environment see the packages that are installed for the Python that creates "
              "the environment")),
    only(of(Command::setup),
         ours(FlagId::upgrade_pip, "--upgrade-pip", 0, "", "", Group::building,
              "Upgrade pip, setuptools and wheel before anything else is installed")),
    only(of(Command::setup),
         optional_value(ours(FlagId::horovod, "--horovod", 0, "nccl|gloo|mpi", "", Group::building,
                             "Build Horovod after all other packages, for the installed torch: "
                             "with NCCL for GPUs, or only with Gloo or MPI"))),
    only(of(Command::setup), ours(FlagId::nccl_home, "--nccl-home", 0, "DIR", "", Group::building,
                                  "Folder of NCCL for Horovod, if the compiler does not find it")),
    only(of(Command::setup),
         ours(FlagId::container, "--container", 0, "FILE", "TOPRUN_CONTAINER", Group::building,
              "Build this image from the image of --from, for the option --container of the other "
              "verbs. Apptainer builds a .sif, enroot a .sqsh. The enroot command follows "
              "enroot's manual, but it has never been run")),
    of_one_call(
        only(of(Command::setup),
             ours(FlagId::image_from, "--from", 0, "IMAGE", "", Group::building,
                  "Source of the image: docker://NAME:TAG, or a .tar file of docker save"))),
    of_one_call(only(of(Command::setup), ours(FlagId::force, "--force", 0, "", "", Group::building,
                                              "Build again, and replace the environment or image "
                                              "that `toprun setup` has built at this path"))),

};

}  // namespace

std::span<const Flag> setup_rows() {
  return setup_flags;
}

}  // namespace toprun::options
