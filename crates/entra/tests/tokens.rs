//! Tokens that a server takes, and the many that it refuses.

#![allow(clippy::unwrap_used)]

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use rcgen::{PKCS_ECDSA_P256_SHA256, PKCS_RSA_SHA256, PublicKeyData};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair, RSA_PKCS1_SHA256, RsaKeyPair};
use serde_json::{Value, json};

use bulkwire_entra::{KeyError, TokenError, Verifier, name_in};

const NOW: u64 = 1_900_000_000;
const ISSUER: &str = "https://sts.example/t/";
const AUDIENCE: &str = "https://database.windows.net/";

/// Function that makes the signature of bytes.
type Sign = Box<dyn Fn(&[u8]) -> Vec<u8>>;

/// A key that signs, and its public half in both forms.
struct Signer {
    algorithm: &'static str,
    sign: Sign,
    pem: String,
    web: Value,
}

fn pem(der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let lines: Vec<&str> = text.as_bytes().chunks(64).map(|line| str::from_utf8(line).unwrap()).collect();
    format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", lines.join("\n"))
}

fn elliptic() -> Signer {
    let made = rcgen::KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
    let random = SystemRandom::new();
    let pair =
        EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &made.serialize_der(), &random).unwrap();
    let point = pair.public_key().as_ref().to_vec();
    let (x, y) = (URL_SAFE_NO_PAD.encode(&point[1..33]), URL_SAFE_NO_PAD.encode(&point[33..]));
    Signer {
        algorithm: "ES256",
        sign: Box::new(move |signed| pair.sign(&random, signed).unwrap().as_ref().to_vec()),
        pem: pem(&made.subject_public_key_info()),
        web: json!({"kty": "EC", "crv": "P-256", "x": x, "y": y, "kid": "ec"}),
    }
}

/// The RSA key of the tests: ring makes none.
const RSA_KEY: &str = include_str!("../testdata/rsa_key.pem");

fn rsa() -> Signer {
    let made = rcgen::KeyPair::from_pem_and_sign_algo(RSA_KEY, &PKCS_RSA_SHA256).unwrap();
    let pair = RsaKeyPair::from_pkcs8(&made.serialize_der()).unwrap();
    let components = ring::signature::RsaPublicKeyComponents::<Vec<u8>>::from(pair.public_key());
    let (n, e) = (URL_SAFE_NO_PAD.encode(components.n), URL_SAFE_NO_PAD.encode(components.e));
    Signer {
        algorithm: "RS256",
        sign: Box::new(move |signed| {
            let mut signature = vec![0; pair.public().modulus_len()];
            pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed, &mut signature).unwrap();
            signature
        }),
        pem: pem(&made.subject_public_key_info()),
        web: json!({"kty": "RSA", "use": "sig", "n": n, "e": e, "kid": "rsa"}),
    }
}

impl Signer {
    fn token(&self, header: &Value, claims: &Value) -> String {
        let encoded = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", encoded(header), encoded(claims));
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode((self.sign)(signed.as_bytes())))
    }

    fn of(&self, changes: &Value) -> String {
        self.token(&json!({"alg": self.algorithm}), &claims(changes))
    }
}

/// Good claims with these changes; null takes one away.
fn claims(changes: &Value) -> Value {
    let mut claims = json!({"iss": ISSUER, "aud": AUDIENCE, "exp": NOW + 3600, "nbf": NOW, "appid": "app-1"});
    for (name, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => drop(claims.as_object_mut().unwrap().remove(name)),
            value => claims[name] = value.clone(),
        }
    }
    claims
}

fn verifier(keys: &[u8]) -> Verifier {
    Verifier::new(keys, ISSUER, [AUDIENCE.to_owned()]).unwrap()
}

fn check(verifier: &Verifier, token: &str) -> Result<String, TokenError> {
    verifier.principal(token, UNIX_EPOCH + Duration::from_secs(NOW))
}

#[test]
fn both_algorithms_and_both_forms_of_keys() {
    for signer in [rsa(), elliptic()] {
        let set = json!({"keys": [signer.web]}).to_string();
        for keys in [signer.pem.as_bytes(), set.as_bytes()] {
            assert_eq!(check(&verifier(keys), &signer.of(&json!({}))).unwrap(), "app-1");
        }
        let both = [rsa().pem, signer.pem.clone()].concat();
        assert!(check(&verifier(both.as_bytes()), &signer.of(&json!({}))).is_ok());
    }
}

#[test]
fn the_user_comes_before_the_application() {
    let signer = elliptic();
    let verifier = verifier(signer.pem.as_bytes());
    for (changes, expected) in [
        (json!({"upn": "ann@x.example"}), "ann@x.example"),
        (json!({"preferred_username": "ann@x.example", "azp": "z"}), "ann@x.example"),
        (json!({"appid": null, "azp": "app-2"}), "app-2"),
        (json!({"upn": ""}), "app-1"),
    ] {
        let token = signer.of(&changes);
        assert_eq!(check(&verifier, &token).unwrap(), expected);
        assert_eq!(name_in(&token).as_deref(), Some(expected));
    }
}

#[test]
fn claims_that_do_not_fit_are_refused() {
    let signer = elliptic();
    let verifier = verifier(signer.pem.as_bytes());
    for (changes, expected) in [
        (json!({"iss": "https://sts.example/u/"}), Err(TokenError::Issuer)),
        (json!({"iss": null}), Err(TokenError::Issuer)),
        (json!({"aud": "https://graph.microsoft.com/"}), Err(TokenError::Audience)),
        (json!({"aud": ["x", AUDIENCE]}), Ok(())),
        (json!({"aud": []}), Err(TokenError::Audience)),
        (json!({"aud": null}), Err(TokenError::Audience)),
        (json!({"aud": 7}), Err(TokenError::Form)),
        (json!({"exp": NOW - 30}), Ok(())),
        (json!({"exp": NOW - 61}), Err(TokenError::Expired)),
        (json!({"exp": null}), Err(TokenError::Time)),
        (json!({"exp": "never"}), Err(TokenError::Form)),
        (json!({"nbf": NOW + 30}), Ok(())),
        (json!({"nbf": NOW + 120}), Err(TokenError::Time)),
        (json!({"nbf": null}), Ok(())),
        (json!({"appid": null}), Err(TokenError::Principal)),
    ] {
        assert_eq!(check(&verifier, &signer.of(&changes)).map(|_| ()), expected, "{changes}");
    }
}

#[test]
fn forged_tokens_are_refused() {
    let (rsa, curve) = (rsa(), elliptic());
    let set = json!({"keys": [rsa.web, curve.web]}).to_string();
    let verifier = verifier(set.as_bytes());
    let good = rsa.token(&json!({"alg": "RS256", "kid": "rsa"}), &claims(&json!({})));
    assert!(check(&verifier, &good).is_ok());
    let (signed, signature) = good.rsplit_once('.').unwrap();
    let (header, body) = signed.split_once('.').unwrap();
    let encoded = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let other = encoded(&claims(&json!({"appid": "root"})));
    let none = encoded(&json!({"alg": "none"}));
    let cases = [
        // Without a signature, in every spelling.
        (format!("{none}.{body}."), TokenError::Algorithm),
        (format!("{none}.{body}"), TokenError::Form),
        (format!("{}.{body}.", encoded(&json!({"alg": "None"}))), TokenError::Algorithm),
        (format!("{header}.{body}."), TokenError::Signature),
        // The public key as a shared secret, and a key for another algorithm.
        (format!("{}.{body}.{signature}", encoded(&json!({"alg": "HS256"}))), TokenError::Algorithm),
        (format!("{}.{body}.{signature}", encoded(&json!({"alg": "RS512"}))), TokenError::Algorithm),
        (format!("{}.{body}.{signature}", encoded(&json!({"alg": "ES256"}))), TokenError::Signature),
        (
            format!("{}.{body}.{signature}", encoded(&json!({"alg": "ES256", "kid": "rsa"}))),
            TokenError::UnknownKey,
        ),
        (format!("{header}.{other}.{signature}"), TokenError::Signature),
        (
            format!("{}.{body}.{signature}", encoded(&json!({"alg": "RS256", "kid": "old"}))),
            TokenError::UnknownKey,
        ),
        (rsa.token(&json!({"alg": "RS256", "crit": ["b64"]}), &claims(&json!({}))), TokenError::Critical),
        (curve.token(&json!({"alg": "RS256"}), &claims(&json!({}))), TokenError::Signature),
        (format!("{good}="), TokenError::Form),
        (format!(" {good}"), TokenError::Form),
        (String::new(), TokenError::Form),
        ("..".to_owned(), TokenError::Form),
        ("a.b.c.d".to_owned(), TokenError::Form),
    ];
    for (token, expected) in cases {
        assert_eq!(check(&verifier, &token), Err(expected), "{token}");
    }
    // A key of the token's own is not looked at.
    let own = elliptic();
    let header = json!({"alg": "ES256", "jwk": own.web, "jku": "https://evil.example/keys"});
    assert_eq!(check(&verifier, &own.token(&header, &claims(&json!({})))), Err(TokenError::Signature));
}

#[test]
fn files_without_a_fitting_key_are_refused() {
    let rsa = rsa();
    let refused = |file: &str| Verifier::new(file.as_bytes(), ISSUER, []).err();
    let short = json!({"keys": [{"kty": "RSA", "n": URL_SAFE_NO_PAD.encode([0xFF; 128]), "e": "AQAB"}]});
    let mut encryption = rsa.web.clone();
    encryption["use"] = json!("enc");
    let mut with_private = rsa.web.clone();
    with_private["d"] = json!("AQAB");
    let cut = rsa.pem.replace("\n-----END", "AAAA\n-----END");
    for (file, expected) in [
        (String::new(), KeyError::Form),
        ("{}".to_owned(), KeyError::Form),
        (r#"{"keys":[]}"#.to_owned(), KeyError::Nothing),
        (r#"{"keys":[{"kty":"oct","k":"AAAA"}]}"#.to_owned(), KeyError::Nothing),
        (short.to_string(), KeyError::Nothing),
        (json!({"keys": [encryption]}).to_string(), KeyError::Nothing),
        (json!({"keys": [with_private]}).to_string(), KeyError::Private),
        (RSA_KEY.to_owned(), KeyError::Private),
        (cut, KeyError::Nothing),
    ] {
        assert_eq!(refused(&file), Some(expected), "{file}");
    }
    // Any bytes are a key or none.
    let der =
        STANDARD.decode(rsa.pem.lines().filter(|line| !line.starts_with('-')).collect::<String>()).unwrap();
    for length in 0..der.len() {
        assert!(refused(&pem(&der[..length])).is_some());
    }
}

#[test]
fn the_clock_may_stand_anywhere() {
    let signer = elliptic();
    let verifier = verifier(signer.pem.as_bytes());
    let token = signer.of(&json!({"exp": 1e300, "nbf": -1e300}));
    assert!(verifier.principal(&token, SystemTime::now()).is_ok());
    assert!(verifier.principal(&token, UNIX_EPOCH - Duration::from_secs(9)).is_ok());
}
