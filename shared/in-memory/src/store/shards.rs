//! A map in shards, so that neighbours do not wait for one lock.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use parking_lot::{Mutex, MutexGuard};

const SHARDS: usize = 32;

#[derive(Debug)]
pub(super) struct Shards<K, V> {
    shards: Vec<Mutex<BTreeMap<K, V>>>,
}

impl<K: Ord + Hash, V> Shards<K, V> {
    /// Locks the shard that `key` belongs to.
    pub(super) fn of<Q>(&self, key: &Q) -> MutexGuard<'_, BTreeMap<K, V>>
    where
        Q: Hash + ?Sized,
    {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        let index = usize::try_from(hasher.finish() % 32).unwrap_or_default();
        #[expect(clippy::indexing_slicing, reason = "the index is a remainder of the number of shards")]
        self.shards[index].lock()
    }

    /// Locks one shard after the other.
    pub(super) fn each(&self) -> impl Iterator<Item = MutexGuard<'_, BTreeMap<K, V>>> {
        self.shards.iter().map(Mutex::lock)
    }

    pub(super) fn wipe(&self) {
        self.each().for_each(|mut shard| shard.clear());
    }
}

impl<K, V> Default for Shards<K, V> {
    fn default() -> Self {
        Self { shards: (0..SHARDS).map(|_| Mutex::new(BTreeMap::new())).collect() }
    }
}
