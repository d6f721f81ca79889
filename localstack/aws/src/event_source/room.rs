//! Waiting for room in a channel for a bounded time, on a thread that has other work too.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use tokio::sync::mpsc::{Permit, Sender};

/// The result of waiting for room.
pub(super) enum Room<'a, T> {
    There(Permit<'a, T>),
    /// There was no room in time.
    None,
    /// The receiver is gone.
    Closed,
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for room for one value, no longer than `timeout`. Blocks, and needs no runtime.
pub(super) fn wait<T>(sender: &Sender<T>, timeout: Duration) -> Room<'_, T> {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let (mut context, mut reserve) = (Context::from_waker(&waker), pin!(sender.reserve()));
    let mut reserved = reserve.as_mut().poll(&mut context);
    if reserved.is_pending() {
        thread::park_timeout(timeout);
        reserved = reserve.poll(&mut context);
    }
    match reserved {
        Poll::Ready(Ok(permit)) => Room::There(permit),
        Poll::Ready(Err(_)) => Room::Closed,
        Poll::Pending => Room::None,
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;

    /// Longer than a test takes.
    const LONG: Duration = Duration::from_mins(1);

    #[test]
    fn a_wait_ends_with_room_with_the_receiver_or_with_its_time() {
        let (sender, mut taking) = mpsc::channel(1);
        assert!(matches!(wait(&sender, LONG), Room::There(_)), "an unused permit leaves its room");
        sender.try_send(1).unwrap();
        assert!(matches!(wait(&sender, Duration::ZERO), Room::None));
        let received = thread::scope(|scope| {
            let receiving = scope.spawn(|| taking.blocking_recv());
            // A thread may wake up without a reason.
            let permit = loop {
                if let Room::There(permit) = wait(&sender, LONG) {
                    break permit;
                }
            };
            permit.send(2);
            receiving.join().unwrap()
        });
        assert_eq!((received, taking.try_recv()), (Some(1), Ok(2)));
        drop(taking);
        assert!(matches!(wait(&sender, LONG), Room::Closed));
    }
}
