// SPDX-License-Identifier: Apache-2.0
//! groupby.rs - groups records by a field, as `jq 'group_by(.kind)'` does.
//!
//! What a profile shows below the frames of Rust's libraries:
//!   held at the peak  parse_record(): the fields of all records, HashMaps of Strings
//!   live at the end   intern(): names that are kept for ever by Box::leak
//!   growing           group_records() and parse_record(): the groups keep every record
//!   churn             summary_line(): a String for each record, and the parts it is joined from
//!
//! 	rustc -g -O -o groupby examples/groupby.rs && ./groupby 20000
use std::collections::{HashMap, HashSet};

enum Value {
    Text(String),
    Number(f64),
    List(Vec<Value>),
}

type Record = HashMap<String, Value>;

/// Line `n` of the input: `key=value` pairs; a value with commas is a list.
#[inline(never)]
fn make_line(n: usize) -> String {
    let kinds = ["fruit", "tool", "book", "toy", "garden", "kitchen"];
    format!(
        "id={} kind={} name=article-{:05} price={} tags=tag{},tag{},tag{}",
        n,
        kinds[n * 7 % kinds.len()],
        n * 7919 % 100_003,
        (n * 37 % 10_000) as f64 / 100.0,
        n % 11,
        n % 13,
        n % 17
    )
}

#[inline(never)]
fn parse_value(text: &str) -> Value {
    if let Ok(number) = text.parse::<f64>() {
        return Value::Number(number);
    }
    if text.contains(',') {
        return Value::List(text.split(',').map(parse_value).collect());
    }
    Value::Text(text.to_string())
}

#[inline(never)]
fn parse_record(line: &str) -> Record {
    let mut record = Record::new();
    for pair in line.split(' ') {
        if let Some((key, value)) = pair.split_once('=') {
            record.insert(key.to_string(), parse_value(value));
        }
    }
    record
}

/// Keeps one copy of each name until the program ends.
#[inline(never)]
fn intern(names: &mut HashSet<&'static str>, name: &str) -> &'static str {
    if let Some(known) = names.get(name) {
        return known;
    }
    let kept: &'static str = Box::leak(name.to_string().into_boxed_str());
    names.insert(kept);
    kept
}

#[inline(never)]
fn show(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::List(values) => values.iter().map(show).collect::<Vec<_>>().join(","),
    }
}

#[inline(never)]
fn summary_line(record: &Record) -> String {
    let mut fields: Vec<String> =
        record.iter().map(|(key, value)| format!("{}: {}", key, show(value))).collect();
    fields.sort();
    fields.join("; ")
}

#[inline(never)]
fn group_records(
    names: &mut HashSet<&'static str>,
    n_records: usize,
) -> HashMap<&'static str, Vec<Record>> {
    let mut groups: HashMap<&'static str, Vec<Record>> = HashMap::new();
    for n in 0..n_records {
        let record = parse_record(&make_line(n));
        let kind = match record.get("kind") {
            Some(Value::Text(kind)) => intern(names, kind),
            _ => "none",
        };
        if let Some(Value::Text(name)) = record.get("name") {
            intern(names, name);
        }
        groups.entry(kind).or_default().push(record);
    }
    groups
}

fn main() {
    let n_records = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(5000);
    let mut names = HashSet::new();
    let groups = group_records(&mut names, n_records);
    let mut kinds: Vec<_> = groups.keys().collect();
    kinds.sort();
    for kind in kinds {
        let records = &groups[*kind];
        let letters: usize = records.iter().map(|record| summary_line(record).len()).sum();
        println!("{}: {} records, {} letters", kind, records.len(), letters);
    }
}
