// shop.rs - a Rust program with generics, boxes, maps and threads in its stacks. For the tests of
// export.
use std::collections::HashMap;
use std::thread;

#[inline(never)]
fn fill<T: Clone>(n: usize, t: T) -> Vec<Box<T>> {
    (0..n).map(|_| Box::new(t.clone())).collect()
}

#[inline(never)]
fn count(words: &[&str]) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    for word in words.iter().cycle().take(1000) {
        *counts.entry(word.to_string()).or_insert(0) += 1;
    }
    counts
}

fn main() {
    let numbers = fill(500, 7u64);
    let texts = fill(100, String::from("a text that has been copied a hundred times"));
    let others: Vec<_> = (0..3).map(|i| thread::spawn(move || fill(50 * (i + 1), [0u8; 100]).len())).collect();
    let made: usize = others.into_iter().map(|t| t.join().unwrap()).sum();
    println!("{} {} {} {}", numbers.len(), texts.len(), made, count(&["one", "two", "three"]).len());
    std::mem::forget(numbers);
}
// SPDX-License-Identifier: Apache-2.0
