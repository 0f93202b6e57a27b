//! Reads an object field by field and gathers every mistake. Configuration and imports are read
//! with it; TOML is brought into JSON's shape first.

use std::collections::BTreeSet;

use model::Invalid;
use serde_json::{Map, Value};

/// An object that is being read.
pub(crate) struct Fields<'a> {
    at: String,
    map: &'a Map<String, Value>,
    known: BTreeSet<&'static str>,
    mistakes: &'a mut Vec<Invalid>,
}

impl<'a> Fields<'a> {
    /// Reads `value`, which stands at `at` (empty for the whole document); `None`, and a mistake,
    /// when it is not an object.
    pub(crate) fn of(at: &str, value: &'a Value, mistakes: &'a mut Vec<Invalid>) -> Option<Self> {
        match value {
            Value::Object(map) => Some(Self { at: at.to_owned(), map, known: BTreeSet::new(), mistakes }),
            _ => {
                mistakes.push(Invalid::new(at, "is not a table of fields", "write name and value of each"));
                None
            }
        }
    }

    /// A field that must be there.
    pub(crate) fn required<T>(
        &mut self,
        name: &'static str,
        parse: impl FnOnce(&Value) -> Result<T, Invalid>,
    ) -> Option<T> {
        self.known.insert(name);
        if self.map.contains_key(name) {
            return self.optional(name, parse);
        }
        let field = self.path(name);
        self.mistakes.push(Invalid::new(&field, "is missing", "give it"));
        None
    }

    /// A field that may be missing.
    pub(crate) fn optional<T>(
        &mut self,
        name: &'static str,
        parse: impl FnOnce(&Value) -> Result<T, Invalid>,
    ) -> Option<T> {
        self.known.insert(name);
        let field = self.path(name);
        match parse(self.map.get(name)?) {
            Ok(value) => Some(value),
            Err(mistake) => {
                self.mistakes.push(mistake.named(&field));
                None
            }
        }
    }

    /// A field whose parser reports its own mistakes, such as a list of tables.
    pub(crate) fn nested(&mut self, name: &'static str, parse: impl FnOnce(&str, &Value, &mut Vec<Invalid>)) {
        self.known.insert(name);
        let field = self.path(name);
        match self.map.get(name) {
            Some(value) => parse(&field, value, self.mistakes),
            None => self.mistakes.push(Invalid::new(&field, "is missing", "give it")),
        }
    }

    /// Reports fields that nobody asked for.
    pub(crate) fn finish(self) {
        for name in self.map.keys().filter(|n| !self.known.contains(n.as_str())) {
            let known = self.known.iter().copied().collect::<Vec<_>>().join(", ");
            let field = if self.at.is_empty() { name.clone() } else { format!("{}.{name}", self.at) };
            self.mistakes.push(Invalid::new(&field, "is not known here", format!("known: {known}")));
        }
    }

    fn path(&self, name: &str) -> String {
        if self.at.is_empty() { name.to_owned() } else { format!("{}.{name}", self.at) }
    }
}

/// Text.
pub(crate) fn text(value: &Value) -> Result<&str, Invalid> {
    value.as_str().ok_or_else(|| Invalid::new("", "is not text", "put it in quotes"))
}

/// Text that `parse` accepts.
pub(crate) fn parsed<T>(parse: impl Fn(&str) -> Result<T, Invalid>) -> impl Fn(&Value) -> Result<T, Invalid> {
    move |value| parse(text(value)?)
}

/// A list.
pub(crate) fn list<'a>(at: &str, value: &'a Value, mistakes: &mut Vec<Invalid>) -> &'a [Value] {
    let Value::Array(items) = value else {
        mistakes.push(Invalid::new(at, "is not a list", "write a list"));
        return &[];
    };
    items
}
