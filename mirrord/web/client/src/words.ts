// Everything that the editor says. A translation is a copy of this module with the same keys.

export const EDITOR = {
  width: 'Width',
  hint: 'Write, or type / for blocks',
  wayOut: 'Tab indents. Press Escape, then Tab, to leave the text.',
  text: 'Text of the page',
  format: 'Format',
  formatSelection: 'Format the selected words',
  table: 'Table',
  insert: 'Insert',
  pages: 'Pages',
  properties: 'Properties at the cursor',
  open: 'Open',
  openTitle: 'Open (Ctrl+Enter)',
  removeLink: 'Remove link',
  drag: 'Drag to move (Alt+Shift+↑, Alt+Shift+↓)',
  block: (number: number, count: number) => `Block ${number} of ${count}`,
  file: 'Picture or file',
  fileSign: 'File',
}

export const CLASH = {
  label: 'Two versions of a block',
  sentence: 'Changed here and elsewhere. The block above is your version, this is theirs:',
  mine: 'Keep your version',
  theirs: 'Use their version',
  both: 'Keep both',
  count: (count: number) =>
    `${count === 1 ? 'A block was' : `${count} blocks were`} changed here and elsewhere. Both versions are on the page: choose there.`,
}

export const FIELD = {
  page: 'Page',
  heading: 'Heading',
  alias: 'Shown as',
  markdown: 'Markdown',
  note: 'Note',
  latex: 'LaTeX',
  column: 'Align the column',
  columnWidth: 'Width of the column (px)',
  file: 'File',
  description: 'Description',
  hint: 'Hint',
  width: 'Width',
  language: 'Language',
  kind: 'Kind',
  title: 'Title',
  fold: 'Fold',
  open: 'Begins unfolded',
  href: 'Link to',
}

/** Of a column, by the value in the document. */
export const ALIGNMENT: Record<string, string> = { '': 'Not set', left: 'Left', center: 'Center', right: 'Right' }
/** Of a callout, by the sign in Markdown. */
export const FOLDING: Record<string, string> = { '': 'Not foldable', '+': 'Begins unfolded', '-': 'Begins folded' }

export const VIEW = {
  noNote: (label: string) => `There is no note ${label}`,
  noPage: 'There is no such page',
  noPageYet: 'There is no such page yet.',
  fold: 'Fold',
  unfold: 'Unfold',
  raw: 'Kept as it is written',
  unknown: (type: string) => `A block that this editor does not know (${type}). It is kept as it is.`,
  hiddenAddress: 'This address is not shown',
  resize: 'Drag to change the width; a double click gives the picture its own size',
  resizeColumn: 'Drag to change the width of the column; a double click makes it as wide as its words',
  noPicture: 'There is no such picture',
  noFormula: 'This is not a formula',
  unsafe: (href: string) => `Not a link that opens: ${href}`,
}

export const DIAGRAM = {
  name: 'Drawing of diagrams',
  alt: (kind: string) => (kind ? `Diagram (${kind})` : 'Diagram'),
  source: 'Source',
  sample: 'flowchart LR\n  A --> B',
  empty: 'The diagram has no words yet.',
  late: 'The diagram could not be drawn: it takes too long, or its program is out of reach.',
}

export const PASTE = {
  asText: (why: string) => `Pasted as plain text: ${why}`,
  notUploaded: (why: string) => `A picture was not uploaded: ${why}`,
}

/** Names of actions; `also` are other words that people look for them by. */
export const ACTION = {
  bold: 'Bold',
  italic: 'Italic',
  strike: 'Struck through',
  code: 'Code',
  highlight: 'Highlighted',
  link: 'Link',
  heading: (level: number) => `Heading ${level}`,
  headingAlso: (level: number) => `h${level} title`,
  text: 'Text',
  textAlso: 'paragraph plain',
  list: 'List',
  listAlso: 'bullet unordered ul',
  numbered: 'Numbered list',
  numberedAlso: 'ordered ol 1.',
  tasks: 'Tasks',
  tasksAlso: 'todo to-do check checkbox checklist',
  quote: 'Quote',
  quoteAlso: 'blockquote citation',
  codeBlock: 'Code block',
  codeBlockAlso: 'snippet pre',
  diagram: 'Diagram',
  diagramAlso: 'mermaid flowchart chart graph sequence',
  callout: 'Callout',
  calloutAlso: 'note info tip warning admonition',
  toggle: 'Toggle',
  toggleAlso: 'collapse fold details',
  table: 'Table',
  tableAlso: 'grid spreadsheet',
  rule: 'Rule',
  ruleAlso: 'divider line separator hr',
  formula: 'Formula',
  formulaAlso: 'math equation latex',
  inlineFormula: 'Formula in the line',
  inlineFormulaAlso: 'inline math equation latex',
  footnote: 'Footnote',
  footnoteAlso: 'note reference',
  pageLink: 'Link to a page',
  pageLinkAlso: 'wikilink mention [[',
  undo: 'Undo',
  redo: 'Redo',
  up: 'Move the block up',
  down: 'Move the block down',
  rowAbove: 'Row above',
  rowBelow: 'Row below',
  deleteRow: 'Delete row',
  columnBefore: 'Column before',
  columnAfter: 'Column after',
  deleteColumn: 'Delete column',
  deleteTable: 'Delete table',
}
