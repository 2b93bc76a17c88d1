//! The pages: each link to a file of the project leads to one, and each link to a section to a heading.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().into()
}

/// All pages that Git knows or would add.
fn pages() -> Vec<PathBuf> {
    let list = ["ls-files", "--cached", "--others", "--exclude-standard", "*.md"];
    let output = Command::new("git").args(list).current_dir(root()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| root().join(line)).filter(|path| path.exists()).collect()
}

/// A page without its code, where `](` is no link.
fn prose(page: &str) -> String {
    let fenced = page.split("```").step_by(2).collect::<String>();
    fenced.split('`').step_by(2).collect()
}

/// The name by which GitHub links to a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

fn anchors(page: &str) -> Vec<String> {
    let outside = page.split("\n```").step_by(2).flat_map(str::lines);
    outside.filter(|line| line.starts_with('#')).map(|line| anchor(line.trim_start_matches('#').trim())).collect()
}

/// What is wrong with the links of a page.
fn faults(path: &Path, page: &str) -> Vec<String> {
    let prose = prose(page);
    let links = prose.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0));
    let is_wrong = |link: &&str| {
        let (file, section) = link.split_once('#').unwrap_or((link, ""));
        let has = |text: &str| anchors(text).iter().any(|anchor| anchor == section);
        let target = path.parent().unwrap().join(file);
        if section.is_empty() {
            !target.exists()
        } else if file.is_empty() {
            !has(page)
        } else {
            !fs::read_to_string(target).is_ok_and(|text| has(&text))
        }
    };
    let here = links.filter(|link| !link.contains("://") && !link.starts_with("mailto:"));
    here.filter(is_wrong).map(|link| format!("{}: {link}", path.display())).collect()
}

#[test]
fn every_link_leads_somewhere() {
    let pages = pages();
    assert!(pages.len() > 20, "{pages:?}");
    let faults: Vec<_> = pages.iter().flat_map(|path| faults(path, &fs::read_to_string(path).unwrap())).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// It is read before anything else, in one sitting.
#[test]
fn the_map_is_short() {
    assert!(fs::metadata(root().join("ARCHITECTURE.md")).unwrap().len() <= 12 << 10);
}

#[test]
fn links_to_nothing_are_found() {
    let readme = root().join("README.md");
    let page =
        "# One & `two`: three\n[a](SECURITY.md) [b](#one--two-three) [c](https://example.org/x) `[d](nothing)`\n";
    assert!(faults(&readme, page).is_empty(), "{:?}", faults(&readme, page));
    for wrong in ["[a](nothing.md)", "[a](#nothing)", "[a](docs/claims.md#nothing)"] {
        assert_eq!(faults(&readme, wrong).len(), 1, "{wrong}");
    }
}
