#!/bin/sh
# Installs toprun for one user; without root, without a compiler. It writes below PREFIX only.
#
#   sh install.sh                          the archive beside this file, into ~/.local
#   sh install.sh --from FOLDER-OR-URL     the archive, SHA256SUMS and its signature lie there
#   sh install.sh --prefix DIR             default: ~/.local
#   sh install.sh --minisign-key KEY       check the signature with this public key (needs minisign)
#   sh install.sh --gpg-keyring FILE       check the signature with the keys in this file (needs gpgv)
#   sh install.sh --uninstall              removes what it installed below PREFIX
set -eu
umask 022

prefix=${HOME:-}/.local from='' minisign_key='' keyring='' action=install
record=share/toprun/installed-files

say() { echo "install: $*" >&2; }
die() { say "$@"; exit 1; }
need() { [ -n "${2:-}" ] || die "$1 needs an argument"; }

while [ $# -gt 0 ]; do
  case $1 in
    --from) need "$@"; from=$2; shift ;;
    --prefix) need "$@"; prefix=$2; shift ;;
    --minisign-key) need "$@"; minisign_key=$2; shift ;;
    --gpg-keyring) need "$@"; keyring=$2; shift ;;
    --uninstall) action=uninstall ;;
    -h | --help) sed -n '2,/^set/{/^set/d; s/^# \{0,1\}//; p;}' "$0"; exit 0 ;;
    *) die "unknown option $1: see --help" ;;
  esac
  shift
done
case $prefix in
  /.local | /) die "HOME is not set: name a folder with --prefix" ;;
  /*) ;;
  *) prefix=$PWD/$prefix ;;
esac

if [ "$action" = uninstall ]; then
  [ -f "$prefix/$record" ] || die "$prefix/$record is missing: nothing was installed below $prefix by this script"
  cd "$prefix"
  files=$(cat "$record")
  echo "$files" | while read -r file; do rm -f "$file"; done
  echo "$files" | while read -r file; do rmdir -p "$(dirname "$file")" 2>/dev/null || :; done
  say "toprun is removed from $prefix"
  exit 0
fi

[ "$(uname -s)" = Linux ] || die "this is $(uname -s): toprun runs on Linux only"
case $(uname -m) in
  x86_64 | amd64) architecture=x86_64 ;;
  aarch64 | arm64) architecture=aarch64 ;;
  *) die "there is no toprun for $(uname -m): only for x86_64 and aarch64; it can be built from its sources" ;;
esac
[ -n "$from" ] || from=$(cd "$(dirname "$0")" && pwd)

# What is unpacked lies beside its target, so that each file is in its place at once or not at all.
mkdir -p "$prefix" 2>/dev/null || die "cannot create $prefix: name a folder that you may write with --prefix"
scratch=$(mktemp -d "$prefix/.toprun-XXXXXX" 2>/dev/null) ||
  die "cannot write to $prefix: name a folder that you may write with --prefix"
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

get() { # get NAME: into the scratch folder
  case $from in
    http://* | https://*)
      if command -v curl >/dev/null; then
        curl -fsSL --connect-timeout 20 --max-time 600 -o "$scratch/$1" "$from/$1"
      else
        wget -nv --timeout=20 --tries=2 -O "$scratch/$1" "$from/$1"
      fi ;;
    *) cp "$from/$1" "$scratch/$1" ;;
  esac 2>&1
}

fetch() { why=$(get "$1") || die "cannot get $1 from $from: $(echo "$why" | tail -n 1)"; }

fetch SHA256SUMS
archive=$(sed -n "s/^[0-9a-f]\{64\}  \(toprun-[0-9][0-9a-z.]*-linux-$architecture\.tar\.gz\)\$/\1/p" "$scratch/SHA256SUMS")
case $archive in
  '') die "SHA256SUMS of $from has no archive for $architecture" ;;
  *'
'*) die "SHA256SUMS of $from has more than one archive for $architecture" ;;
esac

if [ -n "$minisign_key" ]; then
  command -v minisign >/dev/null || die "minisign is not installed: install it, or leave --minisign-key out"
  fetch SHA256SUMS.minisig
  minisign -V -q -P "$minisign_key" -m "$scratch/SHA256SUMS" >/dev/null 2>&1 ||
    die "the signature of SHA256SUMS does not match the key: the files of $from were changed or are not from this key; nothing was installed"
elif [ -n "$keyring" ]; then
  command -v gpgv >/dev/null || die "gpgv is not installed: install it, or leave --gpg-keyring out"
  fetch SHA256SUMS.asc
  case $keyring in /*) ;; *) keyring=$PWD/$keyring ;; esac
  gpgv -q --keyring "$keyring" "$scratch/SHA256SUMS.asc" "$scratch/SHA256SUMS" >/dev/null 2>&1 ||
    die "the signature of SHA256SUMS does not match the keys of $keyring: the files of $from were changed or are not from these keys; nothing was installed"
else
  say "the signature was not checked: name the public key with --minisign-key or --gpg-keyring"
fi

fetch "$archive"
expected=$(sed -n "s/^\([0-9a-f]\{64\}\)  $archive\$/\1/p" "$scratch/SHA256SUMS")
actual=$(sha256sum "$scratch/$archive" | cut -d ' ' -f 1)
[ "$actual" = "$expected" ] ||
  die "$archive is damaged: its SHA-256 sum is not the one in SHA256SUMS; fetch it again; nothing was installed"

mkdir "$scratch/tree"
if ! why=$(tar -xzf "$scratch/$archive" -C "$scratch/tree" --strip-components=1 2>&1); then
  free_kib=$(df -Pk "$scratch" | awk 'NR == 2 { print $4 }')
  [ "$free_kib" -gt 1024 ] || why="no space is left on this file system"
  die "cannot unpack $archive below $prefix: $(echo "$why" | head -n 1); nothing was installed"
fi
"$scratch/tree/bin/toprun" version >/dev/null 2>&1 ||
  die "the program does not run on this machine ($(uname -m), kernel $(uname -r)); nothing was installed"

{ (cd "$scratch/tree" && find . -type f | sed 's|^\./||'); echo "$record"; } | sort >"$scratch/files"
mkdir -p "$scratch/tree/share/toprun"
cp "$scratch/files" "$scratch/tree/$record"
# What the version before this one had and this one has not, such as its modulefile.
[ ! -f "$prefix/$record" ] || grep -vxF -f "$scratch/files" "$prefix/$record" >"$scratch/stale" || :
while read -r file; do
  if ! { mkdir -p "$(dirname "$prefix/$file")" && mv -f "$scratch/tree/$file" "$prefix/$file"; }; then
    die "cannot write $prefix/$file"
  fi
done <"$scratch/files"
if [ -f "$scratch/stale" ]; then while read -r file; do rm -f "$prefix/$file"; done <"$scratch/stale"; fi

say "$("$prefix/bin/toprun" version) is in $prefix/bin; remove it with: sh install.sh --prefix $prefix --uninstall"
case :${PATH:-}: in
  *":$prefix/bin:"*) ;;
  *) say "$prefix/bin is not in PATH: export PATH=\"$prefix/bin:\$PATH\"" ;;
esac
