use super::*;
use proptest::prelude::*;

fn refusing() -> AddressPolicy {
    AddressPolicy::default()
}

fn allowing() -> AddressPolicy {
    AddressPolicy { private: PrivateAddresses::Allowed, ..AddressPolicy::default() }
}

fn check(policy: &AddressPolicy, address: &str) -> bool {
    policy.check(address.parse().expect("an address")).is_ok()
}

/// Refused unless private addresses are allowed: own machine, own network, and the cloud's metadata, DNS, time and
/// credential services; ISATAP on a link-local prefix.
const PRIVATE: &str = "
    10.0.0.0 10.0.0.1 10.255.255.255 127.0.0.1 127.255.255.255 172.16.0.0 172.31.255.255 192.168.0.0 192.168.255.255
    169.254.0.1 169.254.169.254 169.254.169.253 169.254.169.123 169.254.170.2
    ::1 fc00::1 fd00::1 fd00:ec2::254 fdff:ffff::1 fe80::1 febf::1 fe80::5efe:10.0.0.1";

/// Refused always.
const SPECIAL: &str = "
    0.0.0.0 0.255.255.255 100.64.0.0 100.127.255.255 192.0.0.1 192.0.0.255 192.0.2.1 192.88.99.1 198.18.0.0
    198.19.255.255 198.51.100.7 203.0.113.7 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.254 255.255.255.255
    :: ::2 ::127.0.0.1 ::10.0.0.1 ::8.8.8.8 100::1 2001:db8::1 3fff::1 3fff:fff::1 5f00::1 fec0::1 feff::1
    ::ffff:10.0.0.1 ::ffff:127.0.0.1 ::ffff:169.254.169.254 ::ffff:8.8.8.8 ::ffff:0:127.0.0.1 ::ffff:0:8.8.8.8
    64:ff9b::0.0.0.0 64:ff9b::100.64.0.1 64:ff9b:1::8.8.8.8 64:ff9b:1:ffff::1 64:ff9b::1:0:0 2620:fe::5efe:100.64.0.1
    2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:10::1 2001:1ff:ffff::1 2002:7f00:1:: 2002:808:808::1
    ff00::1 ff02::1 ff0e::1";

const PUBLIC: &str = "
    1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 169.253.255.255
    169.255.0.0 172.15.255.255 172.32.0.0 192.0.1.0 192.0.3.0 192.88.98.255 192.167.255.255 198.17.255.255 198.20.0.0
    223.255.255.255 2606:4700::1111 2001:200::1 2001:4860:4860::8888 2a00::1 2003::1 3fff:1000::1 64:ff9b::8.8.8.8
    2620:fe::5efe:8.8.8.8";

/// The check and the request use one parser, so that the address it reads from a spelling is the address that is dialled.
const REFUSED_URLS: &str = "
    http://127.0.0.1/ http://127.1/ http://2130706433/ http://0x7f000001/ http://0x7f.1/ http://0177.0.0.1/
    http://017700000001/ http://127.0.0.1./ http://0/ http://0xa9fea9fe/ http://2852039166/
    http://0251.0376.0251.0376/ http://[::1]/ http://[::]/ http://[::ffff:10.0.0.1]/ http://[::ffff:a00:1]/
    http://[0:0:0:0:0:ffff:7f00:1]/ http://[::127.0.0.1]/ http://[fd00:ec2::254]/ http://[64:ff9b::a00:1]/
    http://[2002:7f00:1::]/ http://localhost/ http://LOCALHOST/ http://localhost./ http://a.localhost/
    http://a.localhost./ http://%6c%6f%63alhost/ http://①②⑦.⓪.⓪.①/ http://１２７.0.0.1/ http://127。0。0。1/
    http://hooks.example:22/ https://hooks.example:25/ http://hooks.example:1023/ http://hooks.example:0/";

const ALLOWED_URLS: &str = "
    https://hooks.example/ http://hooks.example/ https://hooks.example:443/ http://hooks.example:8080/
    http://hooks.example:1024/ https://hooks.example:65535/ http://8.8.8.8/ http://[2606:4700::1111]/
    https://localhost.example/ https://notlocalhost/ https://xn--bcher-kva.example/";

#[test]
fn every_address_of_the_table() {
    for address in PRIVATE.split_whitespace() {
        assert!(!check(&refusing(), address), "{address}");
        assert!(check(&allowing(), address), "{address}");
    }
    for address in SPECIAL.split_whitespace() {
        assert!(!check(&refusing(), address) && !check(&allowing(), address), "{address}");
    }
    for address in PUBLIC.split_whitespace() {
        assert!(check(&refusing(), address) && check(&allowing(), address), "{address}");
    }
}

#[test]
fn translated_private_addresses_are_judged_by_the_address_they_embed() {
    for address in ["64:ff9b::10.0.0.1", "64:ff9b::127.0.0.1", "64:ff9b::169.254.169.254"] {
        assert!(!check(&refusing(), address), "{address}");
    }
    for address in ["2620:fe::5efe:10.0.0.1", "2620:fe::200:5efe:169.254.169.254"] {
        assert!(!check(&refusing(), address), "{address}");
    }
}

#[test]
fn networks_on_the_denied_list_are_refused() {
    let denied = ["52.94.0.0/16", "2a05:d018::/36"].map(|net| net.parse().expect("a network")).to_vec();
    for private in [PrivateAddresses::Refused, PrivateAddresses::Allowed] {
        let policy = AddressPolicy { private, denied: denied.clone() };
        for address in ["52.94.1.1", "64:ff9b::52.94.1.1", "2a05:d018::1"] {
            assert!(!check(&policy, address), "{address}");
        }
        assert!(check(&policy, "52.95.0.1"));
    }
}

#[test]
fn a_refusal_says_what_the_address_is() {
    let refusal = refusing().check("169.254.169.254".parse().expect("an address")).expect_err("refused");
    assert_eq!(refusal.reason, "169.254.169.254 is a link-local address");
}

#[test]
fn every_spelling_of_a_url() {
    for text in REFUSED_URLS.split_whitespace() {
        let url = Url::parse(text).expect(text);
        assert!(refusing().check_url(&url).is_err(), "{text}");
    }
    for text in ALLOWED_URLS.split_whitespace() {
        let url = Url::parse(text).expect(text);
        assert_eq!(refusing().check_url(&url), Ok(()), "{text}");
    }
    for text in ["http://[fe80::1%25eth0]/", "http://[::1", "http://127.0.0.1.1.1/", "http://256.256.256.256/"] {
        assert!(Url::parse(text).is_err(), "{text}");
    }
}

#[test]
fn the_local_server_may_call_itself_on_every_port() {
    for text in ["http://localhost:22/", "http://127.0.0.1:1/", "http://[::1]:25/", "http://10.0.0.1/"] {
        assert_eq!(allowing().check_url(&Url::parse(text).expect(text)), Ok(()), "{text}");
    }
    assert!(allowing().check_url(&Url::parse("http://0.0.0.0/").expect("a URL")).is_err());
}

proptest! {
    #[test]
    fn nothing_that_is_refused_when_private_is_allowed_passes_when_it_is_not(bits: u128, short: u32) {
        for address in [IpAddr::from(bits.to_be_bytes()), IpAddr::from(short.to_be_bytes())] {
            if refusing().check(address).is_ok() {
                prop_assert!(allowing().check(address).is_ok());
            }
        }
    }

    #[test]
    fn no_url_panics(text in "https?://[^/]{0,40}") {
        if let Ok(url) = Url::parse(&text) {
            let _verdict = refusing().check_url(&url);
        }
    }
}
