//! The site's namespace.
//!
//! *Invariant*: one that is there is never changed: its retention is its administrator's.

use std::time::Duration;

use temporalio_client::Client;
use temporalio_client::tonic::{Code, Request};
use temporalio_common::protos::temporal::api::enums::v1::NamespaceState;
use temporalio_common::protos::temporal::api::workflowservice::v1::{
    DescribeNamespaceRequest, DescribeNamespaceResponse, RegisterNamespaceRequest,
};

use super::refusal::refusal;
use super::{Outcome, say};

const DAY: Duration = Duration::from_secs(86_400);

/// DescribeNamespace, then RegisterNamespace where there is none. A dry run looks alone.
///
/// # Errors
/// What Temporal does not permit; a namespace that is being deleted.
pub(super) async fn ensure(client: &Client, days: u32, dry: bool) -> anyhow::Result<Outcome> {
    let name = &client.options().namespace;
    let wanted = DAY * days;
    let ask = format!("to make namespace {name} with a retention of {}", period(wanted));
    let mut service = client.connection().workflow_service();
    let describe = DescribeNamespaceRequest { namespace: name.clone(), ..Default::default() };
    match service.describe_namespace(Request::new(describe)).await {
        Ok(found) => return left(name, &found.into_inner(), wanted),
        Err(status) if status.code() == Code::NotFound => {}
        Err(status) => return Err(refusal(&status, &ask)),
    }
    let made = Outcome::Made(format!("retention {}", period(wanted)));
    if dry {
        return Ok(made);
    }
    let register = RegisterNamespaceRequest {
        namespace: name.clone(),
        description: "A site of slurm-satellite".to_owned(),
        workflow_execution_retention_period: Some(wanted.try_into()?),
        ..RegisterNamespaceRequest::default()
    };
    match service.register_namespace(Request::new(register)).await {
        Ok(_) => Ok(made),
        Err(status) if status.code() == Code::AlreadyExists => {
            say(&format!("namespace {name}: somebody else made it meanwhile"));
            Ok(Outcome::Left("made by somebody else".to_owned()))
        }
        Err(status) => Err(refusal(&status, &ask)),
    }
}

fn left(name: &str, found: &DescribeNamespaceResponse, wanted: Duration) -> anyhow::Result<Outcome> {
    let state = found.namespace_info.as_ref().map(|i| i.state()).unwrap_or_default();
    if state != NamespaceState::Registered {
        anyhow::bail!(
            "it is {}; wait until it is gone or choose another one in temporal.namespace",
            state.as_str_name()
        );
    }
    let retention = found.config.as_ref().and_then(|c| c.workflow_execution_retention_ttl);
    let Some(retention) = retention.and_then(|r| Duration::try_from(r).ok()) else {
        return Ok(Outcome::Left("retention not told".to_owned()));
    };
    let mut like = format!("retention {}", period(retention));
    if retention != wanted {
        let days = wanted.as_secs() / DAY.as_secs();
        like += &format!(
            ", not {}, and is left alone; to change it: temporal operator namespace update -n {name} --retention {days}d",
            period(wanted)
        );
    }
    Ok(Outcome::Left(like))
}

/// Whole days, else hours.
fn period(duration: Duration) -> String {
    match (duration.as_secs() / 3600, duration.as_secs() % DAY.as_secs()) {
        (24, 0) => "1 day".to_owned(),
        (hours, 0) => format!("{} days", hours / 24),
        (hours, _) => format!("{hours} hours"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use temporalio_common::protos::temporal::api::namespace::v1::{NamespaceConfig, NamespaceInfo};

    fn found(state: NamespaceState, retention: Duration) -> DescribeNamespaceResponse {
        DescribeNamespaceResponse {
            namespace_info: Some(NamespaceInfo { state: state.into(), ..NamespaceInfo::default() }),
            config: Some(NamespaceConfig {
                workflow_execution_retention_ttl: Some(retention.try_into().unwrap()),
                ..NamespaceConfig::default()
            }),
            ..DescribeNamespaceResponse::default()
        }
    }

    #[test]
    fn another_retention_is_told_and_left_alone() {
        let said = |retention| match left("lab", &found(NamespaceState::Registered, retention), DAY * 30) {
            Ok(Outcome::Left(like)) => like,
            other => panic!("{other:?}"),
        };
        assert_eq!(said(DAY * 30), "retention 30 days");
        assert_eq!(
            said(DAY),
            "retention 1 day, not 30 days, and is left alone; to change it: temporal operator namespace update \
             -n lab --retention 30d"
        );
        assert!(said(DAY / 2).starts_with("retention 12 hours, not 30 days"));
    }

    #[test]
    fn a_namespace_that_is_going_away_is_none() {
        let error = left("lab", &found(NamespaceState::Deleted, DAY), DAY).unwrap_err();
        assert_eq!(
            error.to_string(),
            "it is NAMESPACE_STATE_DELETED; wait until it is gone or choose another one in temporal.namespace"
        );
    }
}
