//! A table as LaTeX: a `tabular` that needs no package.

use super::{Align, Cell, Table};

/// Text as it may stand in a LaTeX document, at the start of a table's row as well.
///
/// Brackets and stars are wrapped, because `\\[` and `\\*` mean something else to LaTeX than a row
/// that ends and a cell that begins.
pub fn escape_latex(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in super::visible(text).chars() {
        let command = match c {
            '\\' => "\\textbackslash{}",
            '{' => "\\{",
            '}' => "\\}",
            '$' => "\\$",
            '&' => "\\&",
            '#' => "\\#",
            '_' => "\\_",
            '%' => "\\%",
            '~' => "\\textasciitilde{}",
            '^' => "\\textasciicircum{}",
            '<' => "\\textless{}",
            '>' => "\\textgreater{}",
            '|' => "\\textbar{}",
            '"' => "''",
            '[' => "{[}",
            ']' => "{]}",
            '*' => "{*}",
            '±' => "$\\pm$",
            '→' => "$\\to$",
            '−' => "$-$",
            '×' => "$\\times$",
            '·' => "$\\cdot$",
            '≤' => "$\\leq$",
            '≥' => "$\\geq$",
            'γ' => "$\\gamma$",
            'δ' => "$\\delta$",
            'π' => "$\\pi$",
            'ℓ' => "$\\ell$",
            'σ' => "$\\sigma$",
            '–' => "--",
            '—' => "---",
            '…' => "\\ldots{}",
            '’' => "'",
            '\n' => " ",
            c => {
                escaped.push(c);
                continue;
            }
        };
        escaped.push_str(command);
    }
    escaped
}

pub(super) fn render(table: &Table) -> String {
    let columns: String = table
        .columns
        .iter()
        .map(|(_, align)| match align {
            Align::Left => 'l',
            Align::Right => 'r',
        })
        .collect();
    let line = |cells: Vec<String>| format!("{} \\\\\n", cells.join(" & "));
    let headings = table
        .columns
        .iter()
        .map(|(heading, _)| escape_latex(heading));
    let mut latex = format!("\\begin{{tabular}}{{{columns}}}\n\\hline\n");
    latex += &line(headings.collect());
    latex += "\\hline\n";
    for row in &table.rows {
        latex += &line(row.iter().map(content).collect());
    }
    latex + "\\hline\n\\end{tabular}\n"
}

fn content(cell: &Cell) -> String {
    let mut latex = escape_latex(&cell.text);
    if cell.strong {
        latex = format!("\\textbf{{{latex}}}");
    }
    if let Some(detail) = &cell.detail {
        latex = format!("{latex} {{\\scriptsize {}}}", escape_latex(detail));
    }
    latex
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_latex_reads_as_its_own_is_escaped() {
        assert_eq!(
            escape_latex(r"a_b & 5% of $1 #2 {x} ~^ \ <|>"),
            r"a\_b \& 5\% of \$1 \#2 \{x\} \textasciitilde{}\textasciicircum{} \textbackslash{} \textless{}\textbar{}\textgreater{}"
        );
        assert_eq!(
            escape_latex("1 ± 2 → π ≤ −3"),
            r"1 $\pm$ 2 $\to$ $\pi$ $\leq$ $-$3"
        );
    }

    #[test]
    fn no_row_begins_with_what_would_continue_the_line_break() {
        let mut table = Table::new([("a", Align::Left)]);
        table.push(["[x]"]);
        table.push(["*y"]);
        let latex = table.to_latex();
        assert!(
            !latex.contains("\\\\\n[") && !latex.contains("\\\\\n*"),
            "{latex}"
        );
        assert!(latex.contains("{[}x{]} \\\\\n{*}y"), "{latex}");
    }

    #[test]
    fn cells_are_aligned_and_emphasised() {
        let mut table = Table::new([("k_1", Align::Left), ("value", Align::Right)]);
        table.push([Cell::new("a&b"), Cell::strong("1 ± 0").with_detail("5%")]);
        assert_eq!(
            table.to_latex(),
            "\\begin{tabular}{lr}\n\\hline\nk\\_1 & value \\\\\n\\hline\n\
             a\\&b & \\textbf{1 $\\pm$ 0} {\\scriptsize 5\\%} \\\\\n\\hline\n\\end{tabular}\n"
        );
    }
}
