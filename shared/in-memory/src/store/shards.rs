//! State in shards, so that operations on different keys rarely wait for one lock.

use std::hash::{DefaultHasher, Hash, Hasher};

use parking_lot::{Mutex, MutexGuard};

const SHARDS: usize = 32;

/// Shards of `T`, each with a lock of its own. A key is always in the same shard.
#[derive(Debug)]
pub(super) struct Shards<T> {
    shards: Vec<Mutex<T>>,
}

impl<T: Default> Shards<T> {
    /// How many there are.
    pub(super) const COUNT: usize = SHARDS;

    /// Locks the shard that `key` belongs to.
    pub(super) fn of(&self, key: &str) -> MutexGuard<'_, T> {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        let index = usize::try_from(hasher.finish() % 32).unwrap_or_default();
        #[expect(clippy::indexing_slicing, reason = "the index is a remainder of the number of shards")]
        self.shards[index].lock()
    }

    /// Locks one shard after the other.
    pub(super) fn each(&self) -> impl Iterator<Item = MutexGuard<'_, T>> {
        self.shards.iter().map(Mutex::lock)
    }

    pub(super) fn wipe(&self) {
        self.each().for_each(|mut shard| *shard = T::default());
    }
}

impl<T: Default> Default for Shards<T> {
    fn default() -> Self {
        Self { shards: (0..SHARDS).map(|_| Mutex::new(T::default())).collect() }
    }
}
