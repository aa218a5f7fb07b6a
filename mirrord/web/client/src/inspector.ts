// The inspector: fields for the attributes of a block, link or reference, shown while the cursor is in it.
import type { Editor } from '@tiptap/core'
import type { Node } from '@tiptap/pm/model'
import { NodeSelection } from '@tiptap/pm/state'
import { follow, isSafe } from './address'
import { button, element } from './dom'
import type { Options } from './options'
import { targetOf } from './views/reference'

interface Field {
  name: string
  label: string
  /** A text of several lines, a checkbox, or one of these values; '' is none. */
  kind?: 'area' | 'check' | string[]
}

const REFERENCE: Field[] = [
  { name: 'target', label: 'Page' },
  { name: 'heading', label: 'Heading' },
  { name: 'alias', label: 'Shown as' },
]
const RAW: Field[] = [{ name: 'raw', label: 'Markdown', kind: 'area' }]
const LATEX: Field[] = [{ name: 'latex', label: 'LaTeX', kind: 'area' }]
const TYPES = ['note', 'tip', 'info', 'important', 'warning', 'danger', 'question', 'success', 'example', 'quote', 'todo']
const CELL: Field[] = [{ name: 'align', label: 'Column', kind: ['', 'left', 'center', 'right'] }]

// In the order of the search around the cursor: inner nodes before outer ones.
const FIELDS: Record<string, Field[]> = {
  wikilink: REFERENCE,
  embed: REFERENCE,
  image: [
    { name: 'src', label: 'File' },
    { name: 'alt', label: 'Description' },
    { name: 'title', label: 'Hint' },
  ],
  mathInline: LATEX,
  mathBlock: LATEX,
  rawInline: RAW,
  rawBlock: RAW,
  footnoteRef: [{ name: 'label', label: 'Note' }],
  footnoteDef: [{ name: 'label', label: 'Note' }],
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
const LINK: Field[] = [
  { name: 'href', label: 'Link to' },
  { name: 'title', label: 'Hint' },
]

/** The subject of the fields: a node at a position, or the link at the cursor. */
type Subject = { at: number; node: Node; fields: Field[] } | { attrs: Record<string, unknown>; fields: Field[] }

/** The fields beside the text of *editor*, hidden if there are none. */
export function inspector(editor: Editor, options: Options): HTMLElement {
  const box = element('form', { class: 'inspector', 'aria-label': 'Properties at the cursor', hidden: true })
  let shown = ''
  const draw = () => {
    if (box.contains(document.activeElement)) return // a person is writing there
    const subject = subjectOf(editor)
    const key = subject ? JSON.stringify([attributesOf(subject), 'at' in subject ? subject.at : 'link']) : ''
    if (key === shown) return
    shown = key
    box.hidden = !subject
    box.replaceChildren(...(subject ? rows(editor, subject, options) : []))
  }
  editor.on('transaction', draw)
  box.addEventListener('focusout', () => setTimeout(draw))
  box.addEventListener('submit', (event) => event.preventDefault())
  box.addEventListener('keydown', (event) => {
    const isArea = event.target instanceof HTMLTextAreaElement
    const isButton = event.target instanceof HTMLButtonElement
    if (event.key !== 'Escape' && (event.key !== 'Enter' || isArea || isButton)) return
    event.preventDefault()
    editor.view.focus()
  })
  return box
}

function subjectOf(editor: Editor): Subject | null {
  const { selection } = editor.state
  if (selection instanceof NodeSelection && FIELDS[selection.node.type.name])
    return { at: selection.from, node: selection.node, fields: FIELDS[selection.node.type.name]! }
  if (editor.isActive('link')) return { attrs: editor.getAttributes('link'), fields: LINK }
  const { $from } = selection
  for (let depth = $from.depth; depth > 0; depth--) {
    const fields = FIELDS[$from.node(depth).type.name]
    if (fields) return { at: $from.before(depth), node: $from.node(depth), fields }
  }
  return null
}

const attributesOf = (subject: Subject) => ('node' in subject ? subject.node.attrs : subject.attrs)

function rows(editor: Editor, subject: Subject, options: Options): HTMLElement[] {
  const made = subject.fields.map((field) => rowOf(editor, subject, field))
  const goal = goalOf(subject)
  if (goal === null) return made
  return [...made, button('Open', () => follow(goal, options), { class: 'open', title: 'Open (Ctrl+Enter)' })]
}

/** The target of a link or reference; null: none that may be opened. */
function goalOf(subject: Subject): string | null {
  if ('node' in subject) return ['wikilink', 'embed'].includes(subject.node.type.name) ? targetOf(subject.node) : null
  const href = String(subject.attrs['href'] ?? '')
  return href && isSafe(href) ? href : null
}

function rowOf(editor: Editor, subject: Subject, field: Field): HTMLElement {
  const value = attributesOf(subject)[field.name]
  const input = inputOf(field, value)
  const set = () => {
    const now = input instanceof HTMLInputElement && input.type === 'checkbox' ? input.checked : input.value || null
    assign(editor, subject, field.name, now)
  }
  input.addEventListener(input instanceof HTMLSelectElement || field.kind === 'check' ? 'change' : 'input', set)
  return element('label', {}, element('span', {}, field.label), input)
}

function inputOf({ kind }: Field, value: unknown): HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement {
  const text = String(value ?? '')
  if (kind === 'area') {
    const area = element('textarea', { rows: Math.min(8, text.split('\n').length + 1), spellcheck: 'false' })
    area.value = text
    return area
  }
  if (kind === 'check') return element('input', { type: 'checkbox', checked: Boolean(value) })
  if (!kind) return element('input', { value: text, spellcheck: 'false' })
  const all = kind.includes(text) ? kind : [...kind, text]
  return element('select', {}, ...all.map((one) => element('option', { value: one, selected: one === text }, one || '–')))
}

function assign(editor: Editor, subject: Subject, name: string, value: unknown): void {
  if (!('node' in subject)) {
    editor.chain().extendMarkRange('link').updateAttributes('link', { [name]: value ?? '' }).run()
    return
  }
  const { tr, doc } = editor.state
  if (doc.nodeAt(subject.at)?.type !== subject.node.type) return // it was moved or deleted
  if (name === 'align') alignColumn(editor, subject.at, value)
  else {
    const isSelected = editor.state.selection instanceof NodeSelection
    tr.setNodeAttribute(subject.at, name, value)
    if (isSelected) tr.setSelection(NodeSelection.create(tr.doc, subject.at))
    editor.view.dispatch(tr)
  }
}

/** Aligns a column: Markdown cannot align a cell. */
function alignColumn(editor: Editor, at: number, value: unknown): void {
  const { doc, tr } = editor.state
  const $cell = doc.resolve(at)
  const column = $cell.index()
  const table = $cell.node(-1)
  let row = $cell.start(-1)
  for (const each of table.children) {
    let cell = row + 1
    for (let index = 0; index < Math.min(column, each.childCount); index++) cell += each.child(index).nodeSize
    if (column < each.childCount) tr.setNodeAttribute(cell, 'align', value)
    row += each.nodeSize
  }
  editor.view.dispatch(tr)
}
