// A merged document is applied to the open one; the cursor, the selection and the history of undo stay.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getSchema } from '@tiptap/core'
import { history, undo } from '@tiptap/pm/history'
import { EditorState, TextSelection } from '@tiptap/pm/state'
import { apply } from '../src/merging/apply'
import { type Block, type Content, agree, blocksOf, opened } from '../src/document/document'
import { merge } from '../src/merging/merge'
import { extensions } from '../src/document/schema.js'
import { chance, edited, p } from './chance'

const schema = getSchema(extensions as never)

const open = (blocks: Block[]) => EditorState.create({ doc: opened(doc(blocks), schema), plugins: [history()] })
const doc = (content: Block[]): Content => ({ type: 'doc', content })
const held = (blocks: Block[]) => blocksOf(opened(doc(blocks), schema))
const texts = (state: EditorState) => state.doc.children.map((child) => child.textContent)

/** The state after a merge of *theirs*; *base* is the common ancestor. */
function arrived(state: EditorState, base: Block[], theirs: Block[]): EditorState {
  const transaction = state.tr.setMeta('addToHistory', false)
  apply(transaction, merge(held(base), blocksOf(state.doc), held(theirs)))
  return state.apply(transaction)
}

/** The state with the cursor behind *text*. */
function at(state: EditorState, text: string): EditorState {
  let end = 0
  state.doc.descendants((node, position) => {
    if (node.isText && node.text!.includes(text)) end = position + node.text!.indexOf(text) + text.length
  })
  return state.apply(state.tr.setSelection(TextSelection.create(state.doc, end)))
}

const before = (state: EditorState) => state.selection.$from.parent.textContent.slice(0, state.selection.$from.parentOffset)
const item = (id: string, text: string): Block => ({ type: 'listItem', attrs: { id }, content: [p(null, text)] })
const list = (...items: Block[]): Block => ({ type: 'bulletList', attrs: { id: 'l' }, content: items })

test('a paragraph that came above leaves the cursor in its word', () => {
  const base = [p('1', 'one two')]
  const state = arrived(at(open(base), 'one'), base, [p('9', 'new'), ...base])
  assert.deepEqual(texts(state), ['new', 'one two'])
  assert.equal(before(state), 'one')
})

test('words that came into the paragraph of the cursor leave it where it is', () => {
  const base = [p('1', 'one two three')]
  const state = arrived(at(open(base), 'one'), base, [p('1', 'one two and three')])
  assert.equal(before(state), 'one')
  assert.deepEqual(texts(state), ['one two and three'])
})

test('words that came into a paragraph with typed words leave the cursor, the selection and what can be undone', () => {
  const base = [p('1', 'one two three four')]
  let state = at(open(base), 'one')
  state = state.apply(state.tr.insertText(' typed'))
  const end = state.selection.head
  state = state.apply(state.tr.setSelection(TextSelection.create(state.doc, end - 5, end)))
  state = arrived(state, base, [p('1', 'one two three and four')])
  assert.deepEqual(texts(state), ['one typed two three and four'])
  assert.equal(state.doc.textBetween(state.selection.from, state.selection.to), 'typed')
  undo(state, (transaction) => (state = state.apply(transaction)))
  assert.deepEqual(texts(state), ['one two three and four'])
})

test('words that came before the typed ones move the cursor with its word', () => {
  const base = [p('1', 'one two three four')]
  let state = at(open(base), 'four')
  state = state.apply(state.tr.insertText(' typed'))
  state = arrived(state, base, [p('1', 'now one two three four')])
  assert.equal(before(state), 'now one two three four typed')
})

test('an item that changed leaves the cursor in its neighbour', () => {
  const base = [list(item('a', 'first'), item('b', 'second'))]
  const state = arrived(at(open(base), 'sec'), base, [list(item('a', 'changed'), item('b', 'second'))])
  assert.equal(before(state), 'sec')
  assert.deepEqual(texts(state), ['changedsecond'])
})

test('a block that was moved takes the cursor along', () => {
  const base = [p('1', 'one'), p('2', 'two'), p('3', 'three')]
  const state = arrived(at(open(base), 'on'), base, [base[1]!, base[2]!, base[0]!])
  assert.equal(before(state), 'on')
  assert.deepEqual(texts(state), ['two', 'three', 'one'])
})

test('ids that the page gave change nothing but ids', () => {
  const state = arrived(at(open([p(null, 'one')]), 'on'), [p(null, 'one')], [p('7', 'one')])
  assert.equal(before(state), 'on')
  assert.equal(state.doc.child(0).attrs['id'], '7')
})

test('undo takes back what was typed and leaves what came', () => {
  const base = [p('1', 'one'), p('2', 'two')]
  let state = at(open(base), 'one')
  state = state.apply(state.tr.insertText(' typed'))
  state = arrived(state, base, [p('1', 'one'), p('2', 'came')])
  assert.deepEqual(texts(state), ['one typed', 'came'])
  undo(state, (transaction) => (state = state.apply(transaction)))
  assert.deepEqual(texts(state), ['one', 'came'])
})

test('a page that was emptied has a paragraph to type in', () => {
  const state = arrived(open([p('1', 'one')]), [p('1', 'one')], [])
  assert.equal(state.doc.childCount, 1)
  assert.equal(state.doc.textContent, '')
})

test('whatever was merged is what the open document then is, in 300 random cases', () => {
  for (let seed = 1; seed <= 300; seed++) {
    const pick = chance(seed)
    const base = Array.from({ length: 1 + pick(6) }, (_, index) => p(`b${index}`, `text ${index}`))
    const [mine, theirs] = [edited(base, pick, 'm'), edited(base, pick, 't')]
    const state = open(mine)
    const pieces = merge(held(base), blocksOf(state.doc), held(theirs))
    const done = arrived(state, base, theirs)
    done.doc.check()
    const wanted = pieces.map((piece) => piece.block)
    assert.ok(agree(blocksOf(done.doc), wanted), `seed ${seed}: ${JSON.stringify([texts(done), wanted])}`)
  }
})
