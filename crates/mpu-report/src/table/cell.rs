//! A cell of a table.

/// A cell: text, whether it stands out, and a lesser second part.
///
/// | format | what stands out | the second part |
/// |---|---|---|
/// | terminal | ends in ` *` | a line below |
/// | CSV | ends in ` *` | follows a space |
/// | Markdown | `**…**` | after a line break |
/// | LaTeX | `\textbf{…}` | smaller |
/// | HTML | `strong` | a line below, `small` |
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cell {
    pub(super) text: String,
    pub(super) strong: bool,
    pub(super) detail: Option<String>,
}

impl Cell {
    /// A plain cell.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// A cell that stands out.
    pub fn strong(text: impl Into<String>) -> Self {
        Self::new(text).emphasised_if(true)
    }

    /// The cell, standing out if `condition` holds.
    #[must_use]
    pub fn emphasised_if(mut self, condition: bool) -> Self {
        self.strong = condition;
        self
    }

    /// The cell with a lesser second part.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// The cell with a lesser second part, if there is one.
    #[must_use]
    pub(crate) fn with_any_detail(mut self, detail: Option<String>) -> Self {
        self.detail = detail;
        self
    }

    /// The text, without its second part.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the cell stands out.
    pub fn is_strong(&self) -> bool {
        self.strong
    }

    /// Both parts as text, `between` them, with a star on what stands out.
    pub(super) fn starred(&self, between: &str) -> String {
        let star = if self.strong { " *" } else { "" };
        match &self.detail {
            None => format!("{}{star}", self.text),
            Some(detail) => format!("{}{star}{between}{detail}", self.text),
        }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl From<&String> for Cell {
    fn from(text: &String) -> Self {
        Self::new(text)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}
