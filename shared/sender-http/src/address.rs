//! The address policy: which addresses, ports and names requests may go to.
//!
//! Called before every request for what the URL alone shows, and by the resolver for every address that a name has.
//! It makes no DNS query. Anything that cannot be judged is refused.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use delivery::ports::sender::AddressRefused;
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use url::{Host, Url};

/// Whether addresses of this machine and of private networks may be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PrivateAddresses {
    /// Never, and only the ports 80, 443 and 1024 and above.
    #[default]
    Refused,
    /// Loopback, RFC 1918, unique-local and link-local addresses are allowed, and every port. For a server on a developer's
    /// machine, and tests.
    Allowed,
}

/// Where requests may go.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AddressPolicy {
    /// Whether private addresses may be called.
    pub private: PrivateAddresses,
    /// Networks that are refused as well, whatever `private` says: those of the deployment's VPC, for example.
    pub denied: Vec<IpNet>,
}

type Listed4 = (Ipv4Net, &'static str);
type Listed6 = (Ipv6Net, &'static str);

const fn v4(octets: [u8; 4], length: u8) -> Ipv4Net {
    let [a, b, c, d] = octets;
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), length)
}

const fn v6(first: [u16; 3], length: u8) -> Ipv6Net {
    let [a, b, c] = first;
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0), length)
}

/// Refused unless private addresses are allowed.
const PRIVATE_V4: [Listed4; 5] = [
    (v4([10, 0, 0, 0], 8), "a private address"),
    (v4([127, 0, 0, 0], 8), "a loopback address"),
    (v4([169, 254, 0, 0], 16), "a link-local address"),
    (v4([172, 16, 0, 0], 12), "a private address"),
    (v4([192, 168, 0, 0], 16), "a private address"),
];

/// Always refused.
const SPECIAL_V4: [Listed4; 10] = [
    (v4([0, 0, 0, 0], 8), "an unspecified address"),
    (v4([100, 64, 0, 0], 10), "a shared address"),
    (v4([192, 0, 0, 0], 24), "a protocol address"),
    (v4([192, 0, 2, 0], 24), "a documentation address"),
    (v4([192, 88, 99, 0], 24), "a relay address"),
    (v4([198, 18, 0, 0], 15), "a benchmarking address"),
    (v4([198, 51, 100, 0], 24), "a documentation address"),
    (v4([203, 0, 113, 0], 24), "a documentation address"),
    (v4([224, 0, 0, 0], 4), "a multicast address"),
    (v4([240, 0, 0, 0], 4), "a reserved address"),
];

/// Refused unless private addresses are allowed.
const PRIVATE_V6: [Listed6; 3] = [
    (Ipv6Net::new_assert(Ipv6Addr::LOCALHOST, 128), "a loopback address"),
    (v6([0xfc00, 0, 0], 7), "a private address"),
    (v6([0xfe80, 0, 0], 10), "a link-local address"),
];

/// Always refused; `64:ff9b::/96` is judged by its IPv4 address before this list is read.
const SPECIAL_V6: [Listed6; 9] = [
    (v6([0, 0, 0], 8), "a reserved or translated address"),
    (v6([0x0100, 0, 0], 64), "a discard address"),
    (v6([0x2001, 0, 0], 23), "a protocol or tunnel address"),
    (v6([0x2001, 0x0db8, 0], 32), "a documentation address"),
    (v6([0x2002, 0, 0], 16), "a tunnel address"),
    (v6([0x3fff, 0, 0], 20), "a documentation address"),
    (v6([0x5f00, 0, 0], 16), "a segment-routing address"),
    (v6([0xfec0, 0, 0], 10), "a site-local address"),
    (v6([0xff00, 0, 0], 8), "a multicast address"),
];

const NAT64: Ipv6Net = v6([0x0064, 0xff9b, 0], 96);

impl AddressPolicy {
    /// Says whether an address may be called.
    ///
    /// # Errors
    /// [`AddressRefused`] with what the address is.
    pub fn check(&self, address: IpAddr) -> Result<(), AddressRefused> {
        match self.listed(address) {
            None => Ok(()),
            Some(what) => Err(AddressRefused { reason: format!("{address} is {what}") }),
        }
    }

    /// Says whether a URL may be called, as far as it shows without a DNS query: its port, its literal address, and
    /// names that always mean this machine.
    ///
    /// # Errors
    /// [`AddressRefused`] with the reason.
    pub fn check_url(&self, url: &Url) -> Result<(), AddressRefused> {
        self.check_port(url)?;
        match url.host() {
            Some(Host::Ipv4(address)) => self.check(IpAddr::V4(address)),
            Some(Host::Ipv6(address)) => self.check(IpAddr::V6(address)),
            Some(Host::Domain(name)) => self.check_name(name),
            None => Err(refused("the URL has no host")),
        }
    }

    /// What the address is when it is refused.
    pub(crate) fn listed(&self, address: IpAddr) -> Option<&'static str> {
        if self.denied.iter().any(|net| net.contains(&address)) {
            return Some("in a network that is refused here");
        }
        match address {
            IpAddr::V4(address) => self.listed_v4(address),
            IpAddr::V6(address) => self.listed_v6(address),
        }
    }

    fn listed_v4(&self, address: Ipv4Addr) -> Option<&'static str> {
        let private = find(PRIVATE_V4.iter().map(|(net, what)| (net.contains(&address), *what)));
        match self.private {
            PrivateAddresses::Refused if private.is_some() => private,
            PrivateAddresses::Refused | PrivateAddresses::Allowed => {
                find(SPECIAL_V4.iter().map(|(net, what)| (net.contains(&address), *what)))
            }
        }
    }

    fn listed_v6(&self, address: Ipv6Addr) -> Option<&'static str> {
        let private = find(PRIVATE_V6.iter().map(|(net, what)| (net.contains(&address), *what)));
        if private.is_some() {
            return private.filter(|_| self.private == PrivateAddresses::Refused);
        }
        let [.., high, low] = address.segments();
        let embedded = IpAddr::V4(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)));
        if NAT64.contains(&address) {
            return self.listed(embedded);
        }
        let special = find(SPECIAL_V6.iter().map(|(net, what)| (net.contains(&address), *what)));
        // ISATAP hides an IPv4 address behind any prefix.
        let [.., marker, tag, _, _] = address.segments();
        let isatap = matches!((marker, tag), (0x0000 | 0x0200, 0x5efe));
        special.or_else(|| self.listed(embedded).filter(|_| isatap))
    }

    fn check_name(&self, name: &str) -> Result<(), AddressRefused> {
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        let own_machine = name == "localhost" || name.ends_with(".localhost");
        match self.private {
            _ if name.is_empty() => Err(refused("the URL has no host")),
            PrivateAddresses::Refused if own_machine => Err(refused("localhost is a loopback address")),
            PrivateAddresses::Refused | PrivateAddresses::Allowed => Ok(()),
        }
    }

    fn check_port(&self, url: &Url) -> Result<(), AddressRefused> {
        match (self.private, url.port_or_known_default()) {
            (PrivateAddresses::Allowed, Some(_)) | (PrivateAddresses::Refused, Some(80 | 443 | 1024..)) => Ok(()),
            (PrivateAddresses::Refused, Some(port)) => {
                let reason = format!("port {port} is refused: 80, 443 and 1024 and above are allowed");
                Err(AddressRefused { reason })
            }
            (_, None) => Err(refused("the URL has no port")),
        }
    }
}

fn find(mut listed: impl Iterator<Item = (bool, &'static str)>) -> Option<&'static str> {
    listed.find(|(contains, _)| *contains).map(|(_, what)| what)
}

fn refused(reason: &str) -> AddressRefused {
    AddressRefused { reason: reason.to_owned() }
}

#[cfg(test)]
mod tests;
