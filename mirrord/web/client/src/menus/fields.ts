// The fields of blocks, links and references: one for each attribute that a person may change.
import { isFormula } from '../typing/formula'
import { isColumnWidth } from '../tables/columns'
import { ALIGNMENT, FIELD, FOLDING } from '../words'

export interface Field {
  name: string
  label: string
  /** A text of several lines, a checkbox, or one of these values; '' is none. */
  kind?: 'area' | 'check' | string[]
  /** What a person reads for a value. */
  names?: Record<string, string>
  /** Whether Markdown can hold a value; the page keeps the former one until it can. */
  fits?: (value: string) => boolean
}

const all = (pattern: RegExp) => (value: string) => pattern.test(value)
const REFERENCE: Field[] = [
  { name: 'target', label: FIELD.page, fits: all(/^[^[\]|#\n]+$/) },
  { name: 'heading', label: FIELD.heading, fits: all(/^[^[\]|\n]*$/) },
  { name: 'alias', label: FIELD.alias, fits: all(/^[^[\]\n]*$/) },
]
const RAW: Field[] = [{ name: 'raw', label: FIELD.markdown, kind: 'area', fits: all(/\S/) }]
const NOTE: Field[] = [{ name: 'label', label: FIELD.note, fits: all(/^[^\s[\]\\^][^\s[\]\\]*$/) }]
const LATEX: Field = { name: 'latex', label: FIELD.latex, fits: isFormula }
const TYPES = ['note', 'tip', 'info', 'important', 'warning', 'danger', 'question', 'success', 'example', 'quote', 'todo']
const CELL: Field[] = [
  { name: 'align', label: FIELD.column, kind: ['', 'left', 'center', 'right'], names: ALIGNMENT },
  { name: 'colwidth', label: FIELD.columnWidth, fits: (value) => !value || (/^\d{2,5}$/.test(value) && isColumnWidth(Number(value))) },
]

// In the order of the search around the cursor: inner nodes before outer ones.
export const FIELDS: Record<string, Field[]> = {
  wikilink: REFERENCE,
  embed: REFERENCE,
  image: [
    { name: 'src', label: FIELD.file },
    { name: 'alt', label: FIELD.description },
    { name: 'width', label: FIELD.width, fits: all(/^([1-9]\d{0,3}|[1-9]\d?%|100%)?$/) },
    { name: 'title', label: FIELD.hint },
  ],
  mathInline: [LATEX],
  mathBlock: [{ ...LATEX, kind: 'area' }],
  rawInline: RAW,
  rawBlock: RAW,
  footnoteRef: NOTE,
  footnoteDef: NOTE,
  codeBlock: [{ name: 'language', label: FIELD.language }],
  tableCell: CELL,
  tableHeader: CELL,
  callout: [
    { name: 'type', label: FIELD.kind, kind: TYPES },
    { name: 'title', label: FIELD.title },
    { name: 'fold', label: FIELD.fold, kind: ['', '+', '-'], names: FOLDING },
  ],
  details: [{ name: 'open', label: FIELD.open, kind: 'check' }],
}
export const LINK: Field[] = [
  { name: 'href', label: FIELD.href, fits: all(/\S/) },
  { name: 'title', label: FIELD.hint },
]
/** Of a link that has no address yet. */
export const NEW_LINK: Field[] = [LINK[0]!]
