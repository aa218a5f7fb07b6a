// Tables that are typed or pasted become what Markdown has: nothing of their text is lost, and the cursor keeps its letter.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getSchema } from '@tiptap/core'
import type { Node } from '@tiptap/pm/model'
import { EditorState, TextSelection } from '@tiptap/pm/state'
import { type Block, opened } from '../src/document/document'
import { flatOf } from '../src/tables/flatcell'
import { placeOfFragment } from '../src/document/headings'
import { extensions } from '../src/document/schema.js'
import { shaped } from '../src/tables/tableshape'
import { chance, p } from './chance'

const schema = getSchema(extensions as never)
const open = (...content: Block[]) => opened({ type: 'doc', content }, schema)
const node = (type: string, attrs: Record<string, unknown>, ...content: Block[]): Block => ({ type, attrs, content })
const cell = (blocks: Block[], attrs = {}, type = 'tableCell') => node(type, attrs, ...blocks)
const table = (...rows: Block[][]) => node('table', {}, ...rows.map((row) => node('tableRow', {}, ...row)))
const list = (type: string, ...texts: string[]) => node(type, {}, ...texts.map((text) => node('listItem', {}, p(null, text))))

/** The rows of the first table: `#` marks a header, `<` and `>` an alignment, `/` a line break. */
const drawn = (doc: Node) => doc.children.find(({ type }) => type.name === 'table')!.children.map((row) => row.children.map(drawnCell).join(' | '))
function drawnCell(one: Node): string {
  const sign = one.type.name === 'tableHeader' ? '#' : ''
  const align = { left: '<', right: '>' }[String(one.attrs['align'])] ?? ''
  const text = (block: Node) => block.textBetween(0, block.content.size, '¶', (leaf) => (leaf.type.name === 'hardBreak' ? '/' : `{${leaf.type.name}}`))
  return sign + align + one.children.map((block) => (block.type.name === 'paragraph' ? text(block) : `${block.type.name}:${text(block)}`)).join(' + ')
}

/** What becomes of a document that is typed in place of *before*. */
function become(before: Node, now: Node): Node {
  const state = EditorState.create({ doc: now })
  const transaction = shaped(before, state)
  const { doc } = transaction ? state.apply(transaction) : state
  doc.check()
  return doc
}

const EMPTY = open(p(null, 'x'))

test('a pasted table has a header, and a cell for each place', () => {
  const wide = { colspan: 2, rowspan: 1, colwidth: [10, 20] }
  const pasted = open(p(null, 'x'), table([cell([p(null, 'a')], wide)], [cell([p(null, 'b')]), cell([p(null, 'c')])]))
  assert.deepEqual(drawn(become(EMPTY, pasted)), ['#a | #', 'b | c'])
  const tall = open(p(null, 'x'), table([cell([p(null, 'a')], { rowspan: 2 }), cell([p(null, 'b')])], [cell([p(null, 'c')])]))
  assert.deepEqual(drawn(become(EMPTY, tall)), ['#a | #b', ' | c'])
})

test('blocks in a cell become lines of it', () => {
  const blocks = [p(null, 'one'), list('bulletList', 'two', 'three'), list('orderedList', 'four')]
  const more = [node('codeBlock', {}, { type: 'text', text: 'five\nsix' }), { type: 'mathBlock', attrs: { latex: 'x' } }]
  const pasted = open(p(null, 'x'), table([cell([p(null, 'a')])], [cell([...blocks, ...more])]))
  assert.deepEqual(drawn(become(EMPTY, pasted)), ['#a', 'one/• two/• three/1. four/five/six/{mathInline}'])
})

const head = (align: string | null = null) => cell([p(null, 'h')], { align }, 'tableHeader')

test('cells without an alignment get that of their column, and a row above the header becomes the header', () => {
  const before = open(table([head('left'), head('right')], [cell([p(null, 'a')], { align: 'left' }), cell([p(null, 'b')], { align: 'right' })]))
  const rows = before.firstChild!.toJSON().content.map((row: Block) => row.content!) as Block[][]
  const fresh = [cell([node('paragraph', {})]), cell([node('paragraph', {})])]
  assert.deepEqual(drawn(become(before, open(table(...rows, fresh)))), ['#<h | #>h', '<a | >b', '< | >'])
  assert.deepEqual(drawn(become(before, open(table(fresh, ...rows)))), ['#< | #>', '<h | >h', '<a | >b'])
})

const wide = (width: number | null, text = 'a') => cell([p(null, text)], { colwidth: width === null ? null : [width] })
const resized = (...rows: (number | null)[][]) =>
  open(table(...rows.map((row, y) => row.map((width) => (y ? wide(width) : { ...wide(width), type: 'tableHeader' })))))
const widths = (doc: Node) => doc.firstChild!.children.map((row) => row.children.map(({ attrs }) => attrs['colwidth']?.[0] ?? 0))

test('the cells of a column have one width: that of the table before, of a new table the first', () => {
  const before = resized([120, null], [120, null])
  assert.deepEqual(widths(become(before, resized([120, null], [120, null], [null, null]))), [[120, 0], [120, 0], [120, 0]])
  assert.deepEqual(widths(become(before, resized([null, null], [120, null], [120, null]))), [[120, 0], [120, 0], [120, 0]])
  assert.deepEqual(widths(become(before, resized([120, null], [120, 70]))), [[120, 0], [120, 0]]) // a cell was pasted
  assert.deepEqual(widths(become(before, resized([50, 60], [50, 60]))), [[50, 60], [50, 60]]) // a person made them so
  assert.deepEqual(widths(become(before, resized([120, null, null], [120, null, null]))), [[120, 0, 0], [120, 0, 0]])
  assert.deepEqual(widths(become(EMPTY, resized([null, 80], [40, 90]))), [[40, 80], [40, 80]])
})

test('what another app keeps in a table stays', () => {
  const rows = (text: string) => [[cell([list('bulletList', 'a')], { colspan: 2 })], [cell([p(null, text)]), cell([p(null, 'c')])]]
  assert.deepEqual(drawn(become(open(table(...rows('b'))), open(table(...rows('bb'))))), ['bulletList:a', 'bb | c'])
  const two = open(p(null, 'x'), table(...rows('b')))
  const moved = two.type.create(null, [two.child(1), two.child(0)])
  assert.deepEqual(drawn(become(two, moved)), ['bulletList:a', 'b | c'])
})

test('no text of a cell is lost, and the cursor stays at its letter', () => {
  for (let seed = 0; seed < 300; seed++) {
    const pick = chance(seed)
    const block = (depth: number): Block => {
      const text = `w${pick(1000)}`
      const kinds = [
        () => p(null, text),
        () => node('heading', { level: 2 }, { type: 'text', text }),
        () => node('codeBlock', {}, { type: 'text', text: `${text}\n${text}` }),
        () => node('blockquote', {}, block(depth + 1), block(depth + 1)),
        () => node('bulletList', {}, node('listItem', {}, p(null, text), block(depth + 1))),
      ]
      return kinds[pick(depth > 2 ? 3 : 5)]!()
    }
    const flat = open(table([head()], [cell([p(null, 'a')])]))
    const now = open(table([head()], [cell([block(0), block(0)])]))
    const words: number[] = []
    now.descendants((one, at) => void (one.isText && words.push(at)))
    const at = words[pick(words.length)]! + 1
    const state = EditorState.create({ doc: now, selection: TextSelection.create(now, at) })
    const after = state.apply(shaped(flat, state)!)
    after.doc.check()
    const wordsOf = (doc: Node) => doc.textBetween(0, doc.content.size, ' ', ' ').match(/w\d+/g)
    assert.deepEqual(wordsOf(after.doc), wordsOf(now), String(seed))
    assert.equal(after.doc.nodeAt(after.selection.from)?.text?.charAt(after.selection.$from.textOffset), now.nodeAt(at)?.text?.charAt(1))
  }
})

test('a cell with a block that has no text stays', () => {
  const unknown = schema.nodes['unknownBlock']!.create({ json: { type: 'poll' } })
  assert.equal(flatOf(schema.nodes['tableCell']!.create(null, [unknown])), null)
})

test('links find headings by text, by slug and by those above them, and blocks by id', () => {
  const heading = (level: number, text: string) => node('heading', { level }, { type: 'text', text })
  const doc = open(heading(1, 'A'), heading(2, 'Übung: 1'), heading(1, 'B'), heading(2, 'Übung: 1'), p(null, 'words ^id'))
  const places = (fragment: string) => {
    const at = placeOfFragment(doc, fragment)
    return at === null ? null : doc.resolve(at).index()
  }
  assert.deepEqual(['Übung 1', 'übung-1', 'übung-1-1', 'B#Übung 1', '^id'].map(places), [1, 1, 3, 3, 4])
  assert.deepEqual(['A#B', 'C', '', '^i', '#'].map(places), [null, null, null, null, null])
})
