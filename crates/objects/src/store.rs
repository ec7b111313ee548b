//! Buckets and containers: how each is reached, from what the environment says.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::env;
use std::hash::{Hash, Hasher};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::{BackoffConfig, ObjectStore, RetryConfig};
use url::Url;

use crate::address::{Address, Service};
use crate::client::Connector;
use crate::profile::Profile;
use crate::settings::{WAIT_MAX, WAIT_MIN, is_loopback, retry_for};
use crate::{credentials, failure};

/// A bucket or container.
pub(crate) type Store = Arc<dyn ObjectStore>;

/// The machine's own service for credentials, at AWS and Azure.
const METADATA: &str = "169.254.169.254:80";
const GOOGLE_METADATA: &str = "metadata.google.internal:80";

static STORES: Mutex<Option<HashMap<(String, u64), Store>>> = Mutex::new(None);

/// Returns the bucket of an address. Connections are shared by all who use it.
pub(crate) fn of(address: &Address) -> io::Result<Store> {
    let key = (address.root.clone(), environment());
    let known = |stores: &mut Option<HashMap<_, Store>>| stores.get_or_insert_default().get(&key).cloned();
    if let Some(store) = known(&mut STORES.lock().unwrap_or_else(PoisonError::into_inner)) {
        return Ok(store);
    }
    let store: Store = match address.service {
        Service::S3 => s3(&address.root)?,
        Service::Azure => azure(&address.root)?,
        Service::Google => google(&address.root)?,
        Service::Web => return Err(io::ErrorKind::Unsupported.into()),
    };
    let mut stores = STORES.lock().unwrap_or_else(PoisonError::into_inner);
    stores.get_or_insert_default().insert(key, Arc::clone(&store));
    Ok(store)
}

/// Hashes the environment's settings for stores: another environment means another store.
fn environment() -> u64 {
    let mut hasher = DefaultHasher::new();
    let mut variables: Vec<_> = env::vars_os()
        .filter(|(name, _)| {
            name.to_str().is_some_and(|name| {
                ["AWS_", "AZURE_", "AZURITE_", "GOOGLE_", "BULKWIRE_"]
                    .iter()
                    .any(|part| name.starts_with(part))
            })
        })
        .collect();
    variables.sort();
    variables.hash(&mut hasher);
    hasher.finish()
}

fn retry() -> RetryConfig {
    let backoff = BackoffConfig { init_backoff: WAIT_MIN, max_backoff: WAIT_MAX, base: 2.0 };
    RetryConfig { backoff, max_retries: usize::MAX, retry_timeout: retry_for() }
}

fn refused(error: object_store::Error) -> io::Error {
    failure::of_store(&error)
}

fn is_local(endpoint: Option<String>) -> bool {
    let url = endpoint.and_then(|endpoint| Url::parse(&endpoint).ok());
    url.is_some_and(|url| url.host_str().is_some_and(is_loopback))
}

fn s3(root: &str) -> io::Result<Store> {
    let mut builder =
        AmazonS3Builder::from_env().with_url(root).with_retry(retry()).with_http_connector(Connector);
    let has_keys = env::var_os("AWS_ACCESS_KEY_ID").is_some();
    let profile = Profile::of_environment();
    // Keys of the environment come before those of a profile, as with AWS's own programs.
    if !has_keys {
        for (name, key) in [
            ("aws_access_key_id", AmazonS3ConfigKey::AccessKeyId),
            ("aws_secret_access_key", AmazonS3ConfigKey::SecretAccessKey),
            ("aws_session_token", AmazonS3ConfigKey::Token),
        ] {
            if let Some(value) = profile.get(name) {
                builder = builder.with_config(key, value);
            }
        }
    }
    for (name, key) in [("region", AmazonS3ConfigKey::Region), ("endpoint_url", AmazonS3ConfigKey::Endpoint)]
    {
        if builder.get_config_value(&key).is_none()
            && let Some(value) = profile.get(name)
        {
            builder = builder.with_config(key, value);
        }
    }
    if profile.get("aws_access_key_id").is_none() {
        let given = [
            "AWS_ACCESS_KEY_ID",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_SKIP_SIGNATURE",
            "AWS_WEB_IDENTITY_TOKEN_FILE",
            "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
            "AWS_CONTAINER_CREDENTIALS_FULL_URI",
            "AWS_METADATA_ENDPOINT",
        ];
        let advice =
            "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_SKIP_SIGNATURE=true for a public bucket";
        credentials::check(&given, METADATA, advice)?;
    }
    let endpoint = builder
        .get_config_value(&AmazonS3ConfigKey::S3Endpoint)
        .or_else(|| builder.get_config_value(&AmazonS3ConfigKey::Endpoint));
    if is_local(endpoint) {
        builder = builder.with_allow_http(true);
    }
    Ok(Arc::new(builder.build().map_err(refused)?))
}

fn azure(root: &str) -> io::Result<Store> {
    let mut builder =
        MicrosoftAzureBuilder::from_env().with_url(root).with_retry(retry()).with_http_connector(Connector);
    let given = [
        "AZURE_STORAGE_ACCOUNT_KEY",
        "AZURE_STORAGE_ACCESS_KEY",
        "AZURE_STORAGE_MASTER_KEY",
        "AZURE_STORAGE_KEY",
        "AZURE_STORAGE_SAS_KEY",
        "AZURE_STORAGE_SAS_TOKEN",
        "AZURE_STORAGE_TOKEN",
        "AZURE_CLIENT_SECRET",
        "AZURE_STORAGE_CLIENT_SECRET",
        "AZURE_FEDERATED_TOKEN_FILE",
        "AZURE_USE_AZURE_CLI",
        "AZURE_SKIP_SIGNATURE",
        "AZURE_STORAGE_USE_EMULATOR",
        "AZURE_MSI_ENDPOINT",
        "IDENTITY_ENDPOINT",
    ];
    let advice = "set AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_TOKEN";
    credentials::check(&given, METADATA, advice)?;
    if is_local(builder.get_config_value(&AzureConfigKey::Endpoint)) {
        builder = builder.with_allow_http(true);
    }
    Ok(Arc::new(builder.build().map_err(refused)?))
}

fn google(root: &str) -> io::Result<Store> {
    let mut builder = GoogleCloudStorageBuilder::from_env()
        .with_url(root)
        .with_retry(retry())
        .with_http_connector(Connector);
    let given = [
        "GOOGLE_SERVICE_ACCOUNT",
        "GOOGLE_SERVICE_ACCOUNT_PATH",
        "GOOGLE_SERVICE_ACCOUNT_KEY",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "GOOGLE_BEARER_TOKEN",
        "GOOGLE_SKIP_SIGNATURE",
    ];
    let stored = env::var_os("HOME").map(std::path::PathBuf::from);
    let stored = stored.map(|home| home.join(".config/gcloud/application_default_credentials.json"));
    if !stored.is_some_and(|file| file.exists()) {
        let advice = "set GOOGLE_APPLICATION_CREDENTIALS, or GOOGLE_SKIP_SIGNATURE=true for a public bucket";
        credentials::check(&given, GOOGLE_METADATA, advice)?;
    }
    if is_local(builder.get_config_value(&GoogleConfigKey::BaseUrl)) {
        builder =
            builder.with_config(GoogleConfigKey::Client(object_store::ClientConfigKey::AllowHttp), "true");
    }
    Ok(Arc::new(builder.build().map_err(refused)?))
}
