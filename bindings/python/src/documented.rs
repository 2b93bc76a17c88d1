//! Texts about parameters that many calls have, for `help`.

/// The text about a parameter.
macro_rules! parameter {
    (data) => {
        "data: what to process: bytes, an array or a tensor."
    };
    (out) => {
        "out: where the result goes in place of a new object: memory of the same length; `out=data` works in place."
    };
    (stream) => {
        "stream: for data on a GPU, the stream of the call: a handle, or an object of PyTorch or CuPy; else the current one."
    };
    (nonce) => {
        "nonce: that of the encryption."
    };
    (tag) => {
        "tag: the tag of the encryption: bytes, or a `DeviceTag`."
    };
    (aad) => {
        "aad: the additional data of the encryption."
    };
    (xts) => {
        "xts: whether it is an XTS key: two keys, one after another."
    };
    (key) => {
        "key: that of the sealing."
    };
    (passphrase) => {
        "passphrase: text, which is encoded as UTF-8, or bytes, which are used as they are."
    };
    (keyset) => {
        "keyset: a Tink keyset as JSON, for a Tink stream."
    };
    (associated_data) => {
        "associated_data: the data that a Tink stream was authenticated with."
    };
    (overwrite) => {
        "overwrite: whether a file may be replaced; else `FileExistsError`."
    };
    (engine) => {
        "engine: where to compute; the CPU if none is given."
    };
}

pub(crate) use parameter;
