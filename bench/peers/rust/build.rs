// SPDX-License-Identifier: MIT
//! Tells the program the versions that it is built from: VERSION_GOVERNOR, VERSION_THROTTLECRAB.

fn main() {
    println!("cargo:rerun-if-changed=Cargo.lock");
    let lock = std::fs::read_to_string("Cargo.lock").expect("Cargo.lock");
    for name in ["governor", "throttlecrab"] {
        let entry = format!("name = \"{name}\"\nversion = \"");
        let at = lock
            .find(&entry)
            .unwrap_or_else(|| panic!("Cargo.lock has no {name}"));
        let version = lock[at + entry.len()..].split('"').next().expect("a quote");
        println!("cargo:rustc-env=VERSION_{}={version}", name.to_uppercase());
    }
}
