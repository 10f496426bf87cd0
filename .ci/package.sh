# SPDX-License-Identifier: MIT
# The Debian packages of `./dev package`: dpkg-buildpackage wants a folder debian/ at the top, which
# only a copy of the tree has. Sourced by dev.

package_dir=.build/package

build_packages() {
    local tree=$package_dir/weir log=$package_dir/build.log
    rm -rf "$package_dir"
    mkdir -p "$tree"
    tar -c --exclude=./.build --exclude=./.git . | tar -x -C "$tree"
    mv "$tree/.debian" "$tree/debian"
    say "dpkg-buildpackage"
    (cd "$tree" && DEB_BUILD_OPTIONS="parallel=$(nproc)" dpkg-buildpackage -b -us -uc) \
        >"$log" 2>&1 || {
        tail -n 40 "$log"
        die "the packages cannot be built"
    }
}

project_version() {
    sed -n "s/^ *version: '\(.*\)',$/\1/p" meson.build | head -n 1
}

# contents PACKAGE: the files of a package, the library folder of the architecture written ARCH.
contents() {
    local debs=("$package_dir/$1"_*.deb)
    dpkg-deb --fsys-tarfile "${debs[0]}" | tar -t | sed -e '/\/$/d' -e 's,^\./,,' \
        -e "s,^usr/lib/[a-z0-9_]*-linux-gnu/,usr/lib/ARCH/," | grep -v '^usr/share/doc/' | sort
}

# expect PACKAGE: the files expected, one a line, come from stdin.
expect() {
    local differences
    if differences=$(diff <(sort -u) <(contents "$1")); then
        printf '   ok  %s\n' "$1"
    else
        printf '   BAD %s (< expected, > found)\n%s\n' "$1" "$differences"
        ((complaints += 1))
    fi
}

# The library as packaged has no assertion left in it.
asserts_nothing() {
    local debs=("$package_dir"/libweir0_*.deb) extracted=$package_dir/extracted symbols
    dpkg-deb -x "${debs[0]}" "$extracted"
    symbols=$(nm -D "$extracted"/usr/lib/*/libweir.so.0)
    [[ -n $symbols && $symbols != *__assert_fail* ]]
}

check_packages() {
    local complaints=0 page version
    version=$(project_version)
    expect libweir0 <<EOF
usr/lib/ARCH/libweir.so.0
usr/lib/ARCH/libweir.so.$version
EOF
    expect weir <<'EOF'
usr/bin/weir
usr/share/man/man1/weir.1.gz
EOF
    expect libweir-dev < <(
        cat <<'EOF'
usr/include/weir/weir.h
usr/lib/ARCH/cmake/weir/weir-config-version.cmake
usr/lib/ARCH/cmake/weir/weir-config.cmake
usr/lib/ARCH/libweir.a
usr/lib/ARCH/libweir.so
usr/lib/ARCH/pkgconfig/weir.pc
usr/share/man/man7/weir.7.gz
EOF
        for page in engine/man/*.3; do
            page=$(basename "$page")
            printf 'usr/share/man/man3/%s.gz\n' "$page"
        done
        sed -n 's,^ *\(weir_[a-z0-9_]*\);$,usr/share/man/man3/\1.3.gz,p' engine/weir.map
    )
    asserts_nothing || {
        printf '   BAD libweir0 can end the program that uses it: it has assertions\n'
        ((complaints += 1))
    }
    ((complaints == 0)) || die "$complaints packages differ from what is expected"
    ls -1 "$package_dir"/*.deb
}
