//! The search attribute `FleetDevice`, by which runs of a device are found in Temporal's lists.
//!
//! *Invariant*: one that is there is never changed. It is looked for first: Temporal (1.32) answers
//! an AddSearchAttributes of a name that it has, of whatever type, as if it had been added.

use proto::names::SEARCH_ATTRIBUTE_DEVICE as NAME;
use temporalio_client::Client;
use temporalio_client::tonic::{Request, Status};
use temporalio_common::protos::temporal::api::enums::v1::IndexedValueType;
use temporalio_common::protos::temporal::api::operatorservice::v1::{
    AddSearchAttributesRequest, ListSearchAttributesRequest,
};

use super::refusal::refusal;
use super::{Outcome, when_seen};

const KIND: IndexedValueType = IndexedValueType::Keyword;

/// ListSearchAttributes, then AddSearchAttributes where it is missing, then the list again. A dry run
/// looks alone; in a namespace that is `absent` there is nothing to look at.
///
/// # Errors
/// What Temporal does not permit; an attribute of another type.
pub(super) async fn ensure(client: &Client, dry: bool, absent: bool) -> anyhow::Result<Outcome> {
    let namespace = &client.options().namespace;
    let ask = format!("to add the search attribute {NAME} of type Keyword to namespace {namespace}");
    let made = Outcome::Made("type Keyword".to_owned());
    if absent {
        return Ok(made);
    }
    let found = when_seen(namespace, async || find(client).await).await.map_err(|s| refusal(&s, &ask))?;
    match found {
        Some(kind) => return left(namespace, kind),
        None if dry => return Ok(made),
        None => {}
    }
    let add = AddSearchAttributesRequest {
        namespace: namespace.clone(),
        search_attributes: [(NAME.to_owned(), KIND.into())].into(),
    };
    let added = async || {
        client.connection().operator_service().add_search_attributes(Request::new(add.clone())).await
    };
    when_seen(namespace, added).await.map_err(|s| refusal(&s, &ask))?;
    // it is there when it can be seen: whoever starts a run with it would be refused before
    let seen =
        async || find(client).await?.ok_or_else(|| Status::not_found(format!("{NAME} is not listed yet")));
    let kind = when_seen(namespace, seen).await.map_err(|s| refusal(&s, &ask))?;
    left(namespace, kind).map(|_| made)
}

async fn find(client: &Client) -> Result<Option<IndexedValueType>, Status> {
    let list = ListSearchAttributesRequest { namespace: client.options().namespace.clone() };
    let answer = client.connection().operator_service().list_search_attributes(Request::new(list)).await?;
    let kind = answer.into_inner().custom_attributes.get(NAME).copied();
    Ok(kind.map(|k| IndexedValueType::try_from(k).unwrap_or_default()))
}

fn left(namespace: &str, kind: IndexedValueType) -> anyhow::Result<Outcome> {
    if kind == KIND {
        return Ok(Outcome::Left("type Keyword".to_owned()));
    }
    anyhow::bail!(
        "it is there as {}, not as INDEXED_VALUE_TYPE_KEYWORD; see who uses it, then: temporal operator \
         search-attribute remove -n {namespace} --name {NAME}, and run this again",
        kind.as_str_name()
    )
}
