//! Generates the messages without a `protoc` binary: protox compiles, prost writes the types,
//! pbjson their ProtoJSON.

use prost::Message as _;

const FILES: [&str; 2] = ["fleet/slurm/v1/lifecycle.proto", "fleet/slurm/v1/poll.proto"];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=fleet");
    let descriptors = protox::compile(FILES, ["."])?;
    let bytes = descriptors.encode_to_vec();
    prost_build::Config::new()
        .enable_type_names()
        .compile_well_known_types()
        .extern_path(".google.protobuf", "::pbjson_types")
        .compile_fds(descriptors)?;
    pbjson_build::Builder::new()
        .register_descriptors(&bytes)?
        .ignore_unknown_fields()
        .build(&[".fleet.slurm.v1"])?;
    Ok(())
}
