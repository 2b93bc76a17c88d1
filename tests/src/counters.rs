//! Tables of NVIDIA's profiler, as `ncu --csv --page details` writes them: which values each metric has for each kernel, and whether they
//! are the same in two tables.

use std::collections::{BTreeMap, BTreeSet};

/// What a profiler counted.
#[derive(Default)]
pub struct Counters {
    /// Launches.
    pub launches: usize,
    /// The values of a metric, with their unit, by kernel, grid, thread block and metric.
    values: BTreeMap<[String; 4], BTreeSet<String>>,
}

impl Counters {
    /// Reads a table, between lines that are no part of one.
    ///
    /// # Errors
    /// What of it is no such table.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut rows = text.lines().filter_map(cells);
        let names = rows.next().ok_or("there is no table: no line begins with a quotation mark")?;
        let column = |name: &str| {
            let found = names.iter().position(|other| other == name);
            found.ok_or_else(|| format!("no column `{name}`: use --csv --page details"))
        };
        let (id, unit, value) = (column("ID")?, column("Metric Unit")?, column("Metric Value")?);
        let key = [column("Kernel Name")?, column("Grid Size")?, column("Block Size")?, column("Metric Name")?];
        let (mut launches, mut counters) = (BTreeSet::new(), Self::default());
        for row in rows {
            if row.len() != names.len() {
                return Err(format!("a row of {} columns under {} names: {}", row.len(), names.len(), row.join(", ")));
            }
            launches.insert(row[id].clone());
            let values = counters.values.entry(key.map(|column| row[column].clone())).or_default();
            values.insert(format!("{} {}", row[value], row[unit]));
        }
        counters.launches = launches.len();
        match launches.is_empty() {
            true => Err("nothing was counted".into()),
            false => Ok(counters),
        }
    }

    /// How many kernels there are, each with a grid and a thread block, and how many metrics of them all.
    pub fn kernels_and_metrics(&self) -> (usize, usize) {
        let kernels: BTreeSet<&[String]> = self.values.keys().map(|key| &key[..3]).collect();
        (kernels.len(), self.values.len())
    }

    /// What each has that the other has not, a line for each metric of a kernel.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let none = BTreeSet::new();
        let keys: BTreeSet<&[String; 4]> = self.values.keys().chain(other.values.keys()).collect();
        let difference = |key: &[String; 4]| {
            let [one, two] = [self, other].map(|counters| counters.values.get(key).unwrap_or(&none));
            let [kernel, grid, block, metric] = key;
            let only = |one: &BTreeSet<String>, two| {
                let values: Vec<&str> = one.difference(two).map(String::as_str).collect();
                let more = values.len().saturating_sub(5);
                let list = values[..values.len() - more].join("; ");
                if more > 0 { format!("{list}; and {more} more") } else { list }
            };
            (one != two).then(|| {
                let (first, second) = (only(one, two), only(two, one));
                format!("{kernel}, grid {grid}, block {block}, {metric}: only in the first [{first}], only in the second [{second}]")
            })
        };
        keys.into_iter().filter_map(difference).collect()
    }
}

/// The cells of a line in which each stands in quotation marks.
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
"1","7","aes_ctr(const uint4 *, int)","1","13","(256, 1, 1)","(132, 1, 1)","Command line","inst_executed.sum","inst","1,434,567"
"1","7","aes_ctr(const uint4 *, int)","1","13","(256, 1, 1)","(132, 1, 1)","Command line","sectors_ld.sum","sector","8,192"
"2","7","ghash","1","13","(256, 1, 1)","(12, 1, 1)","Command line","inst_executed.sum","inst","99"
"#;

    #[test]
    fn the_same_values_in_any_order_are_no_difference() {
        let table = Counters::read(TABLE).unwrap();
        assert_eq!((table.launches, table.kernels_and_metrics()), (3, (2, 3)));
        let lines: Vec<&str> = TABLE.lines().collect();
        let other = [&lines[..3], &lines[5..], &lines[3..5], &lines[3..5]].concat().join("\n");
        assert!(table.differences(&Counters::read(&other).unwrap()).is_empty());
    }

    /// A value, a unit, a grid, a kernel and a metric that only one of them has.
    #[test]
    fn any_other_value_is_a_difference() {
        let table = Counters::read(TABLE).unwrap();
        for (from, to, expected) in [
            ("1,434,567", "1,434,568", "only in the first [1,434,567 inst], only in the second [1,434,568 inst]"),
            (
                "\"sector\",\"8,192\"",
                "\"Ksector\",\"8,192\"",
                "sectors_ld.sum: only in the first [], only in the second [8,192 Ksector]",
            ),
            ("(12, 1, 1)", "(13, 1, 1)", "grid (12, 1, 1)"),
            ("ghash", "polyval", "polyval, grid"),
            ("\"99\"", "\"98\"", "ghash, grid (12, 1, 1), block (256, 1, 1), inst_executed.sum: only in the first [99"),
        ] {
            let changed = Counters::read(&TABLE.replacen(from, to, 1)).unwrap();
            for found in [table.differences(&changed), changed.differences(&table)] {
                assert!(!found.is_empty(), "{from}");
            }
            let found = table.differences(&changed).join("\n");
            assert!(found.contains(expected), "{from}: {found}");
        }
    }

    #[test]
    fn what_is_no_table_is_refused() {
        for (text, expected) in [
            ("==ERROR== no permission", "there is no table"),
            (&TABLE.replace("Metric Value", "Value"), "no column `Metric Value`"),
            (&TABLE.replace(",\"Metric Unit\"", ""), "no column `Metric Unit`"),
            (&TABLE.replace("\"99\"", "\"9\",\"9\""), "a row of 12 columns under 11 names"),
            (TABLE.split_once("\n\"0\"").unwrap().0, "nothing was counted"),
        ] {
            let error = Counters::read(text).err().unwrap_or_else(|| panic!("{expected}"));
            assert!(error.contains(expected), "{error}");
        }
    }
}
