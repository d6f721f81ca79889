use clock_system::SystemRandom;
use proptest::prelude::*;

use super::*;

struct Fixed;

impl Random for Fixed {
    fn bits(&self) -> u128 {
        0x0123_4567_89ab_cdef_0123_4567_89ab_cdef
    }
}

fn vault(current: &str, previous: &[&str]) -> XChaChaVault {
    let previous: Vec<_> = previous.iter().map(|text| Secret::new(*text)).collect();
    XChaChaVault::new(&Secret::new(current), &previous, Arc::new(SystemRandom)).unwrap()
}

fn tenant(name: &str) -> ConfigId {
    ConfigId::parse(name).unwrap()
}

proptest! {
    #[test]
    fn a_seal_can_be_unsealed_and_does_not_show_its_secret(text in "\\PC{4,300}") {
        let vault = vault("a key", &[]);
        let sealed = vault.seal(&tenant("acme"), &Secret::new(&*text)).unwrap();
        prop_assert!(!sealed.as_str().contains(&text));
        prop_assert_eq!(vault.unseal(&tenant("acme"), &sealed), Ok(Secret::new(&*text)));
    }

    #[test]
    fn no_text_panics_or_unseals(text in "(seal1\\.)?([0-9a-f]{8}\\.)?\\PC{0,60}") {
        prop_assert!(vault("a key", &[]).unseal(&tenant("acme"), &Sealed::new(text)).is_err());
    }
}

#[test]
fn the_same_secret_is_sealed_differently_each_time() {
    let (vault, acme, secret) = (vault("a key", &[]), tenant("acme"), Secret::new("whsec_x"));
    assert_ne!(vault.seal(&acme, &secret).unwrap(), vault.seal(&acme, &secret).unwrap());
}

#[test]
fn an_empty_secret_stays_empty() {
    let (vault, acme) = (vault("a key", &[]), tenant("acme"));
    let sealed = vault.seal(&acme, &Secret::new("")).unwrap();
    assert_eq!(vault.unseal(&acme, &sealed), Ok(Secret::new("")));
}

#[test]
fn tn_1_another_tenant_cannot_read_it() {
    let vault = vault("a key", &[]);
    let sealed = vault.seal(&tenant("acme"), &Secret::new("whsec_x")).unwrap();
    assert_eq!(vault.unseal(&tenant("other"), &sealed), Err(Unsealable::Broken));
}

#[test]
fn a_changed_seal_is_refused() {
    let (vault, acme) = (vault("a key", &[]), tenant("acme"));
    let sealed = vault.seal(&acme, &Secret::new("whsec_x")).unwrap();
    let (head, body) = sealed.as_str().rsplit_once('.').unwrap();
    let mut bytes = URL_SAFE_NO_PAD.decode(body).unwrap();
    for index in 0..bytes.len() {
        bytes[index] ^= 1;
        let changed = Sealed::new(format!("{head}.{}", URL_SAFE_NO_PAD.encode(&bytes)));
        assert_eq!(vault.unseal(&acme, &changed), Err(Unsealable::Broken), "byte {index}");
        bytes[index] ^= 1;
    }
}

#[test]
fn keys_rotate() {
    let acme = tenant("acme");
    let old = vault("the old key", &[]).seal(&acme, &Secret::new("whsec_x")).unwrap();
    let both = vault("the new key", &["the old key"]);
    assert_eq!(both.unseal(&acme, &old), Ok(Secret::new("whsec_x")));
    let new = both.seal(&acme, &Secret::new("whsec_y")).unwrap();
    assert_eq!(vault("the new key", &[]).unseal(&acme, &new), Ok(Secret::new("whsec_y")));
    let lost = vault("the new key", &[]).unseal(&acme, &old).unwrap_err();
    let key_id = old.as_str().split('.').nth(1).unwrap();
    assert_eq!(lost, Unsealable::UnknownKey { key_id: key_id.to_owned() });
    assert!(lost.to_string().contains(key_id));
}

#[test]
fn the_form_of_a_seal_stays_as_it_is() {
    let vault = XChaChaVault::new(&Secret::new("a key"), &[], Arc::new(Fixed)).unwrap();
    let sealed = vault.seal(&tenant("acme"), &Secret::new("whsec_x")).unwrap();
    assert_eq!(sealed.as_str(), "seal1.e165450e.782riWdFIwHvzauJZ0UjAe_Nq4lnRSMB1VuUGUcn63_PGy3kFvEuaPvmRWcX-XU");
}

#[test]
fn the_debug_text_shows_no_key() {
    assert!(!format!("{:?}", vault("a key of ours", &[])).contains("a key of ours"));
}
