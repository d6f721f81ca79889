//! Settings of tenants' scripts.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::Secret;

use crate::kinds::{Kind, Rule, days, flag, hours, list, map, mins, ms, secret, secs, span, text, whole};

section! {
    /// Scripts of tenants.
    "lua." Lua {
        /// Whether scripts of tenants run.
        enabled: bool = flag().or(false);
        /// How long a script may run, its requests included.
        timeout: Duration = span(ms(1)..=mins(1)).or(ms(500));
        /// How much memory a script may use, in MiB.
        memory_limit_mb: u32 = whole(1..=1_024).or(50);
        /// Hosts that scripts may call; `*` is any.
        allowed_hosts: Vec<String> = list(text(Rule::ANY)).or(vec!["*".to_owned()]);
        /// Hosts that the scripts of one namespace may call, instead of `lua.allowed_hosts`. A variable for
        /// one namespace carries its name as it is spelled.
        allow_hosts_by_namespace: BTreeMap<String, Vec<String>> =
            map(list(text(Rule::ANY))).entries_from("HOWK_LUA_ALLOW_HOSTNAME_").or(BTreeMap::new());
        /// Private keys (PEM) by suffix, for `crypto.decrypt_credential`.
        crypto_keys: BTreeMap<String, Secret> =
            map(secret(1)).entries_from("HOWK_LUA_CRYPTO_").or(BTreeMap::new());
        /// How long a stored value is kept when the script names no time.
        kv_ttl_default: Duration = span(secs(1)..=days(365)).or(hours(24));
    }
    nested {
        /// Requests of scripts.
        http: LuaHttp;
    }
}

section! {
    /// Requests of scripts.
    "lua.http_" LuaHttp {
        /// How long one request of a script may take.
        timeout: Duration = span(ms(1)..=mins(1)).or(secs(5));
        /// Whether answers to scripts may be cached.
        cache_enabled: bool = flag().or(true);
        /// How long an answer is cached when the script names no time.
        cache_ttl: Duration = span(secs(1)..=days(1)).or(mins(5));
    }
}
