//! Making and checking the topics.

use delivery::FaultKind;
use log_kafka::{create_topics, delete_topics, verify_topics};
use testkit::contract::run;

use super::{fresh_config, fresh_specs};

#[test]
fn the_topics_of_the_file_are_made_once_and_are_right() {
    run(async {
        let config = fresh_config();
        let specs = config.topics.specs();
        create_topics(&config, &specs).await.expect("the topics are made");
        create_topics(&config, &specs).await.expect("topics that exist are left as they are");
        verify_topics(&config, &specs).await.expect("they are as they should be");
        delete_topics(&config, &specs).await.expect("they are deleted");
    });
}

#[test]
fn a_wrong_cleanup_policy_is_a_mistake_that_says_so() {
    run(async {
        let config = fresh_config();
        let right = fresh_specs(&config);
        let mut wrong = right.clone();
        for spec in &mut wrong {
            spec.config.insert("cleanup.policy".to_owned(), "delete".to_owned());
            spec.config.insert("max.message.bytes".to_owned(), "16777216".to_owned());
        }
        create_topics(&config, &wrong).await.expect("the topics are made");
        let fault = verify_topics(&config, &right).await.expect_err("state and scripts are not compacted");
        let state = &config.topics.state;
        assert_eq!(fault.kind, FaultKind::Permanent);
        let expected = format!("{state} has cleanup.policy=delete, but howk relies on cleanup.policy=compact");
        assert!(fault.to_string().starts_with(&expected), "{fault}");
        delete_topics(&config, &wrong).await.expect("they are deleted");
    });
}

#[test]
fn missing_topics_and_small_ones_are_listed_together() {
    run(async {
        let config = fresh_config();
        let right = fresh_specs(&config);
        let mut small = right.clone();
        small.truncate(1);
        small[0].config.insert("max.message.bytes".to_owned(), "1048588".to_owned());
        create_topics(&config, &small).await.expect("the topic is made");
        let fault = verify_topics(&config, &right[..2]).await.expect_err("one is small, one is missing").to_string();
        let (pending, slow) = (&config.topics.pending, &config.topics.slow);
        assert!(fault.contains(&format!("{pending} has max.message.bytes=1048588")), "{fault}");
        assert!(fault.contains(&format!("{slow} does not exist")), "{fault}");
        delete_topics(&config, &small).await.expect("it is deleted");
    });
}
