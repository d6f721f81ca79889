//! The expected values were computed with Python's `hmac` and with OpenSSL, not with the crates that are used here.

use super::*;
use ed25519_dalek::{Signature, Verifier, VerifyingKey};
use proptest::prelude::*;

use crate::test_receiver::ID;

const UNIX: u64 = 1_614_265_330;
const BODY: &[u8] = br#"{"n":9007199254740993}"#;
const WHSEC: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX";
const WHSK: &str = "whsk_AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=";
const PUBLIC: &str = "ebVWLo/mVPlAeLES6KmLp5AfhTrmlb7X4OORC60ElmQ=";
const WHSEC_X: &str = "6ab4308dfd572fa8718744def62b0760ea68adada65d8c4cd7987ea10a66d639";
const WHSEC_V1: &str = "v1,s1PvrHyFU4WL5zj+yUPYGMZf0+iLNY53s0pDeEjvkQ4=";
const TEXT_X: &str = "683c49acb6f86b4942287e033b716cf0b5318b550561076b514ca04eca785908";
const TEXT_V1: &str = "v1,B5lhrS9dQnqwfG7XwMXYXTX3hvkXvsRjspr/ezbTTp0=";
const WHSK_V1A: &str = "v1a,Ka+jT8Epy9Xfly6aADnMdgw46UUiM+ts/eqCvaN9z7ONtkxkgQbnKvu+pbPB5+3K6GjbA+84hf0JrUDl8nzQDQ==";

fn sign(secrets: &[&str], families: Signatures) -> Signed {
    let secrets: Vec<_> = secrets.iter().map(|text| Secret::new(*text)).collect();
    Signer::new(&secrets, families).expect("usable secrets").sign(ID, UNIX, BODY)
}

fn both() -> Signatures {
    Signatures::default()
}

#[test]
fn a_symmetric_secret_signs_both_families() {
    let signed = sign(&[WHSEC], both());
    assert_eq!(signed.x_webhook, Some(format!("t={UNIX},v1={WHSEC_X}")));
    assert_eq!(signed.standard.as_deref(), Some(WHSEC_V1));
    let signed = sign(&["old secret"], both());
    assert_eq!(signed.x_webhook, Some(format!("t={UNIX},v1={TEXT_X}")));
    assert_eq!(signed.standard.as_deref(), Some(TEXT_V1));
}

#[test]
fn a_private_key_signs_the_standard_family_only() {
    let signed = sign(&[WHSK], both());
    assert_eq!(signed, Signed { x_webhook: None, standard: Some(WHSK_V1A.to_owned()) });
    let public: [u8; 32] = STANDARD.decode(PUBLIC).expect("base64").try_into().expect("32 bytes");
    let signature = STANDARD.decode(WHSK_V1A.trim_start_matches("v1a,")).expect("base64");
    let signature = Signature::from_slice(&signature).expect("a signature");
    let message = [format!("{ID}.{UNIX}.").as_bytes(), BODY].concat();
    VerifyingKey::from_bytes(&public).expect("a key").verify(&message, &signature).expect("it verifies");
}

#[test]
fn a_private_key_may_bring_its_public_key() {
    let seed: Vec<u8> = (1..=32).collect();
    let public = STANDARD.decode(PUBLIC).expect("base64");
    let pair = format!("whsk_{}", STANDARD.encode([seed.clone(), public].concat()));
    assert_eq!(sign(&[&pair], both()), sign(&[WHSK], both()));
    let wrong = format!("whsk_{}", STANDARD.encode([seed.clone(), seed].concat()));
    assert_eq!(Signer::new(&[Secret::new(wrong)], both()).err(), Some(SignerError::KeyPair));
}

#[test]
fn rotating_secrets_sign_side_by_side_in_order() {
    let signed = sign(&[WHSEC, "old secret", WHSK], both());
    assert_eq!(signed.x_webhook, Some(format!("t={UNIX},v1={WHSEC_X},v1={TEXT_X}")));
    assert_eq!(signed.standard, Some(format!("{WHSEC_V1} {TEXT_V1} {WHSK_V1A}")));
}

#[test]
fn each_family_can_be_switched_off() {
    let signed = sign(&[WHSEC], Signatures::Standard);
    assert_eq!(signed, Signed { x_webhook: None, standard: Some(WHSEC_V1.to_owned()) });
    let signed = sign(&[WHSEC, WHSK], Signatures::Original);
    assert_eq!(signed, Signed { x_webhook: Some(format!("t={UNIX},v1={WHSEC_X}")), standard: None });
}

#[test]
fn secrets_that_sign_nothing_are_refused_and_not_shown() {
    for text in ["", "whsec_s3cret!", "whsk_czNjcmV0"] {
        let refused = Signer::new(&[Secret::new(WHSEC), Secret::new(text)], both()).err();
        let expected = SigningKey::read(&Secret::new(text)).expect_err("no key");
        assert_eq!(refused, Some(SignerError::Secret(expected)), "{text}");
        assert!(!SignerError::Secret(expected).to_string().contains("s3cret"));
    }
}

proptest! {
    #[test]
    fn every_key_of_the_domain_signs(bytes in proptest::collection::vec(any::<u8>(), 1..100), pick in 0_usize..3) {
        let text = match pick {
            0 => format!("whsec_{}", STANDARD.encode(&bytes)),
            1 => format!("whsk_{}", STANDARD.encode([&bytes[..], &[0; 32]].concat().get(..32).expect("32 bytes"))),
            _ => STANDARD.encode(&bytes),
        };
        let secrets = [Secret::new(text)];
        let signed = Signer::new(&secrets, both()).expect("a key").sign(ID, UNIX, BODY);
        prop_assert!(signed.standard.is_some() && signed.x_webhook.is_some() == (pick != 1));
    }
}
