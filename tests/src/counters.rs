//! Tables of NVIDIA's profiler, as `ncu --csv --page details` writes them, and whether two of them are equal: the first launch of a kernel
//! in one is compared with its first launch in the other, the second with the second, and so on. So both must be of the same calls in the
//! same order. Comparing sets of values would not suffice: a count that depends on the key may belong to another key length.

use std::collections::{BTreeMap, BTreeSet};

/// Kernels that are not compared, by the first letters of their names. The number of tiles in the counter mode of AES-GCM-SIV depends on
/// its first counter. This is the tag, which is public, but depends on the key.
const LEFT_OUT: &str = "aes_ctr_le32_";

/// A profiler's counts.
#[derive(Default)]
pub struct Counters {
    /// The launches of each kernel, by their numbers, which ascend.
    kernels: BTreeMap<String, BTreeMap<u64, Launch>>,
}

/// The value of each metric of a launch, with its unit, including its grid and thread block.
type Launch = BTreeMap<String, String>;

impl Counters {
    /// Reads a table, between lines that are not part of one.
    ///
    /// # Errors
    /// In words, what is not a valid table.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut rows = text.lines().filter_map(cells);
        let names = rows.next().ok_or("there is no table: no line begins with a quotation mark")?;
        let column = |name: &str| {
            let found = names.iter().position(|other| other == name);
            found.ok_or_else(|| format!("no column `{name}`: use --csv --page details"))
        };
        let (id, kernel, grid, block) =
            (column("ID")?, column("Kernel Name")?, column("Grid Size")?, column("Block Size")?);
        let (metric, unit, value) = (column("Metric Name")?, column("Metric Unit")?, column("Metric Value")?);
        let mut counters = Self::default();
        for row in rows {
            if row.len() != names.len() {
                return Err(format!("a row of {} columns under {} names: {}", row.len(), names.len(), row.join(", ")));
            }
            let number = row[id].parse().map_err(|_| format!("`{}` is not the number of a launch", row[id]))?;
            let launch = counters.kernels.entry(row[kernel].clone()).or_default().entry(number).or_default();
            for (name, value) in [
                ("grid", row[grid].clone()),
                ("block", row[block].clone()),
                (&row[metric], format!("{} {}", row[value], row[unit])),
            ] {
                if let Some(other) = launch.insert(name.into(), value.clone())
                    && other != value
                {
                    return Err(format!("launch {number} has `{name}` twice: {other}, and {value}"));
                }
            }
        }
        if counters.kernels.is_empty() { Err("nothing was counted".into()) } else { Ok(counters) }
    }

    /// The number of kernels, and of their launches, without those that are not compared.
    pub fn kernels_and_launches(&self) -> (usize, usize) {
        let compared = || self.kernels.iter().filter(|(kernel, _)| is_compared(kernel)).map(|(_, launches)| launches);
        (compared().count(), compared().map(BTreeMap::len).sum())
    }

    /// The kernels that are not compared.
    pub fn left_out(&self) -> impl Iterator<Item = &str> {
        self.kernels.keys().map(String::as_str).filter(|kernel| !is_compared(kernel))
    }

    /// Differences between launches of the same number, a line for each metric, and kernels that one has launched more often.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let none = BTreeMap::new();
        let kernels: BTreeSet<&String> = self.kernels.keys().chain(other.kernels.keys()).collect();
        let mut differences = vec![];
        for kernel in kernels.into_iter().filter(|kernel| is_compared(kernel)) {
            let [one, two] = [self, other].map(|counters| counters.kernels.get(kernel).unwrap_or(&none));
            if one.len() != two.len() {
                let (one, two) = (one.len(), two.len());
                differences.push(format!("{kernel}: {one} launches in the first, {two} in the second"));
            }
            for (n, (one, two)) in one.values().zip(two.values()).enumerate() {
                let metrics: BTreeSet<&String> = one.keys().chain(two.keys()).collect();
                for metric in metrics {
                    let [one, two] = [one, two].map(|launch| launch.get(metric).map_or("nothing", String::as_str));
                    if one != two {
                        let n = n + 1;
                        differences
                            .push(format!("{kernel}, launch {n}, {metric}: {one} in the first, {two} in the second"));
                    }
                }
            }
        }
        differences
    }
}

fn is_compared(kernel: &str) -> bool {
    !kernel.starts_with(LEFT_OUT)
}

/// The cells of a line, each in quotation marks.
fn cells(line: &str) -> Option<Vec<String>> {
    let line = line.trim().strip_prefix('"')?.strip_suffix('"')?;
    Some(line.split("\",\"").map(String::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = r#"==PROF== Connected to process 7
2 times every call
"ID","Process ID","Kernel Name","Context","Stream","Block Size","Grid Size","Section Name","Metric Name","Metric Unit","Metric Value"
"0","7","aes_ctr(const uint4 *, int)","1","13","(256, 1, 1)","(132, 1, 1)","Command line","inst_executed.sum","inst","1,234,567"
"0","7","aes_ctr(const uint4 *, int)","1","13","(256, 1, 1)","(132, 1, 1)","Command line","sectors_ld.sum","sector","8,192"
"1","7","ghash","1","13","(256, 1, 1)","(12, 1, 1)","Command line","inst_executed.sum","inst","99"
"2","7","aes_ctr(const uint4 *, int)","1","13","(256, 1, 1)","(132, 1, 1)","Command line","inst_executed.sum","inst","1,434,567"
"2","7","aes_ctr(const uint4 *, int)","1","13","(256, 1, 1)","(132, 1, 1)","Command line","sectors_ld.sum","sector","8,192"
"10","7","aes_ctr(const uint4 *, int)","1","13","(256, 1, 1)","(132, 1, 1)","Command line","inst_executed.sum","inst","1,634,567"
"11","7","aes_ctr_le32_planes(const uint4 *)","1","13","(256, 1, 1)","(9, 1, 1)","Command line","inst_executed.sum","inst","7"
"#;

    fn differences(first: &str, second: &str) -> Vec<String> {
        Counters::read(first).unwrap().differences(&Counters::read(second).unwrap())
    }

    #[test]
    fn the_same_launches_are_no_difference_in_whatever_order_their_rows_come() {
        let table = Counters::read(TABLE).unwrap();
        assert_eq!((table.kernels_and_launches(), table.left_out().count()), ((2, 4), 1));
        let lines: Vec<&str> = TABLE.lines().collect();
        let other = [&lines[..3], &lines[5..], &lines[3..5], &lines[3..5]].concat().join("\n");
        assert_eq!(differences(TABLE, &other), [""; 0]);
        // Launch numbers count all kernels together: only the order for each kernel is compared.
        assert_eq!(differences(TABLE, &TABLE.replace("\"10\",\"7\"", "\"9\",\"7\"")), [""; 0]);
    }

    /// Values that the same kernel has elsewhere, in the same grid: as where a count depends on the key, but belongs to another key length.
    #[test]
    fn a_value_of_another_launch_is_a_difference() {
        let swapped = TABLE.replace("1,234,567", "@").replace("1,434,567", "1,234,567").replace('@', "1,434,567");
        let kernel = "aes_ctr(const uint4 *, int), launch";
        let expected = [
            format!("{kernel} 1, inst_executed.sum: 1,234,567 inst in the first, 1,434,567 inst in the second"),
            format!("{kernel} 2, inst_executed.sum: 1,434,567 inst in the first, 1,234,567 inst in the second"),
        ];
        assert_eq!(differences(TABLE, &swapped), expected);
        let same = TABLE.replace("1,434,567", "1,234,567");
        assert_eq!(differences(TABLE, &same), [&expected[1][..]]);
        // Launches are in numerical order: 2 before 10.
        let last = TABLE.replace("1,634,567", "1,234,567");
        let expected =
            format!("{kernel} 3, inst_executed.sum: 1,634,567 inst in the first, 1,234,567 inst in the second");
        assert_eq!(differences(TABLE, &last), [expected]);
    }

    /// A value, a unit, a grid, a thread block, a kernel, a metric and a launch that only one of them has.
    #[test]
    fn any_other_value_is_a_difference() {
        let without_last = TABLE.lines().filter(|line| !line.contains("1,634,567")).collect::<Vec<_>>().join("\n");
        for (changed, expected) in [
            (TABLE.replace("\"99\"", "\"98\""), "ghash, launch 1, inst_executed.sum: 99"),
            (TABLE.replace("\"sector\",", "\"Ksector\","), "sectors_ld.sum: 8,192 sector in the first, 8,192 Ksector"),
            (TABLE.replace("(12, 1, 1)", "(13, 1, 1)"), "ghash, launch 1, grid: (12, 1, 1) in the first, (13, 1, 1)"),
            (TABLE.replace("(256, 1, 1)\",\"(12,", "(128, 1, 1)\",\"(12,"), "ghash, launch 1, block: (256, 1, 1)"),
            (TABLE.replace("ghash", "polyval"), "polyval: 0 launches in the first, 1 in the second"),
            (
                TABLE.replace("sectors_ld", "sectors_st"),
                "launch 1, sectors_ld.sum: 8,192 sector in the first, nothing in",
            ),
            (without_last, "aes_ctr(const uint4 *, int): 3 launches in the first, 2 in the second"),
        ] {
            let found = differences(TABLE, &changed).join("\n");
            assert!(found.contains(expected), "{expected}: {found}");
            assert!(!differences(&changed, TABLE).is_empty(), "{expected}");
        }
    }

    #[test]
    fn the_counter_of_aes_gcm_siv_is_left_out() {
        assert_eq!(differences(TABLE, &TABLE.replace("\"inst\",\"7\"", "\"inst\",\"8\"")), [""; 0]);
        // Its kernels must still have this name.
        let stored = include_str!("../../kernels-generated/src/cuda/aes-ctr-le32-planes.cu");
        assert!(stored.contains(&format!("{LEFT_OUT}planes(")) && stored.contains(&format!("{LEFT_OUT}planes_bytes(")));
    }

    #[test]
    fn what_is_no_table_is_refused() {
        for (text, expected) in [
            ("==ERROR== no permission", "there is no table"),
            (&TABLE.replace("Metric Value", "Value"), "no column `Metric Value`"),
            (&TABLE.replace(",\"Metric Unit\"", ""), "no column `Metric Unit`"),
            (&TABLE.replace("\"99\"", "\"9\",\"9\""), "a row of 12 columns under 11 names"),
            (&TABLE.replace("\"10\"", "\"ten\""), "`ten` is not the number of a launch"),
            (&TABLE.replace("\"10\"", "\"2\""), "launch 2 has `inst_executed.sum` twice"),
            (TABLE.split_once("\n\"0\"").unwrap().0, "nothing was counted"),
        ] {
            let error = Counters::read(text).err().unwrap_or_else(|| panic!("{expected}"));
            assert!(error.contains(expected), "{error}");
        }
    }
}
