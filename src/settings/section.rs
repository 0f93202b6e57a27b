//! A table of the settings, read key by key; what is wrong is collected, what is left over is wrong.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clients::openstack::Networks;
use model::Invalid;
use secrecy::SecretString;
use toml::{Table, Value};
use url::Url;

use super::read_secret;

/// All mistakes, in the order in which they were met.
#[derive(Debug, Default)]
pub(super) struct Mistakes(RefCell<Vec<Invalid>>);

impl Mistakes {
    fn add(&self, invalid: Invalid) {
        self.0.borrow_mut().push(invalid);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }

    pub(super) fn into_inner(self) -> Vec<Invalid> {
        self.0.into_inner()
    }
}

/// One table. Every reader takes its key out and answers `None` after noting a mistake.
pub(super) struct Section<'a> {
    prefix: String,
    table: Table,
    mistakes: &'a Mistakes,
    folder: &'a Path,
}

impl<'a> Section<'a> {
    pub(super) fn new(prefix: &str, table: Table, mistakes: &'a Mistakes, folder: &'a Path) -> Self {
        Self { prefix: prefix.to_owned(), table, mistakes, folder }
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    pub(super) fn mistake(&self, key: &str, problem: &str, remedy: &str) {
        self.mistakes.add(Invalid::new(&format!("{}{key}", self.prefix), problem, remedy));
    }

    /// Notes the mistake of something that this key names.
    pub(super) fn mistake_of(&self, key: &str, invalid: Invalid) {
        self.mistakes.add(invalid.named(&format!("{}{key}", self.prefix)));
    }

    /// Notes the mistake of a parser under this key.
    pub(super) fn check<T>(&self, key: &str, parsed: Result<T, Invalid>) -> Option<T> {
        parsed.map_err(|e| self.mistake_of(key, e)).ok()
    }

    pub(super) fn ignore(&mut self, keys: &[&str]) {
        for key in keys {
            self.table.remove(*key);
        }
    }

    pub(super) fn text(&mut self, key: &str) -> Option<String> {
        match self.table.remove(key) {
            Some(Value::String(text)) if !text.trim().is_empty() => Some(text),
            Some(Value::String(_)) => self.wrong(key, "is empty", "give it a value"),
            Some(_) => self.wrong(key, "is not a text", "put it in quotes"),
            None => self.wrong(key, "is missing", "add it"),
        }
    }

    pub(super) fn text_or(&mut self, key: &str, default: &str) -> Option<String> {
        if self.has(key) { self.text(key) } else { Some(default.to_owned()) }
    }

    pub(super) fn parsed<T>(&mut self, key: &str, parse: impl Fn(&str) -> Result<T, Invalid>) -> Option<T> {
        let text = self.text(key)?;
        self.check(key, parse(&text))
    }

    /// `Some(None)` when the key is absent.
    pub(super) fn optional<T>(
        &mut self,
        key: &str,
        parse: impl Fn(&str) -> Result<T, Invalid>,
    ) -> Option<Option<T>> {
        if self.has(key) { self.parsed(key, parse).map(Some) } else { Some(None) }
    }

    /// A list of texts, each parsed; empty when the key is absent.
    pub(super) fn list_or_empty<T>(
        &mut self,
        key: &str,
        parse: impl Fn(&str) -> Result<T, Invalid>,
    ) -> Option<Vec<T>> {
        const REMEDY: &str = "write a list, as [\"a\", \"b\"]";
        let values = match self.table.remove(key) {
            None => return Some(Vec::new()),
            Some(Value::Array(values)) if !values.is_empty() => values,
            Some(_) => return self.wrong(key, "is no list, or an empty one", REMEDY),
        };
        let parsed: Vec<Option<T>> = values
            .iter()
            .map(|value| match value.as_str() {
                Some(text) => self.check(key, parse(text)),
                None => self.wrong(key, "holds something that is no text", REMEDY),
            })
            .collect();
        parsed.into_iter().collect()
    }

    pub(super) fn url(&mut self, key: &str) -> Option<Url> {
        let text = self.text(key)?;
        match Url::parse(&text) {
            Ok(url) if ["http", "https"].contains(&url.scheme()) && url.has_host() => Some(url),
            _ => self.wrong(key, "is not a URL", "write http://… or https://…"),
        }
    }

    pub(super) fn flag_or(&mut self, key: &str, default: bool) -> Option<bool> {
        match self.table.remove(key) {
            None => Some(default),
            Some(Value::Boolean(flag)) => Some(flag),
            Some(_) => self.wrong(key, "is neither true nor false", "write true or false"),
        }
    }

    pub(super) fn seconds_or(&mut self, key: &str, default: u64) -> Option<Duration> {
        match self.table.remove(key) {
            None => Some(Duration::from_secs(default)),
            Some(Value::Integer(n @ 1..=86_400)) => Some(Duration::from_secs(n.unsigned_abs())),
            Some(_) => self.wrong(key, "is not a number of seconds", "write a whole number from 1 to 86400"),
        }
    }

    pub(super) fn address_or(&mut self, key: &str, default: SocketAddr) -> Option<SocketAddr> {
        if !self.has(key) {
            return Some(default);
        }
        let address = self.text(key)?.parse().ok();
        address.or_else(|| self.wrong(key, "is no IP address with a port", "write one, as 127.0.0.1:9464"))
    }

    pub(super) fn networks(&mut self, key: &str) -> Option<Networks> {
        const REMEDY: &str = "write \"none\", \"auto\" or a list of network ids";
        match self.table.remove(key) {
            None => Some(Networks::Auto),
            Some(Value::String(text)) if text == "none" => Some(Networks::None),
            Some(Value::String(text)) if text == "auto" => Some(Networks::Auto),
            Some(Value::Array(ids)) if !ids.is_empty() => {
                let ids: Option<Vec<String>> = ids.iter().map(|i| i.as_str().map(str::to_owned)).collect();
                ids.map(Networks::Ids).or_else(|| self.wrong(key, "holds something that is no id", REMEDY))
            }
            Some(_) => self.wrong(key, "is none of its values", REMEDY),
        }
    }

    /// A path, relative to the settings' own folder.
    pub(super) fn path(&mut self, key: &str) -> Option<PathBuf> {
        self.text(key).map(|text| self.folder.join(text))
    }

    pub(super) fn secret_file(&mut self, key: &str) -> Option<SecretString> {
        let path = self.path(key)?;
        match read_secret(&path) {
            Ok(secret) => Some(secret),
            Err(problem) => self.wrong(key, &problem, "name a readable file that holds it"),
        }
    }

    pub(super) fn environment(&self, key: &str, name: &str) -> Option<SecretString> {
        #[expect(clippy::disallowed_methods, reason = "this is the one place")]
        match std::env::var(name) {
            Ok(value) if !value.trim().is_empty() => Some(value.into()),
            _ => self.wrong(key, &format!("names ${name}, which is not set"), "set it, or use a file"),
        }
    }

    pub(super) fn section<T>(
        &mut self,
        key: &str,
        read: impl FnOnce(&mut Section<'_>) -> Option<T>,
    ) -> Option<T> {
        match self.table.remove(key) {
            Some(Value::Table(table)) => self.read_section(key, table, read),
            Some(_) => self.wrong(key, "is not a section", &format!("write [{key}]")),
            None => self.wrong(key, "is missing", &format!("add the section [{key}]")),
        }
    }

    /// A section whose keys all have defaults.
    pub(super) fn optional_section<T>(
        &mut self,
        key: &str,
        read: impl FnOnce(&mut Section<'_>) -> Option<T>,
    ) -> Option<T> {
        if self.has(key) { self.section(key, read) } else { self.read_section(key, Table::new(), read) }
    }

    fn read_section<T>(
        &self,
        key: &str,
        table: Table,
        read: impl FnOnce(&mut Section<'_>) -> Option<T>,
    ) -> Option<T> {
        let mut section = Section::new(&format!("{}{key}.", self.prefix), table, self.mistakes, self.folder);
        let value = read(&mut section);
        section.finish();
        value
    }

    /// What nobody has taken is a typing error.
    pub(super) fn finish(self) {
        for key in self.table.keys() {
            self.mistake(key, "is not a setting", "remove it, or correct its name");
        }
    }

    fn wrong<T>(&self, key: &str, problem: &str, remedy: &str) -> Option<T> {
        self.mistake(key, problem, remedy);
        None
    }
}
