//! The payload converter: reads `json/protobuf`, `binary/protobuf` and `json/plain`, so that a
//! Python or Go hub or `temporal workflow start` by hand work; writes `json/protobuf`.

use std::collections::HashMap;

use prost::{Message, Name};
use serde::Serialize;
use serde::de::DeserializeOwned;
use temporalio_common::data_converters::{
    PayloadConversionError, SerializationContext, TemporalDeserializable, TemporalSerializable,
};
use temporalio_common::protos::temporal::api::common::v1::Payload;

/// A message as output, heartbeat or failure details.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Proto<T>(pub T);

/// A message as input: what was sent, or why it cannot be read.
#[derive(Debug, Clone, PartialEq)]
pub struct Input<T>(pub Result<T, Undecodable>);

/// Why an input cannot be read. Holds the field, never the value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("input{}: {problem}", .field.as_deref().map(|f| format!(", field {f}")).unwrap_or_default())]
pub struct Undecodable {
    /// The field, where one is to blame.
    pub field: Option<String>,
    /// What is wrong with it.
    pub problem: String,
}

impl Undecodable {
    fn whole(problem: impl Into<String>) -> Self {
        Self { field: None, problem: problem.into() }
    }
}

impl<T> From<T> for Input<T> {
    fn from(message: T) -> Self {
        Self(Ok(message))
    }
}

/// What the converter asks of a message.
pub trait Wire: Message + Name + Default + Serialize + DeserializeOwned + 'static {}
impl<T: Message + Name + Default + Serialize + DeserializeOwned + 'static> Wire for T {}

impl<T: Wire> Proto<T> {
    /// Encodes it as `json/protobuf`.
    ///
    /// # Errors
    /// When a timestamp or duration is out of range.
    pub fn encode(&self) -> Result<Payload, serde_json::Error> {
        encode(&self.0)
    }

    /// Decodes one payload of the three accepted encodings.
    ///
    /// # Errors
    /// [`Undecodable`] with the field.
    pub fn decode(payload: &Payload) -> Result<Self, Undecodable> {
        let name = T::full_name();
        if let Some(said) = payload.metadata.get("messageType")
            && said.as_slice() != name.as_bytes()
        {
            return Err(Undecodable::whole(format!("is a {}, not a {name}", String::from_utf8_lossy(said))));
        }
        let encoding = payload.metadata.get("encoding").map(Vec::as_slice).unwrap_or_default();
        match encoding {
            b"json/protobuf" | b"json/plain" => json(&payload.data).map(Self),
            b"binary/protobuf" => T::decode(payload.data.as_slice()).map(Self).map_err(|e| binary(&e)),
            other => Err(Undecodable::whole(format!(
                "has encoding {:?}; send json/protobuf, binary/protobuf or json/plain",
                String::from_utf8_lossy(other)
            ))),
        }
    }
}

fn encode<T: Wire>(message: &T) -> Result<Payload, serde_json::Error> {
    Ok(Payload {
        metadata: HashMap::from([
            ("encoding".to_owned(), b"json/protobuf".to_vec()),
            ("messageType".to_owned(), T::full_name().into_bytes()),
        ]),
        data: serde_json::to_vec(message)?,
        external_payloads: Vec::new(),
    })
}

/// serde_json's messages quote what they found; ours name the field and the place.
fn json<T: DeserializeOwned>(data: &[u8]) -> Result<T, Undecodable> {
    let reader = &mut serde_json::Deserializer::from_slice(data);
    serde_path_to_error::deserialize(reader).map_err(|error| {
        let path = error.path().to_string();
        let inner = error.inner();
        let kind = match inner.classify() {
            serde_json::error::Category::Data => "is not what the message has there",
            _ => "is not JSON",
        };
        Undecodable {
            field: (path != "." && path != "?").then_some(path),
            problem: format!("{kind} (line {}, column {})", inner.line(), inner.column()),
        }
    })
}

/// prost writes `failed to decode Protobuf message: Message.field: problem`.
fn binary(error: &prost::DecodeError) -> Undecodable {
    let text = error.to_string();
    let text = text.strip_prefix("failed to decode Protobuf message: ").unwrap_or(&text);
    match text.split_once(": ") {
        Some((path, problem)) => {
            Undecodable { field: path.rsplit('.').next().map(str::to_owned), problem: problem.to_owned() }
        }
        None => Undecodable::whole(text),
    }
}

impl<T: Wire> TemporalSerializable for Proto<T> {
    fn to_payload(&self, _: &SerializationContext<'_>) -> Result<Payload, PayloadConversionError> {
        self.encode().map_err(|e| PayloadConversionError::EncodingError(Box::new(e)))
    }
}

impl<T: Wire> TemporalDeserializable for Proto<T> {
    fn from_payload(_: &SerializationContext<'_>, payload: Payload) -> Result<Self, PayloadConversionError> {
        Self::decode(&payload).map_err(|e| PayloadConversionError::EncodingError(Box::new(e)))
    }
}

impl<T: Wire> TemporalSerializable for Input<T> {
    fn to_payload(&self, _: &SerializationContext<'_>) -> Result<Payload, PayloadConversionError> {
        match &self.0 {
            Ok(message) => encode(message).map_err(boxed),
            Err(error) => Err(boxed(error.clone())),
        }
    }
}

impl<T: Wire> TemporalDeserializable for Input<T> {
    fn from_payloads(
        _: &SerializationContext<'_>,
        payloads: Vec<Payload>,
    ) -> Result<Self, PayloadConversionError> {
        Ok(Self(match payloads.as_slice() {
            [one] => Proto::decode(one).map(|p| p.0),
            [] => Err(Undecodable::whole("is missing; send one message")),
            many => Err(Undecodable::whole(format!("has {} payloads; send one message", many.len()))),
        }))
    }

    fn from_payload(
        context: &SerializationContext<'_>,
        payload: Payload,
    ) -> Result<Self, PayloadConversionError> {
        Self::from_payloads(context, vec![payload])
    }
}

fn boxed(error: impl std::error::Error + Send + Sync + 'static) -> PayloadConversionError {
    PayloadConversionError::EncodingError(Box::new(error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v1::{AdoptRequest, ResumeRequest};

    fn request() -> AdoptRequest {
        AdoptRequest {
            request_id: "r-1".to_owned(),
            site: "lab".to_owned(),
            device_id: "d-1".to_owned(),
            actor: "ada".to_owned(),
            reason: "new".to_owned(),
            deadline: Some(pbjson_types::Duration { seconds: 60, nanos: 0 }),
            dry_run: true,
            ..AdoptRequest::default()
        }
    }

    fn payload(encoding: &str, data: impl Into<Vec<u8>>) -> Payload {
        Payload {
            metadata: HashMap::from([("encoding".to_owned(), encoding.as_bytes().to_vec())]),
            data: data.into(),
            external_payloads: Vec::new(),
        }
    }

    fn problem(payload: &Payload) -> String {
        Proto::<AdoptRequest>::decode(payload).unwrap_err().to_string()
    }

    #[test]
    fn three_encodings_say_the_same() {
        let json = r#"{"request_id":"r-1","site":"lab","deviceId":"d-1","actor":"ada","reason":"new",
                       "deadline":"60s","dryRun":true,"newer_field":7}"#;
        for payload in [
            Proto(request()).encode().unwrap(),
            payload("json/plain", json),
            payload("json/protobuf", json),
            payload("binary/protobuf", request().encode_to_vec()),
        ] {
            assert_eq!(Proto::<AdoptRequest>::decode(&payload).unwrap().0, request());
        }
    }

    #[test]
    fn output_is_json_protobuf_with_its_type() {
        let payload = Proto(request()).encode().unwrap();
        assert_eq!(payload.metadata["encoding"], b"json/protobuf");
        assert_eq!(payload.metadata["messageType"], b"fleet.slurm.v1.AdoptRequest");
    }

    #[test]
    fn a_mistyped_input_names_the_field_and_not_the_value() {
        let mistyped = payload("json/plain", r#"{"requestId":"r-1","dryRun":"hunter2"}"#);
        assert_eq!(
            problem(&mistyped),
            "input, field dryRun: is not what the message has there (line 1, column 37)"
        );
        let mut wrong_wire = request().encode_to_vec();
        wrong_wire.extend([0x3a, 1, b'x']);
        assert!(problem(&payload("binary/protobuf", wrong_wire)).starts_with("input, field dry_run: "));
        assert_eq!(problem(&payload("json/plain", "{")), "input: is not JSON (line 1, column 1)");
    }

    #[test]
    fn another_message_or_encoding_is_refused() {
        let other = Proto(ResumeRequest::default()).encode().unwrap();
        assert_eq!(
            problem(&other),
            "input: is a fleet.slurm.v1.ResumeRequest, not a fleet.slurm.v1.AdoptRequest"
        );
        assert!(
            problem(&payload("binary/null", "")).contains("json/protobuf, binary/protobuf or json/plain")
        );
    }

    #[test]
    fn an_input_is_always_decoded_to_a_value() {
        let data = temporalio_common::data_converters::SerializationContextData::None;
        let converter = temporalio_common::data_converters::PayloadConverter::default();
        let context = SerializationContext::new(&data, &converter);
        let none = Input::<AdoptRequest>::from_payloads(&context, Vec::new()).unwrap();
        assert_eq!(none.0.unwrap_err().to_string(), "input: is missing; send one message");
        let two = vec![Payload::default(), Payload::default()];
        let two = Input::<AdoptRequest>::from_payloads(&context, two).unwrap();
        assert_eq!(two.0.unwrap_err().to_string(), "input: has 2 payloads; send one message");
        let good = Input::from(request()).to_payload(&context).unwrap();
        assert_eq!(Input::from_payloads(&context, vec![good]).unwrap(), Input(Ok(request())));
    }
}
