# SPDX-License-Identifier: MIT
"""Installs weir into a scratch prefix and uses it from there as others would; prints TAP.

Through a DESTDIR first, then moved to its prefix: nothing may point back into the build.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ["WEIR_SOURCE_ROOT"])
HERE = SOURCE / "tests" / "install"
VERSION = re.search(r"^ *version: '(.*)',$", (SOURCE / "meson.build").read_text(), re.M).group(1)
STRICT = ["-Wall", "-Wextra", "-Wshadow", "-Wpedantic", "-Werror"]
CLEAN_ENV = {k: v for k, v in os.environ.items() if not k.startswith(("PKG_CONFIG", "MESON"))}

tests = []


def test(function):
    tests.append(function)
    return function


class Failure(Exception):
    pass


def check(condition, message):
    if not condition:
        raise Failure(message)


def run(*command, **options):
    """Runs a command that must succeed and returns what it prints."""
    command = [str(word) for word in command]
    options.setdefault("env", CLEAN_ENV)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", check=False, **options)
    if done.returncode != 0:
        raise Failure(f"exit status {done.returncode}: {' '.join(command)}\n{done.stdout}")
    return done.stdout


def header_functions(header):
    """Names of the functions that a header declares: what stands before a parenthesis."""
    text = re.sub(r"/\*.*?\*/", " ", header.read_text(), flags=re.DOTALL)
    text = re.sub(r"^\s*#.*$", " ", text, flags=re.MULTILINE)
    return set(re.findall(r"\b(weir_\w+)\s*\((?!\*)", text))


class Installed:
    """The installed tree and how to build against it."""

    def __init__(self, scratch):
        self.scratch = scratch
        self.prefix = scratch / "prefix"
        build, stage = scratch / "build", scratch / "stage"
        run("meson", "setup", build, SOURCE, f"--prefix={self.prefix}", "--libdir=lib",
            "--buildtype=release", "-Dcli=enabled", "-Dtests=disabled", "-Dbench=disabled",
            "-Dwerror=true")
        run("ninja", "-C", build)
        run("meson", "install", "-C", build, "--no-rebuild", "--destdir", stage)
        staged = stage / self.prefix.relative_to("/")
        self.outside = [p for p in stage.rglob("*") if p.is_file() and staged not in p.parents]
        shutil.move(staged, self.prefix)
        shutil.rmtree(build)
        self.header = self.prefix / "include" / "weir" / "weir.h"
        self.lib = self.prefix / "lib"
        self.env = dict(CLEAN_ENV, PKG_CONFIG_PATH=str(self.lib / "pkgconfig"))

    def pkg_config(self, *arguments):
        return run("pkg-config", *arguments, "weir", env=self.env).split()

    def build(self, compiler, standard, source, static):
        program = self.scratch / f"{pathlib.Path(source).stem}-{'static' if static else 'shared'}"
        libs = self.pkg_config("--libs", *(["--static"] if static else []))
        if static:
            # The library itself from its archive; what it needs as the system has it.
            libs = ["-l:libweir.a" if word == "-lweir" else word for word in libs]
        run(compiler, f"-std={standard}", *STRICT, *self.pkg_config("--cflags"), source, "-o",
            program, *libs)
        return program

    def run_linked(self, program, static):
        env = dict(CLEAN_ENV)
        if not static:
            env["LD_LIBRARY_PATH"] = str(self.lib)
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", program))
        check(("libweir.so.0" in needed) != static, f"{program} needs {needed}")
        return run(program, env=env)


@test
def files_installed(tree):
    expected = {
        "bin/weir", "include/weir/weir.h", "lib/libweir.a", "lib/libweir.so",
        "lib/libweir.so.0", f"lib/libweir.so.{VERSION}", "lib/pkgconfig/weir.pc",
        "lib/cmake/weir/weir-config.cmake", "lib/cmake/weir/weir-config-version.cmake",
        "share/man/man1/weir.1", "share/man/man7/weir.7",
    }
    found = {str(p.relative_to(tree.prefix)) for p in tree.prefix.rglob("*") if not p.is_dir()}
    pages = {name for name in found if name.startswith("share/man/man3/")}
    check(not tree.outside, f"outside the prefix: {tree.outside}")
    check(found - pages == expected,
          f"missing {sorted(expected - found)}, not expected {sorted(found - pages - expected)}")


@test
def exports_are_those_of_the_header(tree):
    lines = run("nm", "-D", "--defined-only", tree.lib / "libweir.so").split("\n")
    exported = dict(line.split()[2].split("@@") for line in lines if line and " A " not in line)
    functions = header_functions(tree.header)
    check(set(exported) == functions,
          f"only exported {sorted(set(exported) - functions)}, "
          f"only declared {sorted(functions - set(exported))}")
    other = {name for name, node in exported.items() if node != "WEIR_0.1"}
    check(not other, f"not of the version WEIR_0.1: {other}")


@test
def soname_and_links(tree):
    dynamic = run("readelf", "-d", tree.lib / "libweir.so")
    check("soname: [libweir.so.0]" in dynamic, dynamic)
    check(os.readlink(tree.lib / "libweir.so") == "libweir.so.0", "libweir.so")
    check(os.readlink(tree.lib / "libweir.so.0") == f"libweir.so.{VERSION}", "libweir.so.0")
    needed = set(re.findall(r"\(NEEDED\).*\[(\w+[\w-]*)\.", dynamic))
    extra = needed - {"liburcu-bp", "liburcu-common", "libxxhash", "libc", "ld-linux-x86-64",
                      "ld-linux-aarch64", "libpthread"}
    check(not extra, f"needs {extra} as well")
    check("RUNPATH" not in dynamic and "RPATH" not in dynamic, "a run path is left in")


@test
def archive_defines_only_weir_names(tree):
    names = re.findall(r"^[0-9a-f]+ [A-Z] (\S+)$",
                       run("nm", "-g", "--defined-only", tree.lib / "libweir.a"), re.MULTILINE)
    check(len(names) > 30, f"only {len(names)} names")
    foreign = [name for name in names if not name.startswith("weir_")]
    check(not foreign, f"other names: {foreign}")


@test
def header_alone_is_clean(tree):
    source = tree.scratch / "alone.c"
    source.write_text("#include <weir/weir.h>\n#include <weir/weir.h>\nint alone;\n")
    flags = [*STRICT, "-Wconversion", f"-I{tree.prefix / 'include'}", "-fsyntax-only"]
    compilers = [name for name in ("gcc", "clang-14", "clang-19") if shutil.which(name)]
    check("gcc" in compilers, "no gcc")
    for compiler in compilers:
        for standard in ("c11", "c17", "gnu11"):
            run(compiler, f"-std={standard}", "-Wstrict-prototypes", *flags, source)
        for standard in ("c++11", "c++17", "c++20"):
            run(compiler, "-x", "c++", f"-std={standard}", *flags, source)


def use_through_pkg_config(tree, source, compiler, standard, static):
    program = tree.build(compiler, standard, HERE / source, static)
    printed = tree.run_linked(program, static)
    check(printed.endswith(f": {VERSION}\n"), printed)


@test
def c11_through_pkg_config(tree):
    use_through_pkg_config(tree, "use_c11.c", "gcc", "c11", False)


@test
def c11_through_pkg_config_static(tree):
    use_through_pkg_config(tree, "use_c11.c", "gcc", "c11", True)


@test
def cxx11_through_pkg_config(tree):
    use_through_pkg_config(tree, "use_cxx11.cc", "g++", "c++11", False)


@test
def cxx11_through_pkg_config_static(tree):
    use_through_pkg_config(tree, "use_cxx11.cc", "g++", "c++11", True)


@test
def pkg_config_needs_no_build_only_library(tree):
    words = tree.pkg_config("--static", "--libs", "--cflags")
    check("-lck" not in words and "-ljansson" not in words, " ".join(words))
    check(tree.pkg_config("--modversion") == [VERSION], "version")


@test
def c11_and_cxx11_through_cmake(tree):
    build = tree.scratch / "cmake"
    run("cmake", "-G", "Ninja", "-S", HERE, "-B", build, f"-DCMAKE_PREFIX_PATH={tree.prefix}")
    run("ninja", "-C", build)
    for name, language in (("use_c11", "C11"), ("use_cxx11", "C++11")):
        for kind in ("weir", "weir_static"):
            printed = tree.run_linked(build / f"{name}_{kind}", kind == "weir_static")
            check(printed == f"{language}: {VERSION}\n", printed)


@test
def cmake_package_can_be_moved(tree):
    moved, build = tree.scratch / "moved", tree.scratch / "cmake-moved"
    shutil.copytree(tree.prefix, moved, symlinks=True)
    run("cmake", "-G", "Ninja", "-S", HERE, "-B", build, f"-DCMAKE_PREFIX_PATH={moved}")
    commands = run("ninja", "-C", build, "-t", "commands")
    check(str(moved) in commands and str(tree.prefix) not in commands, commands)


@test
def readme_example(tree):
    blocks = re.findall(r"^```c\n(.*?)^```", (SOURCE / "README.md").read_text(),
                        re.DOTALL | re.MULTILINE)
    programs = [block for block in blocks if "main(" in block]
    check(programs, "README.md has no C block with main()")
    source = tree.scratch / "readme.c"
    source.write_text(programs[0])
    for static in (False, True):
        program = tree.build("gcc", "c11", source, static)
        tree.run_linked(program, static)


@test
def every_function_has_a_page(tree):
    man3 = tree.prefix / "share" / "man" / "man3"
    functions = header_functions(tree.header)
    missing = []
    for name in sorted(functions):
        page = man3 / f"{name}.3"
        if not page.is_file() or not re.search(rf"^\.Nm {name}( ,)?$", page.read_text(), re.M):
            missing.append(name)
    check(not missing, f"no page names {missing}")
    named = {page.stem for page in man3.iterdir() if page.is_symlink()}
    check(named <= functions, f"pages of what does not exist: {sorted(named - functions)}")


def man_pages(tree):
    return sorted(p for p in (tree.prefix / "share" / "man").rglob("*.[0-9]")
                  if not p.is_symlink())


@test
def pages_are_clean(tree):
    pages = man_pages(tree)
    check(len(pages) >= 10, f"only {len(pages)} pages")
    run("mandoc", "-T", "lint", "-W", "warning", *pages)
    for page in pages:
        for name, section in re.findall(r"^\.Xr (weir\w*) (\d)", page.read_text(), re.M):
            file = tree.prefix / "share" / "man" / f"man{section}" / f"{name}.{section}"
            check(file.exists(), f"{page.name} refers to {name}({section}), which is not there")


@test
def examples_in_pages_compile(tree):
    source = tree.scratch / "example.c"
    compiled = set()
    for page in man_pages(tree):
        for block in re.findall(r"^\.Bd -literal[^\n]*\n(.*?)^\.Ed", page.read_text(),
                                re.DOTALL | re.M):
            if "#include <weir/weir.h>" in block:
                source.write_text(block.replace("\\e", "\\"))
                run("gcc", "-std=c11", *STRICT, *tree.pkg_config("--cflags"), "-fsyntax-only",
                    source)
                compiled.add(page.name)
    without = {p.name for p in man_pages(tree) if p.suffix == ".3"} - compiled
    check(not without, f"no example in {sorted(without)}")


@test
def command_runs(tree):
    weir = tree.prefix / "bin" / "weir"
    check(run(weir, "--version") == f"weir {VERSION}\n", "version")
    run(weir, "check", "10/min burst 10")


@test
def targets_of_32_bits_are_refused(tree):
    cross = tree.scratch / "32.ini"
    cross.write_text("[binaries]\nc = ['gcc', '-m32']\nar = 'ar'\n"
                     "[host_machine]\nsystem = 'linux'\ncpu_family = 'x86'\ncpu = 'i686'\n"
                     "endian = 'little'\n")
    done = subprocess.run(["meson", "setup", str(tree.scratch / "32"), str(SOURCE), "--cross-file",
                           str(cross)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, env=CLEAN_ENV, check=False)
    check(done.returncode != 0, "a build for 32 bits was set up")
    check("weir needs a 64-bit target" in done.stdout, "without a word of why:\n" + done.stdout)


def main():
    print(f"1..{len(tests) + 1}", flush=True)
    failures = 0
    with tempfile.TemporaryDirectory(prefix="weir-install-") as scratch:
        try:
            tree = Installed(pathlib.Path(scratch))
            print("ok 1 - setup_build_install", flush=True)
        except Failure as failure:
            print("not ok 1 - setup_build_install")
            print("Bail out! not installed: " + str(failure).replace("\n", "\n# "))
            return 1
        for number, function in enumerate(tests, 2):
            message = ""
            try:
                function(tree)
            except (Failure, OSError, subprocess.SubprocessError) as failure:
                message = str(failure)
                failures += 1
            print(f"{'not ok' if message else 'ok'} {number} - {function.__name__}", flush=True)
            for line in message.splitlines():
                print("# " + line, flush=True)
    return 1 if failures else 0


sys.exit(main())
