// Blocks are moved as a whole, the cursor moves with them, and no holder is left empty.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getSchema } from '@tiptap/core'
import { history, undo } from '@tiptap/pm/history'
import type { Node } from '@tiptap/pm/model'
import { EditorState, NodeSelection, TextSelection, type Transaction } from '@tiptap/pm/state'
import { type Block, opened } from '../src/document/document'
import { fit, put, spanAround, step } from '../src/moving/moving'
import { extensions } from '../src/document/schema.js'
import { chance, p } from './chance'

const schema = getSchema(extensions as never)

const node = (type: string, ...content: Block[]): Block => ({ type, attrs: {}, content })
const item = (text: string, ...more: Block[]) => node('listItem', p(null, text), ...more)
const open = (...blocks: Block[]) =>
  EditorState.create({ doc: opened({ type: 'doc', content: blocks }, schema), plugins: [history()] })

/** A short form of the document: `bulletList(listItem(a))` is `ul(li(a))`. */
const SHORT: Record<string, string> = { bulletList: 'ul', taskList: 'tl', listItem: 'li', taskItem: 'ti', detailsContent: 'dc' }
const short = (one: Node): string => {
  if (one.type.name === 'paragraph') return one.textContent || '_'
  const name = SHORT[one.type.name] ?? one.type.name
  if (one.isTextblock || one.isLeaf) return one.textContent ? `${name}:${one.textContent}` : name
  return `${name}(${one.children.map(short).join(' ')})`
}
const said = (state: EditorState) => state.doc.children.map(short).join(' ')

function find(state: EditorState, text: string): number {
  let found = -1
  state.doc.descendants((one, at) => void (one.isText && one.text!.startsWith(text) && (found = at)))
  assert.ok(found >= 0, text)
  return found
}

const span = (state: EditorState, text: string) => spanAround(state.doc.resolve(find(state, text)))!
const at = (state: EditorState, text: string, end = text) =>
  state.apply(state.tr.setSelection(TextSelection.create(state.doc, find(state, text), find(state, end) + end.length)))
const after = (state: EditorState, done: Transaction | null) => {
  assert.ok(done)
  const now = state.apply(done)
  now.doc.check()
  return now
}
const selected = ({ doc, selection }: EditorState) => doc.textBetween(selection.from, selection.to, '|')

test('a block goes past its neighbour, with what is selected in it, and back by undo', () => {
  const before = at(open(p('1', 'a'), p('2', 'b'), p('3', 'c')), 'b')
  let state = after(before, step(before, 'up'))
  assert.equal(said(state), 'b a c')
  assert.equal(selected(state), 'b')
  assert.equal(state.doc.child(0).attrs['id'], '2')
  assert.equal(step(state, 'up'), null)
  undo(state, (transaction) => (state = state.apply(transaction)))
  assert.equal(said(state), 'a b c')
  assert.equal(said(after(before, step(before, 'down'))), 'a c b')
})

test('blocks that are selected together go together', () => {
  const state = at(open(p('1', 'a'), p('2', 'b'), p('3', 'c')), 'b', 'c')
  const now = after(state, step(state, 'up'))
  assert.equal(said(now), 'b c a')
  assert.equal(selected(now), 'b|c')
})

test('an item goes past items, and all items take their list along', () => {
  const state = open(p('1', 'a'), node('bulletList', item('b'), item('c')))
  assert.equal(said(after(at(state, 'c'), step(at(state, 'c'), 'up'))), 'a ul(li(c) li(b))')
  assert.equal(step(at(state, 'b'), 'up'), null)
  assert.equal(said(after(at(state, 'b', 'c'), step(at(state, 'b', 'c'), 'up'))), 'ul(li(b) li(c)) a')
})

test('the only block of a toggle takes it along, and a table goes whole', () => {
  const toggle = node('details', node('detailsSummary', { type: 'text', text: 's' }), node('detailsContent', p(null, 'b')))
  const toggled = at(open(p('1', 'a'), toggle), 'b')
  assert.equal(said(after(toggled, step(toggled, 'up'))), 'details(detailsSummary:s dc(b)) a')
  const table = at(open(p('1', 'a'), node('table', node('tableRow', node('tableCell', p(null, 'b'))))), 'b')
  assert.equal(said(after(table, step(table, 'up'))), 'table(tableRow(tableCell(b))) a')
})

test('a rule that is selected goes and stays selected', () => {
  let state = open(p('1', 'a'), { type: 'horizontalRule' })
  state = state.apply(state.tr.setSelection(NodeSelection.create(state.doc, 3)))
  const now = after(state, step(state, 'up'))
  assert.equal(said(now), 'horizontalRule a')
  assert.ok(now.selection instanceof NodeSelection && now.selection.from === 0)
})

test('a block that is put elsewhere takes the cursor along', () => {
  const state = at(open(p('1', 'a'), p('2', 'b'), p('3', 'c')), 'a')
  const now = after(state, put(state, span(state, 'a'), state.doc.content.size))
  assert.equal(said(now), 'b c a')
  assert.equal(selected(now), 'a')
  assert.equal(put(state, span(state, 'a'), 0), null)
  assert.equal(put(state, span(state, 'a'), 3), null)
})

test('an item among blocks is a list, and a list without items goes', () => {
  const state = open(p('1', 'a'), node('bulletList', item('b')), p('2', 'c'))
  assert.equal(said(after(state, put(state, span(state, 'b'), 0))), 'ul(li(b)) a c')
})

test('a block goes into a callout and out of it, but not among items, nor into itself', () => {
  const state = open(p('1', 'a'), node('callout', p(null, 'b'), p(null, 'c')), node('bulletList', item('d')))
  const within = span(state, 'c').from
  assert.equal(said(after(state, put(state, span(state, 'a'), within))), 'callout(b a c) ul(li(d))')
  assert.equal(said(after(state, put(state, span(state, 'c'), 0))), 'c a callout(b) ul(li(d))')
  assert.equal(fit(state.doc, span(state, 'a'), span(state, 'd').from), null)
  assert.equal(fit(state.doc, { from: 3, to: span(state, 'd').from - 1 }, within), null)
})

test('the last block that leaves a toggle leaves an empty paragraph', () => {
  const toggle = node('details', node('detailsSummary', { type: 'text', text: 's' }), node('detailsContent', p(null, 'b')))
  const state = open(p('1', 'a'), toggle)
  assert.equal(said(after(state, put(state, span(state, 'b'), 0))), 'b a details(detailsSummary:s dc(_))')
})

test('no move loses or doubles a word, in 500 random cases', () => {
  for (let seed = 1; seed <= 500; seed++) {
    const pick = chance(seed)
    let count = 0
    const word = () => p(null, `w${count++}`)
    const entry = () => node('listItem', word(), ...(pick(2) ? [node('bulletList', item(`w${count++}`))] : []))
    const made = (): Block => {
      const kind = pick(5)
      if (kind === 0) return node('bulletList', ...Array.from({ length: 1 + pick(3) }, entry))
      if (kind === 1) return node('blockquote', ...Array.from({ length: 1 + pick(2) }, word))
      return word()
    }
    let state = open(...Array.from({ length: 1 + pick(5) }, made))
    const words = () => [...said(state).matchAll(/w\d+/g)].map(String).sort()
    const all = words()
    for (let moves = 0; moves < 6; moves++) {
      const $at = state.doc.resolve(pick(state.doc.content.size + 1))
      const taken = spanAround($at)
      if (!taken) continue
      const goals: number[] = []
      state.doc.descendants((_, to) => void (fit(state.doc, taken, to) && goals.push(to)))
      const done = goals.length ? put(state, taken, goals[pick(goals.length)]!) : null
      if (done) state = after(state, done)
      assert.deepEqual(words(), all, `seed ${seed}: ${said(state)}`)
    }
  }
})
