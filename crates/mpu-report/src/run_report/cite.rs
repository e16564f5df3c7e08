//! How to cite the method and the program.

use crate::page::{Code, Section};

const PAPER: &str = "\
@article{zhang2025cost,
  title   = {Cost-Sensitive Unbiased Risk Estimation for Multi-Class Positive-Unlabeled Learning},
  author  = {Zhang, Miao and Li, Junpeng and Hua, Changchun and Yang, Yana},
  journal = {arXiv preprint arXiv:2510.25226},
  year    = {2025}
}
";

/// The section that says how to cite.
pub(super) fn section() -> Section {
    let version = env!("CARGO_PKG_VERSION");
    let program = format!(
        "@software{{mpu,\n  title   = {{mpu: multi-class positive-unlabeled learning in {{Rust}}}},\n  \
         author  = {{{{The mpu maintainers}}}},\n  version = {{{version}}}\n}}\n"
    );
    let code = |caption: &str, text: String| Code {
        caption: caption.to_owned(),
        language: "bibtex".to_owned(),
        text,
    };
    Section {
        paragraphs: vec![
            "If these results are of use to you, please cite the paper whose method this is, and the program \
             with its version."
                .to_owned(),
            "M. Zhang, J. Li, C. Hua and Y. Yang, \"Cost-Sensitive Unbiased Risk Estimation for Multi-Class \
             Positive-Unlabeled Learning\", arXiv:2510.25226, 2025."
                .to_owned(),
            format!("The mpu maintainers, \"mpu: multi-class positive-unlabeled learning in Rust\", version {version}."),
        ],
        code: vec![
            code("The paper, as BibTeX", PAPER.to_owned()),
            code("The program, as BibTeX", program),
        ],
        ..Section::new("cite", "How to cite")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_citation_is_that_of_the_citation_file() {
        let file = include_str!("../../../../CITATION.cff");
        let section = section().to_md();
        let value = |key: &str| {
            let line = file.lines().find(|line| line.trim_start().starts_with(key));
            line.unwrap().trim_start()[key.len()..]
                .trim()
                .trim_matches('"')
        };
        assert!(section.contains(&value("version:").replace('"', "")));
        assert!(section.contains(value("title:")));
        let paper = file.split("references:").nth(1).unwrap();
        for line in paper.lines().map(str::trim) {
            let line = line.trim_start_matches("- ");
            for key in ["title:", "given-names:", "family-names:", "year:"] {
                if let Some(part) = line.strip_prefix(key) {
                    assert!(section.contains(part.trim()), "{part}");
                }
            }
            if let Some(value) = line.strip_prefix("value:") {
                assert!(section.contains(value.trim().trim_matches('"')), "{value}");
            }
        }
    }
}
