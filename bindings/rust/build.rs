// SPDX-License-Identifier: Apache-2.0
//! Where libbrick is: BRICK_LIB_DIR, or what pkg-config says, or the linker's own path.
use std::env;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=BRICK_LIB_DIR");
    if let Ok(dir) = env::var("BRICK_LIB_DIR") {
        println!("cargo:rustc-link-search=native={dir}");
        println!("cargo:rustc-link-arg=-Wl,-rpath,{dir}");
    } else if let Ok(said) = Command::new("pkg-config").args(["--libs-only-L", "brick"]).output() {
        for word in String::from_utf8_lossy(&said.stdout).split_whitespace() {
            if let Some(dir) = word.strip_prefix("-L") {
                println!("cargo:rustc-link-search=native={dir}");
            }
        }
    }
    if env::var_os("CARGO_FEATURE_REPORT").is_some() {
        println!("cargo:rustc-link-lib=dylib=brick-report");
        println!("cargo:rustc-link-lib=dylib=brick-graph");
    }
    println!("cargo:rustc-link-lib=dylib=brick");
}
