//! A client's registered public key: it alone says which algorithm its assertions have.

use jsonwebtoken::{Algorithm, DecodingKey};
use model::Invalid;

/// A public key and its algorithm.
#[derive(Clone)]
pub struct PublicKey {
    key: DecodingKey,
    algorithm: Algorithm,
}

impl std::fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PublicKey({:?})", self.algorithm)
    }
}

/// An uncompressed point of P-256.
const P256_POINT: usize = 65;

impl PublicKey {
    /// Reads a PEM file's content: `BEGIN PUBLIC KEY` of P-256 (ES256), RSA (RS256) or Ed25519
    /// (EdDSA).
    ///
    /// # Errors
    /// [`Invalid`] for anything else, a private key too.
    pub fn parse(pem: &[u8]) -> Result<Self, Invalid> {
        let remedy = "give a PEM public key of P-256, RSA or Ed25519, as `openssl pkey -pubout` writes it";
        let fault = |problem: &str| Invalid::new("public_key_file", problem, remedy);
        if pem.windows(12).any(|w| w == b"PRIVATE KEY-") {
            return Err(fault("holds a private key, which belongs to its client alone"));
        }
        if let Ok(key) = DecodingKey::from_ec_pem(pem) {
            return match key.try_get_as_bytes() {
                Ok(point) if point.len() == P256_POINT => Ok(Self { key, algorithm: Algorithm::ES256 }),
                _ => Err(fault("holds an EC key of another curve than P-256")),
            };
        }
        if let Ok(key) = DecodingKey::from_ed_pem(pem) {
            return Ok(Self { key, algorithm: Algorithm::EdDSA });
        }
        match DecodingKey::from_rsa_pem(pem) {
            Ok(key) => Ok(Self { key, algorithm: Algorithm::RS256 }),
            Err(_) => Err(fault("holds no public key that is supported")),
        }
    }

    /// What verifies.
    pub(crate) fn key(&self) -> &DecodingKey {
        &self.key
    }

    /// The one algorithm that is accepted.
    pub(crate) fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}
