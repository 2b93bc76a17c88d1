//! The components of the published programs and libraries, as a bill of materials: CycloneDX 1.6 in JSON, from Cargo's own lists. The
//! same sources give the same text, byte for byte: it holds no time and no random number.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The crate that depends on all others, and on nothing that only builds or tests.
const ROOT: &str = "aes-bitslice-cli";

pub fn run(root: &Path) -> Result<()> {
    say!("{}", serde_json::to_string_pretty(&bill(root)?).context("plain data")?);
    Ok(())
}

fn bill(root: &Path) -> Result<Value> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output =
        Command::new(cargo).current_dir(root).args(["metadata", "--format-version", "1", "--locked"]).output()?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr).trim());
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let lock = fs::read_to_string(root.join("Cargo.lock"))?;
    of(&metadata, &checksums(&lock))
}

/// SHA-256 of the packages of registries, by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let field = |package: &str, name: &str| {
        let line = package.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = "))?;
        Some(line.trim_matches('"').to_string())
    };
    let packages = lock.split("[[package]]").skip(1);
    let checksum = |package| Some(((field(package, "name")?, field(package, "version")?), field(package, "checksum")?));
    packages.filter_map(checksum).collect()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn of(metadata: &Value, checksums: &BTreeMap<(String, String), String>) -> Result<Value> {
    let packages: BTreeMap<&str, &Value> =
        list(&metadata["packages"]).map(|package| (text(&package["id"]), package)).collect();
    let nodes: BTreeMap<&str, &Value> =
        list(&metadata["resolve"]["nodes"]).map(|node| (text(&node["id"]), node)).collect();
    // Packages that are linked or run in a build, on any platform; none for tests only.
    let needed = |id: &str| -> BTreeSet<&str> {
        let is_needed = |dependency: &&Value| list(&dependency["dep_kinds"]).any(|kind| text(&kind["kind"]) != "dev");
        nodes
            .get(id)
            .map(|node| list(&node["deps"]).filter(is_needed).map(|d| text(&d["pkg"])).collect())
            .unwrap_or_default()
    };
    let root =
        packages.iter().find(|(_, package)| package["name"] == ROOT).map(|(id, _)| *id).context("the command line")?;
    let (mut reached, mut to_do) = (BTreeSet::from([root]), vec![root]);
    while let Some(id) = to_do.pop() {
        to_do.extend(needed(id).into_iter().filter(|id| reached.insert(id)));
    }
    let reference = |id: &str| {
        let package = packages.get(id).with_context(|| format!("cargo names no package {id}"))?;
        Ok(format!("pkg:cargo/{}@{}", text(&package["name"]), text(&package["version"])))
    };
    let component = |id: &str| -> Result<Value> {
        let (package, purl) = (packages[id], reference(id)?);
        let (name, version) = (text(&package["name"]), text(&package["version"]));
        let mut component = json!({
            "type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl,
            "licenses": [{"expression": text(&package["license"]).replace('/', " OR ")}],
        });
        if let Some(checksum) = checksums.get(&(name.into(), version.into())) {
            component["hashes"] = json!([{"alg": "SHA-256", "content": checksum}]);
        }
        Ok(component)
    };
    let dependencies = reached.iter().map(|id| {
        let mut on = needed(id).into_iter().map(reference).collect::<Result<Vec<_>>>()?;
        on.sort();
        Ok(json!({"ref": reference(id)?, "dependsOn": on}))
    });
    let mut dependencies = dependencies.collect::<Result<Vec<_>>>()?;
    dependencies.sort_by_key(|entry| text(&entry["ref"]).to_string());
    let mut components =
        reached.iter().filter(|id| **id != root).map(|id| component(id)).collect::<Result<Vec<Value>>>()?;
    components.sort_by_key(|entry| text(&entry["bom-ref"]).to_string());
    Ok(json!({
        "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
        "metadata": {"component": component(root)?}, "components": components, "dependencies": dependencies,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files;

    #[test]
    fn everything_that_is_linked_is_listed_with_licence_and_digest() {
        let root = files::root();
        let bill = bill(&root).unwrap();
        let of_name = |name: &str| list(&bill["components"]).find(|component| component["name"] == name);
        for name in ["aes-bitslice-runtime", "aes-bitslice-seal", "aes", "cudarc", "opencl3", "clap", "zeroize"] {
            assert!(of_name(name).is_some(), "{name}");
        }
        for name in ["proptest", "snapbox", "libtest-mimic", "xtask", "aes-bitslice-tests"] {
            assert!(of_name(name).is_none(), "{name} is for tests");
        }
        for component in list(&bill["components"]) {
            let is_own = text(&component["name"]).starts_with("aes-bitslice");
            assert!(
                is_own || component["hashes"][0]["content"].as_str().is_some_and(|hash| hash.len() == 64),
                "{component}"
            );
            assert!(!text(&component["licenses"][0]["expression"]).is_empty(), "{component}");
        }
        assert_eq!(bill, super::bill(&root).unwrap());
    }
}
