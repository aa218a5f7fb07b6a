// The inspector: fields for the attributes of a block, link or reference, shown while the cursor is in it.
import { type Editor, getMarkRange } from '@tiptap/core'
import type { Node } from '@tiptap/pm/model'
import { type EditorState, NodeSelection, Selection, TextSelection, type Transaction } from '@tiptap/pm/state'
import { follow, isExternal, isSafe } from '../links/address'
import { beside, button, element } from '../dom'
import { FIELDS, type Field, LINK, NEW_LINK } from './fields'
import { endLink, wordsToLink } from '../links/linking'
import type { Options } from '../options'
import { setColumn } from '../tables/columns'
import { placeOf } from './selectionbar'
import { targetOf } from '../views/reference'
import { EDITOR } from '../words'

/** The subject of the fields: a node at a position, or a link; one that is new has no address yet. */
type Subject =
  | { at: number; node: Node; fields: Field[] }
  | { attrs: Record<string, unknown>; fields: Field[]; isNew: boolean }

/** The fields beside the text of *editor*, hidden if there are none. */
export function inspector(editor: Editor, options: Options): HTMLElement {
  const box = element('form', { class: 'inspector', 'aria-label': EDITOR.properties, hidden: true })
  let shown = ''
  let isEntered = false // before a person is in the text, no block is the one at the cursor
  const draw = () => {
    if (!isEntered || box.contains(document.activeElement)) return // a person is writing there
    const subject = subjectOf(editor)
    const key = subject ? JSON.stringify([attributesOf(subject), 'at' in subject ? subject.at : subject.isNew]) : ''
    if (key === shown) return
    shown = key
    box.hidden = !subject
    box.replaceChildren(...(subject ? rows(editor, subject, options) : []))
    isBeside = subject !== null && !('at' in subject)
    box.classList.toggle('beside', isBeside)
    place()
  }
  let isBeside = false // the fields of a link are where its words are
  const place = () => {
    if (isBeside && !box.hidden) beside(box, placeOf(editor))
    else box.removeAttribute('style')
  }
  const listening = new AbortController()
  window.addEventListener('scroll', place, { signal: listening.signal, passive: true })
  editor.on('destroy', () => listening.abort())
  const leave = () => {
    if (editor.isDestroyed || box.contains(document.activeElement)) return // or a person went to another window
    if (wordsToLink(editor.state)) editor.view.dispatch(endLink(editor.state, addressIn(box)))
    draw()
  }
  editor.on('transaction', draw)
  editor.on('focus', () => {
    isEntered = true
    draw()
  })
  box.addEventListener('focusout', () => setTimeout(leave))
  box.addEventListener('submit', (event) => event.preventDefault())
  box.addEventListener('keydown', (event) => finish(event, editor, box))
  return box
}

const addressIn = (box: HTMLElement) => box.querySelector('input')?.value ?? ''

/** Enter and Escape return to the text, Escape without the link that has been begun. */
function finish(event: KeyboardEvent, editor: Editor, box: HTMLElement): void {
  const isArea = event.target instanceof HTMLTextAreaElement && !event.ctrlKey && !event.metaKey
  const isEnd = event.key === 'Enter' && !event.isComposing && !isArea && !(event.target instanceof HTMLButtonElement)
  if (event.key !== 'Escape' && !isEnd) return
  event.preventDefault()
  const { state, view } = editor
  if (wordsToLink(state)) {
    const tr = endLink(state, isEnd ? addressIn(box) : '')
    view.dispatch(isEnd ? tr.setSelection(TextSelection.create(tr.doc, tr.selection.to)) : tr)
  } else if (state.selection instanceof NodeSelection) view.dispatch(behind(state, state.selection))
  view.focus()
}

/** Puts the cursor behind the selected node, where the next letter does not replace it. */
function behind({ tr, schema }: EditorState, { $to, node }: NodeSelection): Transaction {
  if (node.isInline) return tr.setSelection(TextSelection.create(tr.doc, $to.pos))
  if (!$to.nodeAfter?.isTextblock) tr.insert($to.pos, schema.nodes['paragraph']!.create())
  return tr.setSelection(Selection.near(tr.doc.resolve($to.pos), 1)).scrollIntoView()
}

function subjectOf(editor: Editor): Subject | null {
  const { selection } = editor.state
  if (wordsToLink(editor.state)) return { attrs: {}, fields: NEW_LINK, isNew: true }
  if (selection instanceof NodeSelection && FIELDS[selection.node.type.name])
    return { at: selection.from, node: selection.node, fields: FIELDS[selection.node.type.name]! }
  if (editor.isActive('link')) return { attrs: editor.getAttributes('link'), fields: LINK, isNew: false }
  const { $from } = selection
  for (let depth = $from.depth; depth > 0; depth--) {
    const fields = FIELDS[$from.node(depth).type.name]
    if (fields) return { at: $from.before(depth), node: $from.node(depth), fields }
  }
  return null
}

const attributesOf = (subject: Subject) => ('node' in subject ? subject.node.attrs : subject.attrs)

function rows(editor: Editor, subject: Subject, options: Options): HTMLElement[] {
  const made: HTMLElement[] = subject.fields.map((field) => rowOf(editor, subject, field, options))
  const goal = goalOf(subject)
  if (goal !== null) made.push(button(EDITOR.open, () => follow(goal, options), { class: 'open', title: EDITOR.openTitle }))
  if ('isNew' in subject && !subject.isNew) made.push(button(EDITOR.removeLink, () => unlink(editor)))
  return made
}

function unlink(editor: Editor): void {
  editor.view.dispatch(relinked(editor.state, null))
  editor.view.focus()
}

/** The target of a link or reference; null: none that may be opened. */
function goalOf(subject: Subject): string | null {
  if ('node' in subject) return ['wikilink', 'embed'].includes(subject.node.type.name) ? targetOf(subject.node) : null
  const href = String(subject.attrs['href'] ?? '')
  return href && isSafe(href) ? href : null
}

function rowOf(editor: Editor, subject: Subject, field: Field, options: Options): HTMLElement {
  const value = attributesOf(subject)[field.name]
  const input = inputOf(field, value)
  const set = () => {
    const now = input instanceof HTMLInputElement && input.type === 'checkbox' ? input.checked : input.value || null
    const isFit = typeof now === 'boolean' || !field.fits || field.fits(now ?? '')
    input.setAttribute('aria-invalid', String(!isFit))
    if (isFit && !('isNew' in subject && subject.isNew)) assign(editor, subject, field.name, now)
  }
  input.addEventListener(input instanceof HTMLSelectElement || field.kind === 'check' ? 'change' : 'input', set)
  const pages = field.name === 'href' && input instanceof HTMLInputElement ? pagesFor(input, options) : null
  return element('label', {}, element('span', {}, field.label), input, pages)
}

/** The pages that a link may lead to, offered while the address is typed. */
function pagesFor(input: HTMLInputElement, options: Options): HTMLElement {
  const list = element('datalist', { id: 'mirrord-pages' })
  input.setAttribute('list', list.id)
  input.addEventListener('input', async () => {
    const typed = input.value
    const pages = typed && !isExternal(typed) ? await options.complete(typed).catch(() => []) : []
    if (typed !== input.value) return
    list.replaceChildren(...pages.map(({ path, title }) => element('option', { value: `/${path}` }, title)))
  })
  return list
}

function inputOf({ kind, names }: Field, value: unknown): HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement {
  const text = String(value ?? '')
  if (kind === 'area') {
    const area = element('textarea', { rows: Math.min(8, text.split('\n').length + 1), spellcheck: 'false' })
    area.value = text
    return area
  }
  if (kind === 'check') return element('input', { type: 'checkbox', checked: Boolean(value) })
  if (!kind) return element('input', { value: text, spellcheck: 'false' })
  const all = kind.includes(text) ? kind : [...kind, text]
  return element('select', {}, ...all.map((one) => element('option', { value: one, selected: one === text }, names?.[one] ?? (one || '–'))))
}

function assign(editor: Editor, subject: Subject, name: string, value: unknown): void {
  if (!('node' in subject)) {
    editor.view.dispatch(relinked(editor.state, { [name]: value }))
    return
  }
  const { tr, doc } = editor.state
  if (doc.nodeAt(subject.at)?.type !== subject.node.type) return // it was moved or deleted
  if (name === 'align') editor.view.dispatch(setColumn(tr, subject.at, name, value))
  else if (name === 'colwidth') editor.view.dispatch(setColumn(tr, subject.at, name, value ? [Number(value)] : null))
  else {
    const isSelected = editor.state.selection instanceof NodeSelection
    tr.setNodeAttribute(subject.at, name, value)
    if (name === 'width') tr.setNodeAttribute(subject.at, 'height', null) // which goes with it
    if (isSelected) tr.setSelection(NodeSelection.create(tr.doc, subject.at))
    editor.view.dispatch(tr)
  }
}

/** Changes the link at the cursor; null: removes it. The cursor stays in its place. */
function relinked({ tr, selection, schema }: EditorState, attributes: Record<string, unknown> | null): Transaction {
  const type = schema.marks['link']!
  const range = getMarkRange(selection.$from, type) ?? getMarkRange(selection.$to, type)
  if (!range) return tr
  const mark = tr.doc.nodeAt(range.from)!.marks.find((each) => each.type === type)
  tr.removeMark(range.from, range.to, type)
  return attributes ? tr.addMark(range.from, range.to, type.create({ ...mark?.attrs, ...attributes })) : tr
}
