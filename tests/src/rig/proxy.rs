//! A way to Kafka that can be held up and cut.

use std::io::Write;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Carries connections to Kafka, until it is told to hold them or to cut them.
///
/// Kafka's second listener (`localstack/services`) sends its clients here.
#[derive(Debug)]
pub struct Proxy {
    carried: Arc<parking_lot::Mutex<Vec<TcpStream>>>,
    holds: Arc<AtomicBool>,
}

impl Proxy {
    /// Carries from the second of these ports of this machine to the first. It goes on until the program ends.
    ///
    /// # Panics
    /// When the one cannot be listened on, or nobody listens on the other.
    pub fn start((to, at): (u16, u16)) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", at)).unwrap();
        // Kafka has a second listener when localstack/services started it.
        TcpStream::connect(("127.0.0.1", to)).unwrap();
        let proxy = Self { carried: Arc::default(), holds: Arc::default() };
        let (carried, holds) = (Arc::clone(&proxy.carried), Arc::clone(&proxy.holds));
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(broker) = TcpStream::connect(("127.0.0.1", to)) else { continue };
                let ends = [&client, &broker].map(|stream| stream.try_clone().unwrap());
                carried.lock().extend(ends);
                let [from, back] = [&client, &broker].map(|stream| stream.try_clone().unwrap());
                for (from, to) in [(from, broker), (back, client)] {
                    let holds = Arc::clone(&holds);
                    thread::spawn(move || carry(from, to, &holds));
                }
            }
        });
        proxy
    }

    /// Cuts every connection. New ones are carried.
    pub fn cut(&self) {
        for stream in self.carried.lock().drain(..) {
            // It may have ended by itself.
            stream.shutdown(Shutdown::Both).ok();
        }
    }

    /// Holds what is sent, or lets it go on.
    pub fn hold(&self, holds: Holds) {
        self.holds.store(holds == Holds::Everything, Ordering::Relaxed);
    }
}

/// What is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// Nothing gets through.
    Everything,
    /// Everything does.
    Nothing,
}

fn carry(mut from: TcpStream, mut to: TcpStream, holds: &AtomicBool) {
    let mut bytes = [0; 16_384];
    loop {
        let count = std::io::Read::read(&mut from, &mut bytes).unwrap_or_default();
        while holds.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(5));
        }
        if count == 0 || to.write_all(&bytes[..count]).is_err() {
            to.shutdown(Shutdown::Both).ok();
            return;
        }
    }
}
