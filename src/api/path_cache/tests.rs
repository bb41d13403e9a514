//! Unit tests of `path_cache`.

use super::*;
use crate::api::Problem;

/// A ring with chords, whose labels begin with `name`.
fn ring(name: &str, extent: usize) -> Shaped {
    let label = |at: usize| format!("{name}{}", at % 24);
    let term = |at: usize| format!("[{},{},{name}x{}]", label(at), label(at + 1), at % 12);
    let terms: Vec<String> = (0..24).map(term).collect();
    Problem::parse(&format!("{}->[]", terms.join(","))).unwrap().shapes(&vec![vec![extent; 3]; 24]).unwrap()
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("einsum-dist-paths-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Folder(path)
    }

    /// Whether the order was known, and warnings.
    fn search(&self, shaped: &Shaped, options: &PlanOptions) -> (SearchedTree, bool, Vec<String>) {
        let (found, warnings) =
            shaped.cached_tree(&World::single(), Some(&self.0), &Machine::default(), options, &|_| ()).unwrap();
        let cached = found.cached;
        (found, cached, warnings)
    }

    fn files(&self) -> Vec<PathBuf> {
        std::fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().path()).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn an_order_is_kept_for_its_expression_and_options() {
    let folder = Folder::new("hit");
    let options = PlanOptions::default().path(PathChoice::Anneal).path_seconds(0.02);
    let (first, cached, warnings) = folder.search(&ring("a", 4), &options);
    assert!(!cached && warnings.is_empty());
    let shorter = options.clone().path_seconds(0.01);
    for (name, options) in [("a", &options), ("b", &options), ("b", &shorter)] {
        let (again, cached, warnings) = folder.search(&ring(name, 4), options);
        assert!(cached && warnings.is_empty());
        assert_eq!(path(&again), path(&first));
    }
    assert_eq!(folder.files().len(), 1);
    for (shaped, options) in [
        (ring("a", 3), options.clone()),
        (ring("a", 4), options.clone().dtype(crate::dtype::Dtype::Complex64)),
        (ring("a", 4), options.clone().path(PathChoice::Greedy)),
        (ring("a", 4), options.clone().memory_limit(100_000)),
    ] {
        assert!(!folder.search(&shaped, &options).1);
        assert!(folder.search(&shaped, &options).1);
    }
    assert_eq!(folder.files().len(), 5);
    assert!(!folder.search(&ring("a", 4), &options.path(PathChoice::LeftToRight)).1);
}

fn path(found: &SearchedTree) -> Vec<[usize; 2]> {
    let shaped = ring("a", 4);
    let plan = shaped.plan_tree(&found.tree, &Machine::default(), &PlanOptions::default());
    plan.unwrap().path
}

#[test]
fn a_longer_search_replaces_the_order_if_it_is_better() {
    let folder = Folder::new("longer");
    let shaped = ring("a", 4);
    let anneal = |seconds| PlanOptions::default().path(PathChoice::Anneal).path_seconds(seconds);
    let (best, ..) = folder.search(&shaped, &anneal(0.02));
    let file = PathCache::new(&folder.0, &shaped, &Machine::default(), &anneal(0.02));
    let left_to_right = (1..24).map(|at| vec![at, if at == 1 { 0 } else { 22 + at }]).collect();
    let best_order = FoundOrder::of(&best, None).ssa_path;
    let plant = |seconds: f64, ssa_path: &Vec<Vec<usize>>| {
        let mut found = serde_json::to_value(FoundOrder::of(&best, None)).unwrap();
        found["seconds"] = seconds.into();
        let mut found: FoundOrder = serde_json::from_value(found).unwrap();
        found.ssa_path.clone_from(ssa_path);
        file.store(found).unwrap();
    };
    // A bad order that a long search found is used.
    plant(1.0, &left_to_right);
    assert!(folder.search(&shaped, &anneal(0.02)).1);
    plant(0.001, &left_to_right);
    assert!(!folder.search(&shaped, &anneal(0.02)).1);
    assert_eq!(file.load(&shaped).unwrap().unwrap().ssa_path, best_order);
    // The search that follows finds nothing as good, but it counts as longer.
    plant(0.001, &best_order);
    assert!(folder.search(&shaped, &anneal(0.02).path_speed(1e-6)).1);
    let kept = serde_json::to_value(file.load(&shaped).unwrap().unwrap()).unwrap();
    assert_eq!(kept["seconds"], 0.02);
    assert_eq!(kept["ssa_path"], serde_json::to_value(&best_order).unwrap());
}

#[test]
fn auto_searches_again_for_other_runs() {
    let folder = Folder::new("auto");
    let shaped = ring("a", 4);
    for (runs, known) in [(10, false), (10, true), (1, false), (10, true)] {
        let (_, cached, warnings) = folder.search(&shaped, &PlanOptions::default().runs(runs));
        assert!(cached == known && warnings.is_empty());
    }
    assert_eq!(folder.files().len(), 2);
}

#[test]
fn slices_are_kept_under_other_names() {
    let folder = Folder::new("slices");
    let shaped = ring("a", 8);
    let whole = shaped.plan(&Machine::default(), &PlanOptions::default()).unwrap().peak_bytes(0);
    // The operands and the result stay in memory.
    let users = 4 * (24 * 8u64.pow(3) + 1);
    let options = PlanOptions::default().memory_limit(users + (whole - users) / 8);
    let (first, cached, _) = folder.search(&shaped, &options);
    let (again, known, _) = folder.search(&ring("other", 8), &options);
    assert!(!cached && known && !first.tree.sliced.is_empty());
    assert_eq!(first.tree.sliced, again.tree.sliced);
}

#[test]
fn files_that_cannot_be_used_are_replaced() {
    let folder = Folder::new("damaged");
    let (shaped, other) = (ring("a", 4), ring("a", 3));
    let options = PlanOptions::default().path(PathChoice::Greedy);
    folder.search(&other, &options);
    let foreign = std::fs::read(&folder.files()[0]).unwrap();
    std::fs::remove_file(&folder.files()[0]).unwrap();
    folder.search(&shaped, &options);
    let file = folder.files()[0].clone();
    let good = std::fs::read(&file).unwrap();
    let text = String::from_utf8(good.clone()).unwrap();
    for (damaged, says) in [
        (Vec::new(), "searching again"),
        (good[..good.len() / 2].to_vec(), "searching again"),
        (vec![0xff; 100], "searching again"),
        (text.replacen("\"ssa_path\":[", "\"ssa_path\":[[0,1,2,99],", 1).into_bytes(), "searching again"),
        (text.replacen("\"sliced\":[", "\"sliced\":[77", 1).into_bytes(), "searching again"),
        (foreign, "is the path of another expression"),
    ] {
        std::fs::write(&file, damaged).unwrap();
        let (_, cached, warnings) = folder.search(&shaped, &options);
        assert!(!cached && warnings.len() == 1 && warnings[0].contains(says), "{warnings:?}");
        assert_eq!(std::fs::read(&file).unwrap(), good);
    }
    // A folder that cannot be created is a warning, too.
    let inside = Folder(file);
    let (_, cached, warnings) = inside.search(&shaped, &options);
    assert!(!cached && !warnings.is_empty(), "{warnings:?}");
}

#[test]
fn a_search_that_exceeds_the_memory_ends_early_and_is_kept_for_as_little_memory() {
    let folder = Folder::new("memory");
    let ring = ring("a", 4);
    let options = PlanOptions::default().path(PathChoice::Anneal).path_seconds(0.04);
    let (whole, ..) = folder.search(&ring, &options);
    let (roomy, cached, _) = folder.search(&ring, &options.clone().free_memory(1 << 40));
    assert!(cached && !roomy.exceeds_memory());
    std::fs::remove_dir_all(&folder.0).unwrap();
    let little = options.clone().free_memory(64);
    let (ended, ..) = folder.search(&ring, &little);
    let seconds = |searched: &SearchedTree| searched.records[0].seconds;
    assert!(
        ended.exceeds_memory() && seconds(&ended) < 0.8 * seconds(&whole),
        "{:?} {:?}",
        ended.records,
        whole.records
    );
    assert!(folder.search(&ring, &little).1);
    let (enough, cached, _) = folder.search(&ring, &options);
    assert!(!cached && !enough.exceeds_memory());
    assert!(folder.search(&ring, &options).1);
}
