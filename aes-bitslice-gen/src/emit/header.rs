//! The first lines of every generated file: the command that remakes it, its parameters, its counts, a digest.

use sha2::{Digest, Sha256};

/// SHA-256 of a text, in hexadecimal.
pub fn digest(text: &str) -> String {
    digest_bytes(text.as_bytes())
}

/// SHA-256 of bytes, in hexadecimal.
pub fn digest_bytes(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Puts a heading of `//` comment lines before a body; the last line gives the body's digest.
pub fn with_heading<'a>(lines: impl IntoIterator<Item = &'a str>, body: &str) -> String {
    let heading: String = lines.into_iter().map(|line| format!("// {line}").trim_end().to_string() + "\n").collect();
    let digest = format!("// SHA-256 of all that follows this line: {}\n", digest(body));
    // In one piece: growing would leave copies behind of what may be a key.
    [&heading, &digest, body].concat()
}

/// Whether the digest in a generated file's heading is that of its body.
pub fn is_intact(text: &str) -> bool {
    const MARK: &str = "// SHA-256 of all that follows this line: ";
    let Some((_, rest)) = text.split_once(MARK) else { return false };
    rest.split_once('\n').is_some_and(|(stated, body)| stated == digest(body))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_changed_body_is_noticed() {
        let text = super::with_heading(["made by hand"], "int x;\n");
        assert!(super::is_intact(&text));
        assert!(!super::is_intact(&text.replace("x", "y")));
        assert!(!super::is_intact("int x;\n"));
    }
}
