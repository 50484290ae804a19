//! Which addresses a host may lead to.
//!
//! A name is resolved here and nowhere else, and the addresses that were judged are the ones that are connected to:
//! an answer of the name service that changes afterwards changes nothing. It must never let a name lead into this
//! machine or its network unless the file names that host, and never to the addresses where clouds hand out
//! credentials. The client is its caller.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use callgate_core::port::Answer;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// Addresses of one name that are looked at.
const ADDRESSES: usize = 64;

/// Where an address leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Into the public network.
    Public,
    /// To this machine.
    Loopback,
    /// Into a network of its owner.
    Private,
    /// To a neighbour on the wire, or to where a cloud hands out credentials to whoever asks.
    LinkLocal,
    /// Nowhere, to many, or to an address that is hidden in it.
    Nowhere,
}

impl Reach {
    pub(super) fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Self::of_v4(address),
            IpAddr::V6(address) => Self::of_v6(address),
        }
    }

    fn of_v4(address: Ipv4Addr) -> Self {
        match address.octets() {
            [127, ..] => Self::Loopback,
            // The last one is where a cloud answers its machines, though it is a public address.
            [169, 254, ..] | [168, 63, 129, 16] => Self::LinkLocal,
            [10, ..] | [192, 168, ..] => Self::Private,
            [172, second, ..] if second & 0xf0 == 16 => Self::Private,
            [100, second, ..] if second & 0xc0 == 64 => Self::Private,
            [198, 18 | 19, ..] => Self::Private,
            [0, ..] | [192, 0, 0 | 2, _] | [198, 51, 100, _] | [203, 0, 113, _] | [192, 88, 99, _] => {
                Self::Nowhere
            }
            [first, ..] if first >= 224 => Self::Nowhere,
            _ => Self::Public,
        }
    }

    fn of_v6(address: Ipv6Addr) -> Self {
        if let Some(inner) = address.to_ipv4_mapped() {
            return Self::of_v4(inner);
        }
        match address.segments() {
            [0, 0, 0, 0, 0, 0, 0, 1] => Self::Loopback,
            // A gateway turns these into the address in their last two parts.
            [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
                let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
                Self::of_v4(Ipv4Addr::new(a, b, c, d))
            }
            [0xfd00, 0xec2, ..] => Self::LinkLocal,
            [first, ..] if first & 0xffc0 == 0xfe80 => Self::LinkLocal,
            [first, ..] if first & 0xfe00 == 0xfc00 || first & 0xffc0 == 0xfec0 => Self::Private,
            // Tunnels and the like hide an address; documentation leads nowhere.
            [0x2001, second, ..] if second < 0x200 || second == 0xdb8 => Self::Nowhere,
            [0x2002, ..] => Self::Nowhere,
            [first, ..] if first & 0xe000 == 0x2000 => Self::Public,
            _ => Self::Nowhere,
        }
    }
}

/// What a host of the configuration may lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Permit {
    /// The public network only.
    Public,
    /// This machine and private networks as well, because the file names the host.
    Named,
    /// Any address: it is written in the file itself.
    Literal,
}

impl Permit {
    pub(super) const fn admits(self, reach: Reach) -> bool {
        match reach {
            Reach::Public => true,
            Reach::Loopback | Reach::Private => matches!(self, Self::Named | Self::Literal),
            Reach::LinkLocal => matches!(self, Self::Literal),
            Reach::Nowhere => false,
        }
    }
}

/// Why a host was not connected to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refused {
    /// It is not in the configuration.
    #[error("the host is not one of the configuration")]
    Host,
    /// It leads where it may not.
    #[error("the host leads to {0}, which is not reached unless the file allows it by name")]
    Address(IpAddr),
}

/// Finds the addresses of a name.
pub(super) trait Lookup: Send + Sync + 'static {
    fn lookup(&self, host: String) -> Answer<'static, std::io::Result<Vec<IpAddr>>>;
}

/// The name service of the machine.
pub(super) struct System;

impl Lookup for System {
    fn lookup(&self, host: String) -> Answer<'static, std::io::Result<Vec<IpAddr>>> {
        Answer::later(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.take(ADDRESSES).map(|address| address.ip()).collect())
        })
    }
}

/// Resolves the hosts of a configuration, and no other.
pub(super) struct Resolver {
    hosts: Arc<BTreeMap<String, Permit>>,
    lookup: Arc<dyn Lookup>,
}

impl Resolver {
    pub(super) fn new(hosts: BTreeMap<String, Permit>, lookup: Arc<dyn Lookup>) -> Self {
        Self { hosts: Arc::new(hosts), lookup }
    }
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().trim_end_matches('.').to_ascii_lowercase();
        let permit = self.hosts.get(&host).copied();
        let lookup = Arc::clone(&self.lookup);
        Box::pin(async move {
            let permit = permit.ok_or(Refused::Host)?;
            let found = lookup.lookup(host).await?;
            // One bad address is enough: a name of a public service has no reason to lead inside as well.
            if let Some(bad) = found.iter().find(|address| !permit.admits(Reach::of(**address))) {
                return Err(Refused::Address(*bad).into());
            }
            let addresses: Vec<SocketAddr> =
                found.into_iter().map(|address| SocketAddr::new(address, 0)).collect();
            let addresses: Addrs = Box::new(addresses.into_iter());
            Ok(addresses)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::str::FromStr as _;
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn every_way_into_this_machine_and_its_network_is_known() {
        for (text, reach) in [
            ("93.184.215.14", Reach::Public),
            ("127.0.0.1", Reach::Loopback),
            ("127.8.9.1", Reach::Loopback),
            ("0.0.0.0", Reach::Nowhere),
            ("10.1.2.3", Reach::Private),
            ("172.16.0.1", Reach::Private),
            ("172.31.255.255", Reach::Private),
            ("172.32.0.1", Reach::Public),
            ("192.168.1.1", Reach::Private),
            ("100.64.0.1", Reach::Private),
            ("100.128.0.1", Reach::Public),
            ("169.254.169.254", Reach::LinkLocal),
            ("168.63.129.16", Reach::LinkLocal),
            ("224.0.0.1", Reach::Nowhere),
            ("255.255.255.255", Reach::Nowhere),
            ("192.0.2.1", Reach::Nowhere),
            ("::1", Reach::Loopback),
            ("::", Reach::Nowhere),
            ("::ffff:127.0.0.1", Reach::Loopback),
            ("::ffff:169.254.169.254", Reach::LinkLocal),
            ("::7f00:1", Reach::Nowhere),
            ("64:ff9b::10.0.0.1", Reach::Private),
            ("64:ff9b::a9fe:a9fe", Reach::LinkLocal),
            ("64:ff9b:1::1", Reach::Nowhere),
            ("2002:7f00:1::", Reach::Nowhere),
            ("2001:0:7f00:1::", Reach::Nowhere),
            ("2001:db8::1", Reach::Nowhere),
            ("2606:4700::1111", Reach::Public),
            ("fe80::1", Reach::LinkLocal),
            ("fd00:ec2::254", Reach::LinkLocal),
            ("fd12::1", Reach::Private),
            ("fec0::1", Reach::Private),
            ("ff02::1", Reach::Nowhere),
            ("100::1", Reach::Nowhere),
        ] {
            assert_eq!(Reach::of(text.parse().unwrap()), reach, "{text}");
        }
    }

    /// A name service whose answer differs from one question to the next.
    struct Rebinding(Mutex<Vec<&'static str>>);

    impl Lookup for Rebinding {
        fn lookup(&self, _: String) -> Answer<'static, std::io::Result<Vec<IpAddr>>> {
            let answer = self.0.lock().unwrap().pop().unwrap();
            Answer::now(Ok(answer.split(' ').map(|address| address.parse().unwrap()).collect()))
        }
    }

    async fn resolve(permit: Permit, answers: Vec<&'static str>) -> Vec<Result<Vec<String>, String>> {
        let hosts = BTreeMap::from([("crm.example".to_owned(), permit)]);
        let questions = answers.len();
        let resolver = Resolver::new(hosts, Arc::new(Rebinding(Mutex::new(answers))));
        let mut found = Vec::new();
        for _ in 0..questions {
            let name = Name::from_str("CRM.example").unwrap();
            let answer = resolver.resolve(name).await;
            found.push(
                answer
                    .map(|all| all.map(|address| address.ip().to_string()).collect())
                    .map_err(|error| error.to_string()),
            );
        }
        found
    }

    #[tokio::test]
    async fn a_name_that_leads_inside_later_is_refused_then() {
        let answers = resolve(Permit::Public, vec!["169.254.169.254", "127.0.0.1", "93.184.215.14"]).await;
        assert_eq!(answers[0], Ok(vec!["93.184.215.14".to_owned()]));
        assert!(answers[1].as_ref().unwrap_err().contains("127.0.0.1"));
        assert!(answers[2].as_ref().unwrap_err().contains("169.254.169.254"));
    }

    #[tokio::test]
    async fn one_bad_address_among_good_ones_is_enough() {
        let answers = resolve(Permit::Public, vec!["93.184.215.14 ::1"]).await;
        assert!(answers[0].is_err(), "{answers:?}");
    }

    #[tokio::test]
    async fn a_named_host_leads_inside_but_never_to_credentials_of_a_cloud() {
        let answers = resolve(Permit::Named, vec!["169.254.169.254", "10.0.0.7", "127.0.0.1"]).await;
        assert!(answers[0].is_ok() && answers[1].is_ok(), "{answers:?}");
        assert!(answers[2].is_err(), "{answers:?}");
    }

    #[tokio::test]
    async fn a_host_that_is_not_configured_is_not_even_looked_up() {
        let resolver = Resolver::new(BTreeMap::new(), Arc::new(Rebinding(Mutex::new(Vec::new()))));
        let error = resolver.resolve(Name::from_str("other.example").unwrap()).await.err().unwrap();
        assert!(error.to_string().contains("not one of the configuration"));
    }
}
