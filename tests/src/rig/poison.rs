//! Records that cannot be decoded, written straight to the lanes' topics.

use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use testkit::random::SeededRandom;

use crate::rig::pair::Pair;

/// The size of a large poison record.
const LARGE: usize = 8 << 20;

/// What is wrong with a record.
fn poison(random: &SeededRandom) -> Option<Vec<u8>> {
    let noise = random.next();
    match random.below(6) {
        0 => Some(format!(r#"{{"v":1,"id":"{noise}","config"#).into_bytes()),
        1 => Some([&noise.to_be_bytes()[..], &[0xff, 0xfe, 0xc0]].concat()),
        2 => Some(format!(r#"{{"v":99,"id":"wh_{noise}","payload":{{}}}}"#).into_bytes()),
        3 => Some(br#"{"v":1,"id":7,"endpoint":[]}"#.to_vec()),
        4 => Some(Vec::new()),
        _ => None,
    }
}

/// Writes poison: three of four records to the first topic.
pub struct Poisoner {
    producer: BaseProducer,
    topics: [String; 2],
    random: SeededRandom,
}

impl Poisoner {
    /// Poison drawn from a seed, for these topics.
    ///
    /// # Panics
    /// When it cannot be set up.
    pub fn new(pair: &Pair, topics: [String; 2], seed: u64) -> Self {
        let producer = ClientConfig::new()
            .set("bootstrap.servers", pair.brokers())
            .set("message.max.bytes", (2 * LARGE).to_string())
            .set("compression.type", "lz4")
            .set("linger.ms", "20")
            .create()
            .unwrap();
        Self { producer, topics, random: SeededRandom::new(seed) }
    }

    fn write(&self, value: Option<&[u8]>) {
        let key = self.random.next().to_be_bytes();
        let topic = &self.topics[usize::from(self.random.below(4) == 0)];
        loop {
            let record: BaseRecord<'_, [u8], [u8]> = BaseRecord::to(topic).key(&key);
            let record = match value {
                Some(value) => record.payload(value),
                None => record,
            };
            match self.producer.send(record) {
                Ok(()) => return,
                Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), _)) => {
                    self.producer.poll(Duration::from_millis(20));
                }
                Err((error, _)) => panic!("{error}"),
            }
        }
    }

    /// Writes so many records, some of them large and all of those at one time: the worst case for memory.
    ///
    /// # Panics
    /// When Kafka does not take them.
    pub fn write_all(&self, records: u64, large: u64) {
        for number in 0..records {
            self.write(poison(&self.random).as_deref());
            if number == records / 2 {
                // Not JSON, and not to be compressed away.
                let value: Vec<u8> =
                    std::iter::repeat_with(|| self.random.next().to_le_bytes()).flatten().take(LARGE).collect();
                (0..large).for_each(|_| self.write(Some(&value)));
            }
        }
        self.producer.flush(Duration::from_mins(1)).unwrap();
    }
}
