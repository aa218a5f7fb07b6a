// The fields of blocks, links and references: one for each attribute that a person may change.
import { isFormula } from '../typing/formula'

export interface Field {
  name: string
  label: string
  /** A text of several lines, a checkbox, or one of these values; '' is none. */
  kind?: 'area' | 'check' | string[]
  /** Whether Markdown can hold a value; the page keeps the former one until it can. */
  fits?: (value: string) => boolean
}

const all = (pattern: RegExp) => (value: string) => pattern.test(value)
const REFERENCE: Field[] = [
  { name: 'target', label: 'Page', fits: all(/^[^[\]|#\n]+$/) },
  { name: 'heading', label: 'Heading', fits: all(/^[^[\]|\n]*$/) },
  { name: 'alias', label: 'Shown as', fits: all(/^[^[\]\n]*$/) },
]
const RAW: Field[] = [{ name: 'raw', label: 'Markdown', kind: 'area', fits: all(/\S/) }]
const NOTE: Field[] = [{ name: 'label', label: 'Note', fits: all(/^[^\s[\]\\^][^\s[\]\\]*$/) }]
const LATEX: Field = { name: 'latex', label: 'LaTeX', fits: isFormula }
const TYPES = ['note', 'tip', 'info', 'important', 'warning', 'danger', 'question', 'success', 'example', 'quote', 'todo']
const CELL: Field[] = [{ name: 'align', label: 'Column', kind: ['', 'left', 'center', 'right'] }]

// In the order of the search around the cursor: inner nodes before outer ones.
export const FIELDS: Record<string, Field[]> = {
  wikilink: REFERENCE,
  embed: REFERENCE,
  image: [
    { name: 'src', label: 'File' },
    { name: 'alt', label: 'Description' },
    { name: 'title', label: 'Hint' },
  ],
  mathInline: [LATEX],
  mathBlock: [{ ...LATEX, kind: 'area' }],
  rawInline: RAW,
  rawBlock: RAW,
  footnoteRef: NOTE,
  footnoteDef: NOTE,
  codeBlock: [{ name: 'language', label: 'Language' }],
  tableCell: CELL,
  tableHeader: CELL,
  callout: [
    { name: 'type', label: 'Kind', kind: TYPES },
    { name: 'title', label: 'Title' },
    { name: 'fold', label: 'Fold', kind: ['', '+', '-'] },
  ],
  details: [{ name: 'open', label: 'Begins unfolded', kind: 'check' }],
}
export const LINK: Field[] = [
  { name: 'href', label: 'Link to', fits: all(/\S/) },
  { name: 'title', label: 'Hint' },
]
/** Of a link that has no address yet. */
export const NEW_LINK: Field[] = [LINK[0]!]
