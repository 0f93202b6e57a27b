//! What Temporal does not do for us, in words that say what to do about it. Pure.

use temporalio_client::tonic::{Code, Status};

/// A call that failed. `ask` ends the sentence "ask whoever administers Temporal …".
pub(super) fn refusal(status: &Status, ask: &str) -> anyhow::Error {
    let said = format!("{:?}: {}", status.code(), status.message());
    match status.code() {
        // Temporal Cloud offers some of these calls to nobody
        Code::PermissionDenied | Code::Unauthenticated | Code::Unimplemented => anyhow::anyhow!(
            "not permitted ({said}); ask whoever administers Temporal {ask}, then run this again"
        ),
        Code::NotFound => anyhow::anyhow!(
            "Temporal's services do not know the namespace ({said}); see that all of them are up, then run this again"
        ),
        Code::Unavailable
        | Code::DeadlineExceeded
        | Code::Cancelled
        | Code::ResourceExhausted
        | Code::Aborted
        | Code::Internal
        | Code::DataLoss
        | Code::Unknown => anyhow::anyhow!("Temporal does not do it now ({said}); run this again"),
        Code::Ok
        | Code::InvalidArgument
        | Code::AlreadyExists
        | Code::FailedPrecondition
        | Code::OutOfRange => {
            anyhow::anyhow!("Temporal refuses it ({said}); ask whoever administers Temporal {ask}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_permitted_says_what_to_ask_for() {
        let said = |status: Status| refusal(&status, "for namespace lab").to_string();
        assert_eq!(
            said(Status::permission_denied("Request unauthorized.")),
            "not permitted (PermissionDenied: Request unauthorized.); ask whoever administers Temporal for \
             namespace lab, then run this again"
        );
        assert!(said(Status::unimplemented("")).contains("for namespace lab, then"));
        assert_eq!(
            said(Status::unavailable("x")),
            "Temporal does not do it now (Unavailable: x); run this again"
        );
        assert!(said(Status::not_found("x")).contains("see that all of them are up"));
    }
}
