//! A way to Kafka that can be held up and cut, that can keep the brokers' names from clients, and send them to another
//! coordinator.

use std::io::Write;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::rig::proxy::frames::{Question, Questions};

mod frames;

/// Carries connections to Kafka, until a test has it hold them or cut them.
///
/// Kafka's second listener (`localstack/services`) sends its clients here.
#[derive(Debug)]
pub struct Proxy {
    carried: Arc<parking_lot::Mutex<Vec<TcpStream>>>,
    orders: Arc<Orders>,
}

/// The state that all connections follow.
#[derive(Debug, Default)]
struct Orders {
    holds: AtomicBool,
    hides_brokers: AtomicBool,
    /// Questions about offsets that are still to be sent elsewhere.
    misdirects: AtomicUsize,
}

/// The port of the second listener of a broker that is at `host:port`, and the one that it sends its clients on to: a proxy
/// goes between them.
///
/// # Panics
/// When the address has no port.
pub fn ports(broker: &str) -> (u16, u16) {
    let port: u16 = broker.rsplit_once(':').unwrap().1.parse().unwrap();
    (port + 2, port + 3)
}

impl Proxy {
    /// Carries from the second of these ports of this machine to the first. It goes on until the program ends.
    ///
    /// # Panics
    /// When it cannot listen on the one address, or no server listens on the other.
    pub fn start((to, at): (u16, u16)) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", at)).unwrap();
        // Kafka has a second listener when localstack/services started it.
        TcpStream::connect(("127.0.0.1", to)).unwrap();
        let proxy = Self { carried: Arc::default(), orders: Arc::default() };
        let (carried, orders) = (Arc::clone(&proxy.carried), Arc::clone(&proxy.orders));
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(broker) = TcpStream::connect(("127.0.0.1", to)) else { continue };
                let ends = [&client, &broker].map(|stream| stream.try_clone().unwrap());
                carried.lock().extend(ends);
                let [from, back] = [&client, &broker].map(|stream| stream.try_clone().unwrap());
                let questions = Arc::new(parking_lot::Mutex::new(Questions::default()));
                for (from, to, way) in [(from, broker, Way::Request), (back, client, Way::Answer)] {
                    let one_way = OneWay { way, questions: Arc::clone(&questions), orders: Arc::clone(&orders) };
                    thread::spawn(move || one_way.carry(from, to));
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
        self.orders.holds.store(holds == Holds::Everything, Ordering::Relaxed);
    }

    /// Lets answers name the brokers, or no broker, as a cluster does that is coming back.
    pub fn name(&self, names: Names) {
        self.orders.hides_brokers.store(names == Names::NoBroker, Ordering::Relaxed);
    }

    /// Answers so many questions about a group's offsets as a broker does that has stopped coordinating it.
    pub fn misdirect(&self, questions: usize) {
        self.orders.misdirects.store(questions, Ordering::Relaxed);
    }

    /// Whether all questions that were to be sent elsewhere have come.
    pub fn has_misdirected(&self) -> bool {
        self.orders.misdirects.load(Ordering::Relaxed) == 0
    }
}

/// What answers about metadata name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Names {
    /// What Kafka says.
    Brokers,
    /// All but the brokers.
    NoBroker,
}

/// What is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// Nothing gets through.
    Everything,
    /// Everything does.
    Nothing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Request,
    Answer,
}

/// One way of one connection.
struct OneWay {
    way: Way,
    questions: Arc<parking_lot::Mutex<Questions>>,
    orders: Arc<Orders>,
}

impl OneWay {
    fn carry(&self, mut from: TcpStream, mut to: TcpStream) {
        while let Some(frame) = frames::read(&mut from) {
            let frame = self.changed(frame);
            while self.orders.holds.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(5));
            }
            if to.write_all(&frames::with_length(&frame)).is_err() {
                break;
            }
        }
        // It may have ended by itself.
        to.shutdown(Shutdown::Both).ok();
    }

    fn changed(&self, frame: Vec<u8>) -> Vec<u8> {
        let question = match self.way {
            Way::Request => {
                self.questions.lock().record(&frame);
                None
            }
            Way::Answer => self.questions.lock().answered(&frame),
        };
        match question {
            Some(Question::Metadata) if self.orders.hides_brokers.load(Ordering::Relaxed) => {
                frames::without_brokers(&frame)
            }
            Some(Question::Offsets) if self.orders.takes_one_to_misdirect() => frames::not_coordinated(&frame),
            Some(Question::Metadata | Question::Offsets) | None => frame,
        }
    }
}

impl Orders {
    fn takes_one_to_misdirect(&self) -> bool {
        let less = |left: usize| left.checked_sub(1);
        self.misdirects.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }
}
