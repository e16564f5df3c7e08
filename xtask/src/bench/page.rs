//! Pages of `docs` with a marked section for each benchmark, replaced when it is run with `--write`.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

/// Prints a section, and replaces what stands between its marks if `write` asks for that.
pub(crate) fn show_section(
    root: &Path,
    (page, name): (&str, &str),
    text: &str,
    write: bool,
) -> Result<()> {
    print!("{text}");
    if !write {
        return Ok(());
    }
    let path = root.join("docs").join(page);
    let page = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let page = replaced(&page, name, text).with_context(|| format!("{}", path.display()))?;
    let beside = path.with_extension("part");
    fs::write(&beside, page).with_context(|| format!("writing {}", beside.display()))?;
    fs::rename(&beside, &path).with_context(|| format!("renaming to {}", path.display()))?;
    eprintln!("wrote the section `{name}` of {}", path.display());
    Ok(())
}

fn replaced(page: &str, name: &str, text: &str) -> Result<String> {
    let (open, close) = (
        format!("<!-- {name} -->\n"),
        format!("<!-- end of {name} -->"),
    );
    let Some((before, rest)) = page.split_once(&open) else {
        bail!("no mark `{}`", open.trim());
    };
    let Some((_, after)) = rest.split_once(&close) else {
        bail!("no mark `{close}`");
    };
    Ok(format!("{before}{open}{}\n{close}{after}", text.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_named_section_changes() {
        let page = "top\n<!-- a -->\nold\n<!-- end of a -->\n<!-- b -->\nkept\n<!-- end of b -->\n";
        let new = replaced(page, "a", "new\n\n").unwrap();
        assert_eq!(new, page.replace("old", "new"));
        assert!(replaced(page, "c", "").is_err());
    }
}
